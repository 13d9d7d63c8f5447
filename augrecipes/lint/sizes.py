"""What is known of the image's size between the steps of a section: an interval of heights and one of widths."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from augrecipes.lint.arguments import arguments, chance, interval
from augrecipes.ops.capabilities import capability
from augrecipes.recipe.model import Recipe, Step


@dataclass(frozen=True, slots=True)
class Size:
    """Bounds of (height, width) in px.

    Attributes:
        low: least height and width.
        high: greatest height and width; infinite where nothing bounds them.
        declared: the recipe itself promises `low`, by `min_size` or by an earlier step.
    """

    low: tuple[float, float] = (1, 1)
    high: tuple[float, float] = (inf, inf)
    declared: bool = False

    @property
    def exact(self) -> bool:
        """Whether every image has the same size."""
        return self.low == self.high

    def join(self, other: Size) -> Size:
        """What is known of an image that has one or the other size."""
        low = (min(self.low[0], other.low[0]), min(self.low[1], other.low[1]))
        high = (max(self.high[0], other.high[0]), max(self.high[1], other.high[1]))
        return Size(low, high, self.declared and other.declared)


UNKNOWN = Size()
Arguments = Mapping[str, Any]


def fixed(height: float, width: float) -> Size:
    """The size of every image after a step that decides it."""
    return Size((height, width), (height, width), True)


def arriving(recipe: Recipe) -> Size:
    """What a recipe declares of its images; of a pair, of its coarsest target."""
    least = recipe.inputs.min_size
    return UNKNOWN if least is None else Size(least, (inf, inf), True)


def along(recipe: Recipe, steps: tuple[Step, ...]) -> Iterator[tuple[Step, Size, Size]]:
    """Each step of a section, with what is known of the size before it and after it."""
    size = arriving(recipe)
    for step in steps:
        before, size = size, after(step, size)
        yield step, before, size


def after(step: Step, size: Size) -> Size:
    """What is known after `step`, which may not act."""
    p = chance(step)
    if p <= 0:
        return size
    acted = acting(step, size)
    return acted if p >= 1 else acted.join(size)


def acting(step: Step, size: Size) -> Size:
    """What is known after `step` has acted."""
    match step.name:
        case "Sequential":
            for child in step.steps:
                size = after(child, size)
            return size
        case "OneOf":
            ends = [acting(child, size) for child in step.steps if chance(child) > 0]
            return _joined(ends, size)
        case "SomeOf" | "RandomOrder":
            # Which children run, and in which order, is drawn: say something only where none changes the size.
            return size if all(after(child, size) == size for child in step.steps) else UNKNOWN
    rule = _RULES.get(step.name)
    if rule is not None:
        return rule(arguments(step), size)
    record = capability(step.name)
    return UNKNOWN if record is None or step.name in _UNPREDICTABLE else size


def _joined(ends: list[Size], otherwise: Size) -> Size:
    if not ends:
        return otherwise
    whole = ends[0]
    for end in ends[1:]:
        whole = whole.join(end)
    return whole


# Windows whose size depends on the sample.
_UNPREDICTABLE = frozenset({"BBoxSafeRandomCrop", "RandomCropFromBorders", "RandomCropNearBBox"})


def _window(values: Arguments, size: Size) -> Size:
    return fixed(values["height"], values["width"])


def _box(values: Arguments, size: Size) -> Size:
    return fixed(values["y_max"] - values["y_min"], values["x_max"] - values["x_min"])


def _resized_crop(values: Arguments, size: Size) -> Size:
    height, width = values["size"]
    return fixed(height, width)


def _shorter_side(values: Arguments, size: Size) -> Size:
    sides = _sides(values.get("max_size"))
    return Size((min(sides), min(sides)), (inf, inf), True) if sides else UNKNOWN


def _longer_side(values: Arguments, size: Size) -> Size:
    sides = _sides(values.get("max_size"))
    return Size((1, 1), (max(sides), max(sides))) if sides else UNKNOWN


def _sides(value: Any) -> list[float]:
    if isinstance(value, int | float):
        return [value]
    return [side for side in value if isinstance(side, int | float)] if isinstance(value, list | tuple) else []


def _pad_to(values: Arguments, size: Size) -> Size:
    height, width = values.get("min_height"), values.get("min_width")
    if height is None or width is None:  # padded to a multiple
        return replace(size, high=(inf, inf))
    least = (float(height), float(width))
    low = (max(size.low[0], least[0]), max(size.low[1], least[1]))
    high = (max(size.high[0], least[0]), max(size.high[1], least[1]))
    return Size(low, high, True)


def _pad(values: Arguments, size: Size) -> Size:
    return replace(size, high=(inf, inf))


def _scaled(values: Arguments, size: Size) -> Size:
    span = interval("symmetric", values.get("scale_limit"))
    if span is None:
        return UNKNOWN
    # RandomScale rounds; one pixel is left for that.
    low = tuple(max(1, side * (1 + span[0]) - 1) for side in size.low)
    high = tuple(side * (1 + span[1]) + 1 for side in size.high)
    return Size((low[0], low[1]), (high[0], high[1]), size.declared)


def _turned(values: Arguments, size: Size) -> Size:
    low, high = min(size.low), max(size.high)
    return Size((low, low), (high, high), size.declared)


def _transposed(values: Arguments, size: Size) -> Size:
    return Size(size.low[::-1], size.high[::-1], size.declared)


def _kept_if(argument: str, kept: bool) -> Callable[[Arguments, Size], Size]:
    return lambda values, size: size if bool(values.get(argument)) is kept else UNKNOWN


_RULES: dict[str, Callable[[Arguments, Size], Size]] = {
    "Resize": _window,
    "RandomCrop": _window,
    "CenterCrop": _window,
    "CropNonEmptyMaskIfExists": _window,
    "RandomSizedBBoxSafeCrop": _window,
    "AtLeastOneBBoxRandomCrop": _window,
    "Crop": _box,
    "RandomResizedCrop": _resized_crop,
    "RandomSizedCrop": _resized_crop,
    "SmallestMaxSize": _shorter_side,
    "LongestMaxSize": _longer_side,
    "PadIfNeeded": _pad_to,
    "Pad": _pad,
    "RandomScale": _scaled,
    "D4": _turned,
    "SquareSymmetry": _turned,
    "RandomRotate90": _turned,
    "Transpose": _transposed,
    "Affine": _kept_if("fit_output", False),
    "Perspective": _kept_if("keep_size", True),
    "CropAndPad": _kept_if("keep_size", True),
    "Rotate": _kept_if("crop_border", False),
}
