"""Lists of samples in CSV files: one row per sample, one column per target.

Columns, in any order, named in the first row:

- `image`: path, relative to the CSV file; required.
- `mask`: path of the mask. Each further target in the recipe's `targets:` has such a column of its own name.
- `masks`: JSON list of the paths of the masks of objects, any number.
- `label`: a class name or an integer; `nan`, as pandas writes it, means none. For multi-label data one column of 0 and
  1 per class instead, which `columns={"labels": ["cat", "dog"]}` names.
- `split`: `train`, `val`, ... or any other name.
- `group`: samples of one group, such as a patient or a slide, must not be divided between splits.
- `weight`: a number for weighted sampling.
- `boxes`: JSON `[[x1, y1, x2, y2, label], ...]`, coordinates in the recipe's declared format, label optional.
- `keypoints`: JSON `[[x, y], ...]` in the recipe's declared format.

Columns of targets that the recipe does not take (boxes that it does not declare, `mask: absent`) are ignored, so one
file serves several recipes. Other columns are not read either, and the log names them; a name that closely resembles
one of these is an error.

Labels that are all integers (2, or 2.0, as pandas writes them where one is missing) keep their values, so that a
model's outputs keep their meaning; they need not be 0..n-1. Other labels are numbered in sorted order, numeric ones
first. `class_to_idx` has the number of each class.

The file is UTF-8, with or without a byte order mark, separated by commas, semicolons or tabs. Empty lines are skipped.
"""

import csv
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from io import BytesIO, TextIOWrapper
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from augrecipes.errors import DataError, logger
from augrecipes.remote import place_of
from augrecipes.sources.columns import number
from augrecipes.sources.defects import Findings, Problem
from augrecipes.sources.paths import PathLike, PathTable, local_name, path_problems

COLUMNS = ("image", "mask", "masks", "label", "split", "group", "weight", "boxes", "keypoints")
LABELS = "labels"  # the key of `columns=` for the class columns of multi-label data
CLASS = "label:"  # the prefix of their names in CsvRows
_SHORT = 24  # characters
_LONGEST = 1 << 30  # characters of a field, which may hold thousands of boxes
_BOX_A_ROW = [{*names.split()} for names in ("x_min y_min x_max y_max", "xmin ymin xmax ymax", "x1 y1 x2 y2")]


@dataclass(frozen=True)
class CsvRows:
    """A CSV file's columns as text.

    Attributes:
        path: the file.
        columns: the text of every row, by column name.
        lines: 1-based line on which each row begins.
        problems: problems of rows, including rows that were left out; shared by all selections.
    """

    path: str
    columns: dict[str, list[str]]
    lines: list[int] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.lines)

    def where(self, row: int) -> str:
        """`FILE:LINE` of a row."""
        return f"{self.path}:{self.lines[row]}"

    def select(self, keep: Iterable[int]) -> "CsvRows":
        """The rows at the positions in `keep`."""
        keep = list(keep)
        columns = {name: [values[i] for i in keep] for name, values in self.columns.items()}
        return CsvRows(self.path, columns, [self.lines[i] for i in keep], self.problems)

    def split_rows(self, split: str | None) -> npt.NDArray[np.int64]:
        """Positions of the rows of a split; all of them for None."""
        if split is None:
            return np.arange(len(self))
        if "split" not in self.columns:
            there = ", ".join(self.columns)
            raise DataError(f"split={split!r} needs a column `split`; the file has {there}", self.path)
        keep = [i for i, value in enumerate(self.columns["split"]) if value == split]
        if not keep:
            there = ", ".join(sorted({*self.columns["split"]}))
            raise DataError(f"no row of split {split!r}; the file has {there}", self.path)
        return np.array(keep, np.int64)

    def good_rows(self) -> npt.NDArray[np.int64]:
        """Positions of the rows without problems."""
        return np.flatnonzero(np.isin(self.lines, [line for line, _ in self.problems], invert=True))

    def refuse(self) -> None:
        """Raise a DataError with all problems, by line; return if there are none."""
        findings = Findings()
        findings.rows(self.path, self.problems)
        findings.refuse()

    def paths(self, column: str, *, check: bool = False, outside: bool = True, blank: bool = False) -> PathTable:
        """The paths in a column, relative to the file's folder; a missing or unreadable path is a problem of its row.

        Args:
            column: its name.
            check: whether files that do not exist are a problem now.
            outside: whether files may lie outside the CSV file's folder, or on another server.
            blank: whether cells may be empty.
        """
        folder = place_of(self.path).parent
        names = [local_name(str(folder), name) for name in self.columns[column]]
        paths = PathTable.from_paths(names, root=folder)
        absent = [i for i, name in enumerate(names) if not name and not blank]
        self.problems.extend((self.lines[i], f"no {column} in this row") for i in absent)
        faults = path_problems(paths, folder, check=check, outside=outside)
        self.problems.extend((self.lines[i], what) for i, what in faults)
        return paths

    def fields(self, keep: npt.NDArray[np.int64], classes: Sequence[str] = ()) -> dict[str, Any]:
        """The fields of `Columns` for the rows at the positions in `keep`; classes are numbered over all rows.

        A row without a label where others have one, and an invalid weight, are problems. `classes` names the class
        columns of multi-label data.
        """
        fields, problems, labels = dict[str, Any](), self.problems, self.columns.get("label")
        if classes:
            flags = [[_FLAGS.get(self.columns[CLASS + name][i].lower(), np.nan) for name in classes] for i in keep]
            several = np.array(flags, np.float32).reshape(-1, len(classes))
            for row, k in np.argwhere(np.isnan(several)).tolist():
                text = self.columns[CLASS + classes[k]][keep[row]]
                problems.append((self.lines[keep[row]], f"{classes[k]} must be 0 or 1, got {text!r}"))
            numbers = {name: k for k, name in enumerate(classes)}
            fields |= {"labels": several, "classes": tuple(classes), "class_to_idx": numbers}
        elif labels is not None:
            what = "no label in this row, though others have one: give it one, or remove it"
            problems += [(line, what) for line, value in zip(self.lines, labels, strict=True) if not value]
            ids, classes, class_to_idx = number(labels)
            fields |= {"labels": ids[keep], "classes": tuple(classes), "class_to_idx": class_to_idx}
        if "group" in self.columns:
            fields["groups"] = np.array(self.columns["group"])[keep]
        if "weight" in self.columns:
            fields["weights"] = np.array([_weight(self.columns["weight"][i]) for i in keep])
            for i in keep[~(np.isfinite(fields["weights"]) & (fields["weights"] >= 0))].tolist():
                text = self.columns["weight"][i]
                problems.append((self.lines[i], f"weight must be a number that is not negative, got {text!r}"))
        return fields


