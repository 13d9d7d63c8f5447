"""OpenedSource: any kind of source as one interface (objects with items, columns, functions, archives, files)."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from augrecipes.errors import DataError
from augrecipes.images import encoded, reading
from augrecipes.images.arrays import LONGEST, rows, saved_array
from augrecipes.images.format import stage
from augrecipes.paths import is_archive
from augrecipes.sources.sample_inputs import one_each
from augrecipes.sources.source import Source, is_source
from augrecipes.sources.tar.shards import TarShards
from augrecipes.user_code import open_module

_ABSTRACT = "torch.utils.data.dataset", "Dataset.__getitem__"
_SPLITS = frozenset({"train", "training", "test", "val", "valid", "validation", "dev", "all"})
# Columns: their fields in a table, the numpy kinds of values allowed, their dtype there, and their name in messages.
_COLUMNS: dict[str, tuple[str, str, Any, str]] = {
    "label": ("labels", "iu", np.int64, "integers"),
    "weight": ("weights", "iuf", np.float64, "numbers"),
    "group": ("groups", "U", np.str_, "texts"),
}


class OpenedSource(Source):
    """A source over an object with a length and items; if a function opens it, it is opened anew in each process.

    Args:
        data: the object, or a function or class that opens it without arguments; or paths of tar archives; or the path
            of an `.npy` file, whose first axis counts images.
        name: its name in `path`, unless it has paths itself; None: the name of its class.

    Raises:
        TypeError: the object has no length or no items.
    """

    def __init__(self, data: Any, name: str | None = None) -> None:
        if isinstance(data, str | os.PathLike) or is_source_path(data):
            data = _source_at(data)
        self._data, self._opened, self._process = _as_rows(data), None, 0
        opened = self.open() if _opens(self._data) else _checked(self._data)
        self.name = str(name or (data.name if isinstance(data, NamedSource) else type(opened).__name__))

    def open(self) -> Any:
        """The object, opened in this process if it is not yet."""
        if not _opens(self._data):
            return self._data
        if self._opened is None or self._process != os.getpid():
            opened = self._data()
            self._opened = opened.open() if isinstance(opened, OpenedSource) else _checked(_as_rows(opened))
            self._process = os.getpid()
        return self._opened

    def __len__(self) -> int:
        return len(self.open())

    def read(self, index: int) -> Any:
        """Read an item; any failure other than a MemoryError becomes a DataError."""
        try:
            with stage("read"):
                opened = self.open()
                return opened.read(index) if is_source(opened) else opened[index]
        except (DataError, MemoryError):
            raise
        except Exception as error:
            raise DataError(f"the source fails: {type(error).__name__}: {error}") from error

    def path(self, index: int) -> str:
        """The path of an item: from the object's method or column `path`, or list `paths`; else `name[index]`."""
        opened = self.open()
        if is_source(opened) and callable(path := getattr(opened, "path", None)):
            return str(path(index))
        paths = _own_columns(opened).get("path", getattr(opened, "paths", None))
        return str(paths[index]) if hasattr(paths, "__getitem__") else f"{self.name}[{index}]"

    def digest(self) -> str:
        """The object's own digest, or an empty string."""
        opened = self.open()
        digest = getattr(opened, "digest", None) if is_source(opened) else None
        return str(digest()) if callable(digest) else ""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None}


def _opens(data: Any) -> bool:
    """Whether a value is a function or class that opens the source, rather than the source itself."""
    return callable(data) and (isinstance(data, type) or not (hasattr(data, "__getitem__") or is_source(data)))


@dataclass(frozen=True)
class NamedColumns(Source):
    """A source over columns of equal length (an HDF5 file, or a dict of arrays): each item is a dict of values.

    >>> NamedColumns({"image": ["a.png", "b.png"], "label": [3, 5]})[1]
    {'image': 'b.png', 'label': 5}
    """

    arrays: Mapping[str, Any]

    def __len__(self) -> int:
        return len(next(iter(self.arrays.values())))

    def read(self, index: int) -> dict[str, Any]:
        """The value of each column at `index`."""
        return {name: column[index] for name, column in self.arrays.items()}


@dataclass(frozen=True)
class NamedSource:
    """A source named in a Python file or module, `FILE.py:NAME`. It can be pickled: each process runs the file.

    Attributes:
        name: `FILE.py:NAME`, as the user wrote it.
    """

    name: str

    def resolve(self) -> Any:
        """The named object, or its return value if it is a function that opens the source."""
        module = open_module(self.name, "data", "source:", DataError)
        value = module.value()
        return module.call(value) if _opens(value) else value

    def __call__(self) -> Any:
        """The source; for an `ar.Samples` the source that it reads."""
        value = self.resolve()
        return getattr(getattr(value, "table", None), "source", None) or value


def _as_rows(data: Any) -> Any:
    """A mapping of columns as NamedColumns; anything else unchanged."""
    if not isinstance(data, Mapping) or not data or not all(isinstance(name, str) for name in data):
        return data
    if _SPLITS.issuperset(data):
        raise TypeError(f"the source holds splits, {', '.join(data)}: give one of them, source[{next(iter(data))!r}]")
    columns = {name: column for name, column in data.items() if hasattr(column, "__len__")}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) != 1:
        text = ", ".join(f"{name}: {length:,}" for name, length in lengths.items()) or "none"
        raise TypeError(f"columns of a source have one length, a value for each sample; it has {text}")
    return NamedColumns(columns)


