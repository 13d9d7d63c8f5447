"""`augrecipes explain` with an image, and `augrecipes verify`."""

from __future__ import annotations

import json
import re

import cv2
import numpy as np
import pytest
from support.folders import draw

import augrecipes as ar
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
PAIR = "{version: 1, recipe: p, kind: pair, scales: {lr: 1, hr: 1}, eval: [], steps: [HorizontalFlip]}"


@pytest.fixture
def explain(run, tmp_path):
    """Run `augrecipes explain WORDS --seconds 0.02`: what it prints. There are `a.png`, `lr.png` and `hr.png`."""
    for name, size in (("a", (90, 120)), ("lr", (60, 80)), ("hr", (240, 320))):
        draw(tmp_path / f"{name}.png", 0, size)

    def _explain(words: str) -> str:
        result = run("explain", *words.split(), "--seconds", "0.02")
        assert result.exit_code == 0, result.output
        return result.stdout

    return _explain


def numbers(text: str, what: str) -> list[float]:
    return [float(found) for found in re.findall(rf"^  {what} .*?([0-9]+\.[0-9]{{3}})", text, re.MULTILINE)]


def test_times_stand_next_to_the_steps(explain):
    text = explain("folder-128 a.png")
    assert "measured: a.png, 90×120 px, one thread, " in text
    assert re.search(r"^ratio: [0-9.]+ ± [0-9.]+, [0-9.]+ ms as written, [0-9.]+ ms as planned$", text, re.MULTILINE)
    for what in ("output conversion", "overhead", "total", "SmallestMaxSize#1", "RandomCrop#1"):
        assert len(numbers(text, what)) == 2, what  # as written, and as planned
    assert max(map(len, text.splitlines())) <= 120
    assert min(numbers(text, "total")) > 0
    assert "ms" not in explain("folder-128").split()


def test_times_of_steps_add_up(explain):
    report = json.loads(explain("folder-128 a.png --json --optimize none"))
    rest = report["timing"]["before"]
    assert sum(row["ms"] for row in report["steps"]) + rest["sink"] + rest["overhead"] == pytest.approx(rest["whole"])
    assert (report["timing"]["what"], report["optimize"]) == ("a.png, 90×120 px", "none")


def test_pairs_and_bags_are_timed(explain):
    assert len(numbers(explain("sr-x4 hr=hr.png lr=lr.png"), "D4#1")) >= 1
    assert numbers(explain("stained-tissue-bag hr.png"), "StainJitter#1")


def test_what_fast_keeps_is_said_where_a_recipe_chooses_it(explain):
    said = "optimize: fast (keeps the contracts below; augrecipes verify measures how far)"
    assert said in explain("stained-tissue").splitlines()
    assert "optimize: exact" in explain("stained-tissue --optimize exact").splitlines()
    assert json.loads(explain("stained-tissue --json"))["optimize"] == "fast"


def test_the_plan_says_by_what_each_step_runs() -> None:
    steps = "[Rotate, {OneOf: {steps: [{InvertImg: {p: 1}}, {RandomRain: {p: 1}}]}}, RandomSunFlare, FancyPCA]"
    recipe = ar.load(f"version: 1\nrecipe: mixed\nsteps: {steps}\neval: []\n")
    assert {row.runs for row in ar.explain(recipe, optimize="none").plan} == {"albumentations"}
    explained = ar.explain(recipe, optimize="exact")
    runs = {row.step: row.runs for row in explained.plan}
    if explained.native.startswith("yes"):  # where kernels are in use
        why = "albumentations: no kernel does what it does"
        assert runs == {
            "Rotate#1": "native", "OneOf#1": f"OneOf#1/InvertImg#1 native; OneOf#1/RandomRain#1 {why}",
            "RandomSunFlare#1": why, "FancyPCA#1": why,
        }  # fmt: skip
        foreign = {"OneOf#1/RandomRain#1", "RandomSunFlare#1", "FancyPCA#1"}
        assert all(label in explained.native for label in foreign)
    else:
        assert "native" not in "".join(runs.values())


