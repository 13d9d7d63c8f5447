"""Pictures that a step would make too large: refused when it has drawn, before any memory is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from augrecipes.errors import DataError
from augrecipes.ops.bounds import MOST_BYTES

Drawn = Mapping[str, Any]
Size = tuple[float, float]


def _scaled(step: Any, drawn: Drawn, height: int, width: int) -> Size:
    return height * drawn["scale"], width * drawn["scale"]


def _fitted(step: Any, drawn: Drawn, height: int, width: int) -> Size:
    return drawn["output_shape"][:2] if step.fit_output else (height, width)


def _seen(step: Any, drawn: Drawn, height: int, width: int) -> Size:
    return drawn["max_height"], drawn["max_width"]


def _padded(step: Any, drawn: Drawn, height: int, width: int) -> Size:
    return height + drawn["pad_top"] + drawn["pad_bottom"], width + drawn["pad_left"] + drawn["pad_right"]


def _padded_or_cut(step: Any, drawn: Drawn, height: int, width: int) -> Size:
    top, right, bottom, left = drawn["pad_params"] or (0, 0, 0, 0)
    return height + top + bottom, width + left + right


# What a step makes of a picture whose size no recipe knows: from its draws and the picture's height and width.
_SIZES: dict[str, Callable[[Any, Drawn, int, int], Size]] = {
    "Affine": _fitted,
    "CropAndPad": _padded_or_cut,
    "LongestMaxSize": _scaled,
    "Pad": _padded,
    "PadIfNeeded": _padded,
    "Perspective": _seen,
    "RandomScale": _scaled,
    "SmallestMaxSize": _scaled,
}


def guard(step: Any, site: str) -> None:
    """Let the transform `step` refuse draws that would make a picture of more than `MOST_BYTES`: a DataError."""
    size_of = _SIZES.get(type(step).__name__)
    if size_of is None:
        return
    dependent = step.get_params_dependent_on_data

    def checked(params: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = dependent(params=params, data=data)
        shape = params["shape"]
        height, width = size_of(step, {**params, **found}, *shape[:2])
        values = prod(shape[2:]) * getattr(getattr(data.get("image"), "dtype", None), "itemsize", 1)
        if height * width * values > MOST_BYTES:
            raise DataError(
                f"would make a picture of {height:,.0f} × {width:,.0f} out of one of {shape[0]:,} × {shape[1]:,}, more "
                f"than {MOST_BYTES >> 30} GiB; draw smaller factors, or leave out pictures of such a size",
                step=site,
            )
        return found

    step.get_params_dependent_on_data = checked
