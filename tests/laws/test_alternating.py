"""Law: `draws: alternate` takes each outcome of a step once in as many epochs as it has outcomes, for every sample.

Jordan, 94 % on CIFAR-10 in 3.29 seconds on a single GPU, arXiv 2404.00498: half of the images, by a coin of each, are
flipped in the first epoch, the others in the next, and so on.
"""

import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from random_recipes import assert_same, build, outcome, recipes, steps_for, targets
from support.checks import SEEDS, claimed, holds, in_threads, planted, planted_faults
from support.folders import class_folders

import augrecipes as ar
from augrecipes.compiler.executor import program_buffer
from augrecipes.compiler.explained import report_of
from augrecipes.compiler.run import pipeline as pipeline_module
from augrecipes.compiler.run.draws import CounterRandom, Draws, KeyedGenerator
from augrecipes.data.packed import Packed
from augrecipes.errors import RecipeError
from augrecipes.interop.plain import python_of, to_albumentations
from augrecipes.ops import registry
from augrecipes.packing.plan import plan_pack
from augrecipes.packing.run import pack
from augrecipes.recipe.model import Arguments, Recipe, Step, label

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # some classes warn on every call
WAYS = ("none", "exact", "fast")
PERIODS = {
    "HorizontalFlip": 2, "VerticalFlip": 2, "TimeReverse": 2, "Transpose": 2, "RandomRotate90": 4, "D4": 8,
    "SquareSymmetry": 8,
}  # fmt: skip
NAMES, KEYS = st.sampled_from([*PERIODS]), st.integers(0, 2**62)
IMAGE = np.arange(108, dtype=np.uint8).reshape(6, 6, 3)
TURNED = [np.rot90(side, k) for side in (IMAGE, IMAGE[::-1]) for k in range(4)]
OUTCOMES = {image.tobytes(): number for number, image in enumerate(TURNED)}
RAW = {"dtype": "uint8", "layout": "hwc"}


def recipe_of(*steps: Any, **more: Any) -> Recipe:
    return ar.load({"version": 1, "recipe": "a", "eval": [], "output": RAW, **more, "steps": steps})


def alternating(name: str, **more: Any) -> dict[str, Any]:
    return {name: {"draws": "alternate", **more}}


def outcomes(images: Any) -> list[int]:
    return [OUTCOMES[np.asarray(image).tobytes()] for image in images]


def check_outcomes(name: str, seed: int, index: int, epoch: int, tile: int) -> None:
    """In any epochs one after another, as many as there are outcomes, each comes once; and so it does in every way."""
    made = []
    for optimize in WAYS:
        pipeline = build(recipe_of(alternating(name)), optimize, seed)
        epochs = range(epoch, epoch + 2 * PERIODS[name])
        made.append(outcomes(pipeline.at(index, now, tile)(image=IMAGE)["image"] for now in epochs))
    assert made[0] == made[1] == made[2]
    assert made[0][: PERIODS[name]] == made[0][PERIODS[name] :]
    assert len({*made[0]}) == PERIODS[name]


OF_OUTCOMES = (check_outcomes, NAMES, SEEDS, KEYS, KEYS, KEYS)


def test_each_outcome_comes_once() -> None:
    holds(*OF_OUTCOMES)


def check_fairness(name: str) -> None:
    """In each epoch as many samples as chance allows have each outcome, whatever the sample before has."""
    count, pipeline = 4000, build(recipe_of(alternating(name)), "exact", 7)
    for epoch in (0, 3):
        drawn = outcomes(pipeline.batch([IMAGE] * count, range(count), epoch))
        pairs = Counter(pairwise(drawn))
        assert len(pairs) == PERIODS[name] ** 2
        assert max(pairs.values()) < 1.6 * count / len(pairs)


@pytest.mark.parametrize("name", ["HorizontalFlip", "RandomRotate90", "D4"])
def test_samples_begin_with_a_fair_draw(name: str) -> None:
    check_fairness(name)


LEAVES = st.builds(lambda name, id: Step(name, Arguments({"draws": "alternate"}), id=id), NAMES, st.sampled_from("abc"))


