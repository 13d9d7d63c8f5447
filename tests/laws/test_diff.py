"""Laws of `diff`: what it calls the same makes the same samples, however it is written, and which side comes first."""

import importlib
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from edits import edited, reformatted
from hypothesis import event, given, settings
from hypothesis import strategies as st
from random_recipes import MOVES, TABLES, Pool, assert_same, build, outcome, pool, recipes, steps_for, targets
from support.checks import DEAR, PLANTED

from augrecipes import DataError, Recipe, RecipeError
from augrecipes.diff import Change, Difference, StepDifference, diff
from augrecipes.diff import meaning as meanings
from augrecipes.ops import registry
from augrecipes.recipe import gallery
from augrecipes.recipe.parse import load, parse_text

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
comparing = importlib.import_module("augrecipes.diff")  # the module; the package's attribute is the function

SMALL: Pool = (
    *MOVES,
    *TABLES,
    *pool("""
    Rotate: {limit: 25, border_mode: reflect_101}, Rotate: {limit: 25}, Rotate: {limit: 10},
    Rotate: {limit: 10, crop_border: true}, GaussNoise, GaussNoise: {per_channel: false}, CoarseDropout,
    CoarseDropout: {fill: 9}, NoOp
"""),
)


def assert_samples_same(a: Recipe, b: Recipe, seed: int, samples: int = 3) -> None:
    sample = targets(a, seed, 3, "uint8")
    first, second = build(a, "none", seed), build(b, "none", seed)
    for index in range(samples):
        made, other = outcome(first, index, sample), outcome(second, index, sample)
        if isinstance(made, dict):
            assert isinstance(other, dict)
            assert_same(made, other)
        else:
            assert not isinstance(other, dict)


_FILLS: dict[str, dict[str, Any]] = {
    "Affine": {"rotate": 30}, "CenterCrop": {"height": 80, "width": 80, "pad_if_needed": True},
    "Crop": {"x_max": 90, "y_max": 80, "pad_if_needed": True}, "CropAndPad": {"px": 9},
    "Pad": {"padding": 7}, "PadIfNeeded": {"min_height": 90, "min_width": 90},
    "Perspective": {"scale": [0.3, 0.4], "fit_output": True}, "PiecewiseAffine": {"scale": [0.2, 0.3]},
    "RandomCrop": {"height": 80, "width": 80, "pad_if_needed": True},
    "XYMasking": {"num_masks_x": 2, "num_masks_y": 2, "mask_x_length": 9, "mask_y_length": 9},
}  # fmt: skip


def test_one_number_for_all_channels_is_what_the_class_makes_of_it() -> None:
    """Some fill the first channel alone: of those, three equal numbers are something else."""
    same, image = {}, np.full((64, 64, 3), 200, np.uint8)
    for name in [*registry.names()]:
        properties = (registry.arguments(name) or {"properties": {}})["properties"]
        for fill in (0, 9) if "fill" in properties else ():
            beside: dict[str, Any] = {**_FILLS.get(name, {}), "p": 1.0}
            try:
                one, three = (_filling(name, {**beside, "fill": value}) for value in (fill, [fill] * 3))
                made = [recipe.compile(optimize="none").at(0)(image=image)["image"] for recipe in (one, three)]
            except (RecipeError, DataError):  # takes no list, or needs more
                continue
            same[name, fill] = diff(one, three).same
            assert same[name, fill] <= np.array_equal(*made), (name, fill)
    assert all(found for (_, fill), found in same.items() if fill == 0)
    assert len(same) > 40
    assert sum(not found for found in same.values()) < 7


def _filling(name: str, args: dict[str, Any]) -> Recipe:
    return load({"version": 1, "recipe": "fills", "steps": [{name: args}], "eval": [], "output": {"dtype": "uint8"}})


def mirrored(found: Difference) -> tuple[Any, ...]:
    """The other way round; steps without their order, as what is gone stands elsewhere."""
    return (
        found.b,
        found.a,
        found.modes,
        tuple(_turned(change) for change in found.settings),
        sorted(repr(_other(one)) for one in found.steps),
        found.alike,
    )


def as_told(found: Difference) -> tuple[Any, ...]:
    return (found.a, found.b, found.modes, found.settings, sorted(map(repr, found.steps)), found.alike)


def _turned(change: Change) -> Change:
    return Change(change.key, change.b, change.a)


