"""Ratios with their intervals on one logarithmic scale around 1: what leaves the middle is a difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

_LEAST = log(1.25)  # the scale shows so much to either side at least
_ROOM = 1.08
_TICKS = (1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 1000.0)


@dataclass(frozen=True, slots=True)
class Interval:
    """A ratio on a scale; places are percent of its width.

    Attributes:
        left: where the interval begins.
        width: of it.
        middle: where the ratio is.
        text: the ratio in figures.
    """

    left: float
    width: float
    middle: float
    text: str


@dataclass(frozen=True, slots=True)
class Scale:
    """What tracks of one table share.

    Attributes:
        reach: logarithm of the largest ratio that fits.
    """

    reach: float

    def place(self, ratio: float) -> float:
        """Percent of the width; what lies beyond is at the end.

        >>> Scale(log(2)).place(1.0), Scale(log(2)).place(2.0), Scale(log(2)).place(0.1)
        (50.0, 100.0, 0.0)
        """
        return min(max(50 + 50 * log(ratio) / self.reach, 0.0), 100.0)

    def interval(self, ratio: Mapping[str, Any]) -> Interval:
        """A ratio as it is shown."""
        low, middle, high = (self.place(ratio[key]) for key in ("low", "middle", "high"))
        return Interval(low, high - low, middle, in_figures(ratio))

    def ticks(self) -> list[tuple[float, str]]:
        """Place and text: 1, and the largest round ratio to either side.

        >>> [text for _, text in Scale(log(2.5)).ticks()]
        ['÷ 2', '1', '× 2']
        """
        most = max(tick for tick in _TICKS if log(tick) <= self.reach)
        return [(self.place(1 / most), f"÷ {most:g}"), (50.0, "1"), (self.place(most), f"× {most:g}")]


def scale_of(ratios: Sequence[Mapping[str, Any]]) -> Scale:
    """The scale that shows all of them.

    >>> round(2.718281828 ** scale_of([{"low": 0.4, "middle": 0.5, "high": 0.6}]).reach, 2)
    2.69
    """
    found = [abs(log(ratio[key])) for ratio in ratios for key in ("low", "high")]
    return Scale(min(max(_LEAST, *found, 0.0) * _ROOM, log(1e4)))


def in_figures(ratio: Mapping[str, Any] | None) -> str:
    """A ratio with its interval.

    >>> in_figures({"middle": 1.25, "low": 1.2, "high": 1.31})
    '1.25 (1.20–1.31)'
    """
    return "" if ratio is None else f"{ratio['middle']:.2f} ({ratio['low']:.2f}–{ratio['high']:.2f})"
