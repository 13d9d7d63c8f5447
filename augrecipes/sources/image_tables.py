"""Tables of images: those below folders, and those that a CSV file lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from augrecipes.errors import DataError, counted, listed
from augrecipes.sources.columns import Columns, Findings
from augrecipes.sources.csv_list import CsvRows, choose_split, read_rows, resolve
from augrecipes.sources.defects import Defect
from augrecipes.sources.listing import Layout, list_folders
from augrecipes.sources.masks import match_masks
from augrecipes.sources.named_files import Problem, refuse
from augrecipes.sources.paths import PathLike, PathTable
from augrecipes.sources.ragged import number, read_ragged

_FILES = ("image", "mask")  # columns of paths
_POINTS = {"boxes": 4, "keypoints": 2}  # numbers of each


def table_of_folders(
    roots: Sequence[PathLike],
    masks: Sequence[PathLike] = (),
    *,
    cache: bool = True,
    layout: Layout = "auto",
    findings: Findings | None = None,
) -> Columns:
    """The images below folders: class folders, or images side by side.

    Args:
        roots: folders; their classes are numbered together.
        masks: folders with a mask for every image, under the same name but for the extension; laid out like the
            roots, or flat. Or names of masks, see `augrecipes.sources.masks`.
        cache: keep the listing in a file in the user's cache folder.
        layout: of the roots; see `augrecipes.sources.listing`.
        findings: takes images without a mask, which are left out then.

    Raises:
        DataError: a folder is missing or empty, or an image has no mask or several; lists all such images.
    """
    listing = list_folders(roots, cache=cache, layout=layout)
    images, labels = listing.paths, listing.labels
    found: PathTable | None = None
    if masks:
        match = match_masks(images, roots, masks, cache=cache)
        if findings is not None:
            findings.defects += [Defect("missing", (images[i],), text) for i, text in match.problems.items()]
            if match.unused:
                findings.notes.append(f"{counted(match.unused, 'mask')} without an image")
        elif match.problems:
            total = len(match.problems) + len(match.keep)
            text = listed(match.problems.values())
            raise DataError(f"{len(match.problems)} of {total} images have not exactly one mask:{text}")
        found = match.masks
        if len(match.keep) < len(images):
            images, labels = images.take(match.keep), None if labels is None else labels[match.keep]
    return Columns(
        files={"image": images}, masks=found, labels=labels, classes=listing.classes, class_to_idx=listing.class_to_idx
    )


def table_of_csv(
    path: PathLike,
    split: str | None = None,
    *,
    check: bool = True,
    ignore: frozenset[str] = frozenset(),
    renamed: Mapping[str, str] | None = None,
    outside: bool = False,
    findings: Findings | None = None,
) -> Columns:
    """The samples that a CSV file lists; see `augrecipes.sources.csv_list` for its columns.

    Args:
        path: the file.
        split: only the rows of this split. Classes are numbered over all rows, so that splits agree.
        check: whether files that do not exist are an error now, and not when they are read.
        ignore: columns that are not looked into: `mask`, `boxes`, `keypoints`.
        renamed: what the file calls its columns, by the names that they have here.
        outside: whether files may lie outside of the CSV file's folder, or on another server.
        findings: takes rows that cannot be used, which are left out then.

    Raises:
        DataError: the file is not as it should be, or lists files that do not exist; names the line.
    """
    wrong: list[Problem] | None = None if findings is None else []
    every = read_rows(path, renamed=renamed, problems=wrong)
    keep = np.array(choose_split(every, split), np.int64)
    taken = set(every.columns) - ignore
    if findings is not None and wrong is not None:
        columns_of(every, keep, wrong)
        rows = every.select(keep.tolist())
        wrong += [problem for name in _POINTS.keys() & taken for problem in _wrong_cells(rows, name)]
        for name in filter(taken.__contains__, _FILES):
            resolve(rows, name, outside=outside, problems=wrong)
        keep = keep[np.isin(np.array(every.lines)[keep], [line for line, _ in wrong], invert=True)]
        every, keep = every.select(keep.tolist()), np.arange(len(keep))
        findings.rows(every.path, wrong)
    rows = every.select(keep.tolist())
    files = {name: resolve(rows, name, check=check, outside=outside) for name in _FILES if name in taken}
    points = {name: read_ragged(every, name, width, labelled=name == "boxes").take(keep)
              for name, width in _POINTS.items() if name in taken}  # fmt: skip
    return Columns(
        files={"image": files["image"]},
        masks=files.get("mask"),
        lines=None if findings is None else np.array(rows.lines, np.int64),
        **columns_of(every, keep),
        **points,  # type: ignore[arg-type]
    )


def _wrong_cells(rows: CsvRows, name: str) -> Iterator[Problem]:
    for i, line in enumerate(rows.lines):
        try:
            read_ragged(rows.select([i]), name, _POINTS[name], labelled=name == "boxes")
        except DataError as error:
            yield line, error.reason


def columns_of(every: CsvRows, keep: npt.NDArray[np.int64], problems: list[Problem] | None = None) -> dict[str, Any]:
    """The fields of `Columns` for the rows at the positions in `keep`; classes are numbered over all rows.

    Args:
        every: all rows of a file.
        keep: positions.
        problems: takes what is wrong, instead of an error.

    Raises:
        DataError: rows without a label where others have one, or weights that are none; names the lines.
    """
    rows = every.select(keep.tolist())
    wrong: list[Problem] = [] if problems is None else problems
    ids, classes, class_to_idx = _labels(every, wrong)
    weights = _weights(rows, wrong)
    if problems is None:
        refuse(every.path, wrong)
    return {
        "labels": None if ids is None else ids[keep],
        "classes": classes,
        "class_to_idx": class_to_idx,
        "groups": np.array(rows.columns["group"]) if "group" in rows.columns else None,
        "weights": weights,
    }


def _labels(
    rows: CsvRows, problems: list[Problem]
) -> tuple[npt.NDArray[np.int64] | None, tuple[str, ...] | None, dict[str, int] | None]:
    if "label" not in rows.columns:
        return None, None, None
    missing = [line for line, value in zip(rows.lines, rows.columns["label"], strict=True) if not value]
    problems += [(line, "no label in this row, though others have one") for line in missing]
    ids, classes, class_to_idx = number(rows.columns["label"])
    return ids, tuple(classes), class_to_idx


def _weights(rows: CsvRows, problems: list[Problem]) -> npt.NDArray[np.float64] | None:
    if "weight" not in rows.columns:
        return None
    weights = []
    for line, value in zip(rows.lines, rows.columns["weight"], strict=True):
        try:
            weight = float(value)
        except ValueError:
            weight = -1.0
        if not 0 <= weight < float("inf"):
            problems.append((line, f"weight must be a number that is not negative, got {value!r}"))
        weights.append(weight)
    return np.array(weights)
