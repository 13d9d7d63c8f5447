"""Recipes compared: a verdict where there is a difference, and none where there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from moved_clock import MovedClock
from small_data import kind_data

from augrecipes.bench.run import Options, bench
from augrecipes.bench.sides import Setting
from augrecipes.errors import BenchError
from augrecipes.recipe.parse import parse_text

STEPS = (
    "version: 1\nrecipe: mine\nsteps:\n  - RandomResizedCrop: {size: [96, 96]}\n  - HorizontalFlip\nMORE\neval: []\n"
)

# L205: nothing is known of the planted step, not even that it keeps the size.
DAWDLE = "  - Dawdle: {p: 1.0}  # augrecipes: ignore[L205]"


def recipe(more: str = "") -> Any:
    return parse_text(STEPS.replace("MORE", more))


def quick(seconds: float) -> Options:
    return Options(["exact"], samples=8, seconds=seconds, effects=False)


@pytest.mark.parametrize(
    ("stalls", "seconds", "times"), [(0.0, 2.0, 1), (0.1, 2.0, 1), pytest.param(0.1, 4.0, 10, marks=pytest.mark.soak)]
)
def test_the_same_recipe_twice_gives_no_verdict(
    photos: Path, dawdle: Any, clock: MovedClock, stalls: float, seconds: float, times: int
) -> None:
    dawdle.ms, clock.noise, clock.stalls = 5.0, 0.1, stalls
    for _ in range(times):
        found = bench({"a": recipe(DAWDLE), "b": recipe(DAWDLE)}, Setting(photos), quick(seconds))
        (verdict,) = found.verdicts
        assert verdict.ratio.low < verdict.ratio.high
        assert not verdict.differs, verdict
        assert "no statistically significant difference" in verdict.text


def test_a_slow_step_gives_a_verdict_and_is_named(photos: Path, dawdle: Any, clock: MovedClock) -> None:
    dawdle.ms, clock.noise = 5.0, 0.1
    found = bench({"quick": recipe(), "slow": recipe(DAWDLE)}, Setting(photos), quick(0.3))
    (verdict,) = found.verdicts
    assert verdict.differs
    assert verdict.text.startswith("quick · exact is ")
    assert "mostly Dawdle#1" in found.side("slow", "exact").bottleneck
    assert "Dawdle" not in found.side("quick", "exact").bottleneck


def test_latency_transfer_and_memory(tmp_path: Path) -> None:
    made, data = kind_data("image", tmp_path)
    (side,) = bench({"it": made}, Setting(data), Options(["none"], samples=4, seconds=0.01)).sides
    assert 0 < side.gaps.p50 <= side.gaps.p95 <= side.gaps.p99
    assert side.transfer > 0
    assert side.peak_mib > 10


def test_recipes_of_two_kinds(tmp_path: Path) -> None:
    made, data = kind_data("image", tmp_path / "a")
    other, _ = kind_data("bag", tmp_path / "b")
    with pytest.raises(BenchError, match="bag and image"):
        bench({"a": made, "b": other}, Setting(data))


def test_a_busy_machine_is_reported(photos: Path, dawdle: Any, clock: MovedClock) -> None:
    dawdle.ms, clock.stalls = 5.0, 1.0
    found = bench({"it": recipe(DAWDLE)}, Setting(photos), quick(0.1))
    assert "waited for a core in 8" in found.busy
    clock.stalls = 0.0
    assert bench({"it": recipe(DAWDLE)}, Setting(photos), quick(0.1)).busy == ""


NAP = "  - Nap: {p: 1.0}  # augrecipes: ignore[L205]"


def test_training_is_measured_again_with_the_recommended_setting(photos: Path, dawdle: Any, recorded: Any) -> None:
    recorded(0.04)
    options = Options(
        ["none", "exact"], samples=4, batch_size=4, seconds=0.3, effects=False, workers=(2,), sizes=(16,),
        train_step="2",
    )  # fmt: skip
    found = bench({"it": recipe(NAP)}, Setting(photos), options)
    (advice,) = found.sweep.advice
    cases = [(one.level, one.backend, one.workers) for one in found.training]
    assert cases == [("none", "batches", 0), ("exact", "batches", 0), ("exact", advice.backend, 2)]
    for one in found.training:
        assert sum(part.share for part in one.parts) == pytest.approx(1)


def test_a_long_step_needs_no_workers_and_is_the_bottleneck(photos: Path, recorded: Any) -> None:
    recorded(0.0001)
    options = Options(
        ["none"], samples=4, batch_size=4, seconds=0.1, effects=False, train_step="20", workers=(0, 1), sizes=(16,)
    )
    found = bench({"it": recipe()}, Setting(photos), options)
    assert found.side("it", "none").bottleneck.startswith("training step: 5.")
    assert found.sweep.advice[0].workers == 0
