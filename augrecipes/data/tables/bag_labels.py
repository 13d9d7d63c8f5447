"""The labels of bags: a CSV file with the columns `bag` and `label`, which must match the bags."""

from __future__ import annotations

import os
from collections.abc import Sequence

from augrecipes.data.tables.csvfile import read_rows
from augrecipes.data.tables.problems import Problem, listed
from augrecipes.errors import DataError
from augrecipes.sources.paths import PathLike
from augrecipes.sources.remote import is_file, place_of

_LABELS = "labels.csv"


def label_files(roots: Sequence[PathLike], labels: PathLike | None) -> list[str]:
    """The files of labels: the one that is given, or `labels.csv` in every root, or none."""
    if labels is not None:
        return [os.fsdecode(labels)]
    files = [str(place_of(root) / _LABELS) for root in roots]
    present = [file for file in files if is_file(file)]
    if present and len(present) < len(files):
        missing = next(file for file in files if file not in present)
        raise DataError(f"no such file, though {present[0]} exists: every root needs its labels, or none", missing)
    return present


def labels_of_bags(
    names: list[str], files: list[str], collected: list[Problem] | None = None, *, others: bool = False
) -> list[str] | None:
    """The label of every bag, from files that must name each bag once; where there may be `others`, more than those."""
    if not files:
        return None
    label: dict[str, str] = {}
    where: dict[str, str] = {}
    problems: list[str] = []
    known = set(names)
    for file in files:
        wrong: list[Problem] = []
        rows = read_rows(file, known=("bag", "label"), required=("bag", "label"), filled=("bag",), problems=wrong)
        for i, (bag, value) in enumerate(zip(rows.columns["bag"], rows.columns["label"], strict=True)):
            line = rows.lines[i]
            if bag not in known and others:
                continue
            if not value:
                wrong.append((line, f"bag {bag!r} has no label here"))
            if bag not in known:
                wrong.append((line, f"bag {bag!r} has no folder"))
            elif bag in label:
                wrong.append((line, f"bag {bag!r} again, first in {where[bag]}"))
            else:
                label[bag], where[bag] = value, rows.where(i)
        problems += [f"{file}:{line}: {what}" for line, what in sorted(wrong)]
    problems += [f"bag {name!r} has no row" for name in names if name not in label]
    if problems and collected is not None:
        collected += [(0, what) for what in problems]
        return None
    if problems:
        given = sum(map(bool, label.values()))
        message = f"bags and labels do not match one to one ({len(names)} bags, {given} with a label):"
        raise DataError(message + listed(problems), ", ".join(files))
    return [label[name] for name in names]
