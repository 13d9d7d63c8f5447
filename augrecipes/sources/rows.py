"""What somebody's own source gives for a sample, by the names that recipes have for it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from augrecipes.errors import DataError
from augrecipes.images.arrays import LONGEST, rows, saved_array
from augrecipes.images.encoded import data_errors
from augrecipes.images.format import stage
from augrecipes.images.reading import open_file
from augrecipes.paths import is_archive
from augrecipes.sources.entries import EXTENSIONS, is_folder
from augrecipes.sources.sample import is_source
from augrecipes.sources.sample_inputs import is_image
from augrecipes.sources.tar.shards import TarShards
from augrecipes.user_code import open_module

# What images are called in the rows of Hugging Face, WebDataset and others.
IMAGE_KEYS = (
    "image", "img", "jpg", "jpeg", "png", "webp", "picture", "tif", "tiff", "bmp", "ppm", "pgm", "gif", "jp2", "avif",
)  # fmt: skip
LABEL_NAMES = ("label", "cls")
_ABSTRACT = "torch.utils.data.dataset", "Dataset.__getitem__"
_SPLITS = frozenset({"train", "training", "test", "val", "valid", "validation", "dev", "all"})

Key = str | int
Keys = Mapping[str, Key] | Sequence[str]


class OpenedSource:
    """Something with a length and items, opened anew in each process where it is given as a function.

    Args:
        given: it, or a function without arguments that opens it; or tar archives by their paths, or an `.npy` file,
            whose first axis counts images.

    Raises:
        TypeError: it has no length or no items.
    """

    def __init__(self, given: Any) -> None:
        if isinstance(given, str | os.PathLike) or _are_archives(given):
            given = _source_at(given)
        self._given, self._opened, self._process = _as_rows(given), None, 0
        self.open()

    def open(self) -> Any:
        """It."""
        given: Any = self._given
        if hasattr(given, "__getitem__") or is_source(given) or not callable(given):
            return _checked(given)
        if self._opened is None or self._process != os.getpid():
            opened = given()
            self._opened = opened.open() if isinstance(opened, OpenedSource) else _checked(_as_rows(opened))
            self._process = os.getpid()
        return self._opened

    def __len__(self) -> int:
        return len(self.open())

    def row(self, index: int) -> Any:
        """An item; DataError where it cannot be had, and the MemoryError that there may be."""
        try:
            with stage("read"):
                opened = self.open()
                return opened[index] if hasattr(opened, "__getitem__") else opened.read(index)
        except (DataError, MemoryError):
            raise
        except Exception as error:
            raise DataError(f"the source fails: {type(error).__name__}: {error}") from error

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None}


@dataclass(frozen=True)
class NamedColumns:
    """Columns of one length, of an HDF5 file or a dict of arrays, as rows: dicts of one value each.

    >>> NamedColumns({"image": ["a.png", "b.png"], "label": [3, 5]})[1]
    {'image': 'b.png', 'label': 5}
    """

    columns: Mapping[str, Any]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {name: column[index] for name, column in self.columns.items()}


@dataclass(frozen=True)
class NamedSource:
    """A source in a file of Python, or in a module: `FILE.py:NAME`. Pickles: each process runs the file for itself.

    Attributes:
        name: as the user gave it.
    """

    name: str

    def found(self) -> Any:
        """What has the name, or what it gives when it is called."""
        module = open_module(self.name, "data", "source:", DataError)
        found = module.found()
        return found if hasattr(found, "__getitem__") or not callable(found) else module.called(found)

    def __call__(self) -> Any:
        """The source: of an `ar.Samples` what it reads."""
        found = self.found()
        return getattr(getattr(found, "table", None), "source", None) or found


def _as_rows(given: Any) -> Any:
    """Columns by their names as rows; whatever else as it is."""
    if not isinstance(given, Mapping) or not given or not all(isinstance(name, str) for name in given):
        return given
    if _SPLITS.issuperset(given):
        raise TypeError(f"the source holds splits, {', '.join(given)}: give one of them, source[{next(iter(given))!r}]")
    columns = {name: column for name, column in given.items() if hasattr(column, "__len__")}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) != 1:
        said = ", ".join(f"{name}: {length:,}" for name, length in lengths.items()) or "none"
        raise TypeError(f"columns of a source have one length, a value for each sample; it has {said}")
    return NamedColumns(columns)


def check_items(given: Any) -> None:
    """TypeError where something has no length or no items, such as a stream, even if it says a length."""
    items = getattr(given, "__getitem__", None)
    # What torch's datasets inherit only raises.
    none = (getattr(items, "__module__", None), getattr(items, "__qualname__", None)) == _ABSTRACT or items is None
    if lacks := "len()" if not hasattr(given, "__len__") else "items" if none and not is_source(given) else "":
        what = f"a source has a length and items, a {type(given).__name__} has no {lacks}"
        raise TypeError(f"{what}; of a stream, recipe.transform(mode) takes what comes")


def _checked(given: Any) -> Any:
    check_items(given)
    if hasattr(given, "pipeline") and hasattr(given, "recipe"):
        raise TypeError(f"a {type(given).__name__} has run a recipe over its samples already: give what it reads")
    return given


@dataclass(frozen=True)
class RowKeys:
    """Where the parts of a sample stand in an item.

    Attributes:
        keys: by the recipe's name the item's own (`"objects.bbox"` for what lies deeper, a number for a place in a
            tuple), or the names of a tuple's places; None: as they are called in it.
        images: that the recipe takes.
    """

    keys: Keys | None
    images: tuple[str, ...]

    def named(self, row: Any) -> dict[str, Any]:
        """The parts of an item by the recipe's names.

        Raises:
            DataError: there is no such part.

        >>> RowKeys({"image": "img", "boxes": "objects.bbox"}, ("image",)).named({"img": 1, "objects": {"bbox": [2]}})
        {'image': 1, 'boxes': [2]}
        >>> RowKeys(("image", "mask"), ("image",)).named((1, 2))
        {'image': 1, 'mask': 2}
        """
        if isinstance(self.keys, Mapping):
            return {name: _part(row, key) for name, key in self.keys.items()}
        if isinstance(row, Mapping):
            return self._renamed(row)
        if not isinstance(row, tuple | list):
            row = (row,)
        names = self.keys or self._places(row)
        if len(names) != len(row):
            raise DataError(f"{len(row)} parts, and keys= names {len(names)}: {', '.join(names)}")
        return dict(zip(names, row, strict=True))

    def _renamed(self, row: Mapping[str, Any]) -> dict[str, Any]:
        found = dict(row)
        for wanted, names in (("image", IMAGE_KEYS), ("label", LABEL_NAMES)):
            if wanted in found or (wanted == "image" and "image" not in self.images):
                continue
            name = next((name for name in names if name in found), None)
            if name is not None:
                found[wanted] = found.pop(name)
        return found

    def _places(self, row: Sequence[Any]) -> tuple[str, ...]:
        if len(row) == 1:
            return self.images[:1]
        if len(row) == 2 and self.images == ("image",):
            return ("image", "mask" if is_image(row[1]) else "label")
        raise DataError(f'a tuple of {len(row)} parts: say what they are, as in keys=("image", "mask")')


def _part(row: Any, key: Key) -> Any:
    try:
        if isinstance(key, int) or key in row:
            return row[key]
        for name in key.split("."):
            row = row[name]
        return row
    except (KeyError, IndexError, TypeError):
        there = ", ".join(map(repr, row)) if isinstance(row, Mapping) else f"a {type(row).__name__}"
        raise DataError(f"has no {key!r}; there is {there}") from None


def known_labels(source: Any, key: str) -> tuple[Any, list[str] | None]:
    """The labels of a source and the names of its classes, as far as they can be had without reading a sample.

    Columns of Hugging Face's datasets, `targets` or `labels` of torchvision's, and Subsets of those.
    """
    if hasattr(source, "dataset") and hasattr(source, "indices"):
        labels, classes = known_labels(source.dataset, key)
        return None if labels is None else labels[np.asarray(source.indices)], classes
    columns: Any = getattr(source, "column_names", ())
    found: Any = None
    if isinstance(columns, list) and key in columns:
        found = source[key]
    for name in ("targets", "labels"):
        found = getattr(source, name, None) if found is None and not callable(getattr(source, name, None)) else found
    array = None if found is None else np.asarray(found[:] if hasattr(found, "__getitem__") else found)
    if array is None or array.shape != (len(source),) or array.dtype.kind not in "iu":
        return None, None
    names = getattr((getattr(source, "features", None) or {}).get(key), "names", None) if columns else None
    classes = names or getattr(source, "classes", None)
    if isinstance(classes, list | tuple) and all(isinstance(name, str) for name in classes):
        return array.astype(np.int64), list(classes)
    return array.astype(np.int64), None


def names_source(given: Any) -> bool:
    """Whether paths name a source: tar archives, a folder of such, or an `.npy` file.

    >>> names_source("train-{000..015}.tar"), names_source(["a.tar", "b.tar"]), names_source("photos.csv")
    (True, True, False)
    """
    if not isinstance(given, str | os.PathLike):
        return _are_archives(given)
    path = Path(given)
    # Not `path.is_dir()`: a pattern may be too long for a path.
    return _holds_archives(path) if os.path.isdir(path) else is_archive(str(path)) or path.suffix == ".npy"  # noqa: PTH112


def _are_archives(given: Any) -> bool:
    """Whether something is a list of paths of tar archives, or of patterns of them."""
    return (
        isinstance(given, list | tuple)
        and bool(given)
        and all(isinstance(one, str | os.PathLike) and is_archive(os.fspath(one)) for one in given)
    )


def _holds_archives(folder: Path) -> bool:
    """Whether a folder has archives in it, and no image."""
    found = False
    try:
        with os.scandir(os.fsencode(folder)) as entries:
            for entry in entries:
                if entry.name.rpartition(b".")[2].lower() in EXTENSIONS and not is_folder(entry):
                    return False
                found |= is_archive(os.fsdecode(entry.name)) and not entry.name.startswith(b".")
    except OSError:  # told by who lists it
        return False
    return found


def _source_at(given: Any) -> Any:
    """The source that paths name; a function that opens it, where each process has to for itself."""
    if not isinstance(given, str | os.PathLike) or (names_source(given) and Path(given).suffix != ".npy"):
        return TarShards(given)
    if Path(given).suffix != ".npy":
        what = "is no source: give a function that opens it, tar archives, or an .npy file of N×H×W×C"
        raise DataError(what if Path(given).exists() else "no such file or folder", os.fspath(given))
    if not Path(given).is_file():
        raise DataError("no such file", os.fspath(given))
    if not hasattr(os, "pread"):  # on Windows, where nobody can cut a file that is mapped
        return partial(np.load, os.fspath(given), mmap_mode="r", allow_pickle=False)
    return partial(_SavedRows, os.fspath(given))


class _SavedRows:
    """Items of an `.npy` file, each read when it is asked for. Raises DataError."""

    def __init__(self, path: str) -> None:
        self.path = path
        with data_errors(path):
            self._file = open_file(path)
            self._saved = saved_array(self._file[:LONGEST])
            rows(self._file, self._saved, 0, 0)  # or it is cut already

    def __len__(self) -> int:
        return self._saved.shape[0]

    def __getitem__(self, index: int) -> Any:
        row = range(len(self))[index]
        with data_errors(self.path):
            return rows(self._file, self._saved, row, row + 1)[0]
