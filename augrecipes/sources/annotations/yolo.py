"""YOLO: one text file per image, one line per object, with coordinates as fractions of the image.

    class x y width height                     detection: the centre, and the size
    class x1 y1 x2 y2 x3 y3 ...                segmentation: a polygon; an oriented box is one of four corners
    class x y width height px py [v] ...       pose, where data.yaml has `kpt_shape`

The user names `data.yaml` (`path`, `train`, `val`, `test`, `names`, `kpt_shape`), its folder, or a folder `labels/`.
The label file of `images/a/1.jpg` is `labels/a/1.txt`. Images with an empty label file, or none, have no objects.
Class names are those of data.yaml, or of `classes.txt` beside the labels; without either, labels are numbers.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from augrecipes.errors import DataError
from augrecipes.paths import is_image
from augrecipes.recipe import nodes, parse
from augrecipes.recipe.problems import Problems, Stop
from augrecipes.sources.annotations import records
from augrecipes.sources.annotations.files import PathView, class_list, is_there, read_lines, read_whole
from augrecipes.sources.paths import OUTSIDE, DataFolder, local_name

TITLE = "YOLO"
LOOKS = "a data.yaml with `train` and `names`, or a folder of text files, one an image (`0 0.5 0.5 0.1 0.2`)"
_YAML = ("data.yaml", "data.yml", "dataset.yaml")
_SPLITS = ("train", "val", "test")
_INSPECTED = 20
_MOST_CLASSES = 1 << 30  # where nothing names them
_FAR = 2.0  # image widths from the centre; coordinates further out must be px, not fractions
_BOX = 5  # class, x, y, width, height
_ROW = re.compile(r"(\s*[-+.\deE]+(\s|$)){5}")

# Images, each with the path of its label file, which may not exist; and the folders of label files.
LabelledImages = tuple[list[tuple[str, str]], list[Path]]


def claims(source: PathView) -> bool:
    """Whether this is a YAML file, a folder with a data.yaml, or a folder of text files that begin with numbers."""
    if not source.is_folder:
        return bool(source.ending(".yaml", ".yml"))
    labels = [source.path / name for name in source.names if _is_label(name)][:_INSPECTED]
    first = [line for label in labels for line in read_lines(label)[:1]]
    return _yaml_in(source.path) is not None or (bool(labels) and all(map(_ROW.match, first)))


def _yaml_in(folder: Path) -> Path | None:
    return next((folder / name for name in _YAML if (folder / name).is_file()), None)


def _is_label(name: str) -> bool:
    return name.endswith(".txt") and not name.rpartition("/")[2].lower().startswith(("classes", "readme"))


def read(source: PathView, options: records.AnnotationOptions, annotations: records.AnnotationSet) -> None:
    """Read the label file of every image."""
    path = source.path
    index = _yaml_in(path) if source.is_folder else path
    yaml_file = index or _yaml_in(path.parent)  # it explains the numbers of a folder of labels, too
    content = {} if yaml_file is None else _read_yaml(yaml_file)
    names = (
        class_list((path, path.parent), "classes.txt", "obj.names") if yaml_file is None else _names(content, yaml_file)
    )
    annotations.relative, annotations.numbered = True, names is None
    annotations.use_classes(names)
    labels = _LabelFiles(annotations, options, content, yaml_file or path)
    files, folders = (
        _images_of_labels(path, options) if index is None else _images_of_yaml(index, content, options, annotations)
    )
    existing = {f"{folder}/{name}" for folder in folders for name in PathView(folder).names}
    orphans, unlabelled = set(filter(_is_label, existing)), list[str]()
    for image, label in files:
        position = annotations.image(image, label)
        orphans.discard(label)
        if label in existing or is_there(label):
            labels.read(label, position)
        else:
            unlabelled.append(image)
    if unlabelled and len(unlabelled) == len(files):
        what = f"none of {len(unlabelled):,} images has a label file; looked for {files[0][1]}"
        raise DataError(what, str(source.path))
    annotations.tally("image", "without a label file, so without objects", "".join(unlabelled[:1]), len(unlabelled))
    annotations.tally("label file", "without an image, not read", min(orphans, default=""), len(orphans))


# -- data.yaml ---------------------------------------------------------------------------------------------------------


def _read_yaml(path: Path) -> dict[Any, Any]:
    problems = Problems()
    try:
        content = nodes.plain(parse.read_nodes(read_whole(path), str(path), problems)[0])
    except Stop:
        content = None
    if problems:
        first = problems.all()[0]
        raise DataError(first.message, f"{path}:{first.line}" if first.line else str(path))
    if not isinstance(content, dict) or not any(name in content for name in (*_SPLITS, "names")):
        raise DataError("is not a data.yaml: it should have `train` and `names`", str(path))
    return content


def _names(content: dict[Any, Any], path: Path) -> list[str] | None:
    names, count = content.get("names"), content.get("nc")
    if names is None:
        return None
    if isinstance(names, dict):
        names = [names.get(str(k)) for k in range(len(names))]
    if not isinstance(names, list) or any(isinstance(name, list | dict) or name is None for name in names):
        raise DataError("`names` should be a list of names, or should number the classes 0, 1, 2, ...", str(path))
    if count is not None and count != len(names):
        raise DataError(f"`nc` is {count}, and `names` has {len(names)} names", str(path))
    return [str(name) for name in names]


# -- which files there are ---------------------------------------------------------------------------------------------


def _images_of_labels(path: Path, options: records.AnnotationOptions) -> LabelledImages:
    """The images for a folder of labels, or for a split's folder in it."""
    split, images = options.split or "", options.folder
    labels = path / split
    if not is_there(labels, folder=True):
        raise DataError(f"split={split!r} needs this folder: no such folder", str(labels))
    if images is None:
        beside = _with_folder(labels, "labels", "images") or labels.parent / "images"
        images = next((place for place in (beside, labels) if PathView(place).has_images), beside)
    elif is_there(images / split, folder=True):
        images = images / split
    return _images_in(images, labels), [labels]


