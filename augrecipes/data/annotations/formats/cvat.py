"""CVAT: one XML file for many pictures, "CVAT for images 1.1".

Boxes (turned ones by what they reach over), polygons, ellipses and masks are objects; points and skeletons are
keypoints. Polylines, cuboids and tags are left out. Objects are drawn in the order of their `z_order`. A split is a
subset. Files of videos (`<track>`) are refused: export the task as "CVAT for images".
"""

from __future__ import annotations

from collections.abc import Mapping

from augrecipes.data.annotations.found import FoundObjects, Request
from augrecipes.data.annotations.numbers import bounds, ellipse, number_of, numbers_of, seen, turned
from augrecipes.data.annotations.pictures import folder_of
from augrecipes.data.annotations.safe_xml import walk
from augrecipes.data.annotations.source import PathView, head
from augrecipes.data.tables.outlines import runs
from augrecipes.errors import DataError, counted

TITLE = "CVAT"
LOOKS = "an annotations.xml of CVAT for images (`<annotations>`)"
_INDEX = "annotations.xml"
_LEFT_OUT = frozenset({"polyline", "cuboid", "tag"})
_MOST_PIXELS = 1 << 28
_IMAGE = ("annotations", "image")


def claims(source: PathView) -> bool:
    """An XML file with `<annotations>`, or a folder with an annotations.xml."""
    if source.is_folder:
        return (source.path / _INDEX).is_file() and b"<annotations" in head(source.path / _INDEX)
    return source.suffix == ".xml" and b"<annotations" in source.head


def read(asked: Request, found: FoundObjects) -> None:
    """Read the file."""
    path = asked.path / _INDEX if asked.source.is_folder else asked.path
    reader = _CvatReader(asked, found, str(path))
    walk(path, reader.start, reader.end)
    reader.finish()
    places = [path.parent / "images", path.parent, path.parent.parent / "images", path.parent.parent]
    found.root = folder_of(asked, found.names, places)


