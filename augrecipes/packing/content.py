"""What is packed, and what its store will say: of the recipe and the data before a row is made, of its rows behind."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from augrecipes.errors import counted
from augrecipes.packing.bake import Baker
from augrecipes.packing.parts import PackPart
from augrecipes.packing.plan import BakedSteps
from augrecipes.redact import redact
from augrecipes.remote import Place
from augrecipes.sources.packed_columns import POINTS, Unreadable, columns_of, columns_of_points, layout_of
from augrecipes.sources.sample import RecipeSource
from augrecipes.sources.stored import declared
from augrecipes.versions import made_with

_TRIED = 16  # rows that are baked to see how large they are
_PER_ROW = 100  # bytes of tables


@dataclass(frozen=True)
class Packing:
    """A store that is going to be written, or was.

    Attributes:
        plan: which steps are baked.
        given: the data.
        out: the store's folder, or its address.
        rows: images, scenes or tiles, times the epochs that are baked.
        baker: makes the rows.
        bytes: that it will take, estimated from some rows.
        channels: of all images; None where they differ.
        unreadable: inputs without pixels; filled by `write`.
        part: of several, in folders of their own in `out`; None: all.
        shard_bytes: of the largest file of a target; None: as the writer has it.
    """

    plan: BakedSteps
    given: RecipeSource
    out: Place
    rows: int
    baker: Baker
    bytes: int
    channels: int | None
    unreadable: tuple[Unreadable, ...] = ()
    part: PackPart | None = None
    shard_bytes: int | None = None

    def __repr__(self) -> str:
        lost = [f"{len(self.unreadable):,} unreadable"] if self.unreadable else []
        facts = [self.baker.format, counted(self.rows, "row"), f"about {self.bytes:,} bytes", *lost]
        return f"<Packing to {redact(str(self.place))}: {', '.join(facts)}>"

    @property
    def place(self) -> Place:
        """Of what is written: the store, or the folder of its part."""
        return self.out if self.part is None else self.out / self.part.name

    @property
    def mine(self) -> range:
        """The rows that are made here."""
        times = self.plan.times
        units = range(self.rows // times) if self.part is None else self.part.units(self.rows // times)
        return range(units.start * times, units.stop * times)

    @property
    def expected(self) -> int:
        """How many bytes are written here: of a part its share."""
        return self.bytes * len(self.mine) // max(1, self.rows)


def estimate(baker: Baker, rows: int) -> tuple[int, int | None]:
    """Bakes a few rows, evenly spread, and returns how large a store of all will be, and the channels of its images."""
    units, times = rows // baker.times, baker.times
    chosen = range(units) if units <= _TRIED else [(2 * k + 1) * units // (2 * _TRIED) for k in range(_TRIED)]
    made = [row.items for unit in chosen for row in baker.several(range(unit * times, unit * times + 1)) if row.items]
    if not made:
        return 0, None
    sizes = [item.size for row in made for items in row.values() for item in items]
    channels = {row[name][0].shape[2] for row in made for name in baker.pipeline.outputs}
    return int(rows * (sum(sizes) / len(made) + _PER_ROW)), channels.pop() if len(channels) == 1 else None


@dataclass(frozen=True)
class StorePlan:
    """A store as it will be.

    Attributes:
        said: as JSON: `format`, `kind`, `quality`, `targets` and `rows` of its writer, what its index says `about` it,
            and which `points` come with its rows.
        columns: those of the data.
    """

    said: dict[str, Any]
    columns: Mapping[str, Any]

    @property
    def writer(self) -> dict[str, Any]:
        """The arguments of its writer."""
        return {name: said for name, said in self.said.items() if name != "points"}

    def finished(self, notes: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any], tuple[Unreadable, ...]]:
        """Its columns, what more its index says, and the inputs without pixels, from the notes of all its rows."""
        lost, about, columns = unreadable_in(range(len(notes)), notes), self.said["about"], dict(self.columns)
        reports = {row: note for row, text in enumerate(notes) if len(note := json.loads(text)) > 1}  # than stamps
        units, times = about["units"], max(1, about["epochs"])
        if labels := {row // times: note["label"] for row, note in reports.items() if "label" in note}:
            known = columns.get("label", np.full(units, -1, np.int64))
            columns["label"] = np.array([labels.get(unit, known[unit]) for unit in range(units)], np.int64)
        for name in self.said["points"]:
            rows = {row: _points(note[name]) for row, note in reports.items() if name in note and note[name][1]}
            columns |= columns_of_points(name, rows, self.said["rows"])
        return columns, {"unreadable": [asdict(one) for one in lost]}, lost


def plan_of(packing: Packing) -> StorePlan:
    """Returns the store that a packing makes."""
    table, baker, plan = packing.given.table, packing.baker, packing.plan
    takes, boxes = declared(plan.recipe.inputs), table.boxes
    about = {
        "packed": layout_of(plan.times),
        **plan.about(),
        "units": table.units,
        "data": table.digest(),
        "decode": packing.given.decode,
        "keeps_files": baker.keeps,
        "inputs": takes,
        "channels": packing.channels,
        "classes": None if table.classes is None else list(table.classes),
        "class_to_idx": table.class_to_idx,
        "box_classes": None if boxes is None or boxes.classes is None else list(boxes.classes),
        "left_out": list(packing.given.left_out),
        "versions": made_with(),
    }
    there = {"boxes": table.boxes, "keypoints": table.keypoints}
    said = {
        "about": about,
        "format": baker.format,
        "kind": plan.recipe.kind,
        "points": [name for name in POINTS if there[name] is not None and takes[name] is not None],
        "quality": baker.quality,
        "rows": packing.rows,
        "targets": baker.roles,
    }
    return StorePlan(said, columns_of(table))


def unreadable_in(rows: range, notes: Sequence[str]) -> tuple[Unreadable, ...]:
    """The inputs without pixels, from the notes of some rows."""
    reports = ((row, json.loads(note)) for row, note in zip(rows, notes, strict=True))
    return tuple(Unreadable(row, note["path"], note["reason"]) for row, note in reports if "reason" in note)


def _points(parts: list[Any]) -> tuple[Any, Any]:
    dtype, values, labels = parts
    return np.array(values, dtype), np.array(labels, np.int64)
