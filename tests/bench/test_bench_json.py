"""What is said of `bench.json` is what is written: every key, and no other."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from report_pages import swept, trained
from small_data import KINDS, kind_data
from typer.testing import CliRunner

from augrecipes.bench.record import Bench, write
from augrecipes.bench.run import Options, bench
from augrecipes.bench.schema import _said, classes, keys, markdown
from augrecipes.bench.sides import Setting
from augrecipes.cli.app import app

PAGE = Path(__file__).parents[2] / "benchmarks" / "BENCH_JSON.md"


def faults(told: Any, hint: Any, where: str = "bench") -> Iterator[str]:
    """What of a record is not as its classes say."""
    origin, inside = get_origin(hint), get_args(hint)
    if is_dataclass(hint):
        wanted = {key.name: key.type for key in keys(hint)}
        yield from (f"{where}.{name} is not documented" for name in told.keys() - wanted.keys())
        yield from (f"{where}.{name} is missing" for name in wanted.keys() - told.keys())
        for name in wanted.keys() & told.keys():
            yield from faults(told[name], wanted[name], f"{where}.{name}")
    elif origin is tuple:
        for part in told:
            yield from faults(part, inside[0], f"{where}[]")
    elif origin in {dict, Mapping}:
        for part in told.values():
            yield from faults(part, inside[1], f"{where}{{}}")
    elif origin is not None and type(None) in inside:
        if told is not None:
            (there,) = set(inside) - {type(None)}
            yield from faults(told, there, where)
    elif origin is Literal:
        if told not in inside:
            yield f"{where} is {told!r}"
    elif hint is not Any and not isinstance(told, (int, float) if hint is float else hint):
        yield f"{where} is {told!r}, and no {hint.__name__}"


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_is_as_it_is_documented(kind: str, tmp_path: Path) -> None:
    recipe, data = kind_data(kind, tmp_path)
    options = Options(["fast"], stock=True, samples=2, seconds=0.01, ablate=kind == "image")
    found = bench({"a": recipe, "b": recipe}, Setting(data), options)
    write(replace(found, sweep=swept("ab"), training=trained("ab")), tmp_path / "bench.json")
    told = json.loads((tmp_path / "bench.json").read_text(encoding="utf-8"))
    assert list(faults(told, Bench)) == []
    del told["sides"][0]["stages"][0]["mad"]
    told["machine"]["colour"] = "grey"
    told["verdicts"][0]["differs"] = "yes"
    assert sorted(faults(told, Bench)) == [
        "bench.machine.colour is not documented",
        "bench.sides[].stages[].mad is missing",
        "bench.verdicts[].differs is 'yes', and no bool",
    ]


@pytest.mark.parametrize("cls", classes(), ids=lambda cls: cls.__name__)
def test_every_key_has_its_meaning(cls: type) -> None:
    assert [key.name for key in keys(cls) if not key.about] == []
    assert set(_said(cls)) == {field.name for field in fields(cls)}


def test_the_page_is_what_the_classes_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == markdown(), "augrecipes schema --bench > benchmarks/BENCH_JSON.md"
    assert CliRunner().invoke(app, ["schema", "--bench"]).output == markdown()


def test_names_of_files_that_are_no_text(tmp_path: Path) -> None:
    recipe, data = kind_data("image", tmp_path / "data")
    found = bench({"a": recipe}, Setting(data), Options(["none"], samples=1, seconds=0.01, effects=False))
    write(
        type(found)(**{**{f.name: getattr(found, f.name) for f in fields(found)}, "data": "a\udcffb"}), tmp_path / "b"
    )
    assert json.loads((tmp_path / "b").read_text(encoding="utf-8"))["data"] == "a\udcffb"
