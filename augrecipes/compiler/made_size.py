"""Pictures that a step would make too large: refused when it has drawn, before any memory is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from augrecipes.compiler.lower import Sites
from augrecipes.errors import DataError
from augrecipes.ops.bounds import told

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


def _padded_first(step: Any, drawn: Drawn, height: int, width: int) -> Size:
    return _padded(step, drawn["pad_params"], height, width) if drawn["pad_params"] else (0, 0)


def _sides(step: Any, drawn: Drawn, height: int, width: int) -> Size:
    return step.height, step.width


def _size(step: Any, drawn: Drawn, height: int, width: int) -> Size:
    return step.size


# What a step makes of a picture, from its draws and the picture's height and width. Other classes make none larger.
_SIZES: dict[str, Callable[[Any, Drawn, int, int], Size]] = {
    "Affine": _fitted,
    "CenterCrop": _padded_first,
    "Crop": _padded_first,
    "CropAndPad": _padded_or_cut,
    "LongestMaxSize": _scaled,
    "Pad": _padded,
    "PadIfNeeded": _padded,
    "Perspective": _seen,
    "RandomCrop": _padded_first,
    "RandomResizedCrop": _size,
    "RandomScale": _scaled,
    "RandomSizedBBoxSafeCrop": _sides,
    "RandomSizedCrop": _size,
    "Resize": _sides,
    "ResizeToTarget": _size,
    "SmallestMaxSize": _scaled,
}


def guard(sites: Sites, max_bytes: int | None, cells: Mapping[int, int] | None = None) -> None:
    """Let transforms refuse draws that would make a picture of more than `max_bytes`: a DataError.

    Args:
        sites: the transforms.
        max_bytes: the largest picture; None: any.
        cells: of those that draw for a pair, pixels along a common cell on the largest of their targets; by `id`.
    """
    if max_bytes is None:
        return
    for step, site, _ in sites:
        if (size_of := _SIZES.get(type(step).__name__)) is not None:
            step.get_params_dependent_on_data = _guarded(step, site, size_of, max_bytes, (cells or {}).get(id(step), 1))


def _guarded(step: Any, site: str, size_of: Callable[..., Size], max_bytes: int, cell: int) -> Callable[..., Any]:
    dependent = step.get_params_dependent_on_data

    def checked(params: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = dependent(params=params, data=data)
        shape = params["shape"]
        height, width = (cell * side for side in size_of(step, {**params, **found}, *shape[:2]))
        values = prod(shape[2:]) * getattr(getattr(data.get("image"), "dtype", None), "itemsize", 1)
        if height * width * values > max_bytes:
            raise DataError(
                f"would make a picture of {height:,.0f} × {width:,.0f} out of one of {cell * shape[0]:,} × "
                f"{cell * shape[1]:,}, more than {told(max_bytes)}; draw smaller factors, leave out pictures of such a "
                "size, or raise the recipe's `max_bytes`",
                step=site,
            )
        return found

    return checked
