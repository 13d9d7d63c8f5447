"""Faults that are planted: the law that is there for each of them finds it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.annotations import WRITERS, random_set
from test_annotation_rules import test_pictures_outside_are_read_when_that_is_said as outside
from test_one_table import check_boxes, run
from test_one_table import test_what_is_written_is_read as run_lengths

from augrecipes.errors import DataError
from augrecipes.sources import paths
from augrecipes.sources.annotations import coco, records, table
from augrecipes.sources.annotations.records import AnnotationSet

_in_format, _add = table._in_format, AnnotationSet.add


def sets(folder: Path) -> None:
    for seed in range(6):
        of = random_set(seed)
        check_boxes(WRITERS["labelme" if seed % 2 else "voc"](folder / str(seed), of), of, "coco")


def mutants(folder: Path) -> None:
    run(folder, "coco", range(400))


def names(folder: Path) -> None:
    outside(folder, "coco")


def texts(_: Path) -> None:
    run_lengths()


def changed(right: str, wrong: str) -> Any:
    """`counts_of` with another expression in it."""
    code = inspect.getsource(coco.counts_of)
    assert right in code
    space: dict[str, Any] = dict(vars(coco))
    exec(code.replace(right, wrong), space)
    return space["counts_of"]


PLANTED: dict[str, tuple[Callable[[Path], None], Any, str, Any]] = {
    "boxes are not cut": (sets, np, "clip", lambda values, low, high: values),
    "empty boxes stay": (sets, table, "_FINE", 3),
    "marked objects stay": (sets, AnnotationSet, "add", lambda self, *values, **_: _add(self, *values)),
    "corners for sizes": (
        sets, table, "_in_format", lambda corners, format: _in_format(corners, format.replace("coco", "pascal_voc"))
    ),
    "classes as they are met": (sets, AnnotationSet, "rename", lambda *_: None),
    "any name": (mutants, records, "is_name", lambda name: True),
    "any polygon": (mutants, coco, "numbers_of", lambda values, count=None: values),
    "links are not followed": (names, paths, "S_ISLNK", lambda _: False),
    "every folder is the data's": (names, paths, "_inside", lambda _: b""),
    "changes begin too early": (texts, coco, "counts_of", changed("len(counts) > 2", "len(counts) > 1")),
    "changes since the last": (texts, coco, "counts_of", changed("counts[-2]", "counts[-1]")),
    "no signs": (texts, coco, "counts_of", changed("value -= (bits & 16 and 1) << shift", "pass")),
    "four bits": (texts, coco, "counts_of", changed("bits & 31", "bits & 15")),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    law, where, what, instead = PLANTED[name]
    monkeypatch.setattr(where, what, instead)
    with pytest.raises(BaseException) as caught:
        law(tmp_path)
    assert not isinstance(caught.value, DataError)
