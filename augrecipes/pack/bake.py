"""One row of a store: a picture, a scene or a tile, read and run through the steps that are baked. Runs in workers."""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.data.read import naming_all, read_targets
from augrecipes.data.tables.bag_table import BagTable
from augrecipes.data.tables.packed_table import POINTS, units_of
from augrecipes.data.tables.pair_table import PairTable
from augrecipes.data.tables.table import Columns, Table
from augrecipes.errors import DataError
from augrecipes.sources.file_bytes import stamp_of
from augrecipes.sources.files import read_image
from augrecipes.sources.store import Item, make_item


@dataclass
class Baked:
    """What becomes of one row.

    Attributes:
        items: the pixels, by target; none where the input is unreadable.
        note: what else is known of the row, as JSON text: the stamps of its files; boxes and keypoints, or why there
            are no pixels.
    """

    items: dict[str, list[Item]] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class Baker:
    """Makes the rows of a store; pickles.

    Attributes:
        pipeline: the baked steps.
        table: the data.
        decode: arguments of `read_image`.
        roles: of the targets, `image` or `mask`.
        format: of the store.
        quality: of formats that lose something.
    """

    pipeline: Pipeline
    table: Columns
    decode: dict[str, Any]
    roles: dict[str, Any]
    format: str
    quality: int

    def row(self, row: int) -> Baked:
        """Row `row`: of each baked epoch one row a picture, scene or tile, one epoch after another."""
        epoch, unit = divmod(row, units_of(self.table))
        stamp = self.stamp(row)
        try:
            done = self.arrays(unit, epoch)
        except DataError as error:
            lost = error if error.path else error.with_path(self._path(unit))
            return Baked(note=_dump({"stamp": stamp, "path": lost.path, "reason": _reason(lost)}))
        made = {
            name: [make_item(done[name], format=self.format, role=role, quality=self.quality)]
            for name, role in self.roles.items()
        }
        return Baked(made, _dump({"stamp": stamp, **self._points(done)}))

    def stamp(self, row: int) -> list[str]:
        """What tells the files of a row from others that take their places while a run is interrupted."""
        unit = row % units_of(self.table)
        match self.table:
            case Table(images=images, masks=masks):
                files = [images[unit], *([masks[unit]] if masks is not None else [])]
            case PairTable(files=by_target):
                files = [by_target[name][unit] for name in self.pipeline.targets]
            case BagTable(tiles=tiles):
                files = [tiles[unit]]
        return [stamp_of(file) for file in files]

    def arrays(self, unit: int, epoch: int) -> dict[str, Any]:
        """What the baked steps leave of a picture, scene or tile."""
        table, at = self.table, self.pipeline.at
        match table:
            case Table():
                given = read_targets(
                    table, unit, inputs=self.pipeline.recipe.inputs, undecoded=self.pipeline.reads, **self.decode
                )
                done = at(unit, epoch)(**given)
                if "mask" in done:
                    done["mask"] = _as_before(done["mask"], given["mask"])
                return done
            case PairTable():
                paths = {name: table.files[name][unit] for name in self.pipeline.targets}
                images = {name: read_image(path, **self.decode) for name, path in paths.items()}
                try:
                    return at(unit, epoch)(**images)
                except DataError as error:
                    raise naming_all(error, paths) from error.__cause__
            case BagTable():
                bag = bisect_right(table.offsets, unit) - 1
                tile = unit - int(table.offsets[bag])
                return at(bag, epoch, tile)(image=read_image(table.tiles.encoded(unit), **self.decode))
        raise TypeError(f"no table of samples: {type(table).__name__}")

    def _points(self, done: dict[str, Any]) -> dict[str, Any]:
        """Boxes and keypoints, with the dtype that the steps left them in."""
        if not isinstance(self.table, Table):
            return {}
        inputs = self.pipeline.recipe.inputs
        report = {}
        for name, declared in zip(POINTS, (inputs.boxes, inputs.keypoints), strict=True):
            if name in done and declared is not None:
                values: npt.NDArray[Any] = done[name]
                labels = np.asarray(done[declared.labels], np.int64) if declared.labels else np.zeros(len(values))
                report[name] = [str(values.dtype), values.tolist(), labels.astype(int).tolist()]
        return report

    def _path(self, unit: int) -> str:
        match self.table:
            case Table(images=files) | BagTable(tiles=files):
                return files[unit]
            case PairTable(files=by_target):
                return next(iter(by_target.values()))[unit]
        return ""


def _as_before(mask: npt.NDArray[Any], given: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The mask in the dtype of its file, which holds all that steps can make of it."""
    back = mask.astype(given.dtype)
    if not np.array_equal(back, mask):
        raise DataError(f"the baked steps leave mask labels that {given.dtype} does not hold")
    return back


def _reason(error: DataError) -> str:
    return f"step {error.step}: {error.reason}" if error.step else error.reason


def _dump(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
