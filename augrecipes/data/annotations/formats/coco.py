"""COCO: one JSON file with `images`, `annotations` and `categories`.

Boxes, polygons, run-length masks and keypoints with their visibility. Categories become 0, 1, ... in the order of
their ids, whatever gaps these have. `iscrowd` marks crowds, `ignore` what else is not to be learnt. Compressed run
lengths are read here and not by pycocotools, which damaged ones crash: a file must not be able to end the process.
"""

from __future__ import annotations

from collections.abc import Hashable
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from augrecipes.data.annotations.found import FoundObjects, Request
from augrecipes.data.annotations.numbers import bounds, numbers_of
from augrecipes.data.annotations.pictures import folder_of, no_splits
from augrecipes.data.annotations.source import PathView, read_json
from augrecipes.data.tables.outlines import runs
from augrecipes.errors import DataError

TITLE = "COCO"
LOOKS = "a JSON file with `images`, `annotations` and `categories`"
_INDEX = "_annotations.coco.json"  # as Roboflow calls it, beside the pictures
_MOST = 1e15
_MOST_BYTES = 1 << 32
_MOST_PIXELS = 1 << 28
_MOST_BITS = 40  # of a run length


def claims(source: PathView) -> bool:
    """A JSON file that is not labelme's, or a folder with the one that Roboflow writes."""
    if source.is_folder:
        return (source.path / _INDEX).is_file()
    return source.suffix == ".json" and b'"shapes"' not in source.head and b'"imageData"' not in source.head


def read(asked: Request, found: FoundObjects) -> None:
    """Read the file."""
    path = asked.path / _INDEX if asked.source.is_folder else asked.path
    no_splits(asked, "a COCO file")
    reader = _CocoReader(asked, found, str(path))
    said = read_json(path, _MOST_BYTES)
    if not isinstance(said, dict):
        raise DataError("the outermost value should be an object, { ... }", str(path))
    take = {"images": reader.image, "annotations": reader.annotation, "categories": reader.category}
    if missing := [name for name in take if not isinstance(said.get(name), list)]:
        has = ", ".join(said) or "nothing"
        raise DataError(f"is no COCO file: no list of {' and no '.join(missing)} in it; it has {has}", str(path))
    for name, use in take.items():
        for place, entry in enumerate(said.pop(name)):
            use(entry, place)
    reader.finish()
    found.root = folder_of(asked, found.names, _places(path))


def _places(path: Path) -> list[Path]:
    """Where pictures lie, as data sets are laid out: beside the file, or beside its folder, by its split's name."""
    folder, split = path.parent, path.stem.partition("_")[2] or path.stem
    named = [at / below for at in (folder, folder.parent) for below in (split, f"images/{split}", "images", "data")]
    return [folder, *named, folder.parent]


