"""Tables of images below folders, with their masks, or listed in a CSV file.

Masks have the images' names, up to the extension, in folders of their own; or a template with `{stem}` derives their
names from the images', such as `masks/{stem}_mask.png`, or `{stem}_mask.png` beside the images.
"""

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
from augrecipes.sources.csv_list import CLASS, COLUMNS, CsvRows, class_columns, read_rows, rows_of_columns
from augrecipes.sources.names import by_longest_stem, by_scene, match_folders, stem, template
from augrecipes.sources.paths import PathGroups, PathLike, PathTable

_STEM = "{stem}"
_POINTS = {"boxes": 4, "keypoints": 2}  # columns of coordinates, and how many each box or point has
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
    """The table of the images below folders (class folders, or flat), without images that lack exactly one mask.

    Args:
        roots: folders; their classes are numbered together.
        masks: folders with a mask for every image, of the same name up to the extension; laid out like the roots, or
            flat. Or a name template. Empty: no masks.
        findings: receives a defect for each image without a mask or a target, or with several.
        cache: whether to keep the listing in the user's cache folder.
        layout: of the roots; see `augrecipes.sources.listing`.
        targets: folders or a template of each further target, by name, as `masks`.
        stacks: whether a folder of frames counts as one image, and a folder of masks as its masks.

    Raises:
        DataError: a folder is missing or empty, or no file matches the template.
        ValueError: a template whose last part has not exactly one `{stem}`.
    """
    table = listing.list_folders(roots, cache=cache, layout=layout, stacks=stacks)
    several = any("*" in os.fsdecode(path).removesuffix(".*") for path in masks if _STEM in os.fsdecode(path))
    beside = ({"masks" if several else "mask": masks} if masks else {}) | dict(targets or {})
    if not beside:
        return table
    named = {what: _folders_and_template(paths, what) for what, paths in beside.items()}
    own = {k: stem(table.images.name(k)) for k in range(len(table))}
    for last in [last for folders, last in named.values() if not folders]:  # masks beside the images are not images
        own = {k: name for k, name in own.items() if not _pattern(last).fullmatch(name)}
    matches, others = dict[str, dict[int, list[int]]](), dict.fromkeys(named, table.images)
    for what, (folders, last) in named.items():
        if folders:
            others[what] = listing.list_folders(folders, cache=cache, layout="flat", stacks=stacks).images
        matches[what] = _match(table.images, own, others[what], folders or roots, what, last, findings)
    keep = sorted(set[int].intersection(*map(set, matches.values())))
    groups = {what: PathGroups.chosen(others[what], [chosen[k] for k in keep]) for what, chosen in matches.items()}
    matched = {what: files.paths for what, files in groups.items() if what != "masks"}  # one per image
    if len(keep) < len(table):
        labels = None if table.labels is None else table.labels[keep]
        table = replace(table, files={"image": table.images.take(keep)}, labels=labels)
    return replace(table, masks=matched.pop("mask", None), instances=groups.get("masks"), targets=matched)


def _folders_and_template(paths: Sequence[PathLike], what: str) -> tuple[Sequence[PathLike], str]:
    """The folders of a target's files (none: beside the images), and their name template; ValueError unless its last
    part has exactly one `{stem}`."""
    if not any(_STEM in os.fsdecode(path) for path in paths):
        return paths, _STEM
    argument = "masks=" if what in ("mask", "masks") else f"targets[{what!r}]="
    if len(paths) > 1:
        raise ValueError(f"{argument} takes one template, or folders")
    folder, last = os.path.split(text := os.fsdecode(paths[0]))
    if _STEM in folder or last.count(_STEM) != 1 or (not folder and last.startswith(f"{_STEM}.")):
        rule = f"should have one {_STEM} in the name of the file, and not name the images themselves"
        raise ValueError(f"{argument}{text!r} {rule}: {what}s/{_STEM}_{what}.png, or a folder")
    return [folder] if folder else [], last


def _pattern(last: str) -> re.Pattern[str]:
    return template(last.removesuffix(".*").replace(_STEM, "{}"))


def _match(
    images: PathTable, own: Mapping[int, str], table: PathTable, folders: Sequence[PathLike], what: str, last: str,
    findings: defects.Findings,
) -> dict[int, list[int]]:  # fmt: skip
    """For each image (by position) the positions of its partners: one, or any number of `masks`.

    Folders are part of the names where images and partners have the same ones.

    Args:
        images: all files below the roots.
        own: the names, without extension, of the files that are images.
        table: the partners' files; `images` where they lie beside the images.
        folders: the partners' folders, for messages.
        what: `mask`, `masks` (any number per image), or the name of another target.
        last: the name template of the partners.
        findings: receives a defect for each image without a partner, or with several.
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
    count = len(table) if several and table is not images else sum(map(len, theirs.values()))
    if unused := count - sum(map(len, chosen.values())):
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
    """The table of the samples in a CSV file, without rows that cannot be used.

    Args:
        path: the file.
        split: take only the rows of this split. Classes are numbered over all rows, so that splits agree.
        findings: receives a defect for each unusable row.
        check: whether missing files are defects now, rather than errors when they are read.
        taken: which of the columns `mask`, `boxes` and `keypoints` to read; others are ignored.
        renamed: the file's own names of columns, by ours; class columns under `labels`.
        outside: whether files may lie outside the CSV file's folder, or on another server.
        targets: further targets of the recipe, each a column of paths.

    Raises:
        DataError: the file as a whole cannot be used.
    """
    classes, renamed = class_columns(renamed)
    known = [*(name for name in COLUMNS if not classes or name != "label"), *targets, *map(CLASS.__add__, classes)]
    every = read_rows(path, known, renamed=renamed)
    keep = every.split_rows(split)
    rows, read = every.select(keep), every.columns.keys() & {"image", *taken, *targets}
    instances = _instances(rows, check, outside) if "masks" in every.columns and "mask" in taken else None
    columns = [name for name in ("image", "mask", *targets) if name in read]
    files = {name: rows.paths(name, check=check, outside=outside) for name in columns}
    points = {name: _points(every, name) for name in _POINTS if name in read}
    fields = every.fields(keep, classes)
    findings.rows(every.path, every.problems)
    if every.problems:
        good = rows.good_rows()
        keep, rows, fields = keep[good], rows.select(good), rows_of_columns(good, fields)
        files = {name: paths.take(good) for name, paths in files.items()}
        instances = instances and instances.take(good)
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
    """The column `masks`: a JSON list of paths in each row."""
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
    """A column of JSON lists of coordinates; a box may end with a label.

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
    """The boxes or points in a cell as lists; RecordError for anything else."""
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
