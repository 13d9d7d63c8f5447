"""Every script in benchmarks/ starts, and `make bench` runs them all."""

from __future__ import annotations

import importlib
import re
import subprocess
from pathlib import Path
from typing import Any

import harness
import pytest
from harness import Row, put_section

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
SCRIPTS = sorted(
    file.stem
    for file in BENCHMARKS.glob("*.py")
    if '__name__ == "__main__"' in file.read_text(encoding="utf-8") and file.stem != "images"  # it draws README's
)


def test_make_bench_runs_every_script() -> None:
    done = subprocess.run(["make", "-n", "bench"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert sorted(set(re.findall(r"benchmarks/(\w+)\.py", done.stdout))) == SCRIPTS


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_imports_and_says_how_to_run_it(name: str) -> None:
    assert f"python benchmarks/{name}.py --write" in importlib.import_module(name).__doc__


def test_results_hold_no_section_of_a_script_that_is_gone() -> None:
    text = (BENCHMARKS / "RESULTS.md").read_text(encoding="utf-8")
    begun = re.findall(r"<!-- begin (\w+) -->", text)
    assert begun == re.findall(r"<!-- end (\w+) -->", text)
    assert set(begun) <= set(SCRIPTS)
    assert len(set(begun)) == len(begun)


def test_a_section_is_written_where_it_was(tmp_path: Path) -> None:
    results = tmp_path / "RESULTS.md"
    put_section("a", "one", results)
    put_section("b", "two", results)
    put_section("a", "three", results)
    assert re.findall(r"^\w+$", results.read_text(encoding="utf-8"), flags=re.MULTILINE) == ["three", "two"]


@pytest.mark.parametrize(
    ("arguments", "shown", "written"),
    [
        (["--write"], ["one", "text", "two"], True),
        (["--write", "--quick"], ["one", "text", "two"], False),
        (["--write", "--only", "sec"], ["two"], False),
        ([], ["one", "text", "two"], False),
    ],
)
def test_all_parts_are_shown_and_only_the_whole_is_written(
    arguments: list[str], shown: list[str], written: bool, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sections: dict[str, str] = {}
    monkeypatch.setattr(harness, "put_section", sections.__setitem__)
    parts = {
        "first": lambda options: [Row("one", "1 s", "2 s", "×2.00"), "text"],
        "second": lambda options: [Row("two", "", "", "")],
    }
    harness.run("somewhere/x.py", "Doc.", "X", "Method.", parts, arguments=arguments)
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == shown
    assert list(sections) == (["x"] if written else [])
    if written:
        assert sections["x"].startswith("## X (`python benchmarks/x.py --write`)")
        assert re.findall(r"^\| (?:what|one|two)|^text", sections["x"], flags=re.MULTILINE) == [
            "| what", "| one", "text", "| what", "| two",
        ]  # fmt: skip


def test_a_part_that_is_not_there_is_an_error() -> None:
    with pytest.raises(SystemExit, match="there are first"):
        harness.run("x.py", "Doc.", "X", "Method.", {"first": list}, arguments=["--only", "z"])