def _images_of_yaml(
    path: Path, content: dict[Any, Any], options: records.AnnotationOptions, annotations: records.AnnotationSet
) -> LabelledImages:
    """The images of a split of data.yaml; by default `train`, so that nobody trains on validation images unasked."""
    wanted = options.split or "train"
    if not content.get(wanted):
        has = ", ".join(name for name in _SPLITS if content.get(name)) or "none"
        raise DataError(f"has no split {wanted!r}; it has {has}", str(path))
    entries = content[wanted] if isinstance(content[wanted], list) else [content[wanted]]
    if not all(isinstance(entry, str) and entry.isprintable() for entry in entries):
        raise DataError(f"`{wanted}` should be a path, or a list of paths", str(path))
    base, root = options.folder or path.parent, content.get("path")
    if options.folder is None and isinstance(root, str) and "\0" not in root:
        base = path.parent / local_name(path.parent, root)
        # `path` may be of another machine; data.yaml then usually lies in the data set itself.
        base = base if is_there(base, folder=True) else path.parent
    within = None if options.outside else DataFolder(base)
    files, folders = list[tuple[str, str]](), list[Path]()
    for entry in (local_name(base, entry) for entry in entries):
        # Some exports write `../train/images` for what lies beside the file.
        candidates = [base / entry, path.parent / entry, base / entry.removeprefix("../")]
        existing = [place for place in candidates if is_there(place) or is_there(place, folder=True)]
        place = next((place for place in existing if within is None or within.spans(place)), candidates[0])
        if existing and within is not None and not within.spans(place):
            raise DataError(f"{entry!r} {OUTSIDE.format(base)}", str(path))
        if is_there(place, folder=True):
            images = place / "images" if (place / "images").is_dir() else place
            folders.append(_with_folder(images, "images", "labels") or images)
            files += _images_in(images, folders[-1])
        elif place.suffix == ".txt" and is_there(place):
            files += _images_in_list(place, within, annotations)
        else:
            what = f"its images are in {place}: no such folder; give the data set's folder (root=)"
            raise DataError(what, str(path))
    return files, folders


def _with_folder(path: Path, old: str, new: str) -> Path | None:
    """The path with its last folder named `old` renamed `new`; None where it has no such folder."""
    parts = list(path.parts)
    if old not in parts:
        return None
    parts[len(parts) - 1 - parts[::-1].index(old)] = new
    return Path(*parts)


def _images_in(images: Path, labels: Path) -> list[tuple[str, str]]:
    names = [name for name in PathView(images).names if is_image(name)]
    if not names:
        raise DataError(f"no images in this folder, which {labels} has the labels of", str(images))
    return [(f"{images}/{name}", f"{labels}/{name.rpartition('.')[0]}.txt") for name in names]