_FLAGS = dict.fromkeys(("", "0", "0.0", "nan", "false"), 0.0) | dict.fromkeys(("1", "1.0", "true"), 1.0)


def class_columns(renamed: Mapping[str, Any] | None) -> tuple[list[str], dict[str, str]]:
    """The class columns that `columns=` names, and the file's names for all columns, including those.

    >>> class_columns({"image": "path", "labels": ["cat", "dog"]})
    (['cat', 'dog'], {'image': 'path', 'label:cat': 'cat', 'label:dog': 'dog'})
    """
    others = {name: theirs for name, theirs in (renamed or {}).items() if name != LABELS}
    labels = (renamed or {}).get(LABELS, ())
    classes = [labels] if isinstance(labels, str) else [*map(str, labels)]
    if (not classes and LABELS in (renamed or {})) or len({*classes}) < len(classes):
        raise ValueError(f'columns={{"labels": ...}} is a list of columns, each once, got {labels!r}')
    return classes, others | {CLASS + name: name for name in classes}


def rows_of_columns(rows: Any, columns: Mapping[str, Any]) -> dict[str, Any]:
    """The rows at some positions of each array; other values apply to all rows and stay."""
    return {name: value[rows] if isinstance(value, np.ndarray) else value for name, value in columns.items()}


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return -1.0


def read_rows(
    path: PathLike,
    known: Sequence[str] = COLUMNS,
    required: Sequence[str] = ("image",),
    filled: Sequence[str] | None = None,
    renamed: Mapping[str, str] | None = None,
) -> CsvRows:
    """Read a CSV file; rows that lack a value or have a wrong number of fields become problems.

    Args:
        path: the file.
        known: names of the columns to read, by default ImageFolder's.
        required: columns that the file must have.
        filled: columns that must have a value in every row; None: the required ones.
        renamed: the file's own names of columns, by the names in `known`: `{"image": "path"}`.

    Raises:
        DataError: the file cannot be read, is not UTF-8 text, lacks a `required` column, or has a misspelt one; the
            message names file and line.
    """
    name = os.fsdecode(path)
    header: list[str] = []
    rows = CsvRows(name, {})
    interned: dict[str, str] = {}
    for line, fields in _fields(name):
        if not header:
            header = _header(f"{name}:{line}", fields, known, required, renamed or {})
            rows.columns.update((column, []) for column in header if column in known)
            continue
        values = dict(zip(header, map(str.strip, fields), strict=False))
        if values.get("label") in ("nan", "NaN"):  # pandas writes this for none
            values["label"] = ""
        if len(fields) != len(header):
            rows.problems.append((line, f"{len(fields)} fields, but the header has {len(header)} columns"))
        elif empty := [column for column in (required if filled is None else filled) if not values[column]]:
            rows.problems.append((line, f"no {' and no '.join(empty)} in this row"))
        else:
            rows.lines.append(line)
            for column, texts in rows.columns.items():
                text = values[column]
                # Intern short texts such as class names: there may be millions of rows.
                texts.append(interned.setdefault(text, text) if len(text) < _SHORT else text)
    if not header:
        what = f"its first line must name the columns, {_marked(required)} among them"
        raise DataError(f"the file is empty; {what}", name)
    if not rows.lines and not rows.problems:
        raise DataError("the file has a header and no rows", name)
    return rows


