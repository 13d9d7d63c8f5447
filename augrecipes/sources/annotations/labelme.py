"""labelme: a JSON file an image, with its `shapes`.

Polygons, rectangles (turned ones, too: `rotation`), circles and masks are objects; their boxes are what they reach
over. Shapes of one label and one `group_id` are one object. Points are keypoints. Lines cover nothing and are left out.
`__ignore__` and `_background_` are no objects: in masks they are 255 and 0 over what lies beneath. The image is the one
of `imagePath`, relative to the JSON file; the copy in `imageData` is not read. Names of classes are those of a
`labels.txt` or `classes.txt` beside the files or above them, one a line, or else sorted.
"""

from __future__ import annotations

import base64
from binascii import Error as Base64Error
from math import hypot
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from augrecipes.errors import DataError
from augrecipes.sources.annotations import records
from augrecipes.sources.annotations.files import PathView, class_list, read_json, tally_others
from augrecipes.sources.annotations.records import AnnotationOptions, AnnotationSet, bounds, numbers_of
from augrecipes.sources.paths import local_name
from augrecipes.sources.polygons import bitmap_runs

TITLE = "labelme"
LOOKS = "a folder of JSON files, one an image, with `shapes`"
DROPPED = "left out by drop_shapes="
POINTS = frozenset({"point", "points"})
_MOST = 1 << 29  # bytes, with an image in base64
_AT = np.arange(64) * 2 * np.pi / 64  # corners of a circle
_LINES = frozenset({"line", "linestrip"})
_POLYGONS = frozenset({"polygon", "rotation", "quadrilateral"})
_HIDDEN = {"__ignore__": records.IGNORE, "_background_": records.BACKGROUND}  # labelme's own words for what is no class
_EMBEDDED = "; its copy in `imageData` is not read: save that as a file first, as labelme_export_json does"
Groups = dict[tuple[str, str], int]  # objects by label and group


def claims(source: PathView) -> bool:
    """A folder whose first JSON file is labelme's, or such a file."""
    head = source.head(".json")
    return b'"shapes"' in head or b'"imageData"' in head


def read(source: PathView, asked: AnnotationOptions, found: AnnotationSet) -> None:
    """Read every file."""
    folder, found.record = source.folder, "shape {}"
    names = class_list((folder, folder.parent), "labels.txt", "classes.txt")
    found.use_classes(None if names is None else [name for name in names if name not in _HIDDEN])
    for name in source.ending(".json"):
        _file(asked, found, folder / name, name.rpartition("/")[0])
    # Names are relative to the folder of the files.
    found.root, found.within = folder, folder.parent
    if asked.folder is not None:
        found.root = found.within = asked.folder
        found.names = [name.rpartition("/")[2] for name in found.names]
    elif source.is_folder:
        tally_others(found, source.names, "without a JSON file, left out")


def _file(asked: AnnotationOptions, found: AnnotationSet, path: Path, below: str) -> None:
    """Add what a file has."""
    said, file = read_json(path, _MOST), str(path)
    shapes = said.get("shapes") if isinstance(said, dict) else None
    if not isinstance(shapes, list):
        raise DataError("is none of labelme's files: no list of `shapes` in it", file)
    name = said.get("imagePath")
    if isinstance(name, str):
        name = (f"{below}/" if below else "") + local_name(path.parent, name)
    hint, groups = _EMBEDDED if said.get("imageData") else "", Groups()
    image = found.image(name, file, (said.get("imageWidth"), said.get("imageHeight")), hint=hint)
    for k, shape in enumerate(shapes if image >= 0 else (), 1):
        if what := _shape(asked, found, image, k, shape, groups):
            found.fault(f"{file}: shape {k}", what)


def _shape(asked: AnnotationOptions, found: AnnotationSet, image: int, k: int, shape: Any, groups: Groups) -> str:
    """Add an object, or a part of one in `groups`, or say what is wrong with it."""
    if not isinstance(shape, dict) or not isinstance(shape.get("label"), str):
        return "should be an object with a `label`"
    name, kind, rows = shape["label"], str(shape.get("shape_type") or "polygon"), shape.get("points")
    where, hidden = f"{found.files[image]}: shape {k}", _HIDDEN.get(name)
    if kind in _LINES or kind in asked.drop_shapes:
        found.tally(kind, "covering nothing, left out" if kind in _LINES else DROPPED, where)
        return ""
    if not isinstance(rows, list) or any(not isinstance(pair, list) or len(pair) != 2 for pair in rows):
        return "`points` should be a list of [x, y]"
    points = numbers_of([value for pair in rows for value in pair])
    if not points:
        return "`points` should be a list of [x, y]"
    label = found.label(name) if hidden is None else hidden
    if label < 0 and hidden is None:
        return f"label {name!r} is not in the list of classes beside the files"
    outline: list[float] = []
    match kind, len(rows):
        case kind, n if (kind in _POLYGONS and n >= records.LEAST_CORNERS) or (kind == "rectangle" and n == 4):
            outline = points
        case "rectangle", 2:
            left, top, right, bottom = bounds(points)
            outline = [left, top, right, top, right, bottom, left, bottom]
        case "circle", 2:
            x, y, *edge = points
            radius = hypot(edge[0] - x, edge[1] - y)
            outline = (np.column_stack([np.cos(_AT), np.sin(_AT)]) * radius + [x, y]).ravel().tolist()
        case "mask", 2:
            pass
        case ("point", 1) | ("points", _):
            if "keypoints" not in asked.takes or hidden is not None:
                found.tally("point", "without a box, left out", where)
            else:
                thing = found.add(image, label, bounds(points), k)
                found.flags[thing] = records.POINT
                pairs = zip(points[::2], points[1::2], strict=True)
                found.points(thing, [value for pair in pairs for value in (*pair, 0)])
            return ""
        case _:
            return f"{kind} with {len(rows)} points is not read; drop_shapes=[{kind!r}] leaves such out"
    flags = shape.get("flags")
    flagged = isinstance(flags, dict) and bool(flags.get("difficult") or flags.get("crowd"))
    if hidden is not None:
        found.tally("shape", "of __ignore__ or _background_: no object, 255 or 0 in masks", where)
    group, corners = shape.get("group_id"), bounds(outline or points)
    thing = groups.get((name, str(group)), -1) if group is not None else -1
    thing = groups[name, str(group)] = found.add(image, label, corners, k, flagged=flagged, part_of=thing)
    if "mask" not in asked.takes:
        return ""
    if kind == "mask":
        return _bitmap(found, thing, shape.get("mask"), bounds(points))
    found.area(thing, outline)
    return ""


def _bitmap(found: AnnotationSet, thing: int, given: Any, corners: tuple[float, float, float, float]) -> str:
    """Take a mask, a PNG in base64 that fills its box, or say what is wrong with it."""
    try:
        data = base64.b64decode(given, validate=True)
        bitmap = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_GRAYSCALE) if data else None
    except (Base64Error, TypeError, ValueError, cv2.error):
        bitmap = None
    if bitmap is None:
        return "`mask` should be a PNG in base64"
    if not all(abs(value) < 1 << 30 for value in corners):
        return "its corners are no places in an image"
    found.area(thing, runs=bitmap_runs(round(corners[0]), round(corners[1]), bitmap > 0))
    return ""
