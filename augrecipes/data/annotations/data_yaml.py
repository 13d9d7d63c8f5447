"""A YOLO data set's `data.yaml`: where the pictures of each split lie, the names of the classes, the keypoints."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from augrecipes.data.annotations.pictures import OUTSIDE, leaves
from augrecipes.data.annotations.source import read_whole
from augrecipes.errors import DataError
from augrecipes.recipe.nodes import plain
from augrecipes.recipe.parse import read_nodes
from augrecipes.recipe.problems import Problems, Stop

_MOST = 1 << 20  # bytes
_SPLITS = ("train", "val", "test")
_LIST = 1 << 28  # bytes of a list of pictures


@dataclass
class DataYaml:
    """What such a file says.

    Attributes:
        folders: of the pictures.
        names: of the classes 0, 1, ..., or None.
        keypoints: how many each object has; 0 without.
        dimensions: numbers of a keypoint: 2, or 3 with its visibility.
        listed: the pictures that are taken, by folder, where a text file lists them.
    """

    folders: list[Path]
    names: list[str] | None = None
    keypoints: int = 0
    dimensions: int = 0
    listed: dict[Path, list[str]] = field(default_factory=dict)


def read_data_yaml(
    path: Path, split: str | None, root: Path | None, *, files: bool = True, outside: bool = False
) -> DataYaml:
    """Read a data.yaml.

    Args:
        path: of the file.
        split: `train`, `val` or `test`; None: `train`, so that validation pictures are never trained on unasked.
        root: instead of what its `path` says.
        files: look for the pictures, too.
        outside: lists of pictures may name files outside of the data set's folder.

    Raises:
        DataError: it is no such file, or has not this split; names the file.
    """
    said = _read(path)
    about = DataYaml([], _names(said, path), *_shape(said, path))
    if not files:
        return about
    wanted = split or "train"
    splits = [name for name in _SPLITS if said.get(name)]
    if not said.get(wanted):
        raise DataError(f"has no split {wanted!r}; it has {', '.join(splits) or 'none'}", str(path))
    entries = said[wanted] if isinstance(said[wanted], list) else [said[wanted]]
    if not all(isinstance(entry, str) and entry.isprintable() for entry in entries):
        raise DataError(f"`{wanted}` should be a path, or a list of paths", str(path))
    base = root or _base(said, path)
    for entry in entries:
        _add(about, _place(base, path.parent, entry), path, None if outside else base)
    return about


def _read(path: Path) -> dict[Any, Any]:
    data = read_whole(path, _MOST)
    problems = Problems()
    try:
        node, _ = read_nodes(data, str(path), problems)
    except Stop:
        node = None
    if node is None or problems:
        first = problems.all()[0]
        raise DataError(first.message, f"{path}:{first.line}" if first.line else str(path))
    said = plain(node)
    if not isinstance(said, dict) or not any(name in said for name in (*_SPLITS, "names")):
        raise DataError("is no data.yaml: it should have `train` and `names`", str(path))
    return said


def _base(said: dict[Any, Any], path: Path) -> Path:
    given = said.get("path")
    if not isinstance(given, str) or not given or "\0" in given:
        return path.parent
    base = path.parent / given
    # Written for another folder of data sets: the file lies in the data set itself.
    return base if base.is_dir() else path.parent


def _place(base: Path, folder: Path, entry: str) -> Path:
    """Where an entry lies; some exports write `../train/images` for what lies beside the file."""
    tried = [base / entry, folder / entry, *([base / entry[3:]] if entry.startswith("../") else [])]
    return next((place for place in tried if place.exists()), tried[0])


def _add(about: DataYaml, place: Path, path: Path, within: Path | None) -> None:
    if place.is_dir():
        below = place / "images"
        about.folders.append(below if below.is_dir() else place)
    elif place.suffix == ".txt" and place.is_file():
        lines = read_whole(place, _LIST).decode("utf-8", "surrogateescape").splitlines()
        for k, line in enumerate(map(str.strip, lines), 1):
            if not line:
                continue
            if within is not None and leaves(line, place.parent, within):
                raise DataError(f"{line!r} {OUTSIDE.format(within)}", f"{place}:{k}")
            file = place.parent / line.replace("\0", "")
            parts = file.parts
            at = max((k for k, part in enumerate(parts[:-1]) if part == "images"), default=len(parts) - 2)
            folder = Path(*parts[: at + 1])
            if folder not in about.listed:
                about.listed[folder] = []
                about.folders.append(folder)
            about.listed[folder].append("/".join(parts[at + 1 :]))
    else:
        raise DataError(f"its pictures are in {place}: no such folder; give the data set's folder (root=)", str(path))


def _names(said: dict[Any, Any], path: Path) -> list[str] | None:
    given = said.get("names")
    if given is None:
        return None
    if isinstance(given, dict):
        numbers = [str(k) for k in range(len(given))]
        if set(given) != set(numbers):
            raise DataError("`names` should number the classes 0, 1, 2, ...", str(path))
        given = [given[k] for k in numbers]
    if not isinstance(given, list) or any(isinstance(name, list | dict) or name is None for name in given):
        raise DataError("`names` should be a list of names, or names by number", str(path))
    count = said.get("nc")
    if count is not None and count != len(given):
        raise DataError(f"`nc` is {count}, and `names` has {len(given)} names", str(path))
    return [str(name) for name in given]


def _shape(said: dict[Any, Any], path: Path) -> tuple[int, int]:
    given = said.get("kpt_shape")
    if given is None:
        return 0, 0
    match given:
        case [int(count), 2 | 3 as dimensions] if 0 < count < 1 << 16:
            return count, int(dimensions)
    raise DataError("`kpt_shape` should be [number of keypoints, 2 or 3]", str(path))
