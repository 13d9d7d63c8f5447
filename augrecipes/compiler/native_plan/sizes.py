"""How large a picture is behind a step of a native plan, by what the step drew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from augrecipes.compiler.native_plan.steps import NativeStep
from augrecipes.native.op_numbers import EFFECTS


def size_behind(numbers: NativeStep, params: Mapping[str, Any], rows: int, columns: int) -> tuple[int, int]:
    """Rows and columns behind a step, as native/plan.c makes them.

    Args:
        numbers: the step.
        params: what albumentations' sampler drew.
        rows: before it, px.
        columns: the same.
    """
    if numbers.effect in (EFFECTS.RESIZES, EFFECTS.CUTS_AND_RESIZES):
        return int(numbers.does[0]), int(numbers.does[1])
    windows = EFFECTS.CUTS, EFFECTS.PADS_AND_CUTS, EFFECTS.CUTS_AND_PADS
    if numbers.effect not in (EFFECTS.TURNS, EFFECTS.TILTS, EFFECTS.SCALES, EFFECTS.PADS, *windows):
        return rows, columns
    drawn = numbers.seen(params)
    if numbers.effect == EFFECTS.TURNS:
        return (columns, rows) if int(drawn[0]) & 1 else (rows, columns)
    if numbers.effect == EFFECTS.TILTS:
        return (rows, columns) if numbers.does[2] else (int(drawn[9]), int(drawn[10]))
    if numbers.effect == EFFECTS.SCALES:
        height, width = rows * drawn[0], columns * drawn[0]
        return (max(1, round(height)), max(1, round(width))) if numbers.does[2] else (int(height), int(width))
    if numbers.effect == EFFECTS.CUTS_AND_PADS and numbers.does[6] >= 0:
        return rows, columns  # it keeps the size
    if numbers.effect != EFFECTS.PADS:
        x_min, y_min, x_max, y_max = map(int, drawn[:4])
        rows, columns = y_max - y_min, x_max - x_min
    if numbers.effect in (EFFECTS.PADS, EFFECTS.CUTS_AND_PADS):
        above, below, before, behind = map(int, drawn[:4] if numbers.effect == EFFECTS.PADS else drawn[4:8])
        rows, columns = rows + above + below, columns + before + behind
    return rows, columns