class _CvatReader:
    def __init__(self, asked: Request, found: FoundObjects, file: str) -> None:
        self.asked, self.found, self.file = asked, found, file
        self.known: dict[str, str | None] = {}  # labels of the task, and whose part each is
        self.name = self.parent = ""
        self.picture = -1
        self.left_out = 0
        self.subsets: set[str] = set()
        self.skeleton: tuple[str, list[float], int] | None = None
        self.order: list[int] = []
        found.record = "{}"

    def start(self, tags: tuple[str, ...], given: Mapping[str, str], line: int) -> None:
        """An element begins."""
        if len(tags) == 1 and tags[0] != "annotations":
            raise DataError(f"the outermost element should be <annotations>, not <{tags[0]}>", f"{self.file}:{line}")
        if tags[:2] == ("annotations", "track"):
            raise DataError(
                "holds tracks of a video: export the task as 'CVAT for images', with a picture for each frame",
                f"{self.file}:{line}",
            )
        if tags == _IMAGE:
            self._image(given, line)
        elif tags[:2] == _IMAGE and self.picture >= 0 and len(tags) in (3, 4):
            what = self._shape(tags, given, line)
            if what:
                self.found.faults.add(f"{self.file}:{line}", f"<{tags[-1]}> {what}")

    def end(self, tags: tuple[str, ...], text: str) -> None:
        """An element ends."""
        if tags[-2:] == ("label", "name"):
            self.name = text
        elif tags[-2:] == ("label", "parent"):
            self.parent = text
        elif tags[-1] == "label" and tags[1:2] == ("meta",):
            if self.name and self.name not in self.known:
                self.known[self.name] = self.parent or None
            self.name = self.parent = ""
        elif tags[-1] == "skeleton" and self.skeleton is not None:
            label, points, line = self.skeleton
            self.skeleton = None
            if points:
                x, y = points[0::3], points[1::3]
                thing = self._thing(label, (min(x), min(y), max(x), max(y)), line)
                if thing >= 0 and "keypoints" in self.asked.takes:
                    self.found.points(thing, points)

    def _image(self, given: Mapping[str, str], line: int) -> None:
        number, subset = number_of(given.get("id")), given.get("subset", "")
        self.subsets.add(subset)
        self.picture = self.found.picture(
            given.get("name", ""), self.file, width=given.get("width"), height=given.get("height"), part=subset,
            number=-1 if number is None or abs(number) > 1e15 else int(number), where=f"{self.file}:{line}",
        )  # fmt: skip

    def _shape(self, tags: tuple[str, ...], given: Mapping[str, str], line: int) -> str:
        """Take a shape, or say what is wrong with it."""
        kind = tags[-1]
        if kind in _LEFT_OUT:
            self.left_out += 1
            return ""
        if kind == "attribute" or (len(tags) == 4 and tags[2] != "skeleton"):
            return ""
        label = given.get("label", "")
        if not label:
            return "needs a `label`"
        if kind == "skeleton":
            self.skeleton = label, [], line
            return ""
        if kind in ("points", "polygon"):
            points = _points(given.get("points", ""))
            if points is None:
                return "needs `points`: x,y;x,y;..."
            if kind == "points":
                return self._keypoints(label, points, given)
            outline = points
        elif kind in ("box", "ellipse"):
            names = ("xtl", "ytl", "xbr", "ybr") if kind == "box" else ("cx", "cy", "rx", "ry")
            values = numbers_of([given.get(name) for name in names])
            turn = given.get("rotation")
            angle = 0.0 if turn is None else number_of(turn)
            if angle is None or values is None:
                return f"needs numbers {', '.join(names)}"
            a, b, c, d = values
            outline = _of_box(a, b, c, d, angle) if kind == "box" else ellipse(a, b, c, d, angle)
        elif kind == "mask":
            return self._mask(label, given, line)
        else:
            return "is no shape that is known"
        thing = self._thing(label, bounds(outline), line, given)
        if thing >= 0 and self.asked.outlines:
            self.found.ring(thing, outline)
        return ""

    def _thing(
        self, label: str, corners: tuple[float, float, float, float], line: int, given: Mapping[str, str] | None = None
    ) -> int:
        order = given.get("z_order", "0") if given else "0"
        self.order.append(0 if order == "0" else int(number_of(order) or 0))
        return self.found.thing(self.picture, self.found.label(label), corners, line)

    def _keypoints(self, label: str, points: list[float], given: Mapping[str, str]) -> str:
        if self.skeleton is not None:
            v = 0.0 if given.get("outside") == "1" else 1.0 if given.get("occluded") == "1" else 2.0
            self.skeleton[1].extend(seen(points[:2], v))
        elif "keypoints" in self.asked.takes:
            self.found.lone_points(self.picture, seen(points, self.found.label(label)))
        else:
            self.found.label(label)
        return ""

    def _mask(self, label: str, given: Mapping[str, str], line: int) -> str:
        place = [number_of(given.get(name)) for name in ("left", "top", "width", "height")]
        counts = [number_of(value) for value in given.get("rle", "").split(",")]
        if None in place or None in counts:
            return "needs numbers left, top, width and height, and `rle`"
        left, top, width, height = (int(value or 0) for value in place)
        lengths = [int(value or 0) for value in counts]
        if not (width > 0 and height > 0 and width * height <= _MOST_PIXELS and max(abs(left), abs(top)) < 1 << 30):
            return f"of {height}×{width} px at {left}, {top}"
        if min(lengths) < 0 or sum(lengths) != width * height:
            return f"has an `rle` whose numbers do not add up to {height}×{width}"
        thing = self._thing(label, (left, top, left + width, top + height), line, given)
        if thing >= 0 and "mask" in self.asked.takes:
            self.found.run_lengths(thing, runs("rows", left, top, width, height, lengths))
        return ""

    def finish(self) -> None:
        """What can be said when all has been read."""
        found, split = self.found, self.asked.split
        classes = [name for name, parent in self.known.items() if parent is None]
        if classes:
            place = {name: k for k, name in enumerate(classes)}
            strange = {name: k for name, k in found.seen.items() if name not in place}
            for k, label in enumerate(found.labels) if strange else ():
                if label in strange.values():
                    name = next(name for name, number in strange.items() if number == label)
                    found.faults.add(found.where(k), f"label {name!r} is not among the labels of the task")
            found.rename([place.get(name, 0) for name in found.seen])
            found.classes = classes
        found.priority = self.order if any(self.order) else None
        if self.left_out:
            found.notes.append(f"{counted(self.left_out, 'shape')} left out: polylines, cuboids and tags are not read")
        if split is not None and split not in self.subsets:
            has = ", ".join(sorted(self.subsets - {""})) or "none"
            raise DataError(f"no picture of subset {split!r}; the file has {has}", self.file)


def _points(text: str) -> list[float] | None:
    """x,y;x,y;... as x, y, x, y, ...; None where it is something else."""
    pairs = [pair.split(",") for pair in text.split(";")]
    values = [number_of(value) for pair in pairs for value in pair]
    fine = all(len(pair) == 2 for pair in pairs) and None not in values
    return values if fine else None  # type: ignore[return-value]


def _of_box(left: float, top: float, right: float, bottom: float, angle: float) -> list[float]:
    if not angle:
        return [left, top, right, top, right, bottom, left, bottom]
    x, y = (right - left) / 2, (bottom - top) / 2
    return turned(left + x, top + y, [[-x, -y], [x, -y], [x, y], [-x, y]], angle)