@pytest.fixture
def verify(run, write, photos):
    """Run `augrecipes verify tiny.yaml --data photos WORDS`: its result."""
    write("tiny.yaml", RECIPE)
    return lambda words: run("verify", "tiny.yaml", "--data", photos, *words.split())


@pytest.mark.parametrize("optimize", ["none", "exact"])
def test_every_contract_holds(verify, optimize):
    result = verify(f"--samples 4 --optimize {optimize}")
    assert result.exit_code == 0, result.output
    assert "contract: EXACT" in result.stdout
    assert "every contract holds on 4 samples" in result.stdout


@pytest.mark.parametrize(("contract", "law"), [("EXACT", "levels"), ("GEOMETRY", "displacement")])
def test_a_broken_contract_is_status_1(verify, tmp_path, monkeypatch, contract, law):
    """A rule of the optimiser forgets the rotation."""

    def forget(steps, flow):
        del flow
        return [Edit(place, place + 1, ()) for place, step in enumerate(steps) if step.name == "Rotate"]

    monkeypatch.setitem(RULES, "fast", (Rule("forget_turns", "", contract, "", "", forget),))
    result = verify("--samples 3 -o out/worst.png")
    assert result.exit_code == 1
    assert f"broken: {law} of image, uint8: 3 of 3 samples; " in result.stdout
    assert re.search(rf"contract: uint8 {contract}\b.* · forget_turns", result.stdout)
    assert result.stdout.splitlines()[-1] == "out/worst.png"
    assert cv2.imdecode(np.fromfile(tmp_path / "out/worst.png", np.uint8), cv2.IMREAD_COLOR).shape[2] == 3
    lines = re.search(r"the worst sample again:\n((?:.*\n){3})", result.stdout)
    space: dict = {}
    exec(lines[1], space)
    assert space["again"].given.images["image"].dtype == ("float32" if "float32" in lines[1] else "uint8")
    assert np.abs(space["again"].plain["image"] - space["again"].fast["image"]).max() > 0


def test_verify_as_json(verify):
    how = "--samples 2 --optimize exact --json --dtype uint8 --set RandomCrop.height=40"
    report = json.loads(verify(how).stdout)
    assert (report["ok"], report["samples"], report["contract"], report["optimize"]) == (True, 2, "EXACT", "exact")
    (figure,) = [figure for figure in report["figures"] if figure["law"] == "levels"]
    assert (figure["worst"], figure["limit"], figure["target"]) == (0.0, 0.0, "image")
    assert len(report["worst"]) == 2
    assert "overrides={'RandomCrop.height': 40}" in report["replay"]


def test_infinite_figures_are_json(verify, monkeypatch):
    from augrecipes.verify import compare

    monkeypatch.setattr(compare.np, "array_equal", lambda *a, **k: False)
    monkeypatch.setattr(compare, "levels_of", lambda image, output: np.full((2, 2, 1), np.nan, np.float32))
    result = verify("--samples 1 --json")
    assert result.exit_code == 1
    json.loads(result.stdout, parse_constant=pytest.fail)


def test_the_eval_section_and_pairs(verify, run, photos, write, tmp_path):
    result = verify("--mode eval --optimize exact")
    assert result.exit_code == 0
    assert "4 samples" in result.stdout  # draws do not change, so none comes again
    write("pair.yaml", PAIR)
    for name in ("0.png", "1.png", "2.png", "3.png"):
        write(f"low/{name}", (tmp_path / photos / name).read_bytes())
    result = run("verify", "pair.yaml", f"hr={photos}", "lr=low", "--samples", "2")
    assert result.exit_code == 0, result.output
    assert re.search(r"^  lr +levels +", result.stdout, re.MULTILINE)
