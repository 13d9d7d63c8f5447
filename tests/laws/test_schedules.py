"""Law: in each epoch a recipe with schedules is the recipe that has these numbers written down."""

import math
import re
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_recipes import assert_same, build, outcome, recipes, steps_for, targets
from support.checks import SEEDS, planted_faults, tries

from augrecipes.compiler.rewrite import Compiled
from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.errors import RecipeError
from augrecipes.interop.plain import to_albumentations
from augrecipes.lint import lint
from augrecipes.ops import schedule
from augrecipes.ops.frozen import Arguments
from augrecipes.recipe.model import Recipe, Step
from augrecipes.recipe.parse import parse_text

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # some classes warn on every call
SHARES = st.sampled_from([0.0, 0.2, 0.5, 1.0])
RAMPS = st.builds(
    lambda start, end, epochs, curve: {"from": start, "to": end, "epochs": epochs, "curve": curve},
    SHARES, SHARES, st.integers(1, 6), st.sampled_from(["linear", "cosine", "step"]),
)  # fmt: skip
SCHEDULES = RAMPS | st.lists(SHARES, min_size=1, max_size=5).map(lambda values: {"by_epoch": values})


def expected(written: dict[str, Any], epoch: int) -> float:
    """What a schedule gives, worked out in another way."""
    if "by_epoch" in written:
        return float(([*written["by_epoch"]] + [written["by_epoch"][-1]] * 100)[epoch])
    share = np.interp(epoch, [0, written["epochs"]], [0, 1])
    if written["curve"] == "cosine":
        share = math.sin(share * math.pi / 2) ** 2
    if written["curve"] == "step":
        share = math.floor(share)
    return float(written["from"] * (1 - share) + written["to"] * share)


@st.composite
def scheduled(draw: st.DrawFn) -> Recipe:
    """A random recipe some of whose steps, in groups too, have a `p` that changes."""

    def with_p(step: Step) -> Step:
        made = replace(step, steps=tuple(map(with_p, step.steps)))
        if step.name in ("OneOf", "SomeOf", "RandomOrder") or draw(st.booleans()):
            return made
        written = draw(SCHEDULES)
        return replace(made, p=expected(written, 99), schedule=Arguments({"p": written}))

    recipe = draw(recipes(steps_for(3), max_steps=4))
    # A child's p is its weight, and the weights of a OneOf may not all be 0.
    keep = lambda step: step if step.name == "OneOf" else with_p(step)  # noqa: E731
    return replace(recipe, steps=tuple(map(keep, recipe.steps)))


def check(recipe: Recipe, optimize: str, seed: int) -> None:
    """Samples, batches, and samples in another thread are those of the recipe as it is in the epoch."""
    sample, pipeline = targets(recipe, seed, 3, "uint8"), build(recipe, optimize, seed)
    for epoch in (0, 5, 1, 40, 0):
        now = recipe.in_epoch(epoch)
        assert not any(step.schedule for step in now.walk())
        for was, step in zip(recipe.walk(), now.walk(), strict=True):
            if was.schedule:
                assert step.p == pytest.approx(expected(was.schedule.plain()["p"], epoch))
        plain = build(now, optimize, seed)
        for index in range(2):
            assert_same(outcome(pipeline, index, sample, epoch), outcome(plain, index, sample, epoch))
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(outcome(pipeline, 3, sample, 1)))
    thread.start()
    thread.join()
    assert_same(found[0], outcome(build(recipe.in_epoch(1), optimize, seed), 3, sample, 1))


@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
@tries(30)
@given(scheduled(), SEEDS)
def test_each_epoch_is_the_recipe_with_its_numbers(optimize: str, recipe: Recipe, seed: int) -> None:
    check(recipe, optimize, seed)


GROWS = parse_text("""
version: 1
recipe: grows
steps:
  - Rotate: {limit: [{from: -5, to: -40, epochs: 4}, {from: 5, to: 40, epochs: 4}], p: 1.0}
  - OneOf:
      p: {by_epoch: [0, 1]}
      steps:
        - MedianBlur: {blur_limit: {from: 3, to: 7, epochs: 2}, p: 1}
        - GaussNoise: {std_range: [0.1, {from: 0.1, to: 0.4, epochs: 3}], p: 1}
eval: []
""")