def _other(one: StepDifference) -> StepDifference:
    what = {"added": "removed", "removed": "added"}.get(one.what, one.what)
    return replace(one, what=what, a=one.b, b=one.a, changes=tuple(_turned(change) for change in one.changes))


def law_of_same(pool: Pool, tried: settings = settings.default, only: tuple[str, ...] = ()) -> Callable[[], None]:
    """What diff calls the same makes the same samples."""

    @tried
    @given(st.data(), recipes(pool, max_steps=4), st.integers(0, 2**32))
    def law(data: st.DataObject, recipe: Recipe, seed: int) -> None:
        other = data.draw(edited(recipe, pool, only))
        if diff(recipe, other).same:
            event("the same")
            assert_samples_same(recipe, other, seed, samples=6)

    return law


@DEAR
@given(recipes(steps_for(3), max_steps=5), st.randoms(use_true_random=False), st.integers(0, 2**32))
def test_a_reformatted_copy_is_the_same(recipe: Recipe, rng: random.Random, seed: int) -> None:
    text = recipe.to_yaml()
    again = parse_text(reformatted(text, rng))
    found = diff(parse_text(text), again)
    assert found.same, (found, text)
    assert not found.remarks or found.remarks[0].startswith("digest")
    assert_samples_same(recipe, again, seed, samples=1)


@pytest.mark.parametrize("name", gallery.gallery_names())
def test_a_reformatted_copy_of_the_gallery_is_the_same(name: str) -> None:
    text = gallery.path(name).read_text(encoding="utf-8")
    for seed in range(3):
        assert diff(parse_text(text), parse_text(reformatted(text, random.Random(seed)))).same


@pytest.mark.parametrize("pool", [SMALL, steps_for(3)], ids=["small", "all classes"])
def test_what_is_called_the_same_makes_the_same_samples(pool: Pool) -> None:
    law_of_same(pool)()


@DEAR
@given(st.data(), recipes(SMALL, max_steps=6))
def test_the_other_way_round_says_the_same(data: st.DataObject, recipe: Recipe) -> None:
    other = data.draw(edited(recipe, SMALL))
    assert mirrored(diff(recipe, other)) == as_told(diff(other, recipe))


@DEAR
@given(st.data(), recipes(SMALL, max_steps=6))
def test_every_step_is_told_once(data: st.DataObject, recipe: Recipe) -> None:
    other = data.draw(edited(recipe, SMALL))
    found = diff(recipe, other, ["train"])
    for side, of in (("a", recipe), ("b", other)):
        places = [getattr(one, side).place for one in found.steps if getattr(one, side) is not None]
        assert len(set(places)) == len(places)
        assert found.alike + len(places) == sum(1 for _ in of.walk())


class TestPlantedFaults:
    """Each of these faults must be caught by the law of same."""

    def caught(self, *only: str, pool: Pool = SMALL) -> bool:
        """Whether it is found by edits of these kinds, or of all."""
        try:
            law_of_same(pool, PLANTED, only)()
        except AssertionError:
            return True
        return False

    @pytest.mark.parametrize(("name", "argument"), [("Rotate", "limit"), ("CoarseDropout", "fill")])
    def test_an_argument_is_ignored(self, monkeypatch: pytest.MonkeyPatch, name: str, argument: str) -> None:
        effective = meanings.effective
        monkeypatch.setattr(
            meanings, "effective", lambda step: {k: v for k, v in effective(step).items() if k != argument}
        )
        assert self.caught("other", pool=tuple(entry for entry in SMALL if entry[0] == name))

    def test_draws_are_ignored(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(comparing, "_draws", lambda a, b: "none")
        assert self.caught()

    def test_order_is_ignored(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pair = comparing._Pair
        monkeypatch.setattr(comparing, "_Pair", lambda a, b, moved=False: pair(a, b, False))
        assert self.caught("swap")

    def test_all_arguments_are_taken_for_equivalent(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(comparing, "equivalent", lambda a, b, changes: {change.key for change in changes})
        assert self.caught()

    def test_weights_are_ignored(self, monkeypatch: pytest.MonkeyPatch) -> None:
        changes = comparing._changes
        monkeypatch.setattr(comparing, "_changes", lambda a, b: [c for c in changes(a, b) if c.key != "p"])
        assert self.caught()