class _CocoReader:
    def __init__(self, asked: Request, found: FoundObjects, file: str) -> None:
        self.found, self.file = found, file
        self.outlines, self.keypoints = "mask" in asked.takes, "keypoints" in asked.takes
        found.record = "annotation {}"
        # Annotations may stand before the pictures and categories that they name: numbers are given at first sight.
        self.rows: dict[Hashable, int] = {}
        self.images: dict[int, int] = {}  # position of each picture by the number of its id
        self.categories: dict[Hashable, int] = {}
        self.names: dict[Hashable, str] = {}

    def image(self, entry: Any, place: int) -> None:
        """An entry of `images`."""
        where = f"{self.file}: image {place + 1}"
        number = entry.get("id") if isinstance(entry, dict) else None
        if not isinstance(number, int | str):
            self.found.faults.add(where, "should be an object with an `id`")
            return
        where = f"{self.file}: image id {number}"
        row = self.rows.setdefault(number, len(self.rows))
        if row in self.images:
            self.found.faults.add(where, "there is another image of this id")
            return
        position = self.found.picture(
            entry.get("file_name"), self.file, width=entry.get("width"), height=entry.get("height"),
            number=number if isinstance(number, int) else -1, where=where,
        )  # fmt: skip
        self.images[row] = position

    def category(self, entry: Any, place: int) -> None:
        """An entry of `categories`."""
        number, name = (entry.get("id"), entry.get("name")) if isinstance(entry, dict) else (None, None)
        if not isinstance(number, int | str) or not isinstance(name, str):
            self.found.faults.add(f"{self.file}: category {place + 1}", "should be an object with an `id` and a `name`")
        elif number in self.names:
            self.found.faults.add(f"{self.file}: category id {number}", "there is another category of this id")
        else:
            self.names[number] = name

    def annotation(self, entry: Any, place: int) -> None:
        """An entry of `annotations`."""
        try:
            picture, category, number = entry["image_id"], entry["category_id"], entry.get("id", place + 1)
            row = self.rows.setdefault(picture, len(self.rows))
            label = self.categories.setdefault(category, len(self.categories))
        except (KeyError, TypeError, AttributeError):
            self.found.faults.add(f"{self.file}: annotation {place + 1}", _needs(entry))
            return
        corners = self._corners(entry)
        if corners is None:
            what = f"`bbox` should be [x, y, width, height] in px, got {str(entry.get('bbox'))[:60]}"
            self.found.faults.add(f"{self.file}: annotation {number}", what)
            return
        record = number if type(number) is int and abs(number) < 1 << 62 else place + 1
        flagged = bool(entry.get("iscrowd") or entry.get("ignore"))
        thing = self.found.thing(row, label, corners, record, flagged=flagged)
        if self.outlines and entry.get("segmentation"):
            self._segmentation(entry, thing, number)
        if self.keypoints and entry.get("keypoints"):
            values = numbers_of(entry["keypoints"])
            if values is None or len(values) % 3:
                self.found.faults.add(
                    f"{self.file}: annotation {number}", "`keypoints` should be [x, y, v, x, y, v, ...]"
                )
            else:
                self.found.points(thing, values)

    def _corners(self, entry: dict[str, Any]) -> tuple[float, float, float, float] | None:
        box = entry.get("bbox")
        if box is None or box == []:
            points = [value for ring in _polygons(entry.get("segmentation")) or () for value in ring]
            return bounds(points) if points else None
        try:
            x, y, width, height = box
            total = x + y + width + height
            fine = type(total) in (float, int) and isfinite(total) and -_MOST < total < _MOST
        except (TypeError, ValueError, OverflowError):
            return None
        return (x, y, x + width, y + height) if fine else None

    def _segmentation(self, entry: dict[str, Any], thing: int, number: Any) -> None:
        given = entry["segmentation"]
        rings = _polygons(given)
        what = ""
        if rings is not None:
            for ring in rings:
                self.found.ring(thing, ring)
        elif isinstance(given, dict):
            what = self._run_lengths(given, thing)
        else:
            what = "`segmentation` should be a list of polygons [x, y, x, y, ...], or run lengths"
        if what:
            self.found.faults.add(f"{self.file}: annotation {number}", what)

    def _run_lengths(self, given: dict[str, Any], thing: int) -> str:
        """Take run lengths, or say what is wrong with them."""
        size, counts = numbers_of(given.get("size"), 2), given.get("counts")
        if size is None or not all(value.is_integer() and 0 < value < _MOST_PIXELS for value in map(float, size)):
            return "run lengths need a `size`: [height, width]"
        height, width = map(int, size)
        if height * width > _MOST_PIXELS:
            return f"run lengths of {height}×{width} px"
        values = counts_of(counts) if isinstance(counts, str) else numbers_of(counts)
        if values is None or any(value < 0 or value != int(value) for value in values) or sum(values) != height * width:
            what = f"whole numbers, or COCO's text of them, that add up to {height}×{width}"
            return f"`counts` of run lengths should be {what}"
        self.found.run_lengths(thing, runs("columns", 0, 0, width, height, [int(value) for value in values]))
        return ""

    def finish(self) -> None:
        """What can be said when all has been read."""
        found = self.found
        order = sorted(self.names, key=lambda number: (isinstance(number, str), number))
        place = {number: k for k, number in enumerate(order)}
        found.classes = [self.names[number] for number in order]
        found.class_numbers = [number for number in order if isinstance(number, int)] or None
        if not len(found):
            return
        rows, labels = np.frombuffer(found.pictures, np.int32), np.frombuffer(found.labels, np.int32)
        positions = np.array([self.images.get(row, -1) for row in range(len(self.rows))], np.int32)[rows]
        classes = np.array([place.get(number, -1) for number in self.categories], np.int32)[labels]
        ids, categories = list(self.rows), list(self.categories)
        for what, values, given, names in (
            ("image", positions, rows, ids),
            ("category", classes, labels, categories),
        ):
            for k in np.flatnonzero(values < 0).tolist():
                if what == "category" or given[k] not in self.images:  # the picture itself is at fault
                    fault = f"there is no {what} of id {names[given[k]]!r}"
                    found.faults.add(f"{self.file}: annotation {found.records[k]}", fault)
        rows[:], labels[:] = np.maximum(positions, 0), np.maximum(classes, 0)


def counts_of(text: str) -> list[int] | None:
    """The run lengths in COCO's compressed text: five bits a character, from the third on the change since the last but
    one. None where it is something else.

    >>> counts_of("52203")
    [5, 2, 2, 2, 5]
    """
    counts: list[int] = []
    value = shift = 0
    for character in map(ord, text):
        bits = character - 48
        if not 0 <= bits < 64 or shift > _MOST_BITS:
            return None
        value |= (bits & 31) << shift
        shift += 5
        if bits & 32:
            continue
        value -= (bits & 16 and 1) << shift
        counts.append(value + (counts[-2] if len(counts) > 2 else 0))
        value = shift = 0
    return None if shift else counts


def _polygons(given: Any) -> list[list[float]] | None:
    """The polygons of a segmentation as lists of numbers; None where it is something else."""
    if not isinstance(given, list):
        return None
    rings = [numbers_of(ring) for ring in given]
    return None if any(ring is None or len(ring) % 2 for ring in rings) else rings  # type: ignore[return-value]


def _needs(entry: Any) -> str:
    if not isinstance(entry, dict):
        return "should be an object"
    lacking = [name for name in ("image_id", "category_id") if not isinstance(entry.get(name), int | str)]
    more = "; are these captions, or panoptic annotations?" if {"caption", "segments_info"} & set(entry) else ""
    return f"no {' and no '.join(lacking) or 'image_id that is a number'}{more}"
