"""YOLO: a text file a picture, one line an object, with coordinates as shares of the picture.

    class x y width height                     detection: the middle, and the size
    class x1 y1 x2 y2 x3 y3 ...                segmentation: a polygon; four corners of a turned box are one
    class x y width height px py [v] ...       pose, where data.yaml has `kpt_shape`

Given as `data.yaml` (`path`, `train`, `val`, `test`, `names`, `kpt_shape`), the folder that it lies in, or a folder
`labels/`. The file of `images/a/1.jpg` is `labels/a/1.txt`. Pictures without one, or with an empty one, have no
objects. Names of classes are those of data.yaml, or of `classes.txt` beside the labels; without, labels are numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from augrecipes.data.annotations.data_yaml import DataYaml, read_data_yaml
from augrecipes.data.annotations.found import LEAST_CORNERS, FoundObjects, Request
from augrecipes.data.annotations.numbers import bounds, numbers_of
from augrecipes.data.annotations.pictures import is_picture
from augrecipes.data.annotations.source import PathView, read_whole
from augrecipes.errors import DataError, counted

TITLE = "YOLO"
LOOKS = "a data.yaml with `train` and `names`, or a folder of text files, one a picture (`0 0.5 0.5 0.1 0.2`)"
_YAML = ("data.yaml", "data.yml", "dataset.yaml")
_NAMES = ("classes.txt", "obj.names")
_MOST = 1 << 26  # bytes of the labels of one picture
_LOOKED_AT = 20
_FAR = 2.0  # a picture's widths from its middle: beyond, coordinates are px and no shares
_BOX = 5  # class, x, y, width, height


def claims(source: PathView) -> bool:
    """A data.yaml, a folder with one, or a folder of text files that hold numbers."""
    if not source.is_folder:
        return source.suffix in (".yaml", ".yml")
    if any((source.path / name).is_file() for name in _YAML):
        return True
    names = _label_files(source)[:_LOOKED_AT]
    return bool(names) and all(_numbers(_lines(source.path / name)[:1]) is not None for name in names)


def _label_files(source: PathView) -> list[str]:
    return [
        name for name in source.ending(".txt") if not name.rpartition("/")[2].lower().startswith(("classes", "readme"))
    ]


def read(asked: Request, found: FoundObjects) -> None:
    """Read the label file of every picture."""
    found.relative = True
    path = asked.path
    if asked.source.is_folder:
        path = next((path / name for name in _YAML if (path / name).is_file()), path)
    if path.is_dir():
        about, pairs = _of_labels(asked, path)
    else:
        about = read_data_yaml(path, asked.split, asked.images, outside=asked.outside)
        pairs = [(folder, labels_beside(folder)) for folder in about.folders]
    found.classes, found.numbered = about.names, about.names is None
    _read_all(about, pairs, found, "keypoints" in asked.takes, "mask" in asked.takes)


def _of_labels(asked: Request, labels: Path) -> tuple[DataYaml, list[tuple[Path, Path]]]:
    """What is known of a folder of labels, and the folder of its pictures with it."""
    if asked.split is not None:
        labels = labels / asked.split
        if not labels.is_dir():
            raise DataError(f"split={asked.split!r} needs this folder: no such folder", str(labels))
    images = asked.images
    if images is None:
        parts = list(labels.parts)
        at = max((k for k, part in enumerate(parts) if part == "labels"), default=-1)
        beside = Path(*parts[:at], "images", *parts[at + 1 :]) if at >= 0 else labels.parent / "images"
        images = next((place for place in (beside, labels) if _has_pictures(place)), beside)
    elif asked.split is not None and (images / asked.split).is_dir():
        images = images / asked.split
    about = DataYaml([images])
    for folder in (asked.path, asked.path.parent):
        for name in _YAML:
            if (folder / name).is_file():
                about = read_data_yaml(folder / name, None, None, files=False)
                return DataYaml([images], about.names, about.keypoints, about.dimensions), [(images, labels)]
        for name in _NAMES:
            if (folder / name).is_file():
                about.names = [line.strip() for line in _lines(folder / name) if line.strip()]
                return about, [(images, labels)]
    return about, [(images, labels)]


def _has_pictures(folder: Path) -> bool:
    return folder.is_dir() and any(is_picture(name) for name in PathView(folder).names)


def labels_beside(images: Path) -> Path:
    """The folder of the labels of a folder of pictures: its last `images` is `labels`."""
    parts = list(images.parts)
    at = max((k for k, part in enumerate(parts) if part == "images"), default=-1)
    return images if at < 0 else Path(*parts[:at], "labels", *parts[at + 1 :])


def _read_all(
    about: DataYaml, pairs: list[tuple[Path, Path]], found: FoundObjects, points: bool, outlines: bool
) -> None:
    without, orphans = [], []
    total = 0
    for images, labels in pairs:
        names = [name for name in about.listed.get(images) or PathView(images).names if is_picture(name)]
        if not names:
            raise DataError(f"no pictures in this folder, which {labels} has the labels of", str(images))
        there = set(PathView(labels).names) if labels.is_dir() else set()
        used = set()
        for name in names:
            label = f"{name.rpartition('.')[0]}.txt"
            file = str(labels / label)
            picture = found.picture(str(images / name), file)
            if label in there:
                used.add(label)
                _file(Path(file), found, picture, about, points, outlines)
            else:
                without.append(str(images / name))
        total += len(used)
        left = {n for n in there - used if n.endswith(".txt") and not n.startswith(("classes", "README"))}
        orphans += [str(labels / n) for n in sorted(left)] if images not in about.listed else []
    if not total:
        raise DataError(
            f"none of {len(found.names):,} pictures has a label file; looked for {found.files[0]}", str(pairs[0][1])
        )
    if without:
        found.notes.append(
            f"{counted(len(without), 'picture')} without a label file, so without objects (first: {without[0]})"
        )
    if orphans:
        found.notes.append(f"{counted(len(orphans), 'label file')} without a picture, not read (first: {orphans[0]})")


def _file(path: Path, found: FoundObjects, picture: int, about: DataYaml, points: bool, outlines: bool) -> None:
    """The objects of one file."""
    lines = _lines(path)
    rows = _numbers(lines)
    if rows is not None and rows.shape[1] == _BOX and not about.keypoints and _fine(rows, about):
        # Most files: all lines are boxes.
        half = rows[:, 3:5] / 2
        corners = np.hstack([rows[:, 1:3] - half, rows[:, 1:3] + half])
        found.things(picture, rows[:, 0], corners, np.arange(1, len(rows) + 1))
        return
    for k, line in enumerate(lines, 1):
        if line.strip():
            what = _line(line, k, found, picture, about, points, outlines)
            if what:
                found.faults.add(f"{path}:{k}", what)


def _lines(path: Path) -> list[str]:
    # Other bytes than numbers are faults of their lines.
    return read_whole(path, _MOST).decode("utf-8-sig", "replace").splitlines()


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


def _fine(rows: Any, about: DataYaml) -> bool:
    """Whether nothing is wrong with the boxes of a file."""
    classes = rows[:, 0]
    most = 1 << 30 if about.names is None else len(about.names)
    with np.errstate(invalid="ignore"):
        return bool(
            ((classes >= 0) & (classes < most) & (classes % 1 == 0)).all() and (np.abs(rows[:, 1:] - 0.5) <= _FAR).all()
        )


def _line(line: str, k: int, found: FoundObjects, picture: int, about: DataYaml, points: bool, outlines: bool) -> str:
    """Add the object of a line, or say what is wrong with it."""
    row = numbers_of(line.split())
    if row is None or len(row) < _BOX:
        return f"should be a class and four numbers or more, got {line.strip()[:60]!r}"
    label, values = row[0], row[1:]
    most = len(about.names) if about.names is not None else 1 << 30
    if not 0 <= label < most or label % 1:
        return f"class {label:g} should be a whole number from 0 to {most - 1}"
    pose = about.keypoints * about.dimensions
    places = values[:4] if pose else values
    if min(places) < 0.5 - _FAR or max(places) > 0.5 + _FAR:
        return "coordinates should be shares of the picture, 0..1, not px"
    if len(values) == 4 or (pose and len(values) == 4 + pose):
        x, y, width, height = values[:4]
        thing = found.thing(picture, int(label), (x - width / 2, y - height / 2, x + width / 2, y + height / 2), k)
        if pose and points and len(values) > 4:
            found.points(thing, _visible(np.reshape(values[4:], (about.keypoints, about.dimensions))).ravel().tolist())
        return ""
    if pose:
        return f"{len(row)} numbers: a pose of kpt_shape [{about.keypoints}, {about.dimensions}] has {5 + pose}"
    if len(values) % 2 or len(values) < 2 * LEAST_CORNERS:
        return f"{len(row)} numbers: a box has 5, a polygon 7, 9, 11, ...; for keypoints data.yaml has `kpt_shape`"
    thing = found.thing(picture, int(label), bounds(values), k)
    if outlines:
        found.ring(thing, values)
    return ""


def _visible(given: Any) -> Any:
    """Keypoints (k, 3): those without a word of their own are seen, unless they lie at 0, 0 or left of it."""
    if given.shape[1] == 3:
        return given
    hidden = (given == 0).all(axis=1) | (given < 0).any(axis=1)
    return np.hstack([given, np.where(hidden, 0.0, 2.0)[:, None]])
