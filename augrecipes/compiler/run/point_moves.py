"""Move the boxes and keypoints of a program's samples by the matrices that it draws, many steps in one call.

Steps without a matrix, and steps whose draws depend on boxes or have other bits in Python, act in Python in between.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from augrecipes.compat.boxes import COMES, LEAVES
from augrecipes.compat.steps import Sample, functions_of, sampler_of
from augrecipes.compiler.executor.inputs import AnyImage
from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.executor.program_buffer import Op
from augrecipes.compiler.kernels.step_draws import stand_in
from augrecipes.compiler.run.points import rows_of, take_points
from augrecipes.native.op_numbers import LIMITS
from augrecipes.ops.hole_places import HolePlaces
from augrecipes.ops.native_op import MATRIX_DRAWS
from augrecipes.ops.places import FieldPlaces, MatrixPlaces

_PLACE, _BEFORE, _AFTER, _MATRIX = 0, slice(1, 3), slice(3, 5), slice(5, 14)  # columns of a move
_COLUMNS = {"bboxes": 4, "keypoints": 2}
_BYTE = np.dtype(np.uint8)


class PointMoves:
    """Moves the boxes and keypoints of a pipeline's samples.

    Args:
        pipeline: the pipeline of one thread.
        program: the program of its images.
    """

    def __init__(self, pipeline: Any, program: Program) -> None:
        self._pipeline, self._program = pipeline, program
        self._rules = [(processor.default_data_name, processor.rules) for processor in pipeline.processors.values()]
        self._python_steps = {
            place: (step, op, sampler_of(step))
            for place, (step, op) in enumerate(program.steps)
            if step is not None and _acts_in_python(step, op)
        }

    @classmethod
    def of(cls, pipeline: Any, program: Program | str) -> PointMoves | None:
        """The PointMoves of a pipeline; None where its steps must move the points."""
        compiled, keypoints = pipeline.compiled, pipeline.recipe.inputs.keypoints
        only_positions = keypoints is None or (keypoints.format == "xy" and not keypoints.flip_pairs)
        in_part = compiled.resumes or compiled.pauses or compiled.save_applied_params
        if isinstance(program, str) or in_part or not (only_positions and pipeline.takes_points):
            return None
        return cls(pipeline, program)

    def buffer(self, count: int) -> np.ndarray:
        """An array for a program's notes on how steps move places, for `count` samples; see native/moves.h."""
        return np.empty((count, len(self._program.labels) + 1, LIMITS.MOVE))

    def run(
        self, key: tuple[int, int, int], sample: Sample, image: AnyImage, moves: np.ndarray | None = None
    ) -> Sample:
        """Move the boxes and keypoints of a sample, which is changed in place, and return it.

        Args:
            key: epoch, index and tile.
            sample: the sample without its image.
            image: its image, of which only the shape is read.
            moves: the program's notes; None: they are taken now.

        Raises:
            ValueError: a box or keypoint has no place on the image.
        """
        points = take_points(sample, self._pipeline.compiled)
        is_whole = True
        if moves is None:
            moves, is_whole = self._note(key, image)
        tables = {name: _table(sample[name]) for name, _ in self._rules}
        state = _PointState(self._rules, tables, image.shape[:2], moves[0, 1])
        begin, row, is_positioned = 1, 1, False
        while self._python_steps and row <= moves[0, 0]:
            place = int(moves[row, _PLACE])
            if place in self._python_steps:
                step, op, draw = self._python_steps[place]
                if op.numbers.drawn_in_python or not _has_matrix(step):
                    state.move(moves[begin:row])
                    begin = row
                if not is_positioned:
                    self._pipeline.position(*key)
                    is_positioned = True
                if op.p < 1 and not op.forced:
                    step.py_random.random()
                before = tuple(map(int, moves[row, _BEFORE]))
                step.params = params = draw({"image": stand_in((*before, image.shape[2]), _BYTE), **state.tables})
                if op.numbers.drawn_in_python:
                    self._program.take_python_draws()
                    if not is_whole or op.numbers.resizes == ():  # its draw decides the sizes of later steps
                        moves, is_whole = self._note(key, image)
                after = tuple(map(int, moves[row, _AFTER]))
                if _has_matrix(step):
                    moves[row, _MATRIX] = step.geometry(params, after).matrix.ravel()
                else:
                    state.act(functions_of(step), params, after)
                    begin = row + 1
            row += 1
        state.move(moves[begin : int(moves[0, 0]) + 1], LEAVES)
        for name, table in state.tables.items():
            sample[name] = table[:, :-1] if len(table) else np.zeros((0, _COLUMNS[name]))
            sample[rows_of(name)] = table[:, -1]
        for target in points:
            target.put_back(sample)
        return sample

    def _note(self, key: tuple[int, int, int], image: AnyImage) -> tuple[np.ndarray, bool]:
        moves = self.buffer(1)
        return moves[0], self._program.note_moves(key, image, moves)


class _PointState:
    """Boxes and keypoints between steps, as float64 tables; the last column is the input row."""

    def __init__(self, rules: Any, tables: dict[str, np.ndarray], size: Any, passed: float) -> None:
        self.tables, self._rules, self._size, self._form, self._passed = tables, rules, size, COMES, bool(passed)

    def move(self, moves: np.ndarray, leaves: int = 0) -> None:
        """Move by the matrices of some steps."""
        for name, rule in self._rules:
            self.tables[name] = rule.move(self.tables[name], moves, self._size, self._form | leaves, self._passed)
        self._form = 0
        if len(moves):
            self._size, self._passed = moves[-1, _AFTER], True

    def act(self, functions: Any, params: Sample, after: Any) -> None:
        """Move by a step's own functions."""
        self._size, self._passed = after, True
        self.tables = {
            name: np.ascontiguousarray(functions[name](table, **params), float) for name, table in self.tables.items()
        }


def _table(points: np.ndarray) -> np.ndarray:
    count, columns = points.shape
    table = np.empty((count, columns + 1))
    table[:, :-1], table[:, -1] = points, range(count)
    return table


def _has_matrix(step: Any) -> bool:
    return isinstance(step, MatrixPlaces) and getattr(step, "rotate_method", "") != "ellipse"


def _acts_in_python(step: Any, op: Op) -> bool:
    if not isinstance(step, MatrixPlaces | FieldPlaces | HolePlaces):
        return False
    return not _has_matrix(step) or op.numbers.drawn_in_python or op.numbers.draw in MATRIX_DRAWS