@st.composite
def mixed(draw: st.DrawFn) -> Recipe:
    """A random recipe with steps that alternate among its outermost ones."""
    recipe = draw(recipes(steps_for(3), max_steps=4))
    leaves = draw(st.lists(LEAVES, min_size=1, max_size=3, unique_by=lambda leaf: leaf.id))
    steps = [*recipe.steps]
    for leaf in leaves:
        steps.insert(draw(st.integers(0, len(steps))), leaf)
    return replace(recipe, steps=label(steps))


def check_native(recipe: Recipe, seed: int, epoch: int) -> None:
    """Native samples are those of the steps one by one, with masks, boxes and points."""
    sample = targets(recipe, seed, 3, "uint8")
    pipelines = [build(recipe, optimize, seed) for optimize in ("none", "exact")]
    for index in range(3):
        for now in (epoch, epoch + 1):
            assert_same(*(outcome(pipeline, index, sample, now) for pipeline in pipelines))


def test_native_samples_are_those_of_the_steps() -> None:
    holds(check_native, mixed(), SEEDS, st.integers(0, 9))


@pytest.mark.parametrize("optimize", WAYS)
def test_other_steps_draw_what_they_draw_without_it(optimize: str) -> None:
    others = ["RandomRotate90", {"Rotate": {"limit": 30}}, {"OneOf": {"steps": ["Blur", "InvertImg"]}}, "GaussNoise"]
    anew, turning = ["D4", "HorizontalFlip"], [alternating("D4"), alternating("HorizontalFlip")]
    both = [recipe_of(a, *others[:2], b, *others[2:]) for a, b in (anew, turning)]
    applied = [build(recipe, optimize, 3, applied=True) for recipe in both]
    differ = Counter[str]()
    for index in range(20):
        drawn = [{at: repr(params) for at, _, params in p.at(index, 5)(image=IMAGE)["applied"]} for p in applied]
        differ.update(at for at in {*drawn[0], *drawn[1]} if drawn[0].get(at) != drawn[1].get(at))
    assert {*differ} == {"D4#1", "HorizontalFlip#1"}


def test_a_flip_of_epoch_0_is_that_of_a_step_that_draws_anew() -> None:
    a, b = (build(recipe_of(step), "exact", 3) for step in ("HorizontalFlip", alternating("HorizontalFlip")))
    np.testing.assert_array_equal(a.batch([IMAGE] * 64), b.batch([IMAGE] * 64))


@pytest.mark.parametrize("optimize", WAYS)
@pytest.mark.parametrize("name", ["HorizontalFlip", "D4"])
@pytest.mark.parametrize("share", ["tile", "bag"])
def test_each_tile_of_a_bag_alternates_or_all_together(name: str, optimize: str, share: str) -> None:
    bag, tiles = build(recipe_of(alternating(name, share=share), kind="bag"), optimize, 1), np.stack([IMAGE] * 40)
    epochs = [outcomes(bag.at(0, epoch)(images=tiles)["image"]) for epoch in range(PERIODS[name])]
    assert all(len({*tile}) == PERIODS[name] for tile in zip(*epochs, strict=True))
    assert len({*epochs[0]}) == (1 if share == "bag" else PERIODS[name])


@pytest.mark.parametrize("optimize", WAYS)
@pytest.mark.parametrize("shared", [True, False])
def test_each_view_alternates_or_all_together(optimize: str, shared: bool) -> None:
    both = {
        "shared": [alternating("D4")] * shared,
        "views": {"a": {"count": 30, "steps": [alternating("D4")] * (not shared)}},
    }
    recipe = ar.load({"version": 1, "recipe": "a", "eval": [], "output": RAW, "kind": "views", **both})
    views = build(recipe, optimize, 1)
    epochs = [outcomes(views.at(3, epoch)(image=IMAGE)["a"]) for epoch in range(8)]
    assert all(len({*view}) == 8 for view in zip(*epochs, strict=True))
    assert len({*epochs[0]}) == (1 if shared else 8)


