"""`augrecipes bench --train-step`."""

from __future__ import annotations

import json
import sys

import pytest

from augrecipes.bench.tables import training
from augrecipes.bench.training import StepPart, Training

QUICK = ("--seconds", "0.01", "--samples", "4", "--batch-size", "4", "--no-effects", "--optimize", "exact")
RECIPE = "{version: 1, recipe: a, steps: [RandomCrop: {height: 48, width: 48}], eval: []}"
TRAIN = "from torch import nn\nmodel = nn.Conv2d(3, 4, 3, stride=8)\n"


@pytest.fixture(autouse=True)
def files(write, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    write("a.yaml", RECIPE)
    write("train.py", TRAIN)


def test_a_model_of_ones_own(run, photos, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    result = run("bench", "a.yaml", "--data", photos, "--train-step", "train.py", "--json", "b.json", *QUICK)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    start = lines.index("a · exact, read in this process on request: ms of a training step")
    assert [line.split()[0] for line in lines[start + 1 : start + 6]] == [
        "loading", "forward", "backward", "optimiser", "total",
    ]  # fmt: skip
    assert lines[start + 6].endswith(" % of a step is waiting for samples")
    assert lines[start + 7] == (
        "  step: train.py, Conv2d; mean square of the output as a stand-in for loss(); SGD as a stand-in"
    )
    assert "in batches of 4; on the CPU, torch's own" in lines[start + 8]
    (told,) = json.loads((tmp_path / "b.json").read_text())["training"]
    assert told["step"].startswith("train.py, Conv2d")
    assert sum(part["share"] for part in told["parts"]) == pytest.approx(1)


def test_figures_have_the_digits_of_their_spread():
    parts = (
        StepPart("loading", 150.65, 10.58, 0.4),
        StepPart("forward", 41.6, 2.7, 0.4),
        StepPart("optimiser", 0.42, 0.012, 0.2),
    )
    one = Training("a", "exact", "batches", 0, "cpu", 1, "step", 4, 12, parts)
    rows = [" ".join(row[:3]).split() for row in training([one])[0].rows]
    assert rows == [
        ["loading", "151", "±", "11"], ["forward", "42", "±", "3"], ["optimiser", "0.42", "±", "0.01"],
        ["total", "193"],
    ]  # fmt: skip


def test_milliseconds(run, photos):
    result = run("bench", "a.yaml", "--data", photos, "--train-step", "20", *QUICK)
    assert result.exit_code == 0, result.output
    assert "  training step" in result.stdout
    assert "step: 20 ms, waited for" in result.stdout
    assert "this thread sleeps meanwhile" in result.stdout
