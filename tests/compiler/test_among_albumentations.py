"""A pipeline where albumentations' own would stand: what works does, and what does not says what to do instead."""

from __future__ import annotations

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
from augrecipes.compiler.run.pipeline import Pipeline

IMAGE = np.random.default_rng(0).integers(0, 256, (300, 310, 3), dtype=np.uint8)
KINDS = ("stained-tissue", "stained-tissue-bag", "sr-x4")
FLIP = A.HorizontalFlip(p=1.0)
MANY = ("stained-tissue-bag", "sr-x4")  # kinds of several pictures
SAVED: dict[str, Callable[[Pipeline], Any]] = {
    "A.save": lambda p: A.save(p, io.StringIO()),
    "yaml": lambda p: A.save(p, io.StringIO(), data_format="yaml", on_not_implemented_error="warn"),
    "A.to_dict": A.to_dict,
    "to_dict": lambda p: p.to_dict(),
    "get_dict_with_id": lambda p: p.get_dict_with_id(),
}
SEEDED: dict[str, Callable[[Pipeline], Any]] = {
    "set_random_seed": lambda p: p.set_random_seed(1),
    "set_random_state": lambda p: p.set_random_state(np.random.default_rng(1), None),
}
STEPS: dict[str, Callable[[Pipeline], Any]] = {
    "all": lambda p: A.Compose(p.transforms),
    "some": lambda p: A.Compose([*p.transforms[:1], FLIP]),
    "one": lambda p: p.transforms[0].set_random_seed(3),
    "grouped": lambda p: A.OneOf(p.transforms),
}


def samples(pipeline: Pipeline) -> list[Any]:
    given = dict.fromkeys(pipeline.targets, IMAGE)
    if pipeline.recipe.kind == "pair":
        given = {"hr": IMAGE[:, :308], "lr": IMAGE[:75, :77]}
    return [pipeline.at(index)(**given) for index in range(3)]


def compiled(kind: str) -> Pipeline:
    return ar.load(kind).compile(optimize="fast", seed=5)


def refused(kind: str, attempt: Callable[[Pipeline], Any], message: str) -> None:
    """The attempt raises a TypeError that says this, and the pipeline is none the worse."""
    pipeline = compiled(kind)
    before = samples(pipeline)
    with pytest.raises(TypeError) as caught:
        attempt(pipeline)
    assert message in str(caught.value)
    np.testing.assert_equal(samples(pipeline), before)


@pytest.mark.parametrize("kind", MANY)
@pytest.mark.parametrize("attempt", SAVED.values(), ids=SAVED)
def test_not_saved_by_albumentations(kind: str, attempt: Callable[[Pipeline], Any]) -> None:
    refused(kind, attempt, "ar.load('recipe.yaml').compile(mode='train', optimize='fast', seed=5) makes this pipeline")


@pytest.mark.parametrize("attempt", SEEDED.values(), ids=SEEDED)
def test_no_other_seed(attempt: Callable[[Pipeline], Any]) -> None:
    refused("stained-tissue", attempt, "keyed by its seed; for another seed, recipe.compile(seed=...)")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("attempt", STEPS.values(), ids=STEPS)
def test_its_steps_are_its_own(kind: str, attempt: Callable[[Pipeline], Any]) -> None:
    refused(kind, attempt, "this step belongs to a compiled pipeline")


def test_others_that_are_refused() -> None:
    refused("stained-tissue", lambda p: p.set_deterministic(True), "pipeline.at(index, epoch)(image=image)")
    refused("stained-tissue", lambda p: p.set_mask_interpolation(1), "say it in the recipe")
    refused("stained-tissue", lambda p: A.Compose([p], mask_interpolation=0), "say it in the recipe")
    refused("stained-tissue", lambda p: A.ReplayCompose([p]), "pipeline.at(index, epoch)(image=image)")
    refused("stained-tissue", lambda p: p.get_dict_with_id(), "makes this pipeline again")
    refused("sr-x4", lambda p: p[0], "pipeline.recipe.steps describes them")
    refused("sr-x4", list, "pipeline.recipe.steps describes them")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_said_to_do_instead_works(kind: str, tmp_path: Path) -> None:
    pipeline = compiled(kind)
    file = tmp_path / "recipe.yaml"
    file.write_text(pipeline.recipe.to_yaml())
    again = ar.load(file).compile(mode="train", optimize="fast", seed=5)
    np.testing.assert_equal(samples(again), samples(pipeline))
    np.testing.assert_equal(samples(copy.deepcopy(pipeline)), samples(pipeline))
    np.testing.assert_equal(samples(copy.copy(pipeline)), samples(pipeline))


def test_one_after_the_other() -> None:
    pipeline = ar.load("stained-tissue", overrides={"output.layout": "hwc"}).compile()
    image = pipeline.at(0)(image=IMAGE)["image"]
    out = A.Compose([FLIP])(image=image)["image"]
    np.testing.assert_array_equal(out, image[:, ::-1])


def test_its_steps_as_new_transforms() -> None:
    pipeline = ar.load("stained-tissue").compile(optimize="fast")
    before = samples(pipeline)
    names = [step.name for step in pipeline.recipe.steps]
    assert [type(step).__name__ for step in pipeline] == names
    assert len(pipeline) == len(names)
    assert [type(pipeline[-1]).__name__, *(type(step).__name__ for step in pipeline[:2])] == [names[-1], *names[:2]]
    with pytest.raises(IndexError):
        pipeline[len(names)]
    composed = A.Compose([*pipeline, FLIP], seed=1)
    assert composed(image=IMAGE)["image"].dtype == np.uint8
    np.testing.assert_equal(samples(pipeline), before)


def test_a_pipeline_without_steps_is_something() -> None:
    pipeline = ar.load("folder-128", overrides={}).compile()
    assert pipeline
    from augrecipes.recipe.parse import parse_text

    empty = parse_text("version: 1\nrecipe: bare\nsteps: []\neval: []\n").compile()
    assert (bool(empty), len(empty), list(empty)) == (True, 0, [])
    assert repr(empty) == "<ImagePipeline bare, train, exact, seed 0: no steps>"


@pytest.mark.parametrize("kind", KINDS)
def test_words(kind: str) -> None:
    pipeline = compiled(kind)
    said = repr(pipeline)
    assert said == str(pipeline) == pipeline.indented_repr()
    assert f" {kind}, train, fast, seed 5: " in said
    assert all(step.site in said for step in pipeline.recipe.steps)


def test_a_fault_that_is_planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were the steps not kept, another Compose would seed them, and every sample would be another."""
    monkeypatch.setattr(AsCompose, "_keep", lambda self, sites: None)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        refused("stained-tissue", STEPS["all"], "this step belongs")
    pipeline = ar.load("stained-tissue").compile(optimize="none", seed=5)  # programs draw by the keys themselves
    before = samples(pipeline)
    A.Compose(pipeline.transforms)
    with pytest.raises(AssertionError):
        np.testing.assert_equal(samples(pipeline), before)


def test_what_is_ejected_nests_as_the_message_says() -> None:
    recipe = ar.load(
        {"version": 1, "recipe": "nested", "steps": ["HorizontalFlip"], "output": {"dtype": "uint8", "layout": "hwc"}}
    )
    image = np.arange(9 * 8 * 3, dtype=np.uint8).reshape(9, 8, 3)
    for group in (
        A.Compose([recipe.to_albumentations(), A.Transpose(p=1)]),
        A.OneOf([recipe.to_albumentations()], p=1),
    ):
        assert sorted(A.Compose([group])(image=image)["image"].ravel()) == sorted(image.ravel())