@pytest.mark.parametrize("name", PERIODS)
def test_all_targets_of_a_pair_alternate_together(name: str) -> None:
    recipe = recipe_of(alternating(name), kind="pair", scales={"lr": 1, "hr": 2})
    pairs = [build(recipe, optimize, 1) for optimize in WAYS]
    large, seen = IMAGE.repeat(2, axis=0).repeat(2, axis=1), []
    for epoch in range(PERIODS[name]):
        samples = [pair.at(4, epoch)(lr=IMAGE, hr=large) for pair in pairs]
        seen += outcomes([samples[0]["lr"]])
        for sample in samples:
            assert outcomes([sample["lr"], np.ascontiguousarray(sample["hr"][::2, ::2])]) == seen[-1:] * 2
    assert len({*seen}) == PERIODS[name]


STEPS = (alternating("HorizontalFlip"), {"GaussianBlur": {"p": 0.5}}, alternating("D4"))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return class_folders(tmp_path_factory.mktemp("images"))


def images_of(loader: Any) -> dict[int, bytes]:
    return {
        int(i): np.asarray(x).tobytes() for batch in loader for i, x in zip(batch["index"], batch["image"], strict=True)
    }


def test_loaders_workers_threads_and_packed_data_agree(root: Path, tmp_path: Path) -> None:
    recipe = recipe_of({"Resize": {"height": 12, "width": 12}}, *STEPS, "GaussianBlur")
    ds = ar.ImageFolder(root, recipe, seed=5)
    expected = [{k: np.asarray(ds[epoch, k]["image"]).tobytes() for k in range(len(ds))} for epoch in range(9)]
    assert all(len({epochs[k] for epochs in expected}) > 4 for k in range(len(ds)))
    for options in (
        {"backend": "batches"},
        {"backend": "threads", "num_workers": 2},
        {"backend": "processes", "num_workers": 2},
    ):
        loader = ar.loader(ar.ImageFolder(root, recipe, seed=5), batch_size=5, **options)
        assert [images_of(loader) for _ in range(3)] == expected[:3], options
    loader = ar.loader(ar.ImageFolder(root, recipe, seed=5), batch_size=4, num_workers=0)
    loader.set_epoch(5)
    batches = iter(loader)
    first = images_of([next(batches)])
    again = ar.loader(ar.ImageFolder(root, recipe, seed=5), batch_size=4, num_workers=0)
    again.load_state_dict(loader.state_dict())
    assert first | images_of(again) == expected[5]
    assert images_of(again) == expected[6]
    pack(recipe, str(root), tmp_path / "plain", workers=0)
    pack(recipe, str(root), tmp_path / "drawn", epochs=3, seed=5, workers=0)
    for store, epochs in (("plain", 9), ("drawn", 3)):
        packed = Packed(tmp_path / store, recipe, seed=5)
        assert [
            {k: np.asarray(packed[e, k]["image"]).tobytes() for k in range(len(ds))} for e in range(epochs)
        ] == expected[:epochs]
        assert np.array_equal(np.asarray(packed.read_batch(2, [1, 2])["image"])[0], packed[2, 1]["image"])

    def work(k: int) -> None:
        for epoch in (k, 3, 0):
            assert np.asarray(ds[epoch, k]["image"]).tobytes() == expected[epoch][k]

    in_threads(work, 4)


def test_what_is_baked_says_how_many_epochs_it_takes() -> None:
    recipe = recipe_of(*STEPS, "GaussianBlur")
    for epochs, missing in (
        (8, ()),
        (2, ("D4#1 alternates evenly where a multiple of 8",)),
        (3, ("HorizontalFlip#1 al", "D4#1 al")),
    ):
        why = plan_pack(recipe, epochs=epochs).why
        assert why.count("alternates evenly") == len(missing) and all(text in why for text in missing)


