"""Steps without pixels: they draw, and move boxes and keypoints, of samples whose images programs make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from augrecipes.compat.steps import Sample, functions_of, sampler_of
from augrecipes.compiler.executor.op import NativeOp
from augrecipes.compiler.kernels.step_draws import stand_in
from augrecipes.compiler.lowering.walk import encode
from augrecipes.compiler.run.prepared import Act, Executors, Prepared, prepared
from augrecipes.native.op_numbers import EFFECTS
from augrecipes.ops.capabilities import claims

_POINTS = frozenset({"boxes", "keypoints"})


def point_steps(
    transforms: Sequence[Any], pipeline: Any, exits: Mapping[int, Callable[[Act], Act]], *, all_draw: bool
) -> list[Prepared]:
    """The steps of a pipeline that a program carries out, for samples whose `image` has a shape and no pixels.

    Args:
        transforms: of the pipeline.
        pipeline: that they stand in.
        exits: by the ids of steps that need pixels, what wraps what they do in albumentations, and gives them some.
        all_draw: those that move nothing draw, too.
    """
    executors = Executors(_DRAWS if all_draw else _moves_points, exits)
    return [prepared(step, pipeline, executors) for step in transforms]


def _moves_points(self: Any, takes: bool, *, draws: bool = False) -> Act:
    """What a transform does to points, and to the shape of what stands for the image."""
    if not draws and claims(type(self).__name__).targets.isdisjoint(_POINTS):
        return lambda data: data
    draw, functions, take, numbers = sampler_of(self), functions_of(self), self.py_random.random, encode(self)

    def act(data: Sample) -> Sample:
        if takes:
            take()
        image = data["image"]
        params = self.params = draw(data)
        for key, value in data.items():
            function = functions.get(key)
            if function is not None and value is not None and key != "image":
                data[key] = function(value, **params)
        if numbers is not None:
            rows, columns = size_behind(numbers, params, *image.shape[:2])
            data["image"] = stand_in((rows, columns, image.shape[2]), image.dtype)
        return data

    return act


_DRAWS = partial(_moves_points, draws=True)


def size_behind(numbers: NativeOp, params: Mapping[str, Any], rows: int, columns: int) -> tuple[int, int]:
    """Rows and columns behind a step, as native/program.c makes them.

    Args:
        numbers: the step.
        params: what albumentations' sampler drew.
        rows: before it, px.
        columns: the same.
    """
    if numbers.effect in (EFFECTS.RESIZES, EFFECTS.CROPS_AND_RESIZES):
        return int(numbers.does[0]), int(numbers.does[1])
    windows = EFFECTS.CROPS, EFFECTS.PADS_AND_CROPS, EFFECTS.CROPS_AND_PADS
    if numbers.effect not in (EFFECTS.FLIPS, EFFECTS.WARPS_PERSPECTIVE, EFFECTS.SCALES, EFFECTS.PADS, *windows):
        return rows, columns
    drawn = numbers.seen(params)
    if numbers.effect == EFFECTS.FLIPS:
        return (columns, rows) if int(drawn[0]) & 1 else (rows, columns)
    if numbers.effect == EFFECTS.WARPS_PERSPECTIVE:
        return (rows, columns) if numbers.does[2] else (int(drawn[9]), int(drawn[10]))
    if numbers.effect == EFFECTS.SCALES:
        height, width = rows * drawn[0], columns * drawn[0]
        return (max(1, round(height)), max(1, round(width))) if numbers.does[2] else (int(height), int(width))
    if numbers.effect == EFFECTS.CROPS_AND_PADS and numbers.does[6] >= 0:
        return rows, columns  # it keeps the size
    if numbers.effect != EFFECTS.PADS:
        x_min, y_min, x_max, y_max = map(int, drawn[:4])
        rows, columns = y_max - y_min, x_max - x_min
    if numbers.effect in (EFFECTS.PADS, EFFECTS.CROPS_AND_PADS):
        above, below, before, behind = map(int, drawn[:4] if numbers.effect == EFFECTS.PADS else drawn[4:8])
        rows, columns = rows + above + below, columns + before + behind
    return rows, columns
