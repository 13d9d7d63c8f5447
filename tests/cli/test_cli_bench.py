"""`augrecipes bench`."""

from __future__ import annotations

import itertools
import json
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

from augrecipes.bench import tables, timing
from augrecipes.bench.stages import Stage
from augrecipes.bench.timing import Ratio
from augrecipes.compiler.run import clock
from augrecipes.report import Report

QUICK = ("--seconds", "0.01", "--samples", "4", "--batch-size", "4")
RECIPE = """version: 1
recipe: NAME
steps:
  - RandomCrop: {height: 48, width: 48}
  - HorizontalFlip
eval: []
"""


@pytest.fixture(autouse=True)
def counted(write, monkeypatch):
    """Two recipes; a look at a clock takes a millisecond, and nothing else does, so that no machine decides."""
    for name in ("a", "b"):
        write(f"{name}.yaml", RECIPE.replace("NAME", name))
    wall, cpu = itertools.count(1, 1e-3), itertools.count(1, 1e-3)
    for module in (clock, timing):
        monkeypatch.setattr(module, "perf_counter", wall.__next__)
    monkeypatch.setattr(timing, "process_time", cpu.__next__)
    monkeypatch.setattr(clock.Clock, "charge", lambda spent, parts: [spent.run(what, int, (), {}) for what, _ in parts])


def test_two_recipes_and_stock(run, photos, tmp_path):
    wanted = ("--json", "bench.json", "-o", "made/report")
    result = run("bench", "a.yaml", "b.yaml", "--data", photos, "--against", "stock", *wanted, *QUICK)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == "made/report/index.html"
    written = tmp_path / "made" / "report"
    assert {file.name for file in written.iterdir()} == {"index.html", "bench.json"}
    assert (written / "bench.json").read_bytes() == (tmp_path / "bench.json").read_bytes()
    for text in (
        "a · none",
        "b · exact",
        "a · stock",
        "RandomCrop#1",
        "█",
        "bottleneck: CPU",
        "what the steps do",
        "Verdicts",
    ):
        assert text in result.stdout
    told = json.loads((tmp_path / "bench.json").read_text())
    assert told["schema_version"] == 1
    assert [recipe["name"] for recipe in told["recipes"]] == ["a", "b"]
    assert [step["site"] for step in told["recipes"][0]["plans"]["exact"]["steps"]] == [
        "RandomCrop#1",
        "HorizontalFlip#1",
    ]
    by_name = {(side["recipe"], side["level"]): side for side in told["sides"]}
    assert np.shape(by_name["a", "exact"]["seconds"]) == (told["rounds"], told["samples"] // told["batch_size"])
    assert by_name["a", "exact"]["against_stock"]["low"] > 0
    assert by_name["a", "stock"]["stages"] == []
    assert told["machine"]["packages"]["albumentations"]


def test_the_gate_passes_and_fails(run, photos, tmp_path):
    assert run("bench", "a.yaml", "--data", photos, "--against", "stock", "--json", "b.json", *QUICK).exit_code == 0
    told = json.loads((tmp_path / "b.json").read_text())

    def against(factor: float, *more: str):
        for side in told["sides"]:
            for key in ("against_stock", "cpu_against_stock"):
                if side[key]:
                    side[key] |= dict.fromkeys(("middle", "low", "high"), factor)
        (tmp_path / "b.json").write_text(json.dumps(told))
        return run(
            "bench", "a.yaml", "--data", photos, "--baseline", "b.json", "--fail-if-slower", "20%", *QUICK, *more
        )

    passed = against(1000.0)
    assert passed.exit_code == 0, passed.output
    assert "passes" in passed.stdout
    failed = against(0.001, "-o", "report")
    assert failed.exit_code == 1
    assert "a · exact" in failed.stdout
    assert "slower than 20 % fails" in failed.stdout
    assert failed.stdout.splitlines()[-3].endswith("slower")
    assert "Compared with the baseline" in (tmp_path / "report" / "index.html").read_text(encoding="utf-8")


def test_ablation_and_one_recipe_twice(run, photos):
    result = run("bench", "a.yaml", "a.yaml", "--data", photos, "--optimize", "fast", "--ablate", *QUICK)
    assert result.exit_code == 0, result.output
    assert "a (2) · fast" in result.stdout
    assert "without each step" in result.stdout


def test_a_sweep_over_who_reads(run, photos, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    result = run(
        "bench", "a.yaml", "b.yaml", "--data", photos, "--optimize", "exact", "--workers", "0,1", "--sizes", "4,8",
        "--no-effects", "--json", "bench.json", *QUICK,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert [line.split(":")[0] for line in lines if "seconds of an epoch" in line] == ["a · exact", "b · exact"]
    for name in ("batches", "threads:1", "processes:1"):
        assert len([line for line in lines if line.startswith(f"  {name} ")]) == 4  # a table and bars for each
    assert len([line for line in lines if line.endswith(" recommended")]) == 2
    assert "ar.loader(ds, 4, " in result.stdout
    assert "the data has 4 samples, larger epochs read some again" in result.stdout
    told = json.loads((tmp_path / "bench.json").read_text())["sweep"]
    assert (told["sizes"], told["available"], len(told["points"])) == ([4, 8], 4, 2 * 2 * 3)
    assert [advice["recipe"] for advice in told["advice"]] == ["a", "b"]


def test_what_the_data_are_logged_for_is_told_once(run, photos, write, caplog):
    write("photos/inside/5.png", cv2.imencode(".png", np.zeros((80, 100, 3), np.uint8))[1].tobytes())
    result = run("bench", "a.yaml", "b.yaml", "--data", photos, "-o", "report", *QUICK)
    assert result.exit_code == 0, result.output
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == len(set(said)) >= 1


def test_why_a_recipe_cannot_run_without_a_step_stands_below_the_table(run, photos, write):
    write("d.yaml", "version: 1\nrecipe: d\nsteps:\n  - Resize: {height: 90, width: 110}\n"
          "  - RandomCrop: {height: 85, width: 85}\neval: []\n")  # fmt: skip
    result = run("bench", "d.yaml", "--data", photos, "--optimize", "none", "--ablate", *QUICK)
    assert result.exit_code == 0, result.output
    assert "without Resize#1 it cannot run: " in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


@pytest.mark.parametrize("low", [1.0, 1.2])
def test_stages_are_one_table_in_eighty_columns(low: float) -> None:
    """However long a label is, and where the stages take longer one by one than together."""
    joined = "JoinedWarps(Rotate#1 + RandomResizedCrop#1 + HorizontalFlip#1 + VerticalFlip#1)"
    stages = [Stage("read", "read", 0.06, 0.01), Stage("decode", "decode", 123.4, 0.8)]
    stages += [Stage("step", name, 0.14, 0.04) for name in (joined, "a-label-of-ones-own" * 4, f"OneOf#1/{joined}")]
    side = SimpleNamespace(
        name="mine", stages=stages, mad=0.3, ms=101.0, transfer=1.03, bottleneck="CPU",
        accounted=Ratio(low, low, low, (low,)),
    )  # fmt: skip
    lines = Report(tables=[tables.stages(side)]).text().splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) == 1 + len(stages) + 2 + 1  # title, total and worker transfer, and the bottleneck
    assert "  JoinedWarps(Rotate#1 + 3)" in "\n".join(lines)
    assert ("in one go" in "".join(lines)) is (low > 1.1)