def column_names(path: PathLike) -> list[str]:
    """The column names in the first line of a CSV file, in lower case."""
    _, fields = next(_fields(os.fsdecode(path)), (0, []))
    return [field.strip().lower() for field in fields]


def _fields(name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the header and the rows of a CSV file, without empty ones: the line on which each begins, and its fields.

    Raises:
        DataError: the file cannot be read, or is not CSV in UTF-8; the message names file and line.
    """
    csv.field_size_limit(max(_LONGEST, csv.field_size_limit()))
    lines = _lines(name)
    first = [next(lines, "")]
    while first[-1] and not first[-1].strip():
        first.append(next(lines, ""))
    # The delimiter is the most frequent of the three in the header.
    reader = csv.reader(chain(first, lines), delimiter=max(",;\t", key=first[-1].count), strict=True)
    before = 0
    try:
        for fields in reader:
            line, before = before + 1, reader.line_num
            if any(value.strip() for value in fields):
                yield line, fields
    except csv.Error as error:
        raise DataError(f"not valid CSV: {error}", f"{name}:{reader.line_num}") from error


def _lines(name: str) -> Iterator[str]:
    try:
        data = place_of(name).read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", name) from error
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise DataError("is UTF-16; save it as UTF-8", name)
    if b"\0" in data:
        raise DataError("is not a text file", name)
    # File names in other encodings become surrogates, as with os.fsdecode.
    return TextIOWrapper(BytesIO(data), encoding="utf-8-sig", errors="surrogateescape", newline="")


def _header(
    where: str, fields: list[str], known: Sequence[str], required: Sequence[str], renamed: Mapping[str, str]
) -> list[str]:
    """The columns by our names. Unknown columns are logged; those that look like typing errors raise a DataError."""
    if strange := [name for name in renamed if name not in known]:
        raise ValueError(f"columns= says what the file calls {', '.join(known)}; {strange[0]!r} is none of them")
    columns = [value.strip().lower() for value in fields]
    ours = {str(theirs).strip().lower(): name for name, theirs in renamed.items()}
    there = f"the file has {', '.join(columns)}"
    if absent := [theirs for theirs in ours if theirs not in columns]:
        raise DataError(f"no column {_marked(absent)}, which columns= names; {there}", where)
    # A column that has one of our names, where columns= names another for it, is not read.
    columns = [ours.get(column, "" if column in renamed else column) for column in columns]
    for column in columns:
        others = [name for name in known if not name.startswith(CLASS) and name != "masks"]  # `mask` is likelier
        near = [] if column in known else get_close_matches(column, others, n=1, cutoff=0.75)
        if near and near[0] not in columns and not column.startswith(f"{near[0]}_"):  # `group_id` is another thing
            hint = f"did you mean {near[0]!r}?"
            raise DataError(f"unknown column {column!r}; {hint} (columns: {', '.join(known)})", where)
        if column in known and columns.count(column) > 1:
            raise DataError(f"column {column!r} occurs twice", where)
    if any(sides <= {*columns} - {*known} for sides in _BOX_A_ROW):
        cure = "give one row an image, with its boxes in a column `boxes`, or make COCO of it"
        raise DataError(f"has one row a box: {cure}", where)
    if missing := [column for column in required if column not in columns]:
        raise DataError(f"no column {_marked(missing)}; {there}", where)
    if unread := [column for column in columns if column and column not in known]:
        text = "%s: columns that are not read: %s (known: %s)"
        logger.warning(text, where.rpartition(":")[0], ", ".join(unread), ", ".join(known))
    return columns


def _marked(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
