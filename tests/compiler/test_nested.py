"""Law: as a step of A.Compose or a group a pipeline is what it is alone, at a key that the outer generators decide."""

import copy
import io
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import albumentations as A
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.checks import planted_faults
from torch.utils.data import DataLoader, Dataset

import augrecipes as ar
from augrecipes.compiler.run import as_compose, draws
from augrecipes.compiler.run.as_compose import AsCompose
from augrecipes.recipe.parse import parse_text

BARE = 1 << 63
HEAD = "version: 1\nrecipe: nested\neval: []\n"
PLAIN = f"{HEAD}output: {{dtype: uint8, layout: hwc}}\n"
BOXES = "inputs: {boxes: {format: coco, labels: names, min_visibility: 0.2}, keypoints: {format: xy, labels: who}}\n"
STEPS = (
    "steps: [HorizontalFlip, {RandomCrop: {height: 40, width: 56}}, "
    "{OneOf: {steps: [{D4: {p: 0.9}}, {Blur: {p: 0.4}}]}}]",
    "steps: [{Affine: {rotate: [-30, 30], scale: [0.6, 1.4], p: 0.9}}, {RandomResizedCrop: {size: [48, 64]}}]",
    "steps: [{SomeOf: {n: 2, steps: [D4, {RandomBrightnessContrast: {p: 0.7}}, {CoarseDropout: {p: 0.8}}]}}, "
    "{PadIfNeeded: {min_height: 90, min_width: 90}}]",
)
SAMPLES = st.integers(0, 2**32 - 1)


def sample(seed: int) -> dict[str, Any]:
    """An image with a mask, boxes and points on it."""
    rng = np.random.default_rng(seed)
    height, width = (int(rng.integers(60, 90)) for _ in range(2))
    count = int(rng.integers(0, 5))
    low = rng.uniform(0, 0.6, (count, 2))
    corners = np.hstack([low, low + rng.uniform(0.05, 0.39, (count, 2))])
    boxes = corners * np.array([width, height] * 2)
    boxes[:, 2:] -= boxes[:, :2]
    return {
        "image": rng.integers(0, 256, (height, width, 3), np.uint8),
        "mask": rng.integers(0, 5, (height, width), np.uint8),
        "bboxes": boxes.astype(np.float32),
        "names": [f"b{k}" for k in range(count)],
        "keypoints": rng.uniform(0, 1, (3, 2)).astype(np.float32) * [width, height],
        "who": ["x", "y", "z"],
    }


def params() -> dict[str, Any]:
    boxes = A.BboxParams("coco", label_fields=["names"], min_visibility=0.2)
    return {"bbox_params": boxes, "keypoint_params": A.KeypointParams("xy", label_fields=["who"])}


def agrees(steps: str, optimize: Any, declared: bool, seed: int) -> None:
    """The pipeline between two steps of an outer Compose, and the three one after another, are the same."""
    alone = parse_text(f"{PLAIN}{BOXES}{steps}").compile(optimize="none", seed=seed % 5)
    made = parse_text(f"{PLAIN}{BOXES if declared else ''}{steps}").compile(optimize=optimize, seed=seed % 5)
    before, behind = A.VerticalFlip(p=1), A.Transpose(p=1)
    outer = A.Compose([before, made, behind], **params(), seed=seed)
    came = sample(seed)
    found = outer(**copy.deepcopy(came))

    first = A.Compose([before], **params())(**copy.deepcopy(came))
    key = random.Random(seed).getrandbits(63)
    boxes = np.array(first.pop("bboxes"), np.float32).reshape(-1, 4)
    middle = alone.run(BARE, key, 0, {**first, "boxes": boxes, "keypoints": np.array(first["keypoints"], np.float32)})
    middle["bboxes"] = middle.pop("boxes")
    if (middle["keypoints"] < 0).any():
        return  # half a pixel beside the image's first centres: on it, but refused by albumentations as an input
    last = A.Compose([behind], **params())(**middle)
    for name in ("image", "mask"):
        np.testing.assert_array_equal(found[name], last[name])
    assert found["mask"].dtype == np.uint8
    assert (found["names"], found["who"]) == (list(last["names"]), list(last["who"]))
    for name in ("bboxes", "keypoints"):
        np.testing.assert_allclose(np.array(found[name]), np.array(last[name]), atol=2e-3)


@given(
    st.sampled_from(STEPS), st.sampled_from(["none", "exact", "fast"]), st.booleans(), SAMPLES,
)  # fmt: skip
def test_law_between_other_steps(steps: str, optimize: str, declared: bool, seed: int) -> None:
    agrees(steps, optimize, declared, seed)


