"""Objects stay whole: which box, points and instance mask are of one object, and which points a mirror exchanges.

A sample's `object` has a whole number for each box, `keypoint_object` that of its box for each point, -1 for points of
none. `keypoint_number` (k, 2), which no sample shows, has the number of each point in its image, and the one that it
has in a mirror image. Steps that reverse orientation turn a flag on the way.
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
_FIRST = 1 << 32  # of the numbers that are given out here: no label


def follow_mirrors(steps: Iterable[Any]) -> None:
    """Let transforms, and those in groups, turn the flag `MIRRORED` of samples that have it."""
    for step in steps:
        follow_mirrors(getattr(step, "transforms", ()))
        record, functions = op_record(type(step).__name__), getattr(step, "_key2func", {})
        if "keypoints" in functions and (not record.is_known or record.action in ("dihedral", "warp")):
            functions[MIRRORED] = partial(_turned, functions["keypoints"])


def _turned(move: Any, mirrored: bool, **drawn: Any) -> bool:
    """The flag behind a step, whose draw reverses orientation where its determinant is negative."""
    corners = np.asarray(move(_CORNERS.copy(), **drawn))[:, :2]
    return mirrored != (len(corners) == len(_CORNERS) and bool(np.linalg.det(corners[1:] - corners[0]) < 0))


def link(data: dict[str, Any], boxes: int | None, points: int | None, declared: Any, labels: Sequence[Any]) -> None:
    """Say which boxes and points are of one object, where the sample says so or the recipe asks, and which points a
    mirror exchanges.

    Args:
        data: the sample, changed in place.
        boxes: how many there are; None: there can be none.
        points: the same of keypoints.
        declared: what the recipe says of keypoints.
        labels: of the keypoints.

    Raises:
        DataError: numbers or masks are not as many as boxes or points, or nobody says which points are of which box.
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
    """The whole numbers under a key; None: there are none."""
    if rows is not None and data.get(key) is not None:
        found = np.asarray(data[key])
        if found.shape != (rows,) or (rows and found.dtype.kind not in "iu"):
            raise DataError(
                f"{key} of shape {found.shape} and {found.dtype} is no whole number for each of {rows} rows"
            )
        data[key] = found.astype(np.int64)
    return None if rows is None else data.get(key)


def numbers_of_points(pairs: Sequence[tuple[Any, Any]], owners: Sequence[int], labels: Sequence[Any]) -> np.ndarray:
    """The number of each point, and that in a mirror image, (k, 2).

    Args:
        pairs: of labels; of whole numbers, where these are no labels that tell the points of an object apart, those of
            places among the points of an object.
        owners: the object of each.
        labels: of each; or none.

    >>> (numbers_of_points([(0, 1)], [5, 5, 5, 6, 6, 6], []) - _FIRST).tolist()
    [[0, 1], [1, 0], [2, 2], [3, 4], [4, 3], [5, 5]]
    """
    other: dict[Any, Any] = {a: b for pair in pairs for a, b in (pair, pair[::-1])}
    tells = len({*zip(owners, labels, strict=False)}) == len(owners) or any({*pair} <= {*labels} for pair in pairs)
    numbered = all(isinstance(label, int | np.integer) for label in labels) and labels != [*range(len(owners))]
    named, turn = isinstance(pairs[0][0], str) or (tells and numbered), defaultdict[Any, Any](count)
    kinds = labels if named else [next(turn[owner]) for owner in owners]
    # Of a label that an object has twice, the second is another object's.
    keys = [(owner, next(turn[owner, kind]), kind) for owner, kind in zip(owners, kinds, strict=True)]
    number = defaultdict[Any, int](count(_FIRST).__next__)
    found = np.array([[number[key] for key in keys], [number[*key[:2], other.get(key[2], key[2])] for key in keys]]).T
    # A place where no point is means nothing.
    return found if named else np.where(np.isin(found, found[:, 0]), found, found[:, :1])


def arrange(key: str, rows: np.ndarray, done: dict[str, Any], declared: Any, labels: Any) -> tuple[Any, Any]:
    """Which of the boxes or points that are left come out, in their order; and labels by row.

    Args:
        key: `bboxes` or `keypoints`; boxes come first.
        rows: of those that are left, in the sample as it came in.
        done: the sample; what lies beside them has the same order from here on.
        declared: what the recipe says of them.
        labels: as they came in.
    """
    order: Any = slice(None)
    if key == "keypoints" and declared.of and OBJECT in done and OBJECT_OF_POINT in done:
        owner = done[OBJECT_OF_POINT][rows]
        order = np.flatnonzero((owner < 0) | np.isin(owner, done[OBJECT]))
    if key == "keypoints" and done.pop(MIRRORED, False):
        number, mirror = done[NUMBER].T.tolist()
        row_of = {one: row for row, one in enumerate(number)}
        partner = np.array([row_of.get(one, row) for row, one in enumerate(mirror)], int)
        left = np.arange(len(rows))[order]
        order = left[np.argsort(partner[rows[left]], kind="stable")]
        other = {a: b for pair in declared.flip_pairs or () for a, b in (pair, pair[::-1])}
        # A label whose partner is not there becomes what that is called.
        made = [
            labels[at] if at != row or now == then else then if label == now else other.get(label, label)
            for row, (label, at, now, then) in enumerate(zip(labels, partner, number, mirror, strict=False))
        ]
        kind = getattr(labels, "dtype", None)
        labels = made if kind is None else np.array(made, None if kind.kind == "U" else kind)
        done[NUMBER] = done[NUMBER][:, ::-1]
    for beside in BESIDE[key]:
        if len(done.get(beside, ())):
            done[beside] = select_rows(done[beside], rows[order])
    return order, labels


def select_rows(values: Any, rows: np.ndarray) -> Any:
    """Some rows of an array, or of a list."""
    return values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows]