def test_arguments_change_too_and_batches_follow() -> None:
    image = np.random.default_rng(0).integers(0, 256, (48, 60, 3), np.uint8)
    for optimize in ("none", "exact", "fast"):
        pipeline = build(GROWS, optimize, 1)
        for epoch in (0, 1, 2, 9):
            expected = build(GROWS.in_epoch(epoch), optimize, 1).batch([image] * 4, [3, 1, 4, 1], epoch)
            np.testing.assert_array_equal(pipeline.batch([image] * 4, [3, 1, 4, 1], epoch), expected)
    assert GROWS.last_epoch == 4
    assert GROWS.in_epoch(2).steps[0].args["limit"] == (-22.5, 22.5)
    assert GROWS.in_epoch(1).steps[1].steps[0].args["blur_limit"] == 5


def test_it_is_written_as_it_was_and_its_digest_knows() -> None:
    again = parse_text(GROWS.to_yaml())
    assert again == GROWS
    assert again.digest == GROWS.digest != replace(GROWS, steps=GROWS.in_epoch(99).steps).digest


def test_a_policy_is_written_as_it_is_in_the_epoch() -> None:
    recipe = parse_text("version: 1\nrecipe: a\nsteps:\n  - RandAugment: {p: {from: 0, to: 1, epochs: 4}}\neval: []")
    assert parse_text(recipe.to_yaml()) == recipe
    assert parse_text(recipe.in_epoch(2).to_yaml()) == recipe.in_epoch(2) != recipe


def test_one_compose_cannot_have_it() -> None:
    with pytest.raises(RecipeError, match=r"in_epoch\(0\)"):
        to_albumentations(GROWS)
    to_albumentations(GROWS.in_epoch(0))


CROP = """
version: 1
recipe: a
inputs: {image: {min_size: [64, 64]}}
eval: []
steps:
  - RandomCrop: {height: %s, width: 32}
"""


def test_lints_look_at_both_ends() -> None:
    assert [found.code for found in lint(CROP % "{from: 80, to: 32, epochs: 3}")] == ["L203"]
    assert not lint(CROP % "{from: 16, to: 32, epochs: 3}")
    assert not lint("version: 1\nrecipe: a\nsteps: [Blur: {p: {from: 0, to: 1, epochs: 3}}]\neval: []")


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("Rotate: {limit: {from: 0, to: 30}}", "E315 Rotate.limit: key 'epochs' is missing"),
        ("Rotate: {p: {from: 0, to: 1.5, epochs: 3}}", "E309 Rotate.p: must be between 0 and 1, got 1.5"),
        ("Rotate: {p: {from: 2, to: 1, epochs: 3}}", "E309 Rotate.p: must be between 0 and 1, got 2"),
        ("Blur: {blur_limit: {from: 3, to: 7, epochs: 4}}", "E308 Blur.blur_limit: kernel sizes are odd, got 4"),
        ("Blur: {blur_limit: {by_epoch: [3, 4, 7]}}", "E308 Blur.blur_limit: kernel sizes are odd, got 4"),
        ("Blur: {p: {by_epoch: []}}", "must be a list of numbers, got an empty list"),
        ("OneOf: {steps: [Blur: {p: {by_epoch: [0, 1]}}]}", "E310 OneOf: every step has weight p: 0"),
    ],
)
def test_what_no_epoch_may_have_is_an_error_with_its_line(step: str, message: str) -> None:
    with pytest.raises(RecipeError, match=re.escape(message)) as found:
        parse_text(f"version: 1\nrecipe: a\nsteps:\n  - {step}\neval: []")
    assert found.value.problems[0].line == 4


def first_asked_for(self: Any, epoch: int) -> Any:
    return self.__dict__.setdefault("_kept", self.again(self.compiled.in_epoch(epoch)))


def case(optimize: str) -> Callable[[Any], None]:
    return lambda _: check(GROWS_P, optimize, 0)


GROWS_P = parse_text("""
version: 1
recipe: grows
steps:
  - HorizontalFlip: {p: {by_epoch: [0, 1]}}
  - InvertImg: {p: {from: 1, to: 0, epochs: 2, curve: step}}
eval: []
""")

test_planted_faults = planted_faults(
    {
        "the numbers of the end in all epochs": (case("none"), (Compiled, "in_epoch", lambda self, _: self)),
        "the pipeline of the first epoch that was asked for": (
            case("exact"),
            (Pipeline, "_in_epoch", first_asked_for),
        ),
        "a curve that is none": (case("fast"), (schedule, "CURVES", {"step": lambda share: share})),
    }
)
