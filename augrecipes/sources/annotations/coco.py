"""COCO: one JSON file with `images`, `annotations` and `categories`.

Reads boxes, polygons, run-length masks, and keypoints with their visibility. Categories become labels 0, 1, ... in the
order of their ids, gaps closed. Objects with `iscrowd` or `ignore` are flagged. Compressed run lengths are decoded
here, because pycocotools crashes on damaged ones, and a file must not be able to end the process.
"""

from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Any

from augrecipes.errors import DataError
from augrecipes.sources.annotations import files, records
from augrecipes.sources.polygons import run_bounds, runs

TITLE = "COCO"
LOOKS = "a JSON file with `images`, `annotations` and `categories`"
_INDEX = "_annotations.coco.json"  # Roboflow's name, in the folder of the images
_PARTS = ("images", "annotations", "categories")
_MOST = 1e15  # px, of a box's corner
_MOST_PIXELS = 1 << 28
_MOST_BITS = 40  # of a run length


def claims(source: files.PathView) -> bool:
    """Whether this is a JSON file other than labelme's, or a folder with Roboflow's index."""
    if source.is_folder:
        return (source.path / _INDEX).is_file()
    head = source.head(".json")
    return bool(head) and b'"shapes"' not in head and b'"imageData"' not in head


def read(source: files.PathView, options: records.AnnotationOptions, annotations: records.AnnotationSet) -> None:
    """Read the images, categories and annotations of the file."""
    path = source.path / _INDEX if source.is_folder else source.path
    content, file, takes = files.read_json(path), str(path), options.takes
    if not isinstance(content, dict):
        raise DataError("the outermost value should be an object, { ... }", file)
    if missing := [name for name in _PARTS if not isinstance(content.get(name), list)]:
        raise DataError(f"is not a COCO file: it has no list of {' and no '.join(missing)} in it", file)
    annotations.record = "annotation {}"
    images: dict[Any, int] = {}
    for number, entry in _by_id(content["images"], "image", annotations, file):
        where, size = f"{file}: image id {number}", (entry.get("width"), entry.get("height"))
        images[number] = annotations.image(entry.get("file_name"), file, size, number=number, where=where)
    categories = sorted(
        _by_id(content["categories"], "category", annotations, file),
        key=lambda item: (isinstance(item[0], str), item[0]),
    )
    labels: dict[Any, int] = {number: label for label, (number, _) in enumerate(categories)}
    for label, (number, entry) in enumerate(categories):
        if not isinstance(entry.get("name"), str):
            annotations.defect(f"{file}: category id {number}", "should have a `name`")
        names = entry.get("keypoints")
        names = [str(name) for name in names] if isinstance(names, list) else []
        annotations.shifts[label] = records.mirror_shifts(options, names)
    annotations.use_classes([str(entry.get("name")) for _, entry in categories])
    annotations.class_ids = [number for number in labels if isinstance(number, int)] or None

    def add(record: int, entry: Any) -> None:
        try:
            image, label = images.get(entry["image_id"]), labels.get(entry["category_id"])
        except (KeyError, TypeError, AttributeError):
            what = "should have an `image_id` and a `category_id`, as objects have; are these captions, or panoptic?"
            raise records.RecordError(what) from None
        corners = _corners(entry)
        if image is None:
            raise records.RecordError(f"there is no image of id {entry['image_id']!r}")
        if label is None:
            raise records.RecordError(f"there is no category of id {entry['category_id']!r}")
        if image < 0:  # the image itself is a defect
            return
        flagged = bool(entry.get("iscrowd") or entry.get("ignore"))
        obj = annotations.add(image, label, corners, record, flagged=flagged)
        if "mask" in takes and (area := entry.get("segmentation")):
            if isinstance(area, dict):
                width, height, *counts = _run_lengths(area)
                annotations.add_area(obj, runs=runs(counts, 0, 0, width, height, whole=True))
            else:
                for ring in _polygons(area):
                    annotations.add_area(obj, ring)
        if "keypoints" in takes and (points := entry.get("keypoints")):
            what = "`keypoints` should be [x, y, v, x, y, v, ...]"
            values = records.numbers_of(points, what)
            if len(values) % 3:
                raise records.RecordError(what)
            annotations.add_points(obj, values)

    annotations.read_each(file, _with_ids(content["annotations"]), add)
    annotations.root = annotations.within = files.folder_of(
        options, annotations.names, _image_folders(path), source.path
    )


