"""Tables of images: those below folders, with their masks, and those that a CSV file lists.

Masks lie in folders of their own under the images' names but for the extension; or they are named after the images by a
template with `{stem}` in it, such as `masks/{stem}_mask.png`, or, beside the images, `{stem}_mask.png`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from augrecipes.errors import DataError, counted
from augrecipes.sources.columns import Columns, Ragged, number
from augrecipes.sources.csv_list import CsvRows, columns_at, read_rows
from augrecipes.sources.defects import Defect, Findings
from augrecipes.sources.listing import Layout, list_folders
from augrecipes.sources.names import by_scene, match_folders, stem, template
from augrecipes.sources.paths import PathLike, PathTable

_STEM = "{stem}"
_POINTS = {"boxes": 4, "keypoints": 2}  # columns of numbers, and how many each row has
_FARTHEST = 1e30  # of a coordinate


def table_of_folders(
    roots: Sequence[PathLike],
    masks: Sequence[PathLike],
    findings: Findings,
    *,
    cache: bool = True,
    layout: Layout = "auto",
) -> Columns:
    """The images below folders (class folders, or images side by side), without those that have not one mask each.

    Args:
        roots: folders; their classes are numbered together.
        masks: folders with a mask for every image, under the same name but for the extension; laid out like the
            roots, or flat. Or a template. None of either: no masks.
        findings: takes images without a mask, or with several.
        cache: keep the listing in a file in the user's cache folder.
        layout: of the roots; see `augrecipes.sources.listing`.

    Raises:
        DataError: a folder is missing or empty, or no file is named by the template.
        ValueError: a template with more or less than one `{stem}` in its last part.
    """
    table = list_folders(roots, cache=cache, layout=layout)
    if not masks:
        return table
    keep, matched = _match_masks(table.images, roots, masks, findings, cache=cache)
    if len(keep) < len(table):
        labels = None if table.labels is None else table.labels[keep]
        table = replace(table, files={"image": table.images.take(keep)}, labels=labels)
    return replace(table, masks=matched)


def _match_masks(
    images: PathTable, roots: Sequence[PathLike], masks: Sequence[PathLike], findings: Findings, *, cache: bool
) -> tuple[list[int], PathTable]:
    """Positions of the images that have one mask, and the masks; folders count where both have the same ones."""
    folders, named = masks, template("{}")
    if last := _template(masks):
        folder, last = os.path.split(last)
        folders, named = [folder] if folder else [], template(last.removesuffix(".*").replace(_STEM, "{}"))
    table = list_folders(folders, cache=cache, layout="flat").images if folders else images
    files = {k: stem(table.name(k)) for k in range(len(table))}
    theirs = by_scene(files, named)
    taken = {k for some in theirs.values() for k in some} if table is images else set()
    own = {k: stem(images.name(k)) for k in range(len(images)) if k not in taken}
    if not theirs or not own:
        what = "all files here are named {}: there are no images" if theirs else "no file here is named {}"
        raise DataError(what.format(last), ", ".join(map(os.fsdecode, folders or roots)))
    ours, theirs = match_folders(by_scene(own, template("{}")), theirs)
    chosen: dict[int, int] = {}
    wrong: dict[int, str] = {}
    for scene, these in ours.items():
        found = theirs.get(scene, [])
        if len(these) == len(found) == 1:
            chosen[these[0]] = found[0]
            continue
        some = f"{counted(len(found), 'mask')} for {counted(len(these), 'image')} of this name"
        wrong |= dict.fromkeys(these, f"{some}: {', '.join(table[k] for k in found)}" if found else "no mask")
    findings.defects += [Defect("missing", (images[i],), f"{images[i]}: {wrong[i]}") for i in sorted(wrong)]
    if unused := sum(map(len, theirs.values())) - len(chosen):
        findings.notes.append(f"{counted(unused, 'mask')} without an image")
    keep = sorted(chosen)
    return keep, table.take([chosen[i] for i in keep])


def _template(masks: Sequence[PathLike]) -> str:
    """The template of masks; empty where they lie in folders."""
    if not any(_STEM in os.fsdecode(path) for path in masks):
        return ""
    if len(masks) > 1:
        raise ValueError("masks= takes one template, or folders")
    text = os.fsdecode(masks[0])
    folder, last = os.path.split(text)
    if _STEM in folder or last.count(_STEM) != 1 or (not folder and last.startswith(f"{_STEM}.")):
        what = f"should have one {_STEM} in the name of the file, and not name the images themselves"
        raise ValueError(f"masks={text!r} {what}: masks/{_STEM}_mask.png, or a folder")
    return text


def table_of_csv(
    path: PathLike,
    split: str | None,
    findings: Findings,
    *,
    check: bool = True,
    ignore: frozenset[str] = frozenset(),
    renamed: Mapping[str, str] | None = None,
    outside: bool = False,
) -> Columns:
    """The samples that a CSV file lists, without the rows that cannot be used.

    Args:
        path: the file.
        split: only the rows of this split. Classes are numbered over all rows, so that splits agree.
        findings: takes rows that cannot be used.
        check: whether files that do not exist are wrong now, and not when they are read.
        ignore: columns that are not looked into: `mask`, `boxes`, `keypoints`.
        renamed: what the file calls its columns, by the names that they have here.
        outside: whether files may lie outside of the CSV file's folder, or on another server.

    Raises:
        DataError: the file as a whole is not as it should be.
    """
    every = read_rows(path, renamed=renamed)
    keep = every.of_split(split)
    rows, taken = every.select(keep), every.columns.keys() - ignore
    files = {name: rows.paths(name, check=check, outside=outside) for name in ("image", "mask") if name in taken}
    points = {name: _points(every, name) for name in _POINTS if name in taken}
    fields = every.fields(keep)
    findings.rows(every.path, every.problems)
    if every.problems:
        fine = rows.fine()
        keep, rows, fields = keep[fine], rows.select(fine), columns_at(fine, fields)
        files = {name: paths.take(fine) for name, paths in files.items()}
    return Columns(
        files={"image": files["image"]},
        masks=files.get("mask"),
        lines=np.array(rows.lines, np.int64),
        **fields,
        **{name: numbers.take(keep) for name, numbers in points.items()},  # type: ignore[arg-type]
    )


def _points(rows: CsvRows, column: str) -> Ragged:
    """A column of JSON lists of so many numbers, each followed by a label where they are boxes.

    Raises:
        DataError: some boxes have labels and others have none.
    """
    values, labels, offsets = list[list[float]](), list[Any](), [0]
    for line, cell in zip(rows.lines, rows.columns[column], strict=True):
        found = _cell(cell, _POINTS[column], labelled=column == "boxes")
        if isinstance(found, str):
            rows.problems.append((line, f"{column}: {found}"))
            found = []
        values += [row[: _POINTS[column]] for row in found]
        labels += [label for row in found for label in row[_POINTS[column] :]]
        offsets.append(len(values))
    made = Ragged(np.array(values, np.float32).reshape(-1, _POINTS[column]), np.array(offsets, np.int64))
    if not labels:
        return made
    if len(labels) != len(values):
        raise DataError(f"{column}: some rows have a label and others have none", rows.path)
    ids, classes, class_to_idx = number([str(label) for label in labels])
    kept = all(name == str(value) for name, value in class_to_idx.items())
    return replace(made, labels=ids, classes=None if kept else tuple(classes))


def _cell(text: str, width: int, *, labelled: bool) -> list[list[Any]] | str:
    """The rows of numbers in a cell, or what is wrong with it."""
    try:
        found = json.loads(text) if text else []
    except (ValueError, RecursionError) as error:
        return f"not valid JSON: {error}"
    if not isinstance(found, list):
        return f"should be a JSON list, got {text[:40]}"
    for row in found:
        fine = isinstance(row, list) and width <= len(row) <= width + labelled
        if not fine or not all(type(value) in (int, float) and abs(value) < _FARTHEST for value in row[:width]):
            label = " and, if you like, a label" if labelled else ""
            return f"{json.dumps(row)} should be a list of {width} numbers{label}"
        if not all(type(label) in (int, str) or (type(label) is float and label % 1 == 0) for label in row[width:]):
            return f"{json.dumps(row)} has a label that is neither a whole number nor text"
    return found
