"""COCO: one JSON file with `images`, `annotations` and `categories`.

Boxes, polygons, run-length masks and keypoints with their visibility. Categories become 0, 1, ... in the order of
their ids, whatever gaps these have. `iscrowd` marks crowds, `ignore` what else is not to be learnt. Compressed run
lengths are read here and not by pycocotools, which damaged ones crash: a file must not be able to end the process.
"""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import Any

from augrecipes.errors import DataError
from augrecipes.sources.annotations.files import PathView, folder_of, read_json
from augrecipes.sources.annotations.records import AnnotationOptions, AnnotationSet, bounds, numbers_of
from augrecipes.sources.polygons import run_bounds, runs

TITLE = "COCO"
LOOKS = "a JSON file with `images`, `annotations` and `categories`"
_INDEX = "_annotations.coco.json"  # as Roboflow calls it, beside the images
_PARTS = ("images", "annotations", "categories")
_MOST = 1e15
_MOST_BYTES = 1 << 32
_MOST_PIXELS = 1 << 28
_MOST_BITS = 40  # of a run length


def claims(source: PathView) -> bool:
    """A JSON file that is not labelme's, or a folder with the one that Roboflow writes."""
    if source.is_folder:
        return (source.path / _INDEX).is_file()
    head = source.head(".json")
    return bool(head) and b'"shapes"' not in head and b'"imageData"' not in head


def read(source: PathView, asked: AnnotationOptions, found: AnnotationSet) -> None:
    """Read the file."""
    path = source.path / _INDEX if source.is_folder else source.path
    said = read_json(path, _MOST_BYTES)
    if not isinstance(said, dict):
        raise DataError("the outermost value should be an object, { ... }", str(path))
    if missing := [name for name in _PARTS if not isinstance(said.get(name), list)]:
        raise DataError(f"is no COCO file: no list of {' and no '.join(missing)} in it", str(path))
    found.record, file = "annotation {}", str(path)
    images: dict[Any, int] = {}
    for number, entry in _by_id(said["images"], "image", found, path).items():
        where, size = f"{file}: image id {number}", (entry.get("width"), entry.get("height"))
        images[number] = found.image(entry.get("file_name"), file, size, number=number, where=where)
    categories = _by_id(said["categories"], "category", found, path)
    order = sorted(categories, key=lambda number: (isinstance(number, str), number))
    found.use_classes([str(categories[number].get("name")) for number in order])
    for number in order:
        if not isinstance(categories[number].get("name"), str):
            found.fault(f"{file}: category id {number}", "should have a `name`")
    found.class_ids = [number for number in order if isinstance(number, int)] or None
    labels = {number: k for k, number in enumerate(order)}
    for number, label in labels.items():
        names = categories[number].get("keypoints")
        found.shifts[label] = found.pair_sides(asked, [str(name) for name in names] if isinstance(names, list) else [])
    for place, entry in enumerate(said["annotations"], 1):
        if what := _object(entry, place, images, labels, asked.takes, found):
            number = entry.get("id", place) if isinstance(entry, dict) else place
            found.fault(f"{file}: annotation {number}", what)
    found.root = found.within = folder_of(asked, found.names, _places(path), source.path)


def _places(path: Path) -> list[Path]:
    """Where images lie, as data sets are laid out: beside the file, or beside its folder, by its split's name."""
    folder, split = path.parent, path.stem.partition("_")[2] or path.stem
    named = [at / below for at in (folder, folder.parent) for below in (split, f"images/{split}", "images", "data")]
    return [folder, *named, folder.parent]


def _by_id(entries: list[Any], what: str, found: AnnotationSet, path: Path) -> dict[int | str, dict[str, Any]]:
    """Images or categories by their ids."""
    by_id: dict[int | str, dict[str, Any]] = {}
    for place, entry in enumerate(entries, 1):
        number = entry.get("id") if isinstance(entry, dict) else None
        if not isinstance(number, int | str):
            found.fault(f"{path}: {what} {place}", "should be an object with an `id`")
        elif number in by_id:
            found.fault(f"{path}: {what} id {number}", f"there is another {what} of this id")
        else:
            by_id[number] = entry
    return by_id


def _object(
    entry: Any, place: int, images: dict[Any, int], labels: dict[Any, int], takes: frozenset[str], found: AnnotationSet
) -> str:
    """Add an entry of `annotations`, or say what is wrong with it."""
    try:
        image, label, number = images.get(entry["image_id"]), labels.get(entry["category_id"]), entry.get("id")
    except (KeyError, TypeError, AttributeError):
        return _needs(entry)
    corners = _corners(entry)
    if isinstance(corners, str):
        return corners
    if image is None:
        return f"there is no image of id {entry['image_id']!r}"
    if label is None:
        return f"there is no category of id {entry['category_id']!r}"
    if image < 0:  # the image itself is at fault
        return ""
    record = number if type(number) is int and abs(number) < 1 << 62 else place
    thing = found.add(image, label, corners, record, flagged=bool(entry.get("iscrowd") or entry.get("ignore")))
    area = entry.get("segmentation") if "mask" in takes else None
    if area:
        rings = _polygons(area)
        for ring in rings or ():
            found.area(thing, ring)
        if isinstance(area, dict):
            lengths = _run_lengths(area)
            if isinstance(lengths, str):
                return lengths
            width, height, *counts = lengths
            found.area(thing, runs=runs(counts, 0, 0, width, height, whole=True))
        elif rings is None:
            return "`segmentation` should be a list of polygons [x, y, x, y, ...], or run lengths"
    points = entry.get("keypoints") if "keypoints" in takes else None
    if points:
        values = numbers_of(points)
        if values is None or len(values) % 3:
            return "`keypoints` should be [x, y, v, x, y, v, ...]"
        found.points(thing, values)
    return ""


def _run_lengths(given: dict[str, Any]) -> list[int] | str:
    """Width, height and run lengths, or what is wrong with them."""
    size, counts = numbers_of(given.get("size"), 2), given.get("counts")
    if size is None or min(size) < 1 or size[0] * size[1] > _MOST_PIXELS or any(value % 1 for value in size):
        return f"run lengths need a `size`: [height, width], of no more than {_MOST_PIXELS:,} px"
    height, width = map(int, size)
    values = counts_of(counts) if isinstance(counts, str) else numbers_of(counts)
    if values is None or any(value < 0 or value != int(value) for value in values) or sum(values) != height * width:
        what = f"whole numbers, or COCO's text of them, that add up to {height}×{width}"
        return f"`counts` of run lengths should be {what}"
    return [width, height, *map(int, values)]


def _corners(entry: dict[str, Any]) -> tuple[float, float, float, float] | str:
    """Left, top, right and bottom of the box, or else of what the object covers; what is wrong where there is none."""
    box: Any = entry.get("bbox")
    if not box or (isinstance(box, list) and box[2:] == [0, 0]):  # a place without a size is one that nobody has set
        area = entry.get("segmentation")
        if isinstance(area, dict) and (area or not box):
            lengths = _run_lengths(area)
            return lengths if isinstance(lengths, str) else run_bounds(*lengths)
        if points := [value for ring in _polygons(area) or () for value in ring]:
            return bounds(points)
    try:
        x, y, width, height = box
        total = x + y + width + height
        fine = type(total) in (float, int) and isfinite(total) and -_MOST < total < _MOST
    except (TypeError, ValueError, OverflowError):
        fine = False
    wrong = "`bbox` should be [x, y, width, height] in px, got"
    return (x, y, x + width, y + height) if fine else f"{wrong} {str(box)[:60]}"


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
