"""`verify` looks at the plan for float32 images too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import albumentations as A
import numpy as np
import pytest
from planted import COLOURS, MOVES, draw_data, noop, of_dtype, planted, recipe, rewritten

from augrecipes.compiler.rewrite.rules import FAST, RULES
from augrecipes.flow import Dtype
from augrecipes.verify import Verification, render_worst, replay, verify

TABLES = "\n  - RandomGamma: {p: 1.0}\n  - Solarize: {p: 1.0}\n"
JITTER = "\n  - ColorJitter: {brightness: 0.1, contrast: 0, saturation: 0.1, hue: 0, p: 1.0}\n"
FLOATS = "{dtype: float32, layout: hwc}"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_data(tmp_path_factory.mktemp("dtypes"))


def broken(found: Verification) -> set[tuple[str, str, Dtype]]:
    return {(figure.target, figure.law, figure.dtype) for figure in found.broken}


def test_both_plans_are_compared(data: Path) -> None:
    found = verify(recipe(JITTER), data / "images", samples=3)
    assert found.ok
    assert "join_colours" in found.promises["uint8"].rules
    assert {figure.dtype for figure in found.figures} == set(found.promises) == {"uint8", "float32"}
    assert found.samples == 3


def test_one_alone(data: Path) -> None:
    found = verify(recipe(TABLES), data / "images", samples=2, dtypes=("float32",))
    assert {figure.dtype for figure in found.figures} == {"float32"}
    assert found.promise.rules == ()


def test_boxes_masks_and_merged_warps(data: Path) -> None:
    more = "inputs: {mask: optional, boxes: {format: pascal_voc, labels: box_labels}, keypoints: {format: xy}}"
    found = verify(recipe(MOVES + COLOURS, more, FLOATS), data / "list.csv", samples=3)
    assert found.promise.geometry
    assert found.ok, found.broken


def test_floats_are_held_to_a_part_of_a_level(data: Path) -> None:
    found = verify(recipe(JITTER, output=FLOATS), data / "images", samples=3)
    limits = {figure.dtype: figure.limit for figure in found.figures if figure.law == "levels"}
    assert limits["uint8"] is not None
    assert limits["uint8"] > 4
    assert limits["float32"] is not None
    assert limits["float32"] < 0.03
    assert found.ok


def test_a_float_that_is_rounded_to_another_level_is_no_fault(data: Path) -> None:
    found = verify(recipe(JITTER), data / "images", samples=6, dtypes=("float32",))
    assert found.ok, found.broken


class TestPlantedFaults:
    """Plans that are right on uint8 and wrong on float32."""

    def test_a_step_that_is_lost(self, data: Path) -> None:
        lost = rewritten(lambda steps: tuple(noop(step) if step.name == "Solarize" else step for step in steps))
        build = of_dtype("float32", lost)
        found = verify(recipe(TABLES, output=FLOATS), data / "images", samples=3, build=build)
        assert broken(found) == {("image", "levels", "float32")}
        worst = found.worst[0].place
        assert worst.dtype == "float32"
        again = replay(found.recipe, data / "images", worst.number, epoch=worst.epoch, dtype=worst.dtype, build=build)
        assert again.given.images["image"].dtype == np.float32
        assert np.abs(again.plain["image"] - again.fast["image"]).max() > 0.01
        assert render_worst(found, data / "images", build=build).dtype == np.uint8

    def test_within_the_bound_of_uint8_only(self, data: Path) -> None:
        """Some levels are allowed where steps round to levels; floats are not rounded."""

        def one_level(done: dict[str, Any]) -> None:
            done["image"] = done["image"] + np.float32(1 / 255)

        found = verify(recipe(JITTER, output=FLOATS), data / "images", samples=2, build=planted(one_level))
        assert broken(found) == {("image", "levels", "float32")}

    def test_the_optimisers_own_rules_are_sound(self, data: Path) -> None:
        assert RULES["fast"] == FAST
        assert verify(recipe(TABLES + JITTER, output=FLOATS), data / "images", samples=4).ok


def test_a_step_that_takes_no_floats(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both refuse such samples: they are left out, and uint8 is compared all the same."""
    apply = A.ISONoise.apply

    def picky(self: Any, img: np.ndarray, **params: Any) -> Any:
        if img.dtype != np.uint8:
            raise ValueError("not for floats")
        return apply(self, img, **params)

    monkeypatch.setattr(A.ISONoise, "apply", picky)
    found = verify(recipe("\n  - ISONoise: {p: 1.0}\n"), data / "images", samples=3)
    assert found.ok
    assert found.samples == len(found.left_out) == 3
    assert {figure.dtype for figure in found.figures} == {"uint8"}
    assert "not for floats" in str(found.left_out[0])