def images(compose: Any, count: int = 6, **came: Any) -> list[bytes]:
    given_ = {"image": sample(3)["image"], **came}
    return [np.asarray(compose(**given_)["image"]).tobytes() for _ in range(count)]


def compiled(steps: str = STEPS[1], **more: Any) -> Any:
    return parse_text(f"{PLAIN}{steps}").compile(**more)


@given(SAMPLES)
def test_law_the_outer_seed_decides(seed: int) -> None:
    once = images(A.Compose([compiled(), A.NoOp()], seed=seed))
    assert len(set(once)) == len(once)
    assert images(A.Compose([compiled(optimize="none"), A.NoOp()], seed=seed)) == once
    assert images(A.Compose([A.OneOf([compiled()], p=1)], seed=seed)) == once
    assert images(A.Compose([compiled()], seed=seed + 1)) != once
    assert images(A.Compose([compiled(seed=1)], seed=seed)) != once
    later = A.Compose([compiled()])
    later.set_random_seed(seed)
    assert images(later) == once
    states = [A.Compose([A.HorizontalFlip(p=0.5), compiled()]) for _ in range(2)]
    for made in states:
        made.set_random_state(np.random.default_rng(seed), random.Random(seed))
    assert images(states[0]) == images(states[1])


def test_one_pipeline_twice_draws_twice() -> None:
    flip = parse_text(f"{PLAIN}steps: [{{HorizontalFlip: {{p: 0.5}}}}]").compile()
    twice = A.Compose([flip, flip], seed=2)
    assert len(set(images(twice, 40))) == 2  # were they equal, every image would be the one that came


class Pictures(Dataset):  # type: ignore[type-arg]
    """One image, many times."""

    def __init__(self, transform: Any) -> None:
        self.transform, self.image = transform, sample(3)["image"]

    def __len__(self) -> int:
        return 24

    def __getitem__(self, index: int) -> Any:
        return self.transform(image=self.image)["image"]


def test_workers_of_a_plain_loader_do_not_repeat_each_other() -> None:
    """Albumentations' own steps do: 4 default workers made 16 distinct draws of 192."""
    for seed in (None, 7):
        made = A.Compose([compiled()], seed=seed)
        loader = DataLoader(Pictures(made), batch_size=4, num_workers=2, collate_fn=lambda rows: rows)
        drawn = [image.tobytes() for _ in range(2) for batch in loader for image in batch]
        assert len(set(drawn)) == 48


def test_p_is_honoured() -> None:
    invert = parse_text(f"{PLAIN}steps: [{{InvertImg: {{p: 1}}}}]").compile()
    invert.p = 0.25
    came = sample(3)["image"].tobytes()
    share = np.mean([found != came for found in images(A.Compose([invert], seed=1), 400)])
    assert 0.18 < share < 0.32
    weighted = A.Compose([A.OneOf([invert, A.NoOp(p=0.75)], p=1)], seed=1)
    share = np.mean([found != came for found in images(weighted, 400)])
    assert 0.18 < share < 0.32


def test_what_leaves_it() -> None:
    came = sample(3)
    chw = parse_text(f"{HEAD}steps: [{{Resize: {{height: 32, width: 24}}}}]\noutput: {{normalize: imagenet}}")
    found = A.Compose([A.HorizontalFlip(p=1), chw.compile()])(image=came["image"], mask=came["mask"])
    ejected = A.Compose([A.HorizontalFlip(p=1), chw.to_albumentations()])(image=came["image"], mask=came["mask"])
    for name in ("image", "mask"):
        assert (type(found[name]), found[name].shape) == (type(ejected[name]), ejected[name].shape)
        if name == "image":  # of masks albumentations takes pixels beside the middle
            np.testing.assert_allclose(found[name], ejected[name], atol=2e-6)
    grey = A.Compose([compiled(), A.Transpose(p=1)])(image=came["image"][..., 0])
    assert grey["image"].shape == (64, 48)
    rest = A.Compose([compiled()], save_applied_params=True)(image=came["image"], beside=came["keypoints"], word="w")
    assert (rest["word"], rest["beside"] is came["keypoints"]) == ("w", True)
    assert "RandomResizedCrop" in [name for name, _ in rest["applied_transforms"]]
    added = A.Compose([compiled()], additional_targets={"left": "image", "cells": "mask"}, seed=3)
    found = added(image=came["image"], left=came["image"], cells=came["mask"])
    np.testing.assert_array_equal(found["left"], found["image"])
    assert (found["cells"].shape, found["cells"].dtype) == ((48, 64), np.uint8)
    frames = A.Compose([compiled()])(images=np.stack([came["image"]] * 2), masks=[came["mask"]] * 3)
    assert (frames["images"].shape, len(frames["masks"])) == ((2, 48, 64, 3), 3)


