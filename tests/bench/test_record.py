"""`bench.json` has every key that its classes have, and no other."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from pages import swept, trained
from small_data import KINDS, kind_data

from augrecipes.bench.record import Bench, write
from augrecipes.bench.run import Options, bench
from augrecipes.bench.sides import Setting


def faults(report: Any, hint: Any, where: str = "bench") -> Iterator[str]:
    """What of a record is not as its classes say."""
    origin, inside = get_origin(hint), get_args(hint)
    if is_dataclass(hint):
        hints = get_type_hints(hint)
        yield from (f"{where}.{name} is unknown" for name in report.keys() - hints.keys())
        yield from (f"{where}.{name} is missing" for name in hints.keys() - report.keys())
        for name in hints.keys() & report.keys():
            yield from faults(report[name], hints[name], f"{where}.{name}")
    elif origin is tuple:
        for part in report:
            yield from faults(part, inside[0], f"{where}[]")
    elif origin in {dict, Mapping}:
        for part in report.values():
            yield from faults(part, inside[1], f"{where}{{}}")
    elif origin is not None and type(None) in inside:
        if report is not None:
            (there,) = set(inside) - {type(None)}
            yield from faults(report, there, where)
    elif origin is Literal:
        if report not in inside:
            yield f"{where} is {report!r}"
    elif hint is not Any and not isinstance(report, (int, float) if hint is float else hint):
        yield f"{where} is {report!r}, and no {hint.__name__}"


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_is_as_its_classes_say(kind: str, tmp_path: Path) -> None:
    recipe, data = kind_data(kind, tmp_path)
    options = Options(["fast"], stock=kind != "pair", samples=2, seconds=0.01, ablate=kind == "image")
    found = bench({"a": recipe, "b": recipe}, Setting(data), options)
    write(replace(found, sweep=swept("ab"), training=trained("ab")), tmp_path / "bench.json")
    report = json.loads((tmp_path / "bench.json").read_text(encoding="utf-8"))
    assert list(faults(report, Bench)) == []
    del report["sides"][0]["stages"][0]["mad"]
    report["machine"]["colour"] = "grey"
    report["verdicts"][0]["differs"] = "yes"
    assert sorted(faults(report, Bench)) == [
        "bench.machine.colour is unknown",
        "bench.sides[].stages[].mad is missing",
        "bench.verdicts[].differs is 'yes', and no bool",
    ]


def test_names_of_files_that_are_no_text(tmp_path: Path) -> None:
    recipe, data = kind_data("image", tmp_path / "data")
    found = bench({"a": recipe}, Setting(data), Options(["none"], samples=1, seconds=0.01, effects=False))
    write(replace(found, data="a\udcffb"), tmp_path / "b")
    assert json.loads((tmp_path / "b").read_text(encoding="utf-8"))["data"] == "a\udcffb"
