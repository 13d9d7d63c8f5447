"""Axis scales of the report: positions of values, in percent of the width, and tick labels."""

from collections.abc import Iterable, Mapping
from math import ceil, floor, log, log10
from typing import Any

_LEAST, _MOST = log(1.25), log(1e4)  # bounds of the range that a scale of ratios shows on either side of 1
_TICKS = (1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 1000.0)
_LIMIT = 1e9  # larger values would leave no room for others


class Scale:
    """A logarithmic scale of ratios, symmetric around 1; positions are in percent of its width."""

    def __init__(self, ratios: Iterable[Mapping[str, Any]]) -> None:
        ends = [abs(log(ratio[end])) for ratio in ratios for end in ("low", "high")]
        self._reach = min(max(_LEAST, *ends, 0.0) * 1.08, _MOST)

    def place(self, ratio: float) -> float:
        """Return the position in percent of the width; values beyond the range are at its ends."""
        return min(max(50 + 50 * log(ratio) / self._reach, 0.0), 100.0)

    def ticks(self) -> list[tuple[float, str]]:
        """Return positions and labels: 1, and the largest round ratio on either side."""
        end = max(tick for tick in _TICKS if log(tick) <= self._reach)
        return [(self.place(1 / end), f"÷ {end:g}"), (50.0, "1"), (self.place(end), f"× {end:g}")]


class LinearScale:
    """A linear scale from the lowest value to the highest, ignoring values that are not finite.

    Args:
        values: the values to show.
        times: factor of the labels: 100 for percent.

    >>> scale = LinearScale([0.81, 0.89], 100)
    >>> round(scale.place(0.85)), [text for _, text in scale.ticks()]
    (50, ['82', '84', '86', '88'])
    """

    def __init__(self, values: Iterable[float], times: float = 1.0) -> None:
        shown = [value for value in values if has_place(value)] or [0.0]
        margin = 0.06 * (max(shown) - min(shown)) or 0.05 * abs(shown[0]) or 1.0
        self._low, self._high, self._times = min(shown) - margin, max(shown) + margin, times

    def place(self, value: float) -> float:
        """Return the position in percent of the width; values beyond the range are at its ends."""
        return min(max(100 * (value - self._low) / (self._high - self._low), 0.0), 100.0)

    def ticks(self) -> list[tuple[float, str]]:
        """Return positions and labels of two to five round values."""
        half = (self._high - self._low) / 2
        step = max(size for k in (1, 2, 5) if (size := k * 10.0 ** floor(log10(half))) <= half)
        ticks = [k * step for k in range(ceil(self._low / step), floor(self._high / step) + 1)]
        return [(self.place(tick), f"{tick * self._times:g}") for tick in ticks]


def has_place(*values: float) -> bool:
    """Whether all values are finite and small enough for a scale."""
    return all(abs(value) < _LIMIT for value in values)
