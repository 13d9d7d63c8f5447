"""The 3×3 matrix by which steps move the pixels of a sample: a product of matrices drawn without pixels."""

from functools import partial, reduce
from typing import Any

import numpy as np

from augrecipes.compat.steps import Sample
from augrecipes.compiler.kernels.step_draws import stand_in
from augrecipes.compiler.run.draw_without_pixels import Move, move_targets
from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.compiler.run.step_calls import Executors, step_call
from augrecipes.errors import AugrecipesError
from augrecipes.ops.matrices import Matrix, matrix_of
from augrecipes.ops.records import op_record

_BYTE = np.dtype(np.uint8)


class StepMatrices:
    """The matrices of a pipeline's samples, by key: each step draws as it does for pixels.

    Args:
        pipeline: a pipeline that runs its steps as written; its generators are moved.

    >>> import augrecipes as ar
    >>> matrices = StepMatrices(ar.load("folder-128").compile("eval").plain)
    >>> matrices.at((0, 7, 0), (256, 512, 3))[:2, 2].tolist()
    [-64.25, -0.25]
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline, self._moves = pipeline, list[Move]()
        still = {id(step): lambda _: lambda data: data for step, _, _ in pipeline.sites if not _moves_places(step)}
        executors = Executors(partial(move_targets, note=self._moves.append), still)
        self._steps = [step_call(step, pipeline, executors) for step in pipeline.keyed_steps]

    def at(self, key: tuple[int, int, int], shape: tuple[int, int, int]) -> Matrix:
        """The matrix from the input image to the result, float64 (3, 3); `shape`: H×W×C, `key`: epoch, index, tile."""
        return reduce(lambda matrix, move: matrix_of(*move) @ matrix, self.moves(key, shape), np.eye(3))

    def moves(self, key: tuple[int, int, int], shape: tuple[int, int, int]) -> list[Move]:
        """The moves of the steps that act on an image of shape H×W×C: arguments of `matrix_of`."""
        self._pipeline.position(*key)
        self._moves.clear()
        data: Sample = {"image": stand_in(shape, _BYTE)}
        try:
            for first, p, act, _ in self._steps:
                if first is None or first() < p:
                    data = act(data)
        except (AugrecipesError, MemoryError):
            raise
        except Exception as error:
            raise self._pipeline.step_error(error) from error
        return [*self._moves]


def _moves_places(step: Any) -> bool:
    """Whether a step, or a step inside a group, moves pixels."""
    return op_record(type(step).__name__).moves or any(map(_moves_places, getattr(step, "transforms", ())))