@pytest.mark.parametrize("declared", [True, False])
def test_it_stays_what_it_is(declared: bool) -> None:
    """What the outer Compose does to its parts does not reach it: `at` gives the samples that it gave."""
    inputs = BOXES if declared else ""
    made = parse_text(f"{PLAIN}{inputs}{STEPS[2]}").compile(optimize="none")
    came = sample(5)
    given_ = {**came, "boxes": came.pop("bboxes")} if declared else {"image": came["image"]}
    before = [made.at(index)(**copy.deepcopy(given_)) for index in range(8)]
    tight = A.BboxParams("coco", label_fields=["names"], min_area=1e9)
    outer = A.Compose([A.OneOf([made, A.NoOp()], p=1)], bbox_params=tight)
    outer(image=came["image"], bboxes=[], names=[])
    np.testing.assert_equal([made.at(index)(**copy.deepcopy(given_)) for index in range(8)], before)


@pytest.mark.parametrize("kind", ["stained-tissue-bag", "sr-x4"])
def test_several_images_do_not_nest(kind: str) -> None:
    made = ar.load(kind).compile()
    for attempt in (lambda: A.Compose([made]), lambda: A.OneOf([made])):
        with pytest.raises(TypeError, match="several images make up a sample of this recipe"):
            attempt()


@pytest.mark.parametrize(
    ("inputs", "what"),
    [
        ("targets: {after: {like: image}}", "targets"),
        ("channels: {count: 4, take: [2, 1, 0]}", "take"),
        ("nodata: 0", "nodata"),
        ("mask: {values: {255: 1}}", "of masks"),
    ],
)
def test_what_is_done_before_the_first_step_does_not_nest(inputs: str, what: str) -> None:
    made = parse_text(f"{HEAD}inputs: {{{inputs}}}\nsteps: [HorizontalFlip]\n").compile()
    with pytest.raises(TypeError, match=f"{what}.* mean nothing among others' steps"):
        A.Compose([made])


def of_twelve(_: Any) -> None:
    for seed in range(12):
        agrees(STEPS[seed % 3], "exact", False, seed)


test_planted_faults_are_caught = planted_faults({
    "the same key again and again": (of_twelve, (as_compose, "_BITS", 0)),
    "the outer limits stay behind": (
        lambda _: test_it_stays_what_it_is(True),
        (as_compose.AsCompose, "disable_check_args_private", lambda self: None),
    ),
    "workers draw alike": (
        lambda _: test_workers_of_a_plain_loader_do_not_repeat_each_other(),
        (draws, "process_stream", lambda: 0),
    ),
}, (AssertionError, ar.DataError, ValueError))  # fmt: skip


# A pipeline where albumentations' own would stand: what works does, and what does not says what to do instead.


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
OWN = "this step belongs to a compiled pipeline"
BY_KEY = "pipeline.at(index, epoch)(image=image)"
ONE, TILES, PAIR = KINDS = ("stained-tissue", "stained-tissue-bag", "sr-x4")
# What is attempted with pipelines of these kinds, and what is said instead.
REFUSED: tuple[tuple[tuple[str, ...], str, Callable[[ar.Pipeline], Any]], ...] = (
    (KINDS, AGAIN, lambda p: A.save(p, io.StringIO())),
    (KINDS, AGAIN, A.to_dict),
    (KINDS, AGAIN, lambda p: p.get_dict_with_id()),
    ((ONE,), KEYED, lambda p: p.set_random_seed(1)),
    ((ONE,), KEYED, lambda p: p.set_random_state(np.random.default_rng(1), None)),
    (KINDS, OWN, lambda p: A.Compose(p.transforms)),
    (KINDS, OWN, lambda p: A.Compose([*p.transforms[:1], A.HorizontalFlip(p=1.0)])),
    (KINDS, OWN, lambda p: p.transforms[0].set_random_seed(3)),
    (KINDS, OWN, lambda p: A.OneOf(p.transforms)),
    ((ONE,), BY_KEY, lambda p: p.set_deterministic(True)),
    ((ONE,), "say it in the recipe", lambda p: p.set_mask_interpolation(1)),
    ((ONE,), "say it in the recipe", lambda p: A.Compose([p], mask_interpolation=0)),
    ((ONE,), BY_KEY, lambda p: A.ReplayCompose([p])),
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
