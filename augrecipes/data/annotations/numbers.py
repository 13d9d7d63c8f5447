"""Numbers of annotations: read from whatever is there, and places made of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

_VISIBLE = 2  # COCO's word for a keypoint that is there and seen
_MOST = 1e30  # of a number that is a place


def number_of(value: Any) -> float | None:
    """A number from a number or text; None for what is none, or is not finite.

    >>> number_of("12.5"), number_of(3), number_of("a"), number_of(True), number_of("nan")
    (12.5, 3.0, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if isfinite(found) and abs(found) < _MOST else None


def numbers_of(values: Any, count: int | None = None) -> list[float] | None:
    """A list of numbers, `count` of them, each as `number_of` has it; None where it is none."""
    if not isinstance(values, list | tuple) or (count is not None and len(values) != count):
        return None
    try:
        # Nearly always all are numbers, or all are text that is one, and one look at all of them says so.
        numbers = [float(value) for value in values] if values and isinstance(values[0], str) else list(values)
        if not numbers or (isfinite(sum(numbers)) and min(numbers) > -_MOST and max(numbers) < _MOST):
            return numbers
    except (TypeError, ValueError, OverflowError):
        pass  # text, or something else: one by one
    found = [number_of(value) for value in values]
    return None if None in found else found  # type: ignore[return-value]


def bounds(points: Sequence[float]) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of x, y, x, y, ....

    >>> bounds([3, 1, 5, 9, 4, 2])
    (3, 1, 5, 9)
    """
    x, y = points[::2], points[1::2]
    return min(x), min(y), max(x), max(y)


def seen(points: Sequence[float], v: float = _VISIBLE) -> list[float]:
    """Points x, y, x, y, ... as keypoints x, y, v, ....

    >>> seen([1, 2, 3, 4])
    [1, 2, 2, 3, 4, 2]
    """
    return [value for k in range(0, len(points) - 1, 2) for value in (points[k], points[k + 1], v)]
