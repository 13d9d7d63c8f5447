"""Every step's time, taken while the pipeline runs as it always does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import albumentations as A
import numpy as np
import pytest

import augrecipes as ar
from augrecipes.compiler.explain import explain
from augrecipes.compiler.run import clock
from augrecipes.compiler.timing import Measured, Times, _TimedPipeline, measure
from augrecipes.ops import registry
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import parse_text

IMAGE = np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8)
NAP = 0.005
TICK, NATIVELY = 1e-6, 1e-8


CHARGE = clock.Clock.charge


class MovedClock:
    """Time passes where a nap takes it, and a little at every look."""

    now = 0.0

    def __call__(self) -> float:
        self.now += TICK
        return self.now


class Nap(A.ImageOnlyTransform):  # type: ignore[misc]
    """Takes a while by the clock of this file."""

    clock: ClassVar[MovedClock]

    def apply(self, img: np.ndarray, **params: Any) -> np.ndarray:
        Nap.clock.now += NAP
        return img


def charged(spent: clock.Clock, parts: Iterable[tuple[str, float]]) -> None:
    """What programs say of real time, by the clock of this file: next to nothing."""
    little = [(what, NATIVELY) for what, _ in parts]
    Nap.clock.now += sum(seconds for _, seconds in little)
    CHARGE(spent, little)


@pytest.fixture(autouse=True)
def nap(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    Nap.clock = MovedClock()
    monkeypatch.setattr(clock, "perf_counter", Nap.clock)
    monkeypatch.setattr(clock.Clock, "charge", charged)
    ar.register(Nap)
    yield
    registry._registered.pop("Nap", None)


def recipe(steps: str, more: str = "") -> Recipe:
    return parse_text(f"{{version: 1, recipe: tiny, steps: {steps}, eval: [] {more}}}")


def check(times: Times, slow: str) -> None:
    assert times.steps[slow] == pytest.approx(NAP, abs=2 * TICK)
    assert times.steps[slow] == max(times.steps.values())
    assert times.sink > 0
    assert times.overhead > 0
    assert times.whole == pytest.approx(sum(times.steps.values()) + times.sink + times.overhead)


@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
def test_a_planted_slow_step_is_the_slowest(optimize: Any) -> None:
    steps = "[{Rotate: {p: 1.0}}, {RandomCrop: {height: 32, width: 32}}, {Nap: {p: 1.0}}, ColorJitter, HorizontalFlip]"
    found = measure(recipe(steps), {"image": IMAGE}, optimize=optimize, seconds=0.2)
    check(found.before, "Nap#1")
    check(found.after, "Nap#1")
    assert found.ratio > 0
    assert found.samples >= 4
    assert found.rounds >= 3


def test_a_step_counts_where_it_acts() -> None:
    found = measure(recipe("[{Nap: {p: 0.5, id: half}}, {Nap: {p: 0, id: never}}]"), {"image": IMAGE}, seconds=5)
    assert found.samples == 64
    assert found.before.steps["half"] == pytest.approx(0.5 * NAP, rel=0.4)
    assert found.before.steps["never"] < 2 * TICK
    assert "never" not in found.after.steps


@pytest.mark.parametrize(
    "group", ["OneOf: {steps: ", "SomeOf: {n: 2, steps: ", "Sequential: {steps: ", "RandomOrder: {steps: "]
)
def test_groups_hold_their_children(group: str) -> None:
    found = measure(
        recipe(f"[{{{group}[{{Nap: {{p: 1.0}}}}, {{Blur: {{p: 1.0}}}}]}}}}]"), {"image": IMAGE}, seconds=0.3
    )
    name = group.partition(":")[0] + "#1"
    assert list(found.before.steps) == [name, f"{name}/Nap#1", f"{name}/Blur#1"]
    whole, nap, blur = found.before.steps.values()
    assert whole >= nap + blur
    assert nap > blur


PAIR = """
version: 1
recipe: tiny-pair
kind: pair
scales: {lr: 1, hr: 2}
steps:
  - RandomCrop: {height: 24, width: 20, at: lr}
  - D4
  - Degrade: {source: hr, target: lr, steps: [{Nap: {p: 1.0}}, ResizeToTarget: {method: area}]}
  - OneOf: {target: lr, steps: [GaussNoise, {Nap: {p: 0.9, id: other}}]}
eval: []
"""


@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
def test_pairs(optimize: Any) -> None:
    found = measure(parse_text(PAIR), {"hr": IMAGE}, optimize=optimize, seconds=0.3)
    steps = found.before.steps
    assert steps["Degrade#1"] >= steps["Degrade#1/Nap#1"] >= NAP
    assert set(steps) >= {"RandomCrop#1", "D4#1", "Degrade#1/ResizeToTarget#1", "OneOf#1", "other"}
    assert found.after.steps["Degrade#1"] >= NAP


def test_a_tile_of_a_bag() -> None:
    bag = parse_text(
        "{version: 1, recipe: b, kind: bag, steps: [HorizontalFlip, {Nap: {p: 1.0, share: bag}}], eval: []}"
    )
    assert measure(bag, {"image": IMAGE}, seconds=0.1).before.steps["Nap#1"] >= NAP


def test_the_clocks_change_no_sample() -> None:
    made = ar.load("stained-tissue")
    for level in ("none", "fast"):
        plain, timed = (
            made.compile(optimize=level),
            _TimedPipeline(made.compile(optimize=level), {"image": IMAGE}).pipeline,
        )
        for index in range(3):
            np.testing.assert_array_equal(plain.at(index)(image=IMAGE)["image"], timed.at(index)(image=IMAGE)["image"])


def test_what_is_wrong_with_a_step_is_said() -> None:
    with pytest.raises(ar.DataError, match="RandomCrop#1"):
        measure(recipe("[{RandomCrop: {height: 500, width: 500}}]"), {"image": IMAGE}, seconds=0.1)


@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
@pytest.mark.parametrize("name", ar.gallery_names())
def test_what_is_explained_is_what_is_timed(name: str, optimize: Any) -> None:
    made = ar.load(name)
    for arrival in ("uint8", "encoded"):
        told = explain(made, optimize=optimize, arrival=arrival)  # type: ignore[arg-type]
        assert [row.label for row in told.plan] == [
            node.site for node in made.compile(optimize=optimize).compiled.plans[arrival].steps
        ]


def test_an_explanation_with_times() -> None:
    made = recipe("[{Nap: {p: 1.0}}, {Rotate: {border_mode: reflect_101}}, {RandomResizedCrop: {size: [32, 32]}}]")
    times = Times({"Nap#1": 0.005, "Rotate#1": 1e-5, "RandomResizedCrop#1": 2e-5}, 1e-5, 1e-6, 0.006)
    joined = "JoinedWarps(Rotate#1 + RandomResizedCrop#1)"
    planned = Times({"Nap#1": 0.005, joined: 1e-5}, 1e-5, 1e-6, 0.0055)
    told = explain(made, optimize="fast").with_times(Measured(times, planned, 1.1, 0.1, 8, 7), "a.png").to_json()
    assert [row["ms"] for row in told["steps"]] == [5.0, 0.01, 0.02]
    assert [row["ms"] for row in told["plan"]] == [5.0, 0.01]
    assert told["timing"]["before"] == {"sink": 0.01, "overhead": 0.001, "whole": 6.0}
    bare = explain(made).to_json()
    assert "timing" not in bare
    assert "ms" not in bare["steps"][0]
