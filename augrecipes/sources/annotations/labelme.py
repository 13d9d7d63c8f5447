"""labelme: a JSON file a picture, with its `shapes`.

Polygons and rectangles are objects; their boxes are what they reach over. Points and lines cover nothing and are left
out. The image is the one of `imagePath`, relative to the JSON file; the copy in `imageData` is not read. Names of
classes are those of a `labels.txt` or `classes.txt` beside the files or above them, one a line, or else sorted.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from augrecipes.errors import DataError, counted
from augrecipes.sources.annotations.files import PathView, is_there, read_json, read_lines
from augrecipes.sources.annotations.records import LEAST_CORNERS, AnnotationOptions, AnnotationSet, bounds, numbers_of

TITLE = "labelme"
LOOKS = "a folder of JSON files, one a picture, with `shapes`"
_MOST = 1 << 29  # bytes, with an image in base64
_EMPTY = frozenset({"line", "linestrip", "point", "points"})
_HIDDEN = frozenset({"__ignore__", "_background_"})  # labelme's own words for what is no class


def claims(source: PathView) -> bool:
    """A folder whose first JSON file is labelme's, or such a file."""
    head = source.head(".json")
    return b'"shapes"' in head or b'"imageData"' in head


def read(source: PathView, asked: AnnotationOptions, found: AnnotationSet) -> None:
    """Read every file."""
    folder, found.record = source.folder, "shape {}"
    lists = [place / name for place in (folder, folder.parent) for name in ("labels.txt", "classes.txt")]
    if lists := list(filter(is_there, lists)):
        found.use_classes([name for name in map(str.strip, read_lines(lists[0])) if name and name not in _HIDDEN])
    empty = sum(_file(asked, found, folder / name, name.rpartition("/")[0]) for name in source.ending(".json"))
    if empty:
        found.findings.notes.append(f"{counted(empty, 'shape')} covering nothing (lines and points), left out")
    # Names are relative to the folder of the files.
    found.root, found.within = folder, folder.parent
    if asked.folder is not None:
        found.root = found.within = asked.folder
        found.names = [name.rpartition("/")[2] for name in found.names]


def _file(asked: AnnotationOptions, found: AnnotationSet, path: Path, below: str) -> int:
    """Add what a file has; returns how many lines and points it has."""
    said, file = read_json(path, _MOST), str(path)
    shapes = said.get("shapes") if isinstance(said, dict) else None
    if not isinstance(shapes, list):
        raise DataError("is none of labelme's files: no list of `shapes` in it", file)
    name = said.get("imagePath")
    if isinstance(name, str):
        name = (f"{below}/" if below else "") + name.replace("\\", "/")
    image = found.image(name, file, width=said.get("imageWidth"), height=said.get("imageHeight"))
    if image < 0:
        return 0
    for k, shape in enumerate(shapes, 1):
        if what := _shape(asked, found, image, k, shape):
            found.fault(f"{file}: shape {k}", what)
    return sum(isinstance(shape, dict) and str(shape.get("shape_type")) in _EMPTY for shape in shapes)


def _shape(asked: AnnotationOptions, found: AnnotationSet, image: int, k: int, shape: Any) -> str:
    """Add an object, or say what is wrong with it."""
    if not isinstance(shape, dict) or not isinstance(shape.get("label"), str):
        return "should be an object with a `label`"
    name, kind, rows = shape["label"], str(shape.get("shape_type") or "polygon"), shape.get("points")
    if name in _HIDDEN or kind in _EMPTY:
        return ""
    if not isinstance(rows, list) or any(not isinstance(pair, list) or len(pair) != 2 for pair in rows):
        return "`points` should be a list of [x, y]"
    outline = numbers_of([value for pair in rows for value in pair])
    if not outline:
        return "`points` should be a list of [x, y]"
    if kind == "rectangle" and len(rows) == 2:
        left, top, right, bottom = bounds(outline)
        outline = [left, top, right, top, right, bottom, left, bottom]
    elif not (kind == "polygon" and len(rows) >= LEAST_CORNERS) and not (kind == "rectangle" and len(rows) == 4):
        return f"{kind} with {len(rows)} points; polygons and rectangles are read: make one of it, or export COCO"
    label = found.label(name)
    if label < 0:
        return f"label {name!r} is not in the list of classes beside the files"
    thing = found.add(image, label, bounds(outline), k)
    if "mask" in asked.takes:
        found.area(thing, outline)
    return ""
