"""Conversion between a dataset's table and the columns of a packed store.

Columns with one entry per sample: `label`, `weight`, `group`. Image stores also have `boxes` and `keypoints`, as the
baked steps left them: `/values`, `/labels`, `/numbers` and `/offsets` (one entry per stored row, and one more). Bag
stores have `bag/name`, `bag/path`, `bag/offsets` (of the bags' tiles) and `bag/coords`. `source/TARGET` names the
original file of each unit.

Where several epochs of draws are baked, those of a unit are adjacent, so that packing opens its files once. Further
targets (`targets:`) other than images are stored as masks, H×W: the channels of vectors and normals side by side,
several masks stacked vertically.
"""

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
LAYOUT = 2  # version of the metadata that `augrecipes pack` writes
T = TypeVar("T", bound=Columns)


@dataclass(frozen=True)
class Unreadable:
    """An input that could not be packed: its row has no pixels.

    Attributes:
        row: the row in the store.
        path: the file.
        reason: why it could not be read, or transformed.
    """

    row: int
    path: str
    reason: str


def columns_of(table: Columns) -> dict[str, Column]:
    """The columns of a store from a table."""
    groups = None if table.groups is None else [*map(str, table.groups)]
    columns: dict[str, Column | None] = {"label": table.labels, "weight": table.weights, "group": groups}
    columns |= table.columns()
    columns |= {f"source/{name}": list(paths) for name, paths in table.sources().items()}
    # A store is passed on to others, who must not get the credentials in addresses.
    return {
        name: redact_all(column) if isinstance(column, list) else column
        for name, column in columns.items()
        if column is not None
    }


def table_of(store: Store, stored: Callable[..., T]) -> T:
    """The table from the columns of a store; `stored` is the constructor of its kind's table."""
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
    """The boxes or keypoints of all stored rows, in albumentations' internal format."""
    columns: Any = store.columns
    if f"{name}/values" not in columns:
        return None
    classes = store.about["box_classes"] if name == "boxes" else None
    values, offsets, labels = (columns[f"{name}/{key}"] for key in ("values", "offsets", "labels"))
    return Ragged(values, offsets, labels, classes and tuple(classes), columns.get(f"{name}/numbers"))


def unreadable_in(store: Store) -> dict[int, Unreadable]:
    """The inputs that could not be read when the store was packed, by stored row."""
    return {
        entry["row"]: Unreadable(entry["row"], entry["path"], entry["reason"]) for entry in store.about["unreadable"]
    }


def columns_of_points(name: str, points: Mapping[int, tuple[npt.NDArray[Any], ...]], rows: int) -> Any:
    """The columns of boxes or keypoints from (values, labels, numbers) by stored row; absent rows have none."""
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
    """A target as an array that a store can keep; DataError if it cannot."""
    if target.is_image:
        return array
    if array.dtype not in DTYPES:
        array = array.astype(np.float32 if array.dtype.kind == "f" else np.int32)
    if not array.size:
        raise DataError(f"{name} holds no masks, which a store cannot keep")
    return array.reshape(-1, array.shape[-1]) if target.like == "masks" else array.reshape(len(array), -1)


def as_array(item: npt.NDArray[Any], target: Target, image: tuple[int, ...]) -> npt.NDArray[Any]:
    """The inverse of `as_item`; `image`: the shape of the stored image."""
    if target.is_image:
        return item
    rows, columns = (int(side * target.factor) for side in image[:2])
    shape = (-1, rows, columns) if target.like == "masks" else (rows, columns, -1)[: 2 + target.has_directions]
    return item.reshape(shape)


def described_targets(targets: Mapping[str, Target]) -> dict[str, Any]:
    """The metadata of targets in a store, as plain data."""
    return {name: canonical(replace(target, presence="required")) for name, target in targets.items()}


def packed_targets(store: Store, row: int, inputs: Inputs, image: tuple[int, ...]) -> Iterator[tuple[str, Any]]:
    """Yield the targets of a stored row that a recipe's inputs declare, with their names."""
    for name in store.about.get("further", {}):
        if name in inputs.targets:
            yield name, as_array(store.array(name, store.items(name, row)[0]), inputs.targets[name], image)


def target_mismatches(store: Store, inputs: Inputs) -> Iterator[str]:
    """Yield messages on targets that a recipe's inputs declare and a store lacks, or declares otherwise."""
    stored, mine = store.about.get("further", {}), described_targets(inputs.targets)
    for name, target in inputs.targets.items():
        if name not in stored and target.presence == "required":
            yield f"the recipe requires {name}, and the store has none"
        if name in stored and stored[name] != mine[name]:
            yield f"was packed by a recipe whose targets declare {name} as {stored[name]}, this one as {mine[name]}"
