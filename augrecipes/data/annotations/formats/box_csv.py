"""A CSV file with one row a box: `path,label,x_min,y_min,x_max,y_max`, and, if you like, more.

Columns, under any of the names that are in use (`path`, `image`, `filename`, ...; `x_min`, `xmin`, `x1`, `left`, ...),
in px. Rows of a picture need not stand together. A row with a path and nothing else is a picture without boxes. `width`
and `height` are of the picture, `split` as in other lists, `difficult` or `iscrowd` marks what is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

from augrecipes.data.annotations.found import FoundObjects, Request
from augrecipes.data.annotations.pictures import folder_of
from augrecipes.data.annotations.source import PathView
from augrecipes.data.tables.csvfile import fields_of, our_names
from augrecipes.errors import DataError

TITLE = "CSV of boxes"
LOOKS = "a CSV file with one row a box: path,label,x_min,y_min,x_max,y_max"
_SIDES = ("x_min", "y_min", "x_max", "y_max")
_NAMES = {
    "path": ("image", "filename", "file_name", "image_path", "file"),
    "label": ("class", "class_name", "name", "category"),
    "x_min": ("xmin", "x1", "left"),
    "y_min": ("ymin", "y1", "top"),
    "x_max": ("xmax", "x2", "right"),
    "y_max": ("ymax", "y2", "bottom"),
    "width": ("image_width",),
    "height": ("image_height",),
    "split": (),
    "difficult": ("iscrowd", "crowd"),
}


def claims(source: PathView) -> bool:
    """A CSV file with columns for a path and four sides."""
    if source.suffix not in (".csv", ".tsv"):
        return False
    try:
        _, fields = next(fields_of(str(source.path)), (0, []))
    except DataError:
        return False  # a list of images, for all that is known, whose reader says what is wrong
    renamed = {name: theirs.lower() for name, theirs in source.columns.items()}
    known = {name for ours, others in _NAMES.items() for name in (ours, *others)}
    if {*renamed} - known or {*renamed.values()} - {field.strip().lower() for field in fields}:
        return False
    return not _missing(_places(fields, renamed, ""))


def _places(fields: Sequence[str], renamed: Mapping[str, str], where: str) -> dict[str, int]:
    """The position of each column that is there, by our names."""
    columns = our_names(fields, renamed, where)
    found = {}
    for name, others in _NAMES.items():
        given = next((other for other in (name, *others) if other in columns), None)
        if given is not None:
            found[name] = columns.index(given)
    return found


def _missing(places: Mapping[str, int]) -> list[str]:
    return [name for name in ("path", *_SIDES) if name not in places]


def read(asked: Request, found: FoundObjects) -> None:
    """Read the file, row by row."""
    path = str(asked.path)
    rows = fields_of(path)
    line, fields = next(rows)
    reader = _BoxReader(found, path, len(fields), _places(fields, asked.columns, f"{path}:{line}"))
    for line, fields in rows:
        what = reader.row(line, fields)
        if what:
            found.faults.add(f"{path}:{line}", what)
    reader.finish(asked.split)
    found.root = folder_of(asked, found.names, [asked.path.parent, asked.path.parent / "images"])


class _BoxReader:
    def __init__(self, found: FoundObjects, path: str, count: int, places: dict[str, int]) -> None:
        self.found, self.path, self.count, self.places = found, path, count, places
        self.pictures: dict[str, int] = {}
        self.most = 0.0
        self.whole = True
        self.sides = [places[name] for name in _SIDES]
        self.labelled = places.get("label")
        found.record = "{}"

    def row(self, line: int, fields: list[str]) -> str:
        """Take a row, or say what is wrong with it."""
        if len(fields) != self.count:
            return f"{len(fields)} fields, but the header has {self.count} columns"
        name = fields[self.places["path"]].strip()
        picture = self.pictures.get(name)
        if picture is None:
            picture = self._picture(name, fields, line)
            if picture < 0:
                return ""
        elif self._of(fields, "split") != self.found.parts[picture]:
            return f"split {self._of(fields, 'split')!r}, but {self.found.parts[picture]!r} in an earlier row of {name}"
        texts = [fields[k] for k in self.sides]
        label = "0" if self.labelled is None else fields[self.labelled].strip()
        try:
            corners = [float(text) for text in texts]
        except ValueError:
            if any(text.strip() for text in texts):
                return f"x_min, y_min, x_max and y_max should be numbers, got {', '.join(texts)[:60]}"
            return ""  # a picture without boxes
        if not isfinite(sum(corners)):
            return f"x_min, y_min, x_max and y_max should be numbers, got {', '.join(texts)[:60]}"
        if not label:
            return "no label in this row"
        self.most = max(self.most, *corners)
        self.whole = self.whole and all(value.is_integer() for value in corners)
        flagged = self._of(fields, "difficult").lower() in ("1", "true", "yes")
        self.found.thing(picture, self.found.label(label), corners, line, flagged=flagged)
        return ""

    def _of(self, fields: list[str], name: str) -> str:
        place = self.places.get(name)
        return "" if place is None else fields[place].strip()

    def _picture(self, name: str, fields: list[str], line: int) -> int:
        width, height = (self._of(fields, side) for side in ("width", "height"))
        picture = self.found.picture(
            name, self.path, width=width, height=height, part=self._of(fields, "split"), where=f"{self.path}:{line}"
        )
        if picture >= 0:
            self.pictures[name] = picture
        return picture

    def finish(self, split: str | None) -> None:
        """What can be said when all has been read."""
        found = self.found
        if not found.names and not found.faults.count:
            raise DataError("the file has a header and no rows", self.path)
        if len(found) and self.most <= 1 and not self.whole:
            raise DataError("all coordinates lie in 0..1: they should be px, not shares of the picture", self.path)
        if split is None:
            return
        parts = sorted({*found.parts} - {""})
        if "split" not in self.places:
            raise DataError(f"split={split!r} needs a column `split`", self.path)
        if split not in parts:
            raise DataError(f"no row of split {split!r}; the file has {', '.join(parts) or 'none'}", self.path)
