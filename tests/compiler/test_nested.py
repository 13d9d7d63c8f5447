"""A pipeline where albumentations' own would stand: what works does, and what does not says what to do instead."""

import copy
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import albumentations as A
import numpy as np
import pytest

import augrecipes as ar
from augrecipes.compiler.run.as_compose import AsCompose

IMAGE = np.random.default_rng(0).integers(0, 256, (300, 310, 3), dtype=np.uint8)


def samples(pipeline: ar.Pipeline) -> list[Any]:
    given = dict.fromkeys(pipeline.targets, IMAGE)
    if pipeline.recipe.kind == "pair":
        given = {"hr": IMAGE[:, :308], "lr": IMAGE[:75, :77]}
    return [pipeline.at(index)(**given) for index in range(3)]


def compiled_outside(kind: str) -> ar.Pipeline:
    return ar.load(kind).compile(optimize="fast", seed=5)


def refused(kind: str, attempt: Callable[[ar.Pipeline], Any], message: str) -> None:
    """The attempt raises a TypeError that says this, and the pipeline is none the worse."""
    pipeline = compiled_outside(kind)
    before = samples(pipeline)
    with pytest.raises(TypeError) as caught:
        attempt(pipeline)
    assert message in str(caught.value)
    np.testing.assert_equal(samples(pipeline), before)


AGAIN = "ar.load('recipe.yaml').compile(mode='train', optimize='fast', seed=5) makes this pipeline"
KEYED = "keyed by its seed; for another seed, recipe.compile(seed=...)"
NESTED = "cannot be a step of another Compose or group"
OWN = "this step belongs to a compiled pipeline"
BY_KEY = "pipeline.at(index, epoch)(image=image)"
ONE, TILES, PAIR = KINDS = ("stained-tissue", "stained-tissue-bag", "sr-x4")
# What is attempted with pipelines of these kinds, and what is said instead.
REFUSED: tuple[tuple[tuple[str, ...], str, Callable[[ar.Pipeline], Any]], ...] = (
    (KINDS, AGAIN, lambda p: A.save(p, io.StringIO())),
    (KINDS, AGAIN, A.to_dict),
    (KINDS, AGAIN, lambda p: p.get_dict_with_id()),
    ((ONE,), KEYED, lambda p: p.set_random_seed(1)),
    (KINDS, NESTED, lambda p: p.set_random_state(np.random.default_rng(1), None)),
    (KINDS, NESTED, lambda p: A.Compose([p])),
    (KINDS, NESTED, lambda p: A.OneOf([p, A.NoOp()])),
    (KINDS, NESTED, lambda p: A.ReplayCompose([p])),
    (KINDS, OWN, lambda p: A.Compose(p.transforms)),
    (KINDS, OWN, lambda p: A.Compose([*p.transforms[:1], A.HorizontalFlip(p=1.0)])),
    (KINDS, OWN, lambda p: p.transforms[0].set_random_seed(3)),
    (KINDS, OWN, lambda p: A.OneOf(p.transforms)),
    ((ONE,), BY_KEY, lambda p: p.set_deterministic(True)),
    ((ONE,), "an argument of the recipe's steps", lambda p: p.set_mask_interpolation(1)),
    ((ONE,), "an argument of the recipe's steps", lambda p: A.Compose([p], mask_interpolation=0)),
    ((PAIR,), "pipeline.recipe.steps describes them", list),
)


@pytest.mark.parametrize(("kinds", "message", "attempt"), REFUSED)
def test_what_does_not_work_says_what_to_do(kinds: tuple[str, ...], message: str, attempt: Any) -> None:
    for kind in kinds:
        refused(kind, attempt, message)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_said_to_do_instead_works(kind: str, tmp_path: Path) -> None:
    pipeline = compiled_outside(kind)
    file = tmp_path / "recipe.yaml"
    file.write_text(pipeline.recipe.to_yaml())
    again = ar.load(file).compile(mode="train", optimize="fast", seed=5)
    np.testing.assert_equal(samples(again), samples(pipeline))
    np.testing.assert_equal(samples(copy.deepcopy(pipeline)), samples(pipeline))
    np.testing.assert_equal(samples(copy.copy(pipeline)), samples(pipeline))


def test_a_fault_that_is_planted_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were the steps not kept, another Compose would seed them, and every sample would be another."""
    monkeypatch.setattr(AsCompose, "own_steps", lambda self, sites: None)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        refused(ONE, lambda p: A.Compose(p.transforms), OWN)
    pipeline = ar.load("stained-tissue").compile(optimize="none", seed=5)  # programs draw by the keys themselves
    before = samples(pipeline)
    A.Compose(pipeline.transforms)
    with pytest.raises(AssertionError):
        np.testing.assert_equal(samples(pipeline), before)
