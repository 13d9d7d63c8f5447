"""Where steps put the pixels of a sample, as one 3×3 matrix: multiplied from what each of them drew, without pixels."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial, reduce
from typing import Any, TypeAlias

import numpy as np

from augrecipes.compat.steps import Sample, sampler_of
from augrecipes.compiler.kernels.step_draws import stand_in
from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.compiler.run.step_calls import Executors, StepFunction, step_call
from augrecipes.errors import AugrecipesError
from augrecipes.ops.matrices import Matrix, Size, matrix_of, output_size
from augrecipes.ops.records import op_record

Move: TypeAlias = tuple[str, Mapping[str, Any], Size, Size]  # a step's name, what it drew, the size before it and after
_BYTE = np.dtype(np.uint8)


class StepMatrices:
    """The matrices of a pipeline's samples, by their keys: each step draws as it does for pixels, and none is touched.

    Args:
        pipeline: whose steps run as they are written; its generators are moved.

    >>> import augrecipes as ar
    >>> found = StepMatrices(ar.load("folder-128").compile("eval").plain)
    >>> found.at((0, 7, 0), (256, 512, 3))[:2, 2].tolist()
    [-64.25, -0.25]
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline, self._seen = pipeline, list[Move]()
        still = {id(step): lambda _: lambda data: data for step, _, _ in pipeline.sites if not _moves(step)}
        how = Executors(partial(_followed, self._seen), still)
        self._steps = [step_call(step, pipeline, how) for step in pipeline.transforms]

    def at(self, key: tuple[int, int, int], shape: tuple[int, int, int]) -> Matrix:
        """From places in an image H×W×C to those behind the last step, float64 (3, 3); `key`: epoch, index, tile."""
        return reduce(lambda matrix, move: matrix_of(*move) @ matrix, self.moves(key, shape), np.eye(3))

    def moves(self, key: tuple[int, int, int], shape: tuple[int, int, int]) -> list[Move]:
        """The steps that move places, as they act on an image H×W×C: the first arguments of `matrix_of`."""
        self._pipeline.position(*key)
        self._seen.clear()
        data: Sample = {"image": stand_in(shape, _BYTE)}
        try:
            for first, p, act, _ in self._steps:
                if first is None or first() < p:
                    data = act(data)
        except (AugrecipesError, MemoryError):
            raise
        except Exception as error:
            raise self._pipeline.step_error(error) from error
        return [*self._seen]


def _moves(step: Any) -> bool:
    """Whether a step, or one in a group, moves places."""
    return op_record(type(step).__name__).moves or any(map(_moves, getattr(step, "transforms", ())))


def _followed(seen: list[Move], step: Any, takes: bool) -> StepFunction:
    """What a step does to the shape of what stands for the image; how it moves places is noted."""
    draw, take = sampler_of(step), step.py_random.random

    def act(data: Sample) -> Sample:
        if takes:
            take()
        image = data["image"]
        params, before = draw(data), image.shape[:2]
        after = output_size(step, params, before)
        seen.append((type(step).__name__, params, before, after))
        data["image"] = stand_in((*after, image.shape[2]), _BYTE)
        return data

    return act