def check_items(data: Any) -> None:
    """TypeError for an object without length or items, such as a stream (even one that states a length)."""
    items = getattr(data, "__getitem__", None)
    # torch's Dataset defines __getitem__ only to raise.
    is_stream = (getattr(items, "__module__", None), getattr(items, "__qualname__", None)) == _ABSTRACT or items is None
    if lacks := "len()" if not hasattr(data, "__len__") else "items" if is_stream and not is_source(data) else "":
        what = f"a source has a length and items, a {type(data).__name__} has no {lacks}"
        raise TypeError(f"{what}; of a stream, recipe.transform(mode) takes what comes")


def _checked(data: Any) -> Any:
    check_items(data)
    if hasattr(data, "pipeline") and hasattr(data, "recipe"):
        raise TypeError(f"a {type(data).__name__} has run a recipe over its samples already: give what it reads")
    return data


def known_columns(source: Any, label: str = "label") -> dict[str, Any]:
    """The fields of a table that a source provides before samples are read: labels, classes, weights and groups.

    They come from its own `columns`; from the column `label` of a Hugging Face dataset; from `targets` or `labels` of
    a torchvision dataset; or from a Subset of those.

    Raises:
        DataError: one of its own columns has a wrong length or kind of values.
    """
    if hasattr(source, "dataset") and hasattr(source, "indices"):
        fields, rows = known_columns(source.dataset, label), np.asarray(source.indices)
        return {name: value[rows] if isinstance(value, np.ndarray) else value for name, value in fields.items()}
    own = _own_columns(source)
    fields = {
        _COLUMNS[name][0]: column_of(name, own[name], len(source)) for name in _COLUMNS if own.get(name) is not None
    }
    if "labels" not in fields and (labels := _foreign_labels(source, label)) is not None:
        fields["labels"] = labels
    listed = label in (getattr(source, "column_names", None) or ())
    names = getattr((getattr(source, "features", None) or {}).get(label), "names", None) if listed else None
    classes = names or getattr(source, "classes", None)
    if "labels" in fields and isinstance(classes, list | tuple) and all(isinstance(name, str) for name in classes):
        fields |= {"classes": tuple(classes), "class_to_idx": {name: k for k, name in enumerate(classes)}}
    return fields


def _own_columns(source: Any) -> Mapping[str, Any]:
    columns = getattr(source, "columns", None) if is_source(source) else None
    return columns if isinstance(columns, Mapping) else {}


def column_of(name: str, values: Any, count: int) -> Any:
    """A column of a source as an array of its dtype; DataError unless it has one value of the right kind per sample."""
    _, kinds, dtype, title = _COLUMNS[name]
    what = f"column {name!r} of a source of {count} samples"
    return one_each(values, count, what, kinds, title).astype(dtype, copy=False)


def _foreign_labels(source: Any, key: str) -> Any:
    """The labels of another library's dataset; None if it has none, or they are not integers."""
    columns: Any = getattr(source, "column_names", ())
    labels = source[key] if isinstance(columns, list) and key in columns else None
    for name in ("targets", "labels"):
        labels = getattr(source, name, None) if labels is None and not callable(getattr(source, name, None)) else labels
    array = None if labels is None else np.asarray(labels[:] if hasattr(labels, "__getitem__") else labels)
    fits = array is not None and array.shape == (len(source),) and array.dtype.kind in "iu"
    return array.astype(np.int64) if array is not None and fits else None


def is_source_path(data: Any) -> bool:
    """Whether a path or list of paths is a source: tar archives, or an `.npy` file.

    >>> is_source_path("train-*.tar"), is_source_path(["a.tar", "b.tar"]), is_source_path("photos.csv")
    (True, True, False)
    """
    if isinstance(data, list | tuple):
        paths = [path for path in data if isinstance(path, str | os.PathLike) and is_archive(os.fspath(path))]
        return 0 < len(paths) == len(data)
    if not isinstance(data, str | os.PathLike):
        return False
    path = Path(data)
    return not os.path.isdir(path) and (is_archive(str(path)) or path.suffix == ".npy")  # noqa: PTH112


def _source_at(data: Any) -> Any:
    """The source at these paths; or a function that opens it, if each process must open its own."""
    if isinstance(data, list | tuple) or (is_source_path(data) and Path(data).suffix != ".npy"):
        return TarShards(data)
    path = Path(data)
    if path.suffix != ".npy" or not path.is_file():
        what = "is not a source: give a function that opens it, tar archives, or an .npy file of N×H×W×C"
        raise DataError(what if path.exists() else "no such file or folder", str(path))
    return partial(_SavedRows, os.fspath(data))


class _SavedRows(Source):
    """The images in an `.npy` file, read one by one. Raises DataError."""

    def __init__(self, path: str) -> None:
        self.file = path
        with encoded.data_errors(path):
            self._file = reading.open_file(path)
            self._saved = saved_array(self._file[:LONGEST])
            rows(self._file, self._saved, 0, 0)  # raises for a truncated file

    def __len__(self) -> int:
        return self._saved.shape[0]

    def read(self, index: int) -> Any:
        """One image."""
        with encoded.data_errors(self.file):
            return rows(self._file, self._saved, index, index + 1)[0]
