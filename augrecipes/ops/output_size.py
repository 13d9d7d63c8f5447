"""How large an image a step makes, once it has drawn: height and width, not rounded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Params: TypeAlias = Mapping[str, Any]
Sides: TypeAlias = tuple[float, float]
# (transform, what it drew, height and width of the image that it is given) → those that it makes.
SizeOf: TypeAlias = Callable[[Any, Params, int, int], Sides]


def by_scale(step: Any, drawn: Params, height: int, width: int) -> Sides:
    """By the factor that was drawn."""
    return height * drawn["scale"], width * drawn["scale"]


def fitting(step: Any, drawn: Params, height: int, width: int) -> Sides:
    """Affine, which may grow to hold the whole image."""
    return drawn["output_shape"][:2] if step.fit_output else (height, width)


def before_it_is_brought_back(step: Any, drawn: Params, height: int, width: int) -> Sides:
    """Perspective, before it is brought back to the image's size."""
    return drawn["max_height"], drawn["max_width"]


def padded(step: Any, drawn: Params, height: int, width: int) -> Sides:
    """By borders on four sides."""
    return height + drawn["pad_top"] + drawn["pad_bottom"], width + drawn["pad_left"] + drawn["pad_right"]


def padded_or_cut(step: Any, drawn: Params, height: int, width: int) -> Sides:
    """By borders, or strips cut off."""
    top, right, bottom, left = drawn["pad_params"] or (0, 0, 0, 0)
    return height + top + bottom, width + left + right


def padded_first(step: Any, drawn: Params, height: int, width: int) -> Sides:
    """Of a crop that pads before it cuts: what it cuts from."""
    return padded(step, drawn["pad_params"], height, width) if drawn["pad_params"] else (0, 0)


def of_sides(step: Any, drawn: Params, height: int, width: int) -> Sides:
    """Its `height` and `width`."""
    return step.height, step.width


def of_size(step: Any, drawn: Params, height: int, width: int) -> Sides:
    """Its `size`."""
    return step.size
