"""Bounds of image sizes after steps, by their arguments."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any, TypeAlias

from augrecipes.ops.intervals import interval


@dataclass(frozen=True, slots=True)
class SizeBounds:
    """Bounds of (height, width) in px.

    Attributes:
        low: least height and width.
        high: greatest height and width; infinite where nothing bounds them.
        declared: the recipe guarantees `low`, by `min_size` or by an earlier step.
    """

    low: tuple[float, float] = (1, 1)
    high: tuple[float, float] = (inf, inf)
    declared: bool = False

    @property
    def exact(self) -> bool:
        """Whether every image has the same size."""
        return self.low == self.high

    def join(self, other: "SizeBounds") -> "SizeBounds":
        """The bounds of an image that has one size or the other."""
        low = (min(self.low[0], other.low[0]), min(self.low[1], other.low[1]))
        high = (max(self.high[0], other.high[0]), max(self.high[1], other.high[1]))
        return SizeBounds(low, high, self.declared and other.declared)


UNKNOWN = SizeBounds()
Arguments: TypeAlias = Mapping[str, Any]
# (arguments with defaults merged, bounds before the step) → bounds after it has acted.
Bounds: TypeAlias = Callable[[Arguments, SizeBounds], SizeBounds]


def fixed(height: float, width: float) -> SizeBounds:
    """The bounds after a step that decides the size."""
    return SizeBounds((height, width), (height, width), True)


def to_sides(values: Arguments, size: SizeBounds) -> SizeBounds:
    """Exactly `height` × `width`."""
    return fixed(values["height"], values["width"])


def to_box(values: Arguments, size: SizeBounds) -> SizeBounds:
    """Exactly the box."""
    return fixed(values["y_max"] - values["y_min"], values["x_max"] - values["x_min"])


def to_size(values: Arguments, size: SizeBounds) -> SizeBounds:
    """Exactly `size`."""
    height, width = values["size"]
    return fixed(height, width)


def shorter_side(values: Arguments, size: SizeBounds) -> SizeBounds:
    """The shorter side is `max_size`."""
    sides = _sides(values.get("max_size"))
    return SizeBounds((min(sides), min(sides)), (inf, inf), True) if sides else UNKNOWN


def longer_side(values: Arguments, size: SizeBounds) -> SizeBounds:
    """The longer side is `max_size`."""
    sides = _sides(values.get("max_size"))
    return SizeBounds((1, 1), (max(sides), max(sides))) if sides else UNKNOWN


def _sides(value: Any) -> list[float]:
    return [side for side in (value if isinstance(value, list | tuple) else [value]) if isinstance(side, int | float)]


def pad_to(values: Arguments, size: SizeBounds) -> SizeBounds:
    """At least `min_height` × `min_width`, or up to a multiple."""
    height, width = values.get("min_height"), values.get("min_width")
    if height is None or width is None:  # padded to a multiple
        return replace(size, high=(inf, inf))
    low, high = ((max(side[0], float(height)), max(side[1], float(width))) for side in (size.low, size.high))
    return SizeBounds(low, high, True)


def pad(values: Arguments, size: SizeBounds) -> SizeBounds:
    """Larger by an unknown amount."""
    return replace(size, high=(inf, inf))


def scaled(values: Arguments, size: SizeBounds) -> SizeBounds:
    """Times a factor of `scale_limit`."""
    span = interval("symmetric", values.get("scale_limit"))
    if span is None:
        return UNKNOWN
    # RandomScale rounds; one pixel is left for that.
    low = tuple(max(1, side * (1 + span[0]) - 1) for side in size.low)
    high = tuple(side * (1 + span[1]) + 1 for side in size.high)
    return SizeBounds((low[0], low[1]), (high[0], high[1]), size.declared)


def turned(values: Arguments, size: SizeBounds) -> SizeBounds:
    """Height and width may change places."""
    low, high = min(size.low), max(size.high)
    return SizeBounds((low, low), (high, high), size.declared)


def transposed(values: Arguments, size: SizeBounds) -> SizeBounds:
    """Height and width change places."""
    return SizeBounds(size.low[::-1], size.high[::-1], size.declared)


def unchanged_if(argument: str, value: bool) -> Bounds:
    """The size stays where `argument` is `value`; otherwise nothing is known."""
    return lambda values, size: size if bool(values.get(argument)) is value else UNKNOWN


def unpredictable(values: Arguments, size: SizeBounds) -> SizeBounds:
    """Nothing is known: the sample decides."""
    return UNKNOWN
