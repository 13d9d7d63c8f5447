"""Recipes side by side: a verdict where there is a difference, and none where there is none."""

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
        assert "no difference that this machine can show" in verdict.text


def test_a_slow_step_gives_a_verdict_and_is_named(photos: Path, dawdle: Any, clock: MovedClock) -> None:
    dawdle.ms, clock.noise = 5.0, 0.1
    found = bench({"quick": recipe(), "slow": recipe(DAWDLE)}, Setting(photos), quick(0.3))
    (verdict,) = found.verdicts
    assert verdict.differs
    assert verdict.text.startswith("quick · exact is ")
    assert "most of it Dawdle#1" in found.side("slow", "exact").binds
    assert "Dawdle" not in found.side("quick", "exact").binds


def test_gaps_hand_over_and_memory(tmp_path: Path) -> None:
    made, data = kind_data("image", tmp_path)
    (side,) = bench({"it": made}, Setting(data), Options(["none"], samples=4, seconds=0.01)).sides
    assert 0 < side.gaps.p50 <= side.gaps.p95 <= side.gaps.p99
    assert side.hand_over > 0
    assert side.peak_mib > 10


def test_recipes_of_two_kinds(tmp_path: Path) -> None:
    made, data = kind_data("image", tmp_path / "a")
    other, _ = kind_data("bag", tmp_path / "b")
    with pytest.raises(BenchError, match="bag and image"):
        bench({"a": made, "b": other}, Setting(data))
