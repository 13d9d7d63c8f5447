"""Recipes compared: a verdict where there is a difference, and none where there is none; what steps do; the record."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter
from small_data import DAWDLE, KINDS, NAP, MovedClock, kind_data, steps_of, swept, trained

from augrecipes.bench.effects import AS_READ, Effects, ablate, effects, without_each
from augrecipes.bench.record import Bench, write
from augrecipes.bench.run import Options, bench
from augrecipes.bench.sides import Setting, sides_of
from augrecipes.errors import BenchError, DataError
from augrecipes.report import to_plain

CROPPED = ["RandomResizedCrop: {size: [96, 96]}", "HorizontalFlip"]
QUICK = steps_of(*CROPPED)


def slow() -> Any:
    return steps_of(*CROPPED, DAWDLE)


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
        found = bench({"a": slow(), "b": slow()}, Setting(photos), quick(seconds))
        (verdict,) = found.verdicts
        assert verdict.ratio.low < verdict.ratio.high
        assert not verdict.differs, verdict
        assert "no statistically significant difference" in verdict.text


def test_a_slow_step_gives_a_verdict_and_is_named(photos: Path, dawdle: Any, clock: MovedClock) -> None:
    dawdle.ms, clock.noise = 5.0, 0.1
    found = bench({"quick": QUICK, "slow": slow()}, Setting(photos), quick(0.3))
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
    found = bench({"it": slow()}, Setting(photos), quick(0.1))
    assert "waited for a core in 8" in found.busy
    clock.stalls = 0.0
    assert bench({"it": slow()}, Setting(photos), quick(0.1)).busy == ""


def test_training_is_measured_again_with_the_recommended_setting(photos: Path, dawdle: Any, recorded: Any) -> None:
    recorded(0.04)
    options = Options(
        ["none", "exact"], samples=4, batch_size=4, seconds=0.3, effects=False, workers=(2,), sizes=(16,),
        train_step="2",
    )  # fmt: skip
    found = bench({"it": steps_of(*CROPPED, NAP)}, Setting(photos), options)
    (advice,) = found.sweep.advice
    cases = [(one.level, one.backend, one.workers) for one in found.training]
    assert cases == [("none", "batches", 0), ("exact", "batches", 0), ("exact", advice.backend, 2)]
    for one in found.training:
        assert sum(part.share for part in one.parts) == pytest.approx(1)


def test_a_long_step_is_the_bottleneck(photos: Path, recorded: Any) -> None:
    recorded(0.0001)
    options = Options(
        ["none"], samples=4, batch_size=4, seconds=0.1, effects=False, train_step="20", workers=(0, 1), sizes=(16,)
    )
    found = bench({"it": QUICK}, Setting(photos), options)
    assert found.side("it", "none").bottleneck.startswith("training step: 5.")
    assert found.sweep.advice[0].workers == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_is_as_its_classes_say(kind: str, tmp_path: Path) -> None:
    recipe, data = kind_data(kind, tmp_path)
    options = Options(["fast"], stock=kind != "pair", samples=2, seconds=0.01, ablate=kind == "image")
    found = bench({"a": recipe, "b": recipe}, Setting(data), options)
    write(replace(found, sweep=swept("ab"), training=trained("ab")), tmp_path / "bench.json")
    report = json.loads((tmp_path / "bench.json").read_text(encoding="utf-8"))
    assert to_plain(TypeAdapter(Bench).validate_python(report)) == report


def test_names_of_files_that_are_no_text(tmp_path: Path) -> None:
    recipe, data = kind_data("image", tmp_path / "data")
    found = bench({"a": recipe}, Setting(data), Options(["none"], samples=1, seconds=0.01, effects=False))
    write(replace(found, data="a\udcffb"), tmp_path / "b")
    assert json.loads((tmp_path / "b").read_text(encoding="utf-8"))["data"] == "a\udcffb"


def look(photos: Path, *steps: str, samples: int = 8, output: str = "{}") -> Effects:
    return effects(steps_of(*steps, more=f"output: {output}\n"), Setting(photos), samples)


@pytest.mark.parametrize("border", ["constant", "reflect_101", "replicate"])
def test_a_shift_by_a_quarter_fills_a_quarter_whatever_it_shows(photos: Path, border: str) -> None:
    shift = f"Affine: {{translate_percent: {{x: [0.25, 0.25], y: [0, 0]}}, border_mode: {border}, p: 1.0}}"
    seen = look(photos, shift, "HorizontalFlip")
    assert seen.steps[1].filled == pytest.approx(0.25, abs=0.004)
    assert seen.filled == seen.steps[1].filled
    assert seen.applied["Affine#1"] == 1
    assert seen.steps[1].clipped == pytest.approx(seen.steps[0].clipped, abs=0.01)  # black borders are not clipped


def test_what_a_crop_removes_is_not_filled(photos: Path) -> None:
    pad = "Pad: {padding: 40, border_mode: reflect_101}"
    assert look(photos, pad).filled == pytest.approx(1 - 240 * 320 / (320 * 400))
    assert look(photos, pad, "CenterCrop: {height: 240, width: 320}").filled == 0


def test_every_step_answers_for_its_own_borders(photos: Path) -> None:
    first, second = "Pad: {padding: 40, p: 1.0}", "Pad: {padding: 10, p: 1.0}"
    seen = look(photos, first, second)
    area = 340 * 420
    assert [effect.filled for effect in seen.steps[1:]] == pytest.approx(
        [(320 * 400 - 240 * 320) / area, (area - 320 * 400) / area]
    )


def test_shares_that_are_known(photos: Path) -> None:
    seen = look(photos, "HorizontalFlip: {p: 0}", "VerticalFlip: {p: 1}", "InvertImg: {p: 0.5}", samples=80)
    assert seen.applied["HorizontalFlip#1"] == 0
    assert seen.applied["VerticalFlip#1"] == 1
    assert seen.applied["InvertImg#1"] == pytest.approx(0.5, abs=0.15)


def test_clipping_is_seen_where_it_happens(photos: Path) -> None:
    bright = "RandomBrightnessContrast: {brightness_limit: [0.9, 0.9], contrast_limit: [0, 0], p: 1.0}"
    seen = look(photos, "HorizontalFlip", bright)
    before, flipped, after = seen.steps
    assert before.step == AS_READ
    assert flipped.clipped == before.clipped
    assert after.clipped > before.clipped + 0.4
    assert min(after.means) > max(before.means)


def test_levels_and_output_units_agree(photos: Path) -> None:
    seen = look(photos, "InvertImg: {p: 1.0}", output="{normalize: {mean: [0.5, 0.5, 0.5], std: [0.25, 0.25, 0.25]}}")
    first, last = seen.steps
    assert last.means == pytest.approx(255 - np.array(first.means))
    assert last.deviations == pytest.approx(first.deviations)
    assert seen.means["image"] == pytest.approx((np.array(last.means) / 255 - 0.5) / 0.25, abs=1e-4)
    assert seen.deviations["image"] == pytest.approx(np.array(last.deviations) / 255 / 0.25, abs=1e-4)


def test_children_and_their_group(photos: Path) -> None:
    seen = look(photos, "OneOf: {p: 1, steps: [{InvertImg: {p: 1}}, {ToGray: {p: 1}}]}", samples=40)
    inside = seen.applied["OneOf#1/InvertImg#1"], seen.applied["OneOf#1/ToGray#1"]
    assert sum(inside) == pytest.approx(1)
    assert min(inside) > 0.2
    assert seen.applied["OneOf#1"] == 1


def test_a_step_that_fails_is_told(photos: Path) -> None:
    with pytest.raises(DataError, match="RandomCrop#1"):
        look(photos, "RandomCrop: {height: 500, width: 500}")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_and_without_each_step(kind: str, tmp_path: Path) -> None:
    made, data = kind_data(kind, tmp_path)
    setting = Setting(data)
    seen = effects(made, setting, 4)
    assert {effect.target for effect in seen.steps} == set(made.scales or ["image"])
    assert set(seen.applied) == {step.site for step in made.steps}
    assert (seen.filled is None) == (kind == "pair")
    (side,) = sides_of({"it": made}, ["fast"], setting, 2)
    found: list[Any] = ablate(side, setting, 1, seconds=0.02, samples=4)
    assert [one.step for one in found] == [step.site for step in made.steps]
    for one, (_, less) in zip(found, without_each(made, "train"), strict=True):
        assert one.effects == effects(less, setting, 4)
        assert one.step not in one.effects.applied
        assert one.ratio.low <= one.ratio.middle <= one.ratio.high
