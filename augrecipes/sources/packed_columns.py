"""What a dataset knows of its samples, as columns of a packed store, and back.

Columns, one entry a sample: `label`, `weight`, `group`. Of image stores also `boxes` and `keypoints`, as the baked
steps left them: `/values`, `/labels`, `/numbers` and `/offsets` (one entry a stored row and one more). Of bag stores
`bag/name`, `bag/path`, `bag/offsets` (of the bags' tiles) and `bag/coords`. `source/TARGET` names the file behind each
unit.

Where epochs of draws are baked, those of a unit stand side by side, so that who writes them opens its files once.
Further targets of a scene (`targets:`) that are no images are kept as masks, H×W: the channels of vectors and normals
side by side in one, several masks one below another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from augrecipes.errors import DataError
from augrecipes.images.lossless import DTYPES
from augrecipes.recipe.model import Inputs, canonical
from augrecipes.recipe.targets import Target
from augrecipes.redaction import redact_all
from augrecipes.sources.columns import Columns, Ragged
from augrecipes.sources.paths import PathTable
from augrecipes.store import Store

Column = npt.NDArray[Any] | Sequence[str]
POINTS = ("boxes", "keypoints")
LAYOUT = 2  # of what `augrecipes pack` says of its stores
T = TypeVar("T", bound=Columns)


@dataclass(frozen=True)
class Unreadable:
    """An input without pixels in the store.

    Attributes:
        row: of the store.
        path: the file.
        reason: why it could not be read, or transformed.
    """

    row: int
    path: str
    reason: str


def columns_of(table: Columns) -> dict[str, Column]:
    """The columns of a table."""
    groups = None if table.groups is None else [*map(str, table.groups)]
    columns: dict[str, Column | None] = {"label": table.labels, "weight": table.weights, "group": groups}
    columns |= table.columns()
    columns |= {f"source/{name}": list(paths) for name, paths in table.sources().items()}
    # A store is given away: whoever reads it may not log in as who packed it.
    known = {name: column for name, column in columns.items() if column is not None}
    return {name: redact_all(column) if isinstance(column, list) else column for name, column in known.items()}


def table_of(store: Store, stored: Callable[..., T]) -> T:
    """The table whose columns `store` has: its kind's class makes it, by `stored`."""
    columns, about = store.columns, store.about
    groups = columns.get("group")
    common: dict[str, Any] = {
        "labels": columns.get("label"),
        "weights": columns.get("weight"),
        "groups": None if groups is None else np.array(list(cast("Sequence[str]", groups))),
        "classes": None if about["classes"] is None else tuple(about["classes"]),
        "class_to_idx": about["class_to_idx"],
    }
    common |= {name: _points(store, name) for name in POINTS}
    paths = {name: PathTable.from_texts(columns[f"source/{name}"], about["units"]) for name in store.targets}
    common["targets"] = {name: paths.pop(name) for name in store.about.get("further", {})}
    return stored(paths, columns, **common)


def _points(store: Store, name: str) -> Ragged | None:
    """The boxes or keypoints of all stored rows, in albumentations' own terms."""
    columns: Any = store.columns
    if f"{name}/values" not in columns:
        return None
    classes = store.about["box_classes"] if name == "boxes" else None
    values, offsets, labels = (columns[f"{name}/{key}"] for key in ("values", "offsets", "labels"))
    return Ragged(values, offsets, labels, classes and tuple(classes), columns.get(f"{name}/numbers"))


def unreadable_in(store: Store) -> dict[int, Unreadable]:
    """The inputs that could not be read when the store was packed, by stored row."""
    return {one["row"]: Unreadable(one["row"], one["path"], one["reason"]) for one in store.about["unreadable"]}


def columns_of_points(name: str, points: Mapping[int, tuple[npt.NDArray[Any], ...]], rows: int) -> Any:
    """The columns of boxes or keypoints: (values, labels, numbers) by stored row, the others have none."""
    counts = np.zeros(rows, np.int64)
    counts[list(points)] = [len(values) for values, *_ in points.values()]
    some = [points[row] for row in sorted(points) if counts[row]]
    dtypes = {values.dtype for values, *_ in some}
    if len(dtypes) > 1:
        raise DataError(f"the steps leave {name} as {' and '.join(sorted(map(str, dtypes)))}: they cannot be stored")
    nothing = np.zeros((0, 4 if name == "boxes" else 5), np.float32), np.zeros(0, np.int64), np.zeros((0, 0), np.int64)
    values, labels, numbers = map(np.concatenate, zip(*some, strict=True)) if some else nothing
    columns = {"values": values, "labels": labels} | ({"numbers": numbers} if numbers.size else {})
    columns["offsets"] = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return {f"{name}/{key}": column for key, column in columns.items()}


def as_item(array: npt.NDArray[Any], name: str, target: Target) -> npt.NDArray[Any]:
    """A target as a store keeps it; DataError where it keeps no such thing."""
    if target.is_image:
        return array
    if array.dtype not in DTYPES:
        array = array.astype(np.float32 if array.dtype.kind == "f" else np.int32)
    if not array.size:
        raise DataError(f"{name} holds no masks, which a store cannot keep")
    return array.reshape(-1, array.shape[-1]) if target.like == "masks" else array.reshape(len(array), -1)


def as_array(item: npt.NDArray[Any], target: Target, image: tuple[int, ...]) -> npt.NDArray[Any]:
    """What `as_item` made one of; `image`: the shape of the stored image."""
    if target.is_image:
        return item
    rows, columns = (int(side * target.factor) for side in image[:2])
    shape = (-1, rows, columns) if target.like == "masks" else (rows, columns, -1)[: 2 + target.has_directions]
    return item.reshape(shape)


def described_targets(targets: Mapping[str, Target]) -> dict[str, Any]:
    """What a store says of targets, as plain data."""
    return {name: canonical(replace(target, presence="required")) for name, target in targets.items()}


def packed_targets(store: Store, row: int, inputs: Inputs, image: tuple[int, ...]) -> Iterator[tuple[str, Any]]:
    """The targets of a stored row that a recipe's inputs declare, by name."""
    for name in store.about.get("further", {}):
        if name in inputs.targets:
            yield name, as_array(store.array(name, store.items(name, row)[0]), inputs.targets[name], image)


def target_mismatches(store: Store, inputs: Inputs) -> Iterator[str]:
    """Why a store does not hold the targets that a recipe's inputs declare."""
    there, mine = store.about.get("further", {}), described_targets(inputs.targets)
    for name, target in inputs.targets.items():
        if name not in there and target.presence == "required":
            yield f"the recipe requires {name}, and the store has none"
        if name in there and there[name] != mine[name]:
            yield f"was packed by a recipe whose targets declare {name} as {there[name]}, this one as {mine[name]}"