def _with_ids(entries: list[Any]) -> Iterator[tuple[int, Any]]:
    """Yield each entry with its id, or with its place in the list where it has no usable id."""
    for place, entry in enumerate(entries, 1):
        number = entry.get("id") if isinstance(entry, dict) else None
        yield number if type(number) is int and abs(number) < 1 << 62 else place, entry


def _image_folders(path: Path) -> list[Path]:
    """The folders where data sets usually keep their images: beside the file or its folder, named by the split."""
    folder, split = path.parent, path.stem.partition("_")[2] or path.stem
    names = (split, f"images/{split}", "images", "data")
    return [folder, *(base / name for base in (folder, folder.parent) for name in names), folder.parent]


def _by_id(
    entries: list[Any], what: str, annotations: records.AnnotationSet, file: str
) -> Iterator[tuple[int | str, dict[str, Any]]]:
    """Yield images or categories with their ids; a missing or repeated id is a defect."""
    known = set[int | str]()
    for place, entry in enumerate(entries, 1):
        number = entry.get("id") if isinstance(entry, dict) else None
        if not isinstance(number, int | str):
            annotations.defect(f"{file}: {what} {place}", "should be an object with an `id`")
        elif number in known:
            annotations.defect(f"{file}: {what} id {number}", f"there is another {what} of this id")
        else:
            known.add(number)
            yield number, entry


def _corners(entry: dict[str, Any]) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of the box; without a box, of the segmentation."""
    box: Any = entry.get("bbox")
    if not box or (isinstance(box, list) and box[2:] == [0, 0]):  # exporters write 0, 0 where no box was drawn
        area = entry.get("segmentation")
        if isinstance(area, dict) and (area or not box):
            return run_bounds(*_run_lengths(area))
        if isinstance(area, list) and (points := [value for ring in _polygons(area) for value in ring]):
            return records.bounds(points)
    try:
        x, y, width, height = box
        total = x + y + width + height
        is_valid = type(total) in (float, int) and isfinite(total) and -_MOST < total < _MOST
    except (TypeError, ValueError, OverflowError):
        is_valid = False
    if not is_valid:
        raise records.RecordError(f"`bbox` should be [x, y, width, height] in px, got {str(box)[:60]}")
    return x, y, x + width, y + height


def _polygons(rings: Any) -> list[list[float]]:
    """The polygons of a segmentation as lists of numbers."""
    what = "`segmentation` should be a list of polygons [x, y, x, y, ...], or run lengths"
    polygons = [records.numbers_of(ring, what) for ring in rings] if isinstance(rings, list) else None
    if polygons is None or any(len(ring) % 2 for ring in polygons):
        raise records.RecordError(what)
    return polygons


def _run_lengths(area: dict[str, Any]) -> list[int]:
    """Decode a run-length segmentation into [width, height, *counts]."""
    what = f"run lengths need a `size`: [height, width], of no more than {_MOST_PIXELS:,} px"
    size = records.numbers_of(area.get("size"), what, 2)
    height, width = map(int, size)
    if min(size) < 1 or height * width > _MOST_PIXELS or size != [height, width]:
        raise records.RecordError(what)
    what = f"whole numbers, or COCO's text of them, that add up to {height}×{width}"
    what, counts = f"`counts` of run lengths should be {what}", area.get("counts")
    values = records.numbers_of(counts_of(counts) if isinstance(counts, str) else counts, what)
    if any(value < 0 or value % 1 for value in values) or sum(values) != height * width:
        raise records.RecordError(what)
    return [width, height, *map(int, values)]


def counts_of(text: str) -> list[int] | None:
    """Decode COCO's compressed run lengths; None for malformed text.

    Each character has five bits; from the third count on, the text has differences from the count two before.

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