def test_it_is_read_written_compared_and_explained() -> None:
    recipe, other = recipe_of(*STEPS), recipe_of("HorizontalFlip", STEPS[1], "D4")
    assert ar.load(recipe.to_yaml()) == recipe and recipe.digest != other.digest
    found = ar.diff(recipe, other)
    assert [step.draws for step in found.steps] == ["changed", "changed"]
    text = report_of(ar.explain(recipe).to_json()).text(200)
    assert "alternates every epoch" in text and "8 outcomes" in text
    for eject in (to_albumentations, python_of):
        with pytest.raises(RecipeError, match=r"draws anew in each: .*, without `draws: alternate`"):
            eject(recipe)
    eject_free = recipe_of({"HorizontalFlip": {"draws": "independent", "p": 0.3}})
    assert to_albumentations(eject_free)[0].p == 0.3
    assert "A.HorizontalFlip(p=0.3)" in python_of(eject_free)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (alternating("HorizontalFlip", p=0.3), "E308 HorizontalFlip.p: must be 0.5 with `draws: alternate`, got 0.3"),
        (alternating("VerticalFlip", p=1), "E308 VerticalFlip.p: must be 0.5 with `draws: alternate`, got 1"),
        (alternating("D4", p=0.5), "E308 D4.p: must be 1 with `draws: alternate`, got 0.5"),
        (alternating("RandomRotate90", p=0.5), "E308 RandomRotate90.p: must be 1 with `draws: alternate`, got 0.5"),
        (alternating("HorizontalFlip", p={"from": 0, "to": 0.5, "epochs": 2}), "E308 HorizontalFlip.p: must be 0.5"),
        (alternating("Rotate"), "E304 Rotate: unknown argument 'draws'"),
        ({"D4": {"draws": "alternating"}}, "E307 D4.draws: must be one of independent, alternate"),
        *(
            ({name: {"steps": [alternating("HorizontalFlip"), "Blur"], **more}}, f"E310 {name}: does not run every")
            for name, more in (
                ("OneOf", {}), ("SomeOf", {"n": 1}), ("Sequential", {"p": 0.5}), ("RandomOrder", {"n": 1}),
                ("Sequential", {"p": {"by_epoch": [1, 0.5, 1]}}),
            )
        ),
        ({"OneOf": {"steps": [{"Sequential": {"steps": [alternating("D4")]}}]}}, "E310 OneOf: does not run every"),
    ],
)  # fmt: skip
def test_what_cannot_alternate_is_an_error(step: Any, message: str) -> None:
    with pytest.raises(RecipeError, match=re.escape(message)):
        recipe_of(step)


def test_what_acts_in_no_epoch_or_in_all_is_fine() -> None:
    for step in (
        alternating("HorizontalFlip", p=0.5), alternating("D4", p=0), alternating("D4", p=1),
        alternating("Transpose", p={"by_epoch": [0, 0, 0.5]}), {"Sequential": {"steps": [alternating("D4")]}},
        {"OneOf": {"p": 0, "steps": [alternating("D4"), "Blur"]}},
        {"RandomOrder": {"steps": [alternating("D4"), "Blur"]}},
    ):  # fmt: skip
        recipe_of(step)


def without_turn(self: Draws, site: str, *, shared: bool = False, turn: int = 0) -> Any:
    return add(self, site, shared=shared)


add, first, choice = Draws.add, CounterRandom.first, KeyedGenerator.choice
OF_ALL = planted(*OF_OUTCOMES)
test_planted_faults = planted_faults(
    {
        "each epoch draws anew": (OF_ALL, (registry, "draw_period", lambda _: 1)),
        "in Python alone": (OF_ALL, (Draws, "add", without_turn)),
        "natively alone": (OF_ALL, (program_buffer.Op, "turn", property(lambda self: 0, lambda self, value: None))),
        "a gate that stays": (
            OF_ALL,
            (CounterRandom, "first", lambda self: (first(self) - self._sample.turn / 2**64) % 1),
        ),
        "an element that numpy draws": (
            OF_ALL,
            (
                KeyedGenerator,
                "choice",
                np.random.Generator.choice,
            ),
        ),
        "half as many epochs": (OF_ALL, claimed("D4", draw_period=4)),
        "all samples alike": (
            lambda _: check_fairness("D4"),
            (pipeline_module.Draws, "add", lambda self, site, **how: add(Draws(0), site, **how)),
        ),
    }
)
