"""Scales of a page: where values stand on a line, in percent of its width, and which places are labelled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil, floor, log, log10
from typing import Any

_LEAST, _MOST = log(1.25), log(1e4)  # a scale of ratios shows so much to either side
_TICKS = (1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 1000.0)
_LIMIT = 1e9  # larger values are as good as none


class Scale:
    """Ratios on one logarithmic scale around 1, in percent of its width: what leaves the middle is a difference."""

    def __init__(self, ratios: Iterable[Mapping[str, Any]]) -> None:
        ends = [abs(log(ratio[end])) for ratio in ratios for end in ("low", "high")]
        self._reach = min(max(_LEAST, *ends, 0.0) * 1.08, _MOST)

    def place(self, ratio: float) -> float:
        """Percent of the width; what lies beyond is at the end."""
        return min(max(50 + 50 * log(ratio) / self._reach, 0.0), 100.0)

    def ticks(self) -> list[tuple[float, str]]:
        """Place and text: 1, and the largest round ratio to either side."""
        most = max(tick for tick in _TICKS if log(tick) <= self._reach)
        return [(self.place(1 / most), f"÷ {most:g}"), (50.0, "1"), (self.place(most), f"× {most:g}")]


class LinearScale:
    """Values on a scale from their lowest to their highest; those that are not finite are left out.

    Args:
        values: that are shown.
        times: labels are so many times the value: 100 for percent.

    >>> scale = LinearScale([0.81, 0.89], 100)
    >>> round(scale.place(0.85)), [text for _, text in scale.ticks()]
    (50, ['82', '84', '86', '88'])
    """

    def __init__(self, values: Iterable[float], times: float = 1.0) -> None:
        shown = [value for value in values if has_place(value)] or [0.0]
        margin = 0.06 * (max(shown) - min(shown)) or 0.05 * abs(shown[0]) or 1.0
        self._low, self._high, self._times = min(shown) - margin, max(shown) + margin, times

    def place(self, value: float) -> float:
        """Percent of the width; what lies beyond is at the end."""
        return min(max(100 * (value - self._low) / (self._high - self._low), 0.0), 100.0)

    def ticks(self) -> list[tuple[float, str]]:
        """Place and text of two to five round values."""
        most = (self._high - self._low) / 2
        step = max(part for k in (1, 2, 5) if (part := k * 10.0 ** floor(log10(most))) <= most)
        ticks = [k * step for k in range(ceil(self._low / step), floor(self._high / step) + 1)]
        return [(self.place(tick), f"{tick * self._times:g}") for tick in ticks]


def has_place(*values: float) -> bool:
    """Whether all values can stand on a scale."""
    return all(abs(value) < _LIMIT for value in values)
