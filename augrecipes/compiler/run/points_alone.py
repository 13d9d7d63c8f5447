"""Steps without pixels: they draw, and move boxes and keypoints, of samples whose images programs make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from augrecipes.compat.steps import Sample, functions_of, sampler_of
from augrecipes.compiler.kernels.step_draws import stand_in
from augrecipes.compiler.run.prepared import Act, Executors, Prepared, prepared
from augrecipes.ops.matrices import output_size
from augrecipes.ops.records import op_record

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
    if not draws and op_record(type(self).__name__).targets.isdisjoint(_POINTS):
        return lambda data: data
    draw, functions, take = sampler_of(self), functions_of(self), self.py_random.random

    def act(data: Sample) -> Sample:
        if takes:
            take()
        image = data["image"]
        params = self.params = draw(data)
        for key, value in data.items():
            function = functions.get(key)
            if function is not None and value is not None and key != "image":
                data[key] = function(value, **params)
        data["image"] = stand_in((*output_size(self, params, image.shape[:2]), image.shape[2]), image.dtype)
        return data

    return act


_DRAWS = partial(_moves_points, draws=True)
