"""`augrecipes explain` with an image."""

from __future__ import annotations

import json
import re

import cv2
import numpy as np
import pytest

import augrecipes as ar

QUICK = ("--seconds", "0.02")


@pytest.fixture
def pictures(write):
    for name, size in (("a", (90, 120)), ("lr", (60, 80)), ("hr", (240, 320))):
        made = np.random.default_rng(0).integers(0, 256, (*size, 3), np.uint8)
        write(f"{name}.png", cv2.imencode(".png", made)[1].tobytes())


def numbers(text: str, what: str) -> list[float]:
    return [float(found) for found in re.findall(rf"^  {what} .*?([0-9]+\.[0-9]{{3}})", text, re.MULTILINE)]


def test_times_stand_beside_the_steps(run, pictures):
    text = run("explain", "folder-128", "a.png", *QUICK).stdout
    assert "measured: a.png, 90×120 px, one thread, " in text
    assert re.search(r"^ratio: [0-9.]+ ± [0-9.]+, [0-9.]+ ms as written, [0-9.]+ ms as planned$", text, re.MULTILINE)
    for what in ("output conversion", "overhead", "total"):
        assert len(numbers(text, what)) == 2, what
    for what in ("SmallestMaxSize#1", "RandomCrop#1"):  # as written, and as planned
        assert len(numbers(text, what)) == 2, what
    assert max(map(len, text.splitlines())) <= 120
    (before, after) = numbers(text, "total")
    assert min(before, after) > 0
    assert "ms" not in run("explain", "folder-128").stdout.split()


def test_json(run, pictures):
    told = json.loads(run("explain", "folder-128", "a.png", *QUICK, "--json", "--optimize", "none").stdout)
    rest = told["timing"]["before"]
    assert sum(row["ms"] for row in told["steps"]) + rest["sink"] + rest["overhead"] == pytest.approx(rest["whole"])
    assert (told["timing"]["what"], told["optimize"]) == ("a.png, 90×120 px", "none")


def test_pairs_and_bags(run, pictures):
    result = run("explain", "sr-x4", "hr=hr.png", "lr=lr.png", *QUICK)
    assert result.exit_code == 0, result.output
    assert len(numbers(result.stdout, "D4#1")) >= 1
    result = run("explain", "stained-tissue-bag", "hr.png", *QUICK)
    assert result.exit_code == 0, result.output
    assert numbers(result.stdout, "StainJitter#1")


def test_what_fast_keeps_is_said_where_a_recipe_chooses_it(run):
    said = "optimize: fast (keeps the contracts below; augrecipes verify measures how far)"
    assert said in run("explain", "stained-tissue").stdout.splitlines()
    assert "optimize: exact" in run("explain", "stained-tissue", "--optimize", "exact").stdout.splitlines()
    assert json.loads(run("explain", "stained-tissue", "--json").stdout)["optimize"] == "fast"


def test_the_plan_says_by_what_each_step_runs() -> None:
    steps = "[Rotate, {OneOf: {steps: [{InvertImg: {p: 1}}, {RandomRain: {p: 1}}]}}, RandomSunFlare, FancyPCA]"
    recipe = ar.load(f"version: 1\nrecipe: told\nsteps: {steps}\neval: []\n")
    plain = ar.explain(recipe, optimize="none").plan
    assert {row.step: row.runs for row in plain} == dict.fromkeys((row.step for row in plain), "albumentations")
    explained = ar.explain(recipe, optimize="exact")
    runs = {row.step: row.runs for row in explained.plan}
    foreign = {"OneOf#1/RandomRain#1", "RandomSunFlare#1", "FancyPCA#1"}
    if explained.native.startswith("yes"):  # where kernels are in use
        why = "albumentations: no kernel does what it does"
        assert runs == {
            "Rotate#1": "native", "OneOf#1": f"OneOf#1/InvertImg#1 native; OneOf#1/RandomRain#1 {why}",
            "RandomSunFlare#1": why, "FancyPCA#1": why,
        }  # fmt: skip
        assert all(label in explained.native for label in foreign)
    else:
        assert "native" not in "".join(runs.values())
