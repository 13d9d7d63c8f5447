"""labelme: a JSON file a picture, with its `shapes`.

Polygons, rectangles, circles and masks are objects; their boxes are what they reach over. Points are keypoints. Lines
cover nothing and are left out. The picture is the one of `imagePath`, relative to the JSON file; the copy in
`imageData` is not read. Names of classes are those of a `labels.txt` or `classes.txt` beside the files or above them,
one a line, or else sorted.
"""

from __future__ import annotations

import base64
from binascii import Error as Base64Error
from math import hypot
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from augrecipes.data.annotations.found import FoundObjects, Request
from augrecipes.data.annotations.numbers import bounds, numbers_of, seen
from augrecipes.data.annotations.pictures import folder_of, no_splits
from augrecipes.data.annotations.source import PathView, head, read_json, read_whole
from augrecipes.data.tables.outlines import bitmap_runs
from augrecipes.errors import DataError, counted

TITLE = "labelme"
LOOKS = "a folder of JSON files, one a picture, with `shapes`"
_MOST = 1 << 29  # bytes, with a picture in base64
_LISTS = ("labels.txt", "classes.txt")
_CORNERS = 64  # of a circle
_LINES = frozenset({"line", "linestrip"})
_HIDDEN = frozenset({"__ignore__", "_background_"})  # labelme's own words for what is no class


def claims(source: PathView) -> bool:
    """A folder whose first JSON file is labelme's, or such a file."""
    names = source.ending(".json")[:1] if source.is_folder else []
    data = head(source.path / names[0]) if names else source.head if source.suffix == ".json" else b""
    return b'"shapes"' in data or b'"imageData"' in data


def read(asked: Request, found: FoundObjects) -> None:
    """Read every file."""
    no_splits(asked, "a folder of labelme's files")
    source, found.record = asked.source, "shape {}"
    folder = source.path if source.is_folder else source.path.parent
    files = source.ending(".json") if source.is_folder else [source.path.name]
    found.classes = _classes(folder)
    known = None if found.classes is None else {name: k for k, name in enumerate(found.classes)}
    lines = 0
    for name in files:
        lines += _file(asked, found, folder / name, name.rpartition("/")[0], known)
    if lines:
        found.notes.append(f"{counted(lines, 'line')} covering nothing, left out")
    # Names are relative to the folder of the files.
    found.root, found.within = folder, folder.parent
    if asked.images is not None:
        found.root = found.within = folder_of(asked, found.names, [])
        found.names = [name.rpartition("/")[2] for name in found.names]


def _classes(folder: Path) -> list[str] | None:
    for place in (folder, folder.parent):
        for name in _LISTS:
            if (place / name).is_file():
                lines = read_whole(place / name, _MOST).decode("utf-8-sig", "replace").splitlines()
                return [line.strip() for line in lines if line.strip() and line.strip() not in _HIDDEN]
    return None


def _file(asked: Request, found: FoundObjects, path: Path, below: str, known: dict[str, int] | None) -> int:
    """Add what a file has; returns how many lines it has."""
    said, file = read_json(path, _MOST), str(path)
    shapes = said.get("shapes") if isinstance(said, dict) else None
    if not isinstance(shapes, list):
        raise DataError("is none of labelme's files: no list of `shapes` in it", file)
    name = said.get("imagePath")
    if isinstance(name, str):
        name = name.replace("\\", "/")
        name = f"{below}/{name}" if below else name
    picture = found.picture(name, file, width=said.get("imageWidth"), height=said.get("imageHeight"))
    if picture < 0:
        return 0
    lines = 0
    for k, shape in enumerate(shapes, 1):
        lines += isinstance(shape, dict) and str(shape.get("shape_type")) in _LINES
        what = _shape(asked, found, picture, k, shape, known)
        if what:
            found.faults.add(f"{file}: shape {k}", what)
    return lines


def _shape(asked: Request, found: FoundObjects, picture: int, k: int, shape: Any, known: dict[str, int] | None) -> str:
    """Add an object, or say what is wrong with it."""
    if not isinstance(shape, dict) or not isinstance(shape.get("label"), str):
        return "should be an object with a `label`"
    name, kind = shape["label"], str(shape.get("shape_type") or "polygon")
    if name in _HIDDEN or kind in _LINES:
        return ""
    rows: Any = shape.get("points")
    points = _points(rows)
    if not points:
        return "`points` should be a list of [x, y]"
    label = found.label(name) if known is None else known.get(name, -1)
    if label < 0:
        return f"label {name!r} is not in the list of classes beside the files"
    outline: list[float] | None = None
    match kind, len(rows):
        case "polygon", n if n > 2:
            outline = points
        case "rectangle", 2:
            left, top, right, bottom = bounds(points)
            outline = [left, top, right, top, right, bottom, left, bottom]
        case "rectangle", 4:
            outline = points
        case "circle", 2:
            x, y, *edge = points
            radius = hypot(edge[0] - x, edge[1] - y)
            at = np.arange(_CORNERS) * 2 * np.pi / _CORNERS
            outline = (np.column_stack([np.cos(at), np.sin(at)]) * radius + [x, y]).ravel().tolist()
        case "mask", 2:
            pass
        case ("point", 1) | ("points", _):
            if "keypoints" in asked.takes:
                found.lone_points(picture, seen(points, label))
            return ""
        case _:
            return f"{kind} with {len(rows)} points"
    flags = shape.get("flags")
    flagged = isinstance(flags, dict) and bool(flags.get("difficult") or flags.get("crowd"))
    thing = found.thing(picture, label, bounds(outline or points), k, flagged=flagged)
    if "mask" in asked.takes and outline:
        found.ring(thing, outline)
    if kind == "mask" and "mask" in asked.takes:
        return _bitmap(found, thing, shape.get("mask"), bounds(points))
    return ""


def _points(rows: Any) -> list[float] | None:
    """[[x, y], ...] as x, y, ...; None where it is something else."""
    if not isinstance(rows, list) or any(not isinstance(pair, list) or len(pair) != 2 for pair in rows):
        return None
    return numbers_of([value for pair in rows for value in pair])


def _bitmap(found: FoundObjects, thing: int, given: Any, corners: tuple[float, float, float, float]) -> str:
    """Take a mask, a PNG in base64 that fills its box, or say what is wrong with it."""
    try:
        data = base64.b64decode(given, validate=True)
        bitmap = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_GRAYSCALE) if data else None
    except (Base64Error, TypeError, ValueError, cv2.error):
        bitmap = None
    if bitmap is None:
        return "`mask` should be a PNG in base64"
    if not all(abs(value) < 1 << 30 for value in corners):
        return "its corners are no places in a picture"
    found.run_lengths(thing, bitmap_runs(round(corners[0]), round(corners[1]), bitmap > 0))
    return ""
