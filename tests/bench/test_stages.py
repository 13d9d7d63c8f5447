"""Where a sample's time goes: planted slow steps are named, and the stages add up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from moved_clock import MovedClock
from small_data import KINDS, kind_data

from augrecipes.bench.run import Options, bench
from augrecipes.bench.sides import Setting, dataset_of, sides_of, work_of
from augrecipes.bench.stages import staged
from augrecipes.bench.timing import in_turns
from augrecipes.compiler.run.clock import DECODE, READ, REST
from augrecipes.compiler.run.instrument import SINK
from augrecipes.recipe.parse import parse_text

CROP = "RandomResizedCrop: {size: [96, 96]}"


def recipe(*steps: str, name: str = "mine") -> Any:
    listed = "".join(f"\n  - {step}" for step in steps)
    return parse_text(f"version: 1\nrecipe: {name}\nsteps:{listed}\neval: []\n")


@pytest.mark.parametrize("level", ["none", "exact", "fast"])
def test_a_planted_slow_step_is_named_and_the_stages_add_up(
    photos: Path, dawdle: Any, clock: MovedClock, level: Any
) -> None:
    dawdle.ms = 10.0
    # L205: nothing is known of the planted step.
    made = recipe("Dawdle: {p: 1.0}  # augrecipes: ignore[L205]", CROP, "HorizontalFlip")
    options = Options([level], samples=4, batch_size=4, seconds=0.6, effects=False)
    found = bench({"mine": made}, Setting(photos), options)
    (side,) = found.sides
    slowest = max(side.stages, key=lambda stage: stage.ms)
    assert (slowest.kind, slowest.name) == ("step", "Dawdle#1")
    assert slowest.ms == pytest.approx(10, abs=0.01)
    assert side.bottleneck.startswith("CPU, mostly Dawdle#1: 10.00 of ")
    assert side.accounted.middle == pytest.approx(1, abs=0.01)
    assert sum(stage.ms for stage in side.stages) == pytest.approx(side.ms, rel=0.01)


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_the_sum_is_within_a_tenth_of_the_whole(kind: str, tmp_path: Path) -> None:
    made, data = kind_data(kind, tmp_path)
    found = bench({"it": made}, Setting(data), Options(["none", "fast"], seconds=20, effects=False))
    for side in found.sides:
        assert side.accounted.middle == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("level", ["none", "exact", "fast"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_stage_is_clocked(kind: str, level: Any, tmp_path: Path) -> None:
    made, data = kind_data(kind, tmp_path)
    (side,) = sides_of({"it": made}, [level], Setting(data), 4)
    one = staged(side, Setting(data))
    for _ in one.work(2).start():
        pass
    found = set(one.clock.take())
    if level != "none":
        found.add("\x00collate")  # samples that programs have written side by side are a batch already
    assert {*one.labels, READ, DECODE, SINK, REST, "\x00collate"} == found


def test_the_stages_of_a_round_are_its_time(photos: Path) -> None:
    (side,) = sides_of({"mine": recipe(CROP)}, ["none"], Setting(photos), 8)
    one = staged(side, Setting(photos))
    work = one.work(4)
    next(work.start())
    found = in_turns([work], 3, 2)
    shares = []
    for turn, batch in np.ndindex(3, 2):
        parts = one.taken[batch][turn]
        shares.append(sum(parts.values()) / found[0, 0, turn, batch])
        assert set(parts) == {READ, DECODE, "RandomResizedCrop#1", SINK, REST, "\x00collate"}
        assert min(parts.values()) > 0
    assert 0.5 < max(shares) < 1  # another program may come in between: of that batch the share is small


@pytest.mark.parametrize("kind", KINDS)
def test_the_clocks_change_no_sample(kind: str, tmp_path: Path) -> None:
    made, data = kind_data(kind, tmp_path)
    for side in sides_of({"it": made}, ["none", "fast"], Setting(data), 3):
        plain = list(work_of(side, 1).start())
        timed = list(staged(side, Setting(data)).work(1).start())
        for one, other in zip(plain, timed, strict=True):
            for name in made.scales or ["image"]:
                np.testing.assert_array_equal(one[name].numpy(), other[name].numpy())


def test_samples_are_the_datasets_own(photos: Path) -> None:
    made = recipe(CROP, "ColorJitter")
    (side,) = sides_of({"it": made}, ["none"], Setting(photos), 4)
    whole = dataset_of(made, Setting(photos), "none")
    assert [side.dataset[k]["index"] for k in range(4)] == [0, 2, 4, 6]
    np.testing.assert_array_equal(side.dataset[3]["image"].numpy(), whole[6]["image"].numpy())
