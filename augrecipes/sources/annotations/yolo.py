"""YOLO: a text file an image, one line an object, with coordinates as shares of the image.

    class x y width height                     detection: the middle, and the size
    class x1 y1 x2 y2 x3 y3 ...                segmentation: a polygon; four corners of a turned box are one
    class x y width height px py [v] ...       pose, where data.yaml has `kpt_shape`

Given as `data.yaml` (`path`, `train`, `val`, `test`, `names`, `kpt_shape`), the folder that it lies in, or a folder
`labels/`. The file of `images/a/1.jpg` is `labels/a/1.txt`. Images without one, or with an empty one, have no
objects. Names of classes are those of data.yaml, or of `classes.txt` beside the labels; without, labels are numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from augrecipes.errors import DataError, counted
from augrecipes.recipe.nodes import plain
from augrecipes.recipe.parse import read_nodes
from augrecipes.recipe.problems import Problems, Stop
from augrecipes.sources.annotations.files import PathView, class_list, is_picture, is_there, read_lines, read_whole
from augrecipes.sources.annotations.records import LEAST_CORNERS, AnnotationOptions, AnnotationSet, bounds, numbers_of
from augrecipes.sources.named_files import OUTSIDE, DataFolder

TITLE = "YOLO"
LOOKS = "a data.yaml with `train` and `names`, or a folder of text files, one a picture (`0 0.5 0.5 0.1 0.2`)"
_YAML = ("data.yaml", "data.yml", "dataset.yaml")
_MOST_YAML = 1 << 20  # bytes
_SPLITS = ("train", "val", "test")
_LOOKED_AT = 20
_FAR = 2.0  # an image's widths from its middle: beyond, coordinates are px and no shares
_BOX = 5  # class, x, y, width, height


@dataclass
class _Layout:
    """Which images and label files there are, and what labels mean.

    Attributes:
        files: each image, and its label file, whether there is one or not.
        labels: folders of label files, all of which should have an image.
        names: of the classes 0, 1, ..., or None.
        keypoints: how many each object has; 0 without.
        dimensions: numbers of a keypoint: 2, or 3 with its visibility.
    """

    files: list[tuple[str, str]] = field(default_factory=list)
    labels: list[Path] = field(default_factory=list)
    names: list[str] | None = None
    keypoints: int = 0
    dimensions: int = 0

    @property
    def classes(self) -> int:
        """How many classes there are, or can be."""
        return 1 << 30 if self.names is None else len(self.names)

    def add_folder(self, images: Path, labels: Path) -> None:
        """Add the images of a folder; DataError where there are none."""
        names = [name for name in PathView(images).names if is_picture(name)]
        if not names:
            raise DataError(f"no pictures in this folder, which {labels} has the labels of", str(images))
        self.files += [(f"{images}/{name}", f"{labels}/{name.rpartition('.')[0]}.txt") for name in names]
        self.labels.append(labels)


def claims(source: PathView) -> bool:
    """A data.yaml, a folder with one, or a folder of text files that hold numbers."""
    if not source.is_folder:
        return bool(source.ending(".yaml", ".yml"))
    names = [name for name in source.ending(".txt") if _is_label(name)][:_LOOKED_AT]
    return _yaml_in(source.path) is not None or (
        bool(names) and all(_numbers(read_lines(source.path / name)[:1]) is not None for name in names)
    )


def _yaml_in(*folders: Path) -> Path | None:
    return next((folder / name for folder in folders for name in _YAML if (folder / name).is_file()), None)


def _is_label(name: str) -> bool:
    return name.endswith(".txt") and not name.rpartition("/")[2].lower().startswith(("classes", "readme"))


def read(source: PathView, asked: AnnotationOptions, found: AnnotationSet) -> None:
    """Read the label file of every image."""
    file = _yaml_in(source.path) if source.is_folder else source.path
    layout = _of_labels(source.path, asked) if file is None else _of_yaml(file, asked)
    found.relative, found.numbered = True, layout.names is None
    found.use_classes(layout.names)
    there = {f"{folder}/{name}" for folder in layout.labels for name in PathView(folder).names}
    without, orphans = list[str](), set(there)
    for image, label in layout.files:
        position = found.image(image, label)
        orphans.discard(label)
        if label in there or is_there(label):
            _read_file(label, position, layout, asked.takes, found)
        else:
            without.append(image)
    if without and len(without) == len(layout.files):
        many = f"none of {len(without):,} pictures has a label file; looked for {layout.files[0][1]}"
        raise DataError(many, str(source.path))
    for names, what, so in (
        (without, "picture", "without a label file, so without objects"),
        (sorted(filter(_is_label, orphans)), "label file", "without a picture, not read"),
    ):
        if names:
            found.notes.append(f"{counted(len(names), what)} {so} (first: {names[0]})")


# -- which files there are, and what labels mean -----------------------------------------------------------------------


def _of_labels(path: Path, asked: AnnotationOptions) -> _Layout:
    """What is known of a folder of labels, and of that of its images."""
    labels, images = path, asked.folder
    if asked.split is not None:
        labels = labels / asked.split
        if not labels.is_dir():
            raise DataError(f"split={asked.split!r} needs this folder: no such folder", str(labels))
    if images is None:
        beside = _swapped(labels, "labels", "images") or labels.parent / "images"
        images = next((place for place in (beside, labels) if PathView(place).has_images), beside)
    elif asked.split is not None and (images / asked.split).is_dir():
        images = images / asked.split
    near = path, path.parent
    file = _yaml_in(*near)
    layout = _Layout(names=class_list(near, "classes.txt", "obj.names")) if file is None else _meanings(file)[0]
    layout.add_folder(images, labels)
    return layout


def _swapped(path: Path, old: str, new: str) -> Path | None:
    """A path whose last folder `old` is called `new`; None where it has none."""
    parts = list(path.parts)
    if old not in parts:
        return None
    parts[len(parts) - 1 - parts[::-1].index(old)] = new
    return Path(*parts)


def _of_yaml(path: Path, asked: AnnotationOptions) -> _Layout:
    """What a data.yaml says of a split; of none `train`, so that validation images are never trained on unasked."""
    layout, said = _meanings(path)
    wanted = asked.split or "train"
    if not said.get(wanted):
        has = ", ".join(name for name in _SPLITS if said.get(name)) or "none"
        raise DataError(f"has no split {wanted!r}; it has {has}", str(path))
    entries = said[wanted] if isinstance(said[wanted], list) else [said[wanted]]
    if not all(isinstance(entry, str) and entry.isprintable() for entry in entries):
        raise DataError(f"`{wanted}` should be a path, or a list of paths", str(path))
    base, given = asked.folder, said.get("path")
    if base is None:
        base = path.parent / given if isinstance(given, str) and "\0" not in given else path.parent
        # Where it was written for another folder of data sets, the file lies in the data set itself.
        base = base if is_there(base, folder=True) else path.parent
    within = None if asked.outside else DataFolder(base)
    for entry in entries:
        # Some exports write `../train/images` for what lies beside the file.
        tried = [base / entry, path.parent / entry, *([base / entry[3:]] if entry.startswith("../") else [])]
        there = [place for place in tried if is_there(place) or is_there(place, folder=True)]
        inside = [place for place in there if within is None or within.spans(place)]
        if there and not inside:
            raise DataError(f"{entry!r} {OUTSIDE.format(base)}", str(path))
        place = (inside or tried)[0]
        if is_there(place, folder=True):
            images = place / "images" if (place / "images").is_dir() else place
            layout.add_folder(images, _swapped(images, "images", "labels") or images)
        elif place.suffix == ".txt" and is_there(place):
            layout.files += _listed(place, within)
        else:
            what = f"its pictures are in {place}: no such folder; give the data set's folder (root=)"
            raise DataError(what, str(path))
    return layout


def _listed(path: Path, within: DataFolder | None) -> Iterator[tuple[str, str]]:
    """The images that a text file lists, and their label files."""
    for k, line in enumerate(map(str.strip, read_lines(path, "surrogateescape")), 1):
        file = path.parent / line.replace("\0", "")
        if not is_picture(line):
            continue
        if within is not None and ("://" in line or not within.holds(file)):
            raise DataError(f"{line!r} {OUTSIDE.format(within.folder)}", f"{path}:{k}")
        yield str(file), str((_swapped(file, "images", "labels") or file).with_suffix(".txt"))


def _meanings(path: Path) -> tuple[_Layout, dict[Any, Any]]:
    """What a data.yaml says of labels, and all that it says; DataError where it is none."""
    problems = Problems()
    try:
        said = plain(read_nodes(read_whole(path, _MOST_YAML), str(path), problems)[0])
    except Stop:
        said = None
    if problems:
        first = problems.all()[0]
        raise DataError(first.message, f"{path}:{first.line}" if first.line else str(path))
    if not isinstance(said, dict) or not any(name in said for name in (*_SPLITS, "names")):
        raise DataError("is no data.yaml: it should have `train` and `names`", str(path))
    names, count = said.get("names"), said.get("nc")
    if isinstance(names, dict):
        names = [names.get(str(k)) for k in range(len(names))]
    if names is not None:
        if not isinstance(names, list) or any(isinstance(name, list | dict) or name is None for name in names):
            raise DataError("`names` should be a list of names, or should number the classes 0, 1, 2, ...", str(path))
        if count is not None and count != len(names):
            raise DataError(f"`nc` is {count}, and `names` has {len(names)} names", str(path))
        names = [str(name) for name in names]
    match said.get("kpt_shape"):
        case None:
            return _Layout(names=names), said
        case [int(keypoints), 2 | 3 as dimensions] if 0 < keypoints < 1 << 16:
            return _Layout(names=names, keypoints=keypoints, dimensions=int(dimensions)), said
    raise DataError("`kpt_shape` should be [number of keypoints, 2 or 3]", str(path))


# -- label files -------------------------------------------------------------------------------------------------------


def _read_file(path: str, image: int, layout: _Layout, takes: frozenset[str], found: AnnotationSet) -> None:
    """Add the objects of a label file."""
    lines = read_lines(Path(path))
    rows = _numbers(lines)
    if rows is not None and rows.shape[1] == _BOX and not layout.keypoints and _fine(rows, layout):
        # Most files: all lines are boxes.
        half = rows[:, 3:5] / 2
        found.add_all(image, rows[:, 0], np.hstack([rows[:, 1:3] - half, rows[:, 1:3] + half]))
        return
    for k, line in enumerate(lines, 1):
        what = _line(line, k, image, layout, takes, found) if line.strip() else ""
        if what:
            found.faults.add(f"{path}:{k}", what)


def _numbers(lines: list[str]) -> Any:
    """Lines of as many numbers each as an array; None where they are no such lines."""
    words = [line.split() for line in lines]
    if not words:
        return np.zeros((0, _BOX))
    try:
        found = np.array(words, float)
    except ValueError:
        return None
    return found if found.ndim == 2 and found.shape[1] >= _BOX else None


def _fine(rows: Any, layout: _Layout) -> bool:
    """Whether nothing is wrong with the boxes of a file."""
    label = rows[:, 0]
    with np.errstate(invalid="ignore"):
        named = (label >= 0) & (label < layout.classes) & (label % 1 == 0)
        return bool(named.all() and (np.abs(rows[:, 1:] - 0.5) <= _FAR).all())


def _line(line: str, k: int, image: int, layout: _Layout, takes: frozenset[str], found: AnnotationSet) -> str:
    """Add the object of a line, or say what is wrong with it."""
    row = numbers_of(line.split())
    if row is None or len(row) < _BOX:
        return f"should be a class and four numbers or more, got {line.strip()[:60]!r}"
    label, values, pose = row[0], row[1:], layout.keypoints * layout.dimensions
    if not 0 <= label < layout.classes or label % 1:
        return f"class {label:g} should be a whole number from 0 to {layout.classes - 1}"
    places = values[:4] if pose else values
    if min(places) < 0.5 - _FAR or max(places) > 0.5 + _FAR:
        return "coordinates should be shares of the picture, 0..1, not px"
    if len(values) == 4 or (pose and len(values) == 4 + pose):
        x, y, width, height = values[:4]
        thing = found.add(image, int(label), (x - width / 2, y - height / 2, x + width / 2, y + height / 2), k)
        if "keypoints" in takes and len(values) > 4:
            found.points(thing, _visible(np.reshape(values[4:], (-1, layout.dimensions))).ravel().tolist())
    elif pose:
        shape = f"[{layout.keypoints}, {layout.dimensions}]"
        return f"{len(row)} numbers: a pose of kpt_shape {shape} has {_BOX + pose}"
    elif len(values) % 2 or len(values) < 2 * LEAST_CORNERS:
        return f"{len(row)} numbers: a box has 5, a polygon 7, 9, 11, ...; for keypoints data.yaml has `kpt_shape`"
    else:
        thing = found.add(image, int(label), bounds(values), k)
        if "mask" in takes:
            found.area(thing, values)
    return ""


def _visible(given: Any) -> Any:
    """Keypoints (k, 3): those without a word of their own are seen, unless they lie at 0, 0 or left of it."""
    if given.shape[1] == 3:
        return given
    hidden = (given == 0).all(axis=1) | (given < 0).any(axis=1)
    return np.hstack([given, np.where(hidden, 0.0, 2.0)[:, None]])
