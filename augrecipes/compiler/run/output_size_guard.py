"""Refuse draws that would make an image too large, before any memory is allocated."""

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import Any

from augrecipes.compiler.lowering.lower import Sites
from augrecipes.errors import DataError
from augrecipes.ops.bounds import size_text
from augrecipes.ops.matrices import drawn_size
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import takes

_ENLARGING = frozenset({"pad_if_needed", "fit_output"})  # arguments


def guard(sites: Sites, max_bytes: int | None, cells: Mapping[int, int] | None = None) -> None:
    """Let transforms raise DataError for draws that would make an image of more than `max_bytes`.

    Args:
        sites: the transforms.
        max_bytes: the largest image; None: no limit.
        cells: by `id`, for transforms of a pair: side in px of a common cell on the largest target.
    """
    for step, site, _ in sites if max_bytes is not None else ():
        if enlarges(type(step).__name__) and _may_enlarge(step):
            draw = step.get_params_dependent_on_data
            cell = (cells or {}).get(id(step), 1)
            step.get_params_dependent_on_data = partial(_checked_draw, step, site, draw, max_bytes, cell)


def enlarges(name: str) -> bool:
    """Whether steps of a class may make an image larger: they resize or pad, at least with some arguments.

    >>> enlarges("Affine"), enlarges("Rotate")
    (True, False)
    """
    record = op_record(name)
    return record.resizes is not None or record.effect == "padding" or not _ENLARGING.isdisjoint(takes(name))


def _may_enlarge(step: Any) -> bool:
    """Whether a step of a class that enlarges does so with its arguments, if only in between (`keep_size`)."""
    return all(getattr(step, name, True) for name in _ENLARGING) or hasattr(step, "keep_size")


def _checked_draw(
    step: Any, site: str, draw: Callable[..., Any], max_bytes: Any, cell: int, params: dict[str, Any], data: Any
) -> dict[str, Any]:
    drawn: dict[str, Any] = draw(params=params, data=data)
    shape = params["shape"]
    params.update(drawn)  # as albumentations does after the call
    height, width = (cell * side for side in drawn_size(step, params, shape[:2]))
    itemsize: int = getattr(getattr(data.get("image"), "dtype", None), "itemsize", 1)
    if height * width * prod(shape[2:]) * itemsize > max_bytes:
        raise DataError(
            f"would make an image of {height:,.0f} × {width:,.0f} out of one of {cell * shape[0]:,} × "
            f"{cell * shape[1]:,}, more than {size_text(max_bytes)}; draw smaller factors, leave out images of "
            "such a size, or raise the recipe's `max_bytes`",
            step=site,
        )
    return drawn
