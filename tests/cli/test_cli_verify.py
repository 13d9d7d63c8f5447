"""`augrecipes verify`."""

from __future__ import annotations

import json
import re

import cv2
import numpy as np
import pytest

from augrecipes.compiler.rewrite.rule import Edit, Rule
from augrecipes.compiler.rewrite.rules import RULES

RECIPE = """version: 1
recipe: tiny
steps:
  - Rotate: {limit: 20, border_mode: reflect_101, p: 1.0}
  - RandomCrop: {height: 48, width: 48}
  - HorizontalFlip
  - RandomBrightnessContrast
eval:
  - CenterCrop: {height: 48, width: 48}
"""


@pytest.fixture(autouse=True)
def tiny(write):
    write("tiny.yaml", RECIPE)


def forgetful(contract):
    """A rule of the optimiser that forgets the turn."""

    def forget(steps, flow):
        del flow
        return [Edit(place, place + 1, ()) for place, step in enumerate(steps) if step.name == "Rotate"]

    return Rule("forget_turns", "", contract, "", "", forget)


@pytest.mark.parametrize("optimize", ["none", "exact"])
def test_every_contract_holds(run, photos, optimize):
    result = run("verify", "tiny.yaml", "--data", photos, "--samples", "4", "--optimize", optimize)
    assert result.exit_code == 0, result.output
    assert "contract: EXACT" in result.stdout
    assert "every contract holds on 4 samples" in result.stdout


@pytest.mark.parametrize("contract", ["EXACT", "GEOMETRY"])
def test_a_broken_contract_is_status_1(run, photos, tmp_path, monkeypatch, contract):
    monkeypatch.setitem(RULES, "fast", (forgetful(contract),))
    result = run("verify", "tiny.yaml", "--data", photos, "--samples", "3", "-o", "out/worst.png")
    assert result.exit_code == 1
    law = "levels" if contract == "EXACT" else "displacement"
    assert f"broken: {law} of image, uint8: 3 of 3 samples; " in result.stdout
    assert re.search(rf"contract: uint8 {contract}\b.* · forget_turns", result.stdout)
    assert result.stdout.splitlines()[-1] == "out/worst.png"
    assert cv2.imdecode(np.fromfile(tmp_path / "out/worst.png", np.uint8), cv2.IMREAD_COLOR).shape[2] == 3
    line = re.search(r"the worst sample again:\n((?:.*\n){3})", result.stdout)
    space: dict = {}
    exec(line[1], space)
    assert space["again"].given.images["image"].dtype == ("float32" if "float32" in line[1] else "uint8")
    assert np.abs(space["again"].plain["image"] - space["again"].fast["image"]).max() > 0


def test_json(run, photos):
    result = run(
        "verify", "tiny.yaml", "--data", photos, "--samples", "2", "--optimize", "exact", "--json",
        "--dtype", "uint8", "--set", "RandomCrop.height=40",
    )  # fmt: skip
    told = json.loads(result.stdout)
    assert (told["ok"], told["samples"], told["contract"], told["optimize"]) == (True, 2, "EXACT", "exact")
    (figure,) = [figure for figure in told["figures"] if figure["law"] == "levels"]
    assert (figure["worst"], figure["limit"], figure["target"]) == (0.0, 0.0, "image")
    assert len(told["worst"]) == 2
    assert "overrides={'RandomCrop.height': 40}" in told["replay"]


def test_infinite_figures_are_json(run, photos, monkeypatch):
    from augrecipes.verify import compare

    monkeypatch.setattr(compare.np, "array_equal", lambda *a, **k: False)
    monkeypatch.setattr(compare, "levels_of", lambda image, output: np.full((2, 2, 1), np.nan, np.float32))
    result = run("verify", "tiny.yaml", "--data", photos, "--samples", "1", "--json")
    assert result.exit_code == 1
    json.loads(result.stdout, parse_constant=pytest.fail)


def test_the_eval_section(run, photos):
    result = run("verify", "tiny.yaml", "--data", photos, "--mode", "eval", "--optimize", "exact")
    assert result.exit_code == 0
    assert "4 samples" in result.stdout  # draws do not change, so none comes again


def test_pairs(run, photos, write, tmp_path):
    write("pair.yaml", "{version: 1, recipe: p, kind: pair, scales: {lr: 1, hr: 1}, eval: [], steps: [HorizontalFlip]}")
    for name in ("0.png", "1.png", "2.png", "3.png"):
        write(f"low/{name}", (tmp_path / photos / name).read_bytes())
    result = run("verify", "pair.yaml", "--data", f"hr={photos}", "--data", "lr=low", "--samples", "2")
    assert result.exit_code == 0, result.output
    assert re.search(r"^  lr +levels +", result.stdout, re.MULTILINE)
