"""What steps do to samples, held against what is known of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_data import KINDS, kind_data

from augrecipes.bench.effects import AS_READ, Effects, ablate, effects, without_each
from augrecipes.bench.sides import Setting, sides_of
from augrecipes.errors import DataError
from augrecipes.recipe.parse import parse_text


def look(photos: Path, *steps: str, samples: int = 8, output: str = "{}") -> Effects:
    listed = "".join(f"\n  - {step}" for step in steps)
    made = parse_text(f"version: 1\nrecipe: mine\nsteps:{listed}\neval: []\noutput: {output}\n")
    return effects(made, Setting(photos), samples)


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
