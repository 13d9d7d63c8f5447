"""Whatever `none` transforms, `exact` and `fast` transform: every target that albumentations knows, and added ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from examples import DEAR, PLANTED
from hypothesis import given
from hypothesis import strategies as st
from random_recipes import MOVES, TABLES, Pool, picture, recipes, steps_for, targets
from test_exact_equals_none import build
from test_fast import COLOURS, WARPS, WINDOWS

from augrecipes.compiler.run.beside import LIKE, STACKS
from augrecipes.errors import DataError
from augrecipes.kinds.image.pipeline import ImagePipeline
from augrecipes.recipe.model import Recipe

# Grey images make some colour steps warn on every call, and one warp says that it is a special case of another.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

ADDED = {"other": "image", "cells": "mask", "clip": "images", "scan": "volume"}
ALL = {**STACKS, **ADDED}


def beside(names: set[str], seed: int, channels: int, dtype: str, *, lists: bool) -> dict[str, Any]:
    """Pictures and masks of the size of `targets`, under these names."""
    rng = np.random.default_rng(seed)
    made: dict[str, Any] = {}
    for k, name in enumerate(sorted(names)):
        like = LIKE[ALL[name]]
        stack = (2,) * like.axes
        if like.picture:
            one = picture(seed + k, channels, dtype)
            made[name] = np.stack([one] * 2 ** len(stack)).reshape(*stack, *one.shape)
        else:
            made[name] = rng.integers(0, 700, (*stack, 37, 52)).astype(np.uint16)
        if lists and like.axes == 1 and ALL[name] in ("images", "masks"):
            made[name] = list(made[name])
    return made


def outcome(recipe: Recipe, optimize: Any, seed: int, sample: dict[str, Any]) -> dict[str, Any] | str:
    pipeline = build(recipe, optimize, seed)
    pipeline.add_targets(ADDED)
    try:
        return pipeline.at(2, 1)(**sample)
    except DataError as error:
        return f"{error.step}"


def check(recipe: Recipe, channels: int, dtype: str, seed: int, names: set[str], *, lists: bool, bare: bool) -> None:
    sample = {**targets(recipe, seed, channels, dtype), **beside(names, seed, channels, dtype, lists=lists)}
    if bare and any(LIKE[ALL[name]].picture for name in names):
        del sample["image"]
    none = outcome(recipe, "none", seed, sample)
    if isinstance(none, dict):
        assert none.keys() == sample.keys()
    for optimize in ("exact", "fast"):
        np.testing.assert_equal(outcome(recipe, optimize, seed, sample), none, err_msg=optimize)


DTYPES = st.sampled_from(["uint8", "float32"])
NAMES = st.sets(st.sampled_from(sorted(ALL)), min_size=1, max_size=4)


def law_for(pool: Pool, channels: int) -> Any:
    @DEAR
    @given(recipes(pool, max_steps=5), DTYPES, st.integers(0, 2**32), NAMES, st.booleans(), st.booleans())
    def law(recipe: Recipe, dtype: str, seed: int, names: set[str], lists: bool, bare: bool) -> None:
        check(recipe, channels, dtype, seed, names, lists=lists, bare=bare)

    return law


POOL = WARPS + WINDOWS + COLOURS + MOVES + TABLES


def test_on_recipes_that_join_everywhere() -> None:
    law_for(POOL, 3)()


@pytest.mark.parametrize("channels", [1, 3, 5])
def test_on_random_recipes(channels: int) -> None:
    law_for(steps_for(channels), channels)()


class TestPlantedFaults:
    """A law that cannot fail proves nothing: each of these faults must be caught by the same check."""

    def caught(self) -> bool:
        @PLANTED
        @given(recipes(POOL, max_steps=5), st.integers(0, 2**32), NAMES)
        def law(recipe: Recipe, seed: int, names: set[str]) -> None:
            check(recipe, 3, "uint8", seed, names, lists=False, bare=False)

        try:
            law()
        except AssertionError:
            return True
        return False

    def test_a_plan_that_knows_of_the_image_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from augrecipes.compiler.rewrite import Compiled, plan

        honest = build

        def forgetful(recipe: Recipe, optimize: Any, seed: int = 0) -> ImagePipeline:
            made = honest(recipe, optimize, seed)
            plans = {**made.compiled.plans, "together": plan(recipe, recipe.steps, optimize, "uint8")}
            return ImagePipeline(Compiled(recipe, "train", optimize, seed, False, plans))  # type: ignore[arg-type]

        monkeypatch.setitem(globals(), "build", forgetful)
        assert self.caught()

    def test_a_target_that_is_handed_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        arrival = ImagePipeline._arrival_of

        def forgetful(self: ImagePipeline, sample: Any) -> Any:
            return arrival(self, sample if self.optimize == "none" else {"image": sample.get("image")})

        monkeypatch.setattr(ImagePipeline, "_arrival_of", forgetful)
        assert self.caught()
