"""Images that a step would make too large: refused when it has drawn, before any memory is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from augrecipes.compiler.lowering.lower import Sites
from augrecipes.errors import DataError
from augrecipes.ops.bounds import size_text
from augrecipes.ops.matrices import drawn_size
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import takes

_MOST = 8  # bytes of a value
_CHANNELS = 4  # most images have no more
_ENLARGING = frozenset({"pad_if_needed", "fit_output"})  # arguments


def guard(sites: Sites, max_bytes: int | None, cells: Mapping[int, int] | None = None) -> None:
    """Let transforms refuse draws that would make an image of more than `max_bytes`: a DataError.

    Args:
        sites: the transforms.
        max_bytes: the largest image; None: any.
        cells: of those that draw for a pair, pixels along a common cell on the largest of their targets; by `id`.
    """
    if max_bytes is None:
        return
    for step, site, _ in sites:
        if enlarges(type(step).__name__) and _may_enlarge(step):
            step.get_params_dependent_on_data = _guarded(step, site, max_bytes, (cells or {}).get(id(step), 1))


def enlarges(name: str) -> bool:
    """Whether steps of a class may make an image larger: they resize or pad, or do with some arguments.

    >>> enlarges("Affine"), enlarges("Rotate")
    (True, False)
    """
    record = op_record(name)
    return record.resizes is not None or record.effect == "padding" or not _ENLARGING.isdisjoint(takes(name))


def _may_enlarge(step: Any) -> bool:
    """Whether a step of a class that enlarges does with its arguments; what keeps sizes may be larger on its way."""
    record, switches = op_record(type(step).__name__), [getattr(step, name, False) for name in _ENLARGING]
    return record.resizes is not None or record.effect == "padding" or any(switches) or hasattr(step, "keep_size")


def _guarded(step: Any, site: str, max_bytes: int, cell: int) -> Callable[..., Any]:
    dependent = step.get_params_dependent_on_data
    few = max_bytes // (_CHANNELS * _MOST * cell * cell)  # pixels that are never too many

    def checked(params: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = dependent(params=params, data=data)
        shape = params["shape"]
        params.update(found)  # as the caller does with what it gets
        height, width = drawn_size(step, params, shape[:2])
        if height * width <= few and prod(shape[2:]) <= _CHANNELS:
            return found
        height, width = cell * height, cell * width
        if height * width * prod(shape[2:]) * _MOST > max_bytes and height * width * _value(shape, data) > max_bytes:
            raise DataError(
                f"would make an image of {height:,.0f} × {width:,.0f} out of one of {cell * shape[0]:,} × "
                f"{cell * shape[1]:,}, more than {size_text(max_bytes)}; draw smaller factors, leave out images of "
                "such a size, or raise the recipe's `max_bytes`",
                step=site,
            )
        return found

    return checked


def _value(shape: tuple[int, ...], data: Mapping[str, Any]) -> int:
    """Bytes of a pixel."""
    itemsize: int = getattr(getattr(data.get("image"), "dtype", None), "itemsize", 1)
    return prod(shape[2:]) * itemsize
