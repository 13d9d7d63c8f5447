"""Boxes and keypoints: albumentations' processors for them, and how a sample's are passed in, moved and passed out.

Those of a program's samples move by the matrices that it draws, many steps in one call. Steps without a matrix, and
steps whose draws depend on boxes or have other bits in Python, act in Python in between.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import A, Sample, functions_of, sampler_of
from augrecipes.compat.boxes import COMES, LEAVES
from augrecipes.compiler.executor.inputs import AnyImage
from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.executor.program_buffer import Op
from augrecipes.compiler.kernels.step_draws import stand_in
from augrecipes.compiler.rewrite import Compiled
from augrecipes.compiler.run.objects import NUMBER, arrange, link, select_rows
from augrecipes.compiler.run.targets import check_presence
from augrecipes.errors import DataError
from augrecipes.native.op_numbers import LIMITS
from augrecipes.ops.hole_places import HolePlaces
from augrecipes.ops.native_op import MATRIX_DRAWS
from augrecipes.ops.places import FieldPlaces, MatrixPlaces
from augrecipes.recipe.model import Boxes, Inputs, Keypoints

_KEYS = frozenset({"boxes", "bboxes", "keypoints"})
_NUMBERS = frozenset({int, float})
PARAMS = {"bbox_params": A.BboxParams, "keypoint_params": A.KeypointParams}
_INNER = {"bbox_params": "bboxes", "keypoint_params": "keypoints"}
_OURS = ("labels", "presence", "of", "flip_pairs")  # fields of boxes and keypoints that albumentations lacks


def params_of(inputs: Inputs) -> dict[str, dict[str, Any]]:
    """The arguments of BboxParams and KeypointParams, by Compose's argument."""
    params: dict[str, dict[str, Any]] = {}
    for key, declared in (("bbox_params", inputs.boxes), ("keypoint_params", inputs.keypoints)):
        if declared is not None and declared.presence != "absent":
            labels = [declared.labels] if declared.labels else None
            fields = {name: value for name, value in asdict(declared).items() if name not in _OURS}
            params[key] = {"format": declared.format, "label_fields": labels, **fields}
    return params


def processors(inputs: Inputs) -> dict[str, Any]:
    """Albumentations' box and keypoint processors, as the recipe's inputs declare them; row numbers are labels, too."""
    params = params_of(inputs)
    for key, own in params.items():
        own["label_fields"] = [*(own["label_fields"] or ()), rows_of(_INNER[key])]
    return {key: PARAMS[key](**own) for key, own in params.items()}


def rows_of(inner: str) -> str:
    """The key of row numbers, which restore labels: albumentations converts these to float32 and loses some."""
    return f"_{inner}_rows"


@dataclass(frozen=True, slots=True)
class Points:
    """The boxes or the keypoints of one sample, on their way through the steps.

    Attributes:
        inner: albumentations' key.
        outer: the sample's key; None: the sample has none, and none come out.
        labels: the sample's labels.
        declared: the recipe's `boxes` or `keypoints`.
        dtype: dtype of the result; None: as the steps leave it.
    """

    inner: str
    outer: str | None
    labels: Any
    declared: Boxes | Keypoints
    dtype: Any = np.float32

    def put_back(self, done: dict[str, Any]) -> None:
        """Turn albumentations' result into the sample's: arrays of `dtype`, with the input's labels."""
        array, rows = done.pop(self.inner), np.array(done.pop(rows_of(self.inner), ()), int)
        done.pop(self.declared.labels or "", None)
        if self.outer is None:
            return
        order, labels = arrange(self.inner, rows, done, self.declared, self.labels)
        done[self.outer] = np.array(array[order], self.dtype)
        if self.declared.labels:
            done[self.declared.labels] = select_rows(labels, rows[order])
        if self.dtype is not None and self.inner == "keypoints":
            done.pop(NUMBER, None)


def take_points(data: dict[str, Any], compiled: Compiled) -> Sequence[Points]:
    """Move a sample's boxes and keypoints to albumentations' keys; return what puts them back.

    Args:
        data: the sample, changed in place.
        compiled: the recipe. Where it resumes they come in albumentations' format and keep their dtype; where it
            pauses they come out so.
    """
    inputs = compiled.recipe.inputs
    if inputs.boxes is None and inputs.keypoints is None and _KEYS.isdisjoint(data):
        return ()  # the usual case
    box_key = "bboxes" if "bboxes" in data else "boxes"
    dtypes = [None if own else np.float32 for own in (compiled.resumes, compiled.pauses)]
    both = (
        _take(data, box_key, "bboxes", inputs.boxes, *dtypes),
        _take(data, "keypoints", "keypoints", inputs.keypoints, *dtypes),
    )
    present = [points for points in both if points is not None and points.outer]
    counts = {points.inner: len(data[points.inner]) for points in present}
    labels = present[-1].labels if present else ()
    link(data, counts.get("bboxes"), counts.get("keypoints"), inputs.keypoints, labels)
    return [points for points in both if points is not None]


def _take(data: dict[str, Any], key: str, inner: str, declared: Any, comes: Any, leaves: Any) -> Points | None:
    """Move the points under `key`, as dtype `comes`, to albumentations' key `inner`; None: the recipe has none."""
    is_present = data.get(key) is not None
    if declared is None:
        if is_present:
            raise DataError(f"the sample has {key}, and the recipe's inputs do not declare any: add `inputs: {key}:`")
        data.pop(key, None)
        return None
    check_presence(key, declared.presence, is_present=is_present)
    points = data.pop(key, None)
    if declared.presence == "absent":
        return None
    array = _as_array(key, () if points is None else points, 4 if inner == "bboxes" else 2, comes)
    data[inner] = array
    labels: Any = ()
    if declared.labels:
        labels = data.get(declared.labels)
        if labels is None and len(array):
            raise DataError(f"the sample has {key} and no {declared.labels!r}, one label for each")
        labels = () if labels is None else labels
        if len(labels) != len(array):
            raise DataError(f"the sample has {len(array)} {key} and {len(labels)} {declared.labels}")
        data[declared.labels] = _encodable(labels)
    data[rows_of(inner)] = list(range(len(array)))
    return Points(inner, key if is_present else None, labels, declared, leaves)


def _encodable(labels: Sequence[Any]) -> list[Any]:
    """Labels that albumentations can encode, for steps that look for some; labels of mixed types become zeros."""
    values = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    kinds = {*map(type, values)}
    is_uniform = kinds <= _NUMBERS or any(all(issubclass(kind, base) for kind in kinds) for base in (str, (int, float)))
    return values if is_uniform else [0] * len(values)


def _as_array(name: str, points: Any, columns: int, dtype: Any) -> np.ndarray:
    """Copy boxes or keypoints to an array (n, columns or more) of `dtype`; None: their own dtype."""
    array = np.array(points, dtype)
    if array.size == 0:
        return np.zeros((0, columns), np.float32)
    if array.ndim != 2 or array.shape[1] < columns:
        raise DataError(f"{name} must be an array of shape (n, {columns}), got shape {array.shape}")
    return array


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
    def of(cls, pipeline: Any, program: Program | str) -> "PointMoves | None":
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
