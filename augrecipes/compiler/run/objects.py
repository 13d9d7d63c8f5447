"""Keep objects whole: which box, keypoints and instance mask belong together, and which keypoints a mirror exchanges.

A sample's `object` numbers each box, and `keypoint_object` has for each point the number of its box, -1 for none. The
internal `keypoint_number` (k, 2) has each point's number in the image and in the mirrored image. Steps that reverse
orientation toggle the flag `MIRRORED`.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from augrecipes.errors import DataError
from augrecipes.ops.records import op_record

OBJECT, OBJECT_OF_POINT, NUMBER, MIRRORED = "object", "keypoint_object", "keypoint_number", "_mirrored"
# Keys of a sample with a row for each box, and for each keypoint, by albumentations' names.
BESIDE = {"bboxes": (OBJECT, "masks"), "keypoints": (OBJECT_OF_POINT, NUMBER)}
_CORNERS = np.array([[0, 0, 0, 0, 1], [1, 0, 0, 0, 1], [0, 1, 0, 0, 1]], np.float32)  # as keypoints of albumentations
_FIRST = 1 << 32  # the first number given out here: larger than any label


def follow_mirrors(steps: Iterable[Any]) -> None:
    """Let transforms, and those in groups, toggle the flag `MIRRORED` of samples that have it."""
    for step in steps:
        follow_mirrors(getattr(step, "transforms", ()))
        record, functions = op_record(type(step).__name__), getattr(step, "_key2func", {})
        if "keypoints" in functions and (not record.is_known or record.action in ("dihedral", "warp")):
            functions[MIRRORED] = partial(_mirrored_flag, functions["keypoints"])


def _mirrored_flag(move: Any, mirrored: bool, **drawn: Any) -> bool:
    """The flag behind a step; a negative determinant of its draw reverses the orientation."""
    corners = np.asarray(move(_CORNERS.copy(), **drawn))[:, :2]
    return mirrored != (len(corners) == len(_CORNERS) and bool(np.linalg.det(corners[1:] - corners[0]) < 0))


def link(data: dict[str, Any], boxes: int | None, points: int | None, declared: Any, labels: Sequence[Any]) -> None:
    """Number the objects of a sample, where the sample or the recipe links boxes and points, and the points' mirrors.

    Args:
        data: the sample, changed in place.
        boxes: number of boxes; None: the recipe has none.
        points: number of keypoints; None: the recipe has none.
        declared: the recipe's `keypoints`.
        labels: labels of the keypoints.

    Raises:
        DataError: there are not as many numbers or masks as boxes or points, or the owners of points are not known.
    """
    own, owner = _numbers(data, OBJECT, boxes), _numbers(data, OBJECT_OF_POINT, points)
    if boxes is not None and len(masks := data.get("masks", ())) not in (0, max(boxes, 1)):
        what = "one for each box; let layers that are no instances travel under another name: add_targets"
        raise DataError(f"there are {boxes} boxes and {len(masks)} masks: `masks` are of instances, {what}")
    if points is None:
        return
    if own is None and boxes is not None and declared.of:
        own = data[OBJECT] = np.arange(boxes)
    if owner is None and boxes is not None and (own is not None or declared.flip_pairs):
        owner = np.repeat(np.arange(boxes) if own is None else own, points // max(boxes, 1))
        if len(owner) < points and declared.of:
            what = (
                "each box has as many of them, first those of the first box, or `keypoint_object` says whose they are"
            )
            raise DataError(f"there are {boxes} boxes and {points} keypoints: {what} (-1: of none)")
        owner = owner if len(owner) == points else np.full(points, -1)
        data |= {} if own is None else {OBJECT_OF_POINT: owner}
    if declared.flip_pairs and data.get(NUMBER) is None:
        data[NUMBER] = numbers_of_points(declared.flip_pairs, [0] * points if owner is None else [*owner], [*labels])
    data |= {} if data.get(NUMBER) is None else {MIRRORED: False}


def _numbers(data: dict[str, Any], key: str, rows: int | None) -> Any:
    """Check and return the integers under a key; None: there are none."""
    if rows is not None and data.get(key) is not None:
        array = np.asarray(data[key])
        if array.shape != (rows,) or (rows and array.dtype.kind not in "iu"):
            raise DataError(
                f"{key} of shape {array.shape} and {array.dtype} should be one whole number for each of {rows} rows"
            )
        data[key] = array.astype(np.int64)
    return None if rows is None else data.get(key)


def numbers_of_points(pairs: Sequence[tuple[Any, Any]], owners: Sequence[int], labels: Sequence[Any]) -> np.ndarray:
    """The number of each point in the image and in the mirrored image, (k, 2).

    Args:
        pairs: the labels that a mirror exchanges. Integers are positions among the points of an object, unless they are
            labels that tell these points apart.
        owners: the object of each point.
        labels: the label of each point, or empty.

    >>> (numbers_of_points([(0, 1)], [5, 5, 5, 6, 6, 6], []) - _FIRST).tolist()
    [[0, 1], [1, 0], [2, 2], [3, 4], [4, 3], [5, 5]]
    """
    other: dict[Any, Any] = {a: b for pair in pairs for a, b in (pair, pair[::-1])}
    is_unique = len({*zip(owners, labels, strict=False)}) == len(owners) or any({*pair} <= {*labels} for pair in pairs)
    is_numbered = all(isinstance(label, int | np.integer) for label in labels) and labels != [*range(len(owners))]
    by_label, counter = isinstance(pairs[0][0], str) or (is_unique and is_numbered), defaultdict[Any, Any](count)
    kinds = labels if by_label else [next(counter[owner]) for owner in owners]
    # A label that an object has twice counts as that of another object the second time.
    keys = [(owner, next(counter[owner, kind]), kind) for owner, kind in zip(owners, kinds, strict=True)]
    number = defaultdict[Any, int](count(_FIRST).__next__)
    numbers = np.array([[number[key] for key in keys], [number[*key[:2], other.get(key[2], key[2])] for key in keys]]).T
    # A position without a point has no mirror.
    return numbers if by_label else np.where(np.isin(numbers, numbers[:, 0]), numbers, numbers[:, :1])


def arrange(key: str, rows: np.ndarray, done: dict[str, Any], declared: Any, labels: Any) -> tuple[Any, Any]:
    """Which of the remaining boxes or points come out, in what order; and the labels by input row.

    Args:
        key: `bboxes` or `keypoints`; boxes come first.
        rows: input rows of the boxes or points that remain.
        done: the sample; targets with a row per box or point are put in the same order.
        declared: the recipe's `boxes` or `keypoints`.
        labels: the input labels.
    """
    order: Any = slice(None)
    if key == "keypoints" and declared.of and OBJECT in done and OBJECT_OF_POINT in done:
        owner = done[OBJECT_OF_POINT][rows]
        order = np.flatnonzero((owner < 0) | np.isin(owner, done[OBJECT]))
    if key == "keypoints" and done.pop(MIRRORED, False):
        number, mirror = done[NUMBER].T.tolist()
        row_of = {value: row for row, value in enumerate(number)}
        partner = np.array([row_of.get(value, row) for row, value in enumerate(mirror)], int)
        remaining = np.arange(len(rows))[order]
        order = remaining[np.argsort(partner[rows[remaining]], kind="stable")]
        other = {a: b for pair in declared.flip_pairs or () for a, b in (pair, pair[::-1])}
        # A point whose partner is absent takes the partner's label.
        mirrored = [
            labels[at] if at != row or own == opposite else opposite if label == own else other.get(label, label)
            for row, (label, at, own, opposite) in enumerate(zip(labels, partner, number, mirror, strict=False))
        ]
        kind = getattr(labels, "dtype", None)
        labels = mirrored if kind is None else np.array(mirrored, None if kind.kind == "U" else kind)
        done[NUMBER] = done[NUMBER][:, ::-1]
    for beside in BESIDE[key]:
        if len(done.get(beside, ())):
            done[beside] = select_rows(done[beside], rows[order])
    return order, labels


def select_rows(values: Any, rows: np.ndarray) -> Any:
    """Some rows of an array, or of a list."""
    return values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows]