def _images_in_list(
    path: Path, within: DataFolder | None, annotations: records.AnnotationSet
) -> Iterator[tuple[str, str]]:
    """The images that a text file lists, and their label files."""
    for k, line in enumerate(map(str.strip, read_lines(path, "surrogateescape")), 1):
        file = path.parent / local_name(path.parent, line.replace("\0", ""))
        if not is_image(line):
            annotations.tally("line", "without the name of an image, not read", f"{path}:{k}", int(bool(line)))
            continue
        if within is not None and ("://" in line or not within.holds(file)):
            raise DataError(f"{line!r} {OUTSIDE.format(within.folder)}", f"{path}:{k}")
        yield str(file), str((_with_folder(file, "images", "labels") or file).with_suffix(".txt"))


# -- label files -------------------------------------------------------------------------------------------------------


class _LabelFiles:
    """A reader for label files, whose lines mean what `kpt_shape` and `flip_idx` of data.yaml say."""

    def __init__(
        self,
        annotations: records.AnnotationSet,
        options: records.AnnotationOptions,
        content: dict[Any, Any],
        path: Path,
    ) -> None:
        self.annotations, self.takes = annotations, options.takes
        self.classes = _MOST_CLASSES if annotations.classes is None else len(annotations.classes)
        match content.get("kpt_shape"):
            case None:
                self.shape = 0, 0  # keypoints of an object, and numbers of each
            case [int(keypoints), 2 | 3 as dimensions] if 0 < keypoints < 1 << 16:
                self.shape = keypoints, int(dimensions)
            case _:
                raise DataError("`kpt_shape` should be [number of keypoints, 2 or 3]", str(path))
        mirrored, places = content.get("flip_idx") or [], [*range(self.shape[0])]
        if mirrored and (not isinstance(mirrored, list) or sorted(map(repr, mirrored)) != sorted(map(repr, places))):
            raise DataError(f"`flip_idx` should have the numbers {places} in the order of a mirror", str(path))
        shifts = records.mirror_shifts(options, [], mirrored)
        annotations.shifts.default_factory = lambda: shifts

    def read(self, path: str, image: int) -> None:
        """Add the objects of a file."""
        rows = ((k, words) for k, line in enumerate(read_lines(Path(path)), 1) if (words := line.split()))
        self.annotations.read_each(path, rows, lambda k, words: self._add(k, words, image))

    def _add(self, k: int, words: list[str], image: int) -> None:
        """Add the object of a line."""
        what = f"should be a class and four numbers or more, got {' '.join(words)[:60]!r}"
        label, *values = records.numbers_of(words, what)
        if len(words) < _BOX:
            raise records.RecordError(what)
        if not 0 <= label < self.classes or label % 1:
            raise records.RecordError(f"class {label:g} should be a whole number from 0 to {self.classes - 1}")
        pose = self.shape[0] * self.shape[1]
        places = values[:4] if pose else values
        if min(places) < 0.5 - _FAR or max(places) > 0.5 + _FAR:
            raise records.RecordError("coordinates should be shares of the image, 0..1, not px")
        if len(values) == 4 or (pose and len(values) == 4 + pose):
            x, y, width, height = values[:4]
            corners = x - width / 2, y - height / 2, x + width / 2, y + height / 2
            obj = self.annotations.add(image, int(label), corners, k)
            if "keypoints" in self.takes and len(values) > 4:
                points = _with_visibility(np.reshape(values[4:], (-1, self.shape[1])))
                self.annotations.add_points(obj, points.ravel().tolist())
        elif pose:
            raise records.RecordError(f"{len(words)} numbers: a pose of kpt_shape {[*self.shape]} has {_BOX + pose}")
        elif len(values) % 2 or len(values) < 2 * records.LEAST_CORNERS:
            what = "a box has 5, a polygon 7, 9, 11, ...; for keypoints data.yaml has `kpt_shape`"
            raise records.RecordError(f"{len(words)} numbers: {what}")
        else:
            obj = self.annotations.add(image, int(label), records.bounds(values), k)
            if "mask" in self.takes:
                self.annotations.add_area(obj, values)


def _with_visibility(points: Any) -> Any:
    """Keypoints (k, 3) with a visibility: without their own, 2 (visible), or 0 for points at 0, 0 or below zero."""
    if points.shape[1] == 3:
        return points
    hidden = (points == 0).all(axis=1) | (points < 0).any(axis=1)
    return np.hstack([points, np.where(hidden, 0.0, 2.0)[:, None]])
