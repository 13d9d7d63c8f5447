"""What a store says beside its pixels: of the recipe and the data before a row is made, of its rows once all are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from augrecipes.data.packed_match import declared
from augrecipes.data.tables.packed_table import POINTS, Unreadable, columns_of, columns_of_points, layout_of
from augrecipes.pack.packing import Packing
from augrecipes.versions import made_with


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
        said = {name: self.said[name] for name in ("format", "kind", "quality", "rows", "about")}
        return {**said, "targets": dict(self.said["targets"])}

    def finished(self, notes: Mapping[int, str]) -> tuple[dict[str, Any], dict[str, Any], tuple[Unreadable, ...]]:
        """Its columns, what more its index says, and the inputs without pixels, from the notes of its rows."""
        reports = {row: parts for row, note in notes.items() if len(parts := json.loads(note)) > 1}  # than stamps
        lost = tuple(Unreadable(row, note["path"], note["reason"]) for row, note in reports.items() if "reason" in note)
        return self._columns(reports), {"unreadable": [asdict(one) for one in lost]}, lost

    def _columns(self, reports: Mapping[int, Any]) -> dict[str, Any]:
        """The columns of the data; labels, boxes and keypoints from the rows' notes."""
        found, about = dict(self.columns), self.said["about"]
        units, times = about["units"], max(1, about["epochs"])
        labels = {row // times: note["label"] for row, note in reports.items() if "label" in note}
        if labels:
            known = found.get("label", np.full(units, -1, np.int64))
            found["label"] = np.array([labels.get(unit, known[unit]) for unit in range(units)], np.int64)
        for name in self.said["points"]:
            rows = {row: _points(note[name]) for row, note in reports.items() if name in note and note[name][1]}
            found |= columns_of_points(name, rows, self.said["rows"])
        return found


def store_plan_of(packing: Packing) -> StorePlan:
    """The store that a packing makes."""
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
        "channels": packing.size.channels,
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
        "targets": [[name, role] for name, role in baker.roles.items()],
    }
    return StorePlan(said, columns_of(table))


def _points(parts: list[Any]) -> tuple[Any, Any]:
    dtype, values, labels = parts
    return np.array(values, dtype), np.array(labels, np.int64)
