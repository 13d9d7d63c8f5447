"""Tables of images: those below folders, with their masks, and those that a CSV file lists.

Masks lie in folders of their own under the images' names but for the extension; or they are named after the images by a
template with `{stem}` in it, such as `masks/{stem}_mask.png`, or, beside the images, `{stem}_mask.png`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from augrecipes.errors import DataError, counted
from augrecipes.sources import defects, listing
from augrecipes.sources.annotations.records import RecordError
from augrecipes.sources.columns import Columns, Ragged, number
from augrecipes.sources.csv_list import CLASS, COLUMNS, CsvRows, class_columns, columns_at, read_rows
from augrecipes.sources.names import by_longest_stem, by_scene, match_folders, stem, template
from augrecipes.sources.paths import PathGroups, PathLike, PathTable

_STEM = "{stem}"
_POINTS = {"boxes": 4, "keypoints": 2}  # columns of numbers, and how many each row has
_FARTHEST = 1e30  # of a coordinate


def table_of_folders(
    roots: Sequence[PathLike],
    masks: Sequence[PathLike],
    findings: defects.Findings,
    *,
    cache: bool = True,
    layout: listing.Layout = "auto",
    targets: Mapping[str, Sequence[PathLike]] | None = None,
    stacks: bool = False,
) -> Columns:
    """The images below folders (class folders, or images side by side), without those that have not one mask each.

    Args:
        roots: folders; their classes are numbered together.
        masks: folders with a mask for every image, under the same name but for the extension; laid out like the
            roots, or flat. Or a template. None of either: no masks.
        findings: takes images without a mask or a target, or with several.
        cache: keep the listing in a file in the user's cache folder.
        layout: of the roots; see `augrecipes.sources.listing`.
        targets: the same as `masks` of further targets, by name.
        stacks: folders of frames count as one image, and folders of masks as the masks of one.

    Raises:
        DataError: a folder is missing or empty, or no file is named by the template.
        ValueError: a template with more or less than one `{stem}` in its last part.
    """
    table = listing.list_folders(roots, cache=cache, layout=layout, stacks=stacks)
    several = any("*" in os.fsdecode(path).removesuffix(".*") for path in masks if _STEM in os.fsdecode(path))
    beside = ({"masks" if several else "mask": masks} if masks else {}) | dict(targets or {})
    if not beside:
        return table
    named = {what: _names_of(paths, what) for what, paths in beside.items()}
    own = {k: stem(table.images.name(k)) for k in range(len(table))}
    for last in [last for folders, last in named.values() if not folders]:  # what lies beside the images is none itself
        own = {k: name for k, name in own.items() if not _pattern(last).fullmatch(name)}
    matches, others = dict[str, dict[int, list[int]]](), dict.fromkeys(named, table.images)
    for what, (folders, last) in named.items():
        if folders:
            others[what] = listing.list_folders(folders, cache=cache, layout="flat", stacks=stacks).images
        matches[what] = _match(table.images, own, others[what], folders or roots, what, last, findings)
    keep = sorted(set[int].intersection(*map(set, matches.values())))
    groups = {what: PathGroups.chosen(others[what], [chosen[k] for k in keep]) for what, chosen in matches.items()}
    matched = {what: files.paths for what, files in groups.items() if what != "masks"}  # each has one
    if len(keep) < len(table):
        labels = None if table.labels is None else table.labels[keep]
        table = replace(table, files={"image": table.images.take(keep)}, labels=labels)
    return replace(table, masks=matched.pop("mask", None), instances=groups.get("masks"), targets=matched)


def _names_of(paths: Sequence[PathLike], what: str) -> tuple[Sequence[PathLike], str]:
    """The folders that masks, or files of another target, lie in, none for beside the images, and the template of their
    names; ValueError for one with more or less than one `{stem}` in its last part."""
    if not any(_STEM in os.fsdecode(path) for path in paths):
        return paths, _STEM
    given = "masks=" if what in ("mask", "masks") else f"targets[{what!r}]="
    if len(paths) > 1:
        raise ValueError(f"{given} takes one template, or folders")
    folder, last = os.path.split(text := os.fsdecode(paths[0]))
    if _STEM in folder or last.count(_STEM) != 1 or (not folder and last.startswith(f"{_STEM}.")):
        rule = f"should have one {_STEM} in the name of the file, and not name the images themselves"
        raise ValueError(f"{given}{text!r} {rule}: {what}s/{_STEM}_{what}.png, or a folder")
    return [folder] if folder else [], last


def _pattern(last: str) -> re.Pattern[str]:
    return template(last.removesuffix(".*").replace(_STEM, "{}"))


def _match(
    images: PathTable, own: Mapping[int, str], table: PathTable, folders: Sequence[PathLike], what: str, last: str,
    findings: defects.Findings,
) -> dict[int, list[int]]:  # fmt: skip
    """The partner of each image that has one, by their positions, or all of `masks`. Folders count where both have the
    same ones.

    Args:
        images: all files.
        own: names without extension of those that are images.
        table: the partners' files, or those of the images, where they lie beside them.
        folders: of the partners.
        what: `mask`, `masks` of which an image has any number, or the name of another target.
        last: the template of their names.
        findings: takes images without a partner, or with several.
    """
    scenes, files = by_scene(own, template("{}")), {k: stem(table.name(k)) for k in range(len(table))}
    several, stems = what == "masks", {name for _, name in scenes}
    theirs = by_longest_stem(files, last.removesuffix(".*"), stems) if several else by_scene(files, _pattern(last))
    if not theirs or not own:
        problem = "all files here are named {}: there are no images" if theirs else "no file here is named {}"
        raise DataError(problem.format(last), ", ".join(map(os.fsdecode, folders)))
    scenes, theirs = match_folders(scenes, theirs)
    chosen: dict[int, list[int]] = {}
    wrong: dict[int, str] = {}
    for scene, numbers in scenes.items():
        matched = theirs.get(scene, [])
        if len(numbers) == 1 and (several or len(matched) == 1):
            chosen[numbers[0]] = sorted(matched, key=files.__getitem__)
            continue
        some = f"{counted(len(matched), what)} for {counted(len(numbers), 'image')} of this name"
        file = os.path.join(os.fsdecode(folders[0]), last.replace(_STEM, scene[1]))  # noqa: PTH118 (shown as given)
        lacks = f"no {what}" if what == "mask" else f"no {what}, which should be {file}"
        problem = f"{some}: {', '.join(table[k] for k in matched)}" if matched else lacks
        wrong |= dict.fromkeys(numbers, problem)
    findings.defects += [defects.Defect("missing", (images[i],), f"{images[i]}: {wrong[i]}") for i in sorted(wrong)]
    there = len(table) if several and table is not images else sum(map(len, theirs.values()))
    if unused := there - sum(map(len, chosen.values())):
        findings.notes.append(f"{counted(unused, what)} without an image")
    return chosen


def table_of_csv(
    path: PathLike,
    split: str | None,
    findings: defects.Findings,
    *,
    check: bool = True,
    taken: frozenset[str] = frozenset({"mask", *_POINTS}),
    renamed: Mapping[str, Any] | None = None,
    outside: bool = False,
    targets: Sequence[str] = (),
) -> Columns:
    """The samples that a CSV file lists, without the rows that cannot be used.

    Args:
        path: the file.
        split: only the rows of this split. Classes are numbered over all rows, so that splits agree.
        findings: takes rows that cannot be used.
        check: whether files that do not exist are wrong now, and not when they are read.
        taken: which of the columns `mask`, `boxes` and `keypoints` are looked into: a file may have them for others.
        renamed: what the file calls its columns, by the names that they have here; those of classes under `labels`.
        outside: whether files may lie outside of the CSV file's folder, or on another server.
        targets: further targets of the recipe, each a column of paths.

    Raises:
        DataError: the file as a whole is not as it should be.
    """
    classes, renamed = class_columns(renamed)
    known = [*(name for name in COLUMNS if not classes or name != "label"), *targets, *map(CLASS.__add__, classes)]
    every = read_rows(path, known, renamed=renamed)
    keep = every.of_split(split)
    rows, read = every.select(keep), every.columns.keys() & {"image", *taken, *targets}
    instances = _instances(rows, check, outside) if "masks" in every.columns and "mask" in taken else None
    columns = [name for name in ("image", "mask", *targets) if name in read]
    files = {name: rows.paths(name, check=check, outside=outside) for name in columns}
    points = {name: _points(every, name) for name in _POINTS if name in read}
    fields = every.fields(keep, classes)
    findings.rows(every.path, every.problems)
    if every.problems:
        fine = rows.fine()
        keep, rows, fields = keep[fine], rows.select(fine), columns_at(fine, fields)
        files = {name: paths.take(fine) for name, paths in files.items()}
        instances = instances and instances.take(fine)
    return Columns(
        files={"image": files["image"]},
        masks=files.get("mask"),
        instances=instances,
        targets={name: files[name] for name in targets if name in files},
        lines=np.array(rows.lines, np.int64),
        **fields,
        **{name: numbers.take(keep) for name, numbers in points.items()},  # type: ignore[arg-type]
    )


def _instances(rows: CsvRows, check: bool, outside: bool) -> PathGroups:
    """The column `masks`: of each row a JSON list of paths."""
    names, lines, counts = list[str](), list[int](), [0]
    for line, cell in zip(rows.lines, rows.columns["masks"], strict=True):
        try:
            listed = json.loads(cell) if cell else []
        except (ValueError, RecursionError):
            listed = None
        if not isinstance(listed, list) or not all(isinstance(name, str) and name for name in listed):
            rows.problems.append((line, f"masks should be a JSON list of paths, got {cell[:40]}"))
            listed = []
        names.extend(listed)
        lines.extend([line] * len(listed))
        counts.append(len(names))
    paths = CsvRows(rows.path, {"masks": names}, lines, rows.problems).paths("masks", check=check, outside=outside)
    return PathGroups(paths, np.array(counts, np.int64))


def _points(rows: CsvRows, column: str) -> Ragged:
    """A column of JSON lists of so many numbers, each followed by a label where they are boxes.

    Raises:
        DataError: some boxes have labels and others have none.
    """
    width, values, labels, offsets = _POINTS[column], list[list[float]](), list[str](), [0]
    for line, cell in zip(rows.lines, rows.columns[column], strict=True):
        try:
            points = _cell(cell, width, labelled=column == "boxes")
        except RecordError as error:
            rows.problems.append((line, f"{column}: {error}"))
            points = []
        values += [row[:width] for row in points]
        labels += [str(label) for row in points for label in row[width:]]
        offsets.append(len(values))
    ragged = Ragged(np.array(values, np.float32).reshape(-1, width), np.array(offsets, np.int64))
    if not labels:
        return ragged
    if len(labels) != len(values):
        raise DataError(f"{column}: some rows have a label and others have none", rows.path)
    ids, classes, class_to_idx = number(labels)
    are_numbers = all(name == str(value) for name, value in class_to_idx.items())
    return replace(ragged, labels=ids, classes=None if are_numbers else tuple(classes))


def _cell(text: str, width: int, *, labelled: bool) -> list[list[Any]]:
    """The rows of numbers in a cell; RecordError where there is something else."""
    try:
        rows = json.loads(text) if text else []
    except (ValueError, RecursionError) as error:
        raise RecordError(f"not valid JSON: {error}") from None
    if not isinstance(rows, list):
        raise RecordError(f"should be a JSON list, got {text[:40]}")
    for row in rows:
        fits = isinstance(row, list) and width <= len(row) <= width + labelled
        if not fits or not all(type(value) in (int, float) and abs(value) < _FARTHEST for value in row[:width]):
            label = " and, if you like, a label" if labelled else ""
            raise RecordError(f"{json.dumps(row)} should be a list of {width} numbers{label}")
        if not all(type(label) in (int, str) or (type(label) is float and label % 1 == 0) for label in row[width:]):
            raise RecordError(f"{json.dumps(row)} has a label that is neither a whole number nor text")
    return rows
