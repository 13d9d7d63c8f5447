"""labelme: one JSON file per image, with its `shapes`.

Polygons, rectangles (rotated ones too: `rotation`), circles and masks are objects; their boxes are their bounds.
Shapes with the same label and `group_id` are one object. Points are keypoints. Lines cover nothing and are left out.
`__ignore__` and `_background_` are no objects: masks show them as 255 and 0, over what lies beneath. `imagePath` names
the image, relative to the JSON file; the copy in `imageData` is not read. Class names come from a `labels.txt` or
`classes.txt` beside the files or one folder up, one a line; without it they are the labels found, sorted.
"""

import base64
from binascii import Error as Base64Error
from math import hypot
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from augrecipes.errors import DataError
from augrecipes.sources import paths, polygons
from augrecipes.sources.annotations import records
from augrecipes.sources.annotations.files import PathView, class_list, read_json, tally_others
from augrecipes.sources.annotations.records import AnnotationOptions, AnnotationSet, RecordError, bounds, numbers_of

TITLE = "labelme"
LOOKS = "a folder of JSON files, one an image, with `shapes`"
DROPPED = "left out by drop_shapes="
POINTS = frozenset({"point", "points"})
_ANGLES = np.arange(64) * 2 * np.pi / 64  # of the corners of a circle
_LINES = frozenset({"line", "linestrip"})
_POLYGONS = frozenset({"polygon", "rotation", "quadrilateral"})
_HIDDEN = {"__ignore__": records.IGNORE, "_background_": records.BACKGROUND}  # labelme's labels that are no classes
_EMBEDDED = "; its copy in `imageData` is not read: save that as a file first, as labelme_export_json does"


def claims(source: PathView) -> bool:
    """Whether this is labelme's JSON file, or a folder whose first JSON file is."""
    head = source.head(".json")
    return b'"shapes"' in head or b'"imageData"' in head


def read(source: PathView, options: AnnotationOptions, annotations: AnnotationSet) -> None:
    """Read every JSON file."""
    folder, annotations.record = source.folder, "shape {}"
    names = class_list((folder, folder.parent), "labels.txt", "classes.txt")
    annotations.use_classes(None if names is None else [name for name in names if name not in _HIDDEN])
    for name in source.ending(".json"):
        _read_file(options, annotations, folder / name, name.rpartition("/")[0])
    # Names are relative to the folder of the files.
    annotations.root, annotations.within = folder, folder.parent
    if options.folder is not None:
        annotations.root = annotations.within = options.folder
        annotations.names = [name.rpartition("/")[2] for name in annotations.names]
    elif source.is_folder:
        tally_others(annotations, source.names, "without a JSON file, left out")


def _read_file(options: AnnotationOptions, annotations: AnnotationSet, path: Path, below: str) -> None:
    content, file = read_json(path), str(path)
    shapes = content.get("shapes") if isinstance(content, dict) else None
    if not isinstance(shapes, list):
        raise DataError("is none of labelme's files: no list of `shapes` in it", file)
    name = content.get("imagePath")
    if isinstance(name, str):
        name = (f"{below}/" if below else "") + paths.local_name(path.parent, name)
    hint, size = _EMBEDDED if content.get("imageData") else "", (content.get("imageWidth"), content.get("imageHeight"))
    image = annotations.image(name, file, size, hint=hint)
    groups: dict[tuple[str, str], int] = {}  # objects by label and group

    def add(record: int, shape: Any) -> None:
        if not isinstance(shape, dict) or not isinstance(shape.get("label"), str):
            raise RecordError("should be an object with a `label`")
        name, kind, pairs = shape["label"], str(shape.get("shape_type") or "polygon"), shape.get("points")
        where, hidden = annotations.place(file, record), _HIDDEN.get(name)
        if kind in _LINES or kind in options.drop_shapes:
            annotations.tally(kind, "covering nothing, left out" if kind in _LINES else DROPPED, where)
            return
        what = "`points` should be a list of [x, y]"
        if not isinstance(pairs, list) or not pairs or any(not isinstance(p, list) or len(p) != 2 for p in pairs):
            raise RecordError(what)
        points = numbers_of([value for pair in pairs for value in pair], what)
        label = annotations.label(name) if hidden is None else hidden
        if label < 0 and hidden is None:
            raise RecordError(f"label {name!r} is not in the list of classes beside the files")
        if kind in POINTS and (kind == "points" or len(pairs) == 1):
            if "keypoints" not in options.takes or hidden is not None:
                annotations.tally("point", "without a box, left out", where)
            else:
                obj = annotations.add(image, label, bounds(points), record)
                annotations.flags[obj] = records.POINT
                annotations.add_points(obj, [value for pair in pairs for value in (*pair, 0)])
            return
        outline = _outline(kind, points)
        flags, group = shape.get("flags"), shape.get("group_id")
        flagged = isinstance(flags, dict) and bool(flags.get("difficult") or flags.get("crowd"))
        if hidden is not None:
            annotations.tally("shape", "of __ignore__ or _background_: no object, 255 or 0 in masks", where)
        group_object = -1 if group is None else groups.get((name, str(group)), -1)
        obj = annotations.add(image, label, bounds(outline or points), record, flagged=flagged, part_of=group_object)
        groups[name, str(group)] = obj
        if "mask" in options.takes and kind == "mask":
            annotations.add_area(obj, runs=_bitmap(shape.get("mask"), bounds(points)))
        elif "mask" in options.takes:
            annotations.add_area(obj, outline)

    annotations.read_each(file, enumerate(shapes if image >= 0 else (), 1), add)


def _outline(kind: str, points: list[float]) -> list[float]:
    """The corners of a shape; empty for a mask, whose points are its box."""
    count = len(points) // 2
    if (kind in _POLYGONS and count >= records.LEAST_CORNERS) or (kind == "rectangle" and count == 4):
        return points
    if kind == "rectangle" and count == 2:
        left, top, right, bottom = bounds(points)
        return [left, top, right, top, right, bottom, left, bottom]
    if kind == "circle" and count == 2:
        x, y, *edge = points
        radius = hypot(edge[0] - x, edge[1] - y)
        return (np.column_stack([np.cos(_ANGLES), np.sin(_ANGLES)]) * radius + [x, y]).ravel().tolist()
    if kind == "mask" and count == 2:
        return []
    raise RecordError(f"{kind} with {count} points is not read; drop_shapes=[{kind!r}] leaves such out")


def _bitmap(mask: Any, corners: tuple[float, float, float, float]) -> bytes:
    """The run lengths of a mask: a PNG in base64, of the size of its box."""
    try:
        data = base64.b64decode(mask, validate=True)
        bitmap = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_GRAYSCALE) if data else None
    except (Base64Error, TypeError, ValueError, cv2.error):
        bitmap = None
    if bitmap is None:
        raise RecordError("`mask` should be a PNG in base64")
    if not all(abs(value) < 1 << 30 for value in corners):
        raise RecordError("its corners are not finite numbers of pixels")
    return polygons.bitmap_runs(round(corners[0]), round(corners[1]), bitmap > 0)
