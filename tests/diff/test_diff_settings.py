"""What stands beside the steps: kinds, inputs, output, and what changes no sample; and variants of pairs and bags."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import augrecipes as ar
from augrecipes.diff import diff
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import parse_text


def recipe(rest: str = "", name: str = "test") -> Recipe:
    return parse_text(f"version: 1\nrecipe: {name}\nsteps: []\n{rest}")


def differing(a: Recipe, b: Recipe) -> dict[str, tuple[Any, Any]]:
    return {change.key: (change.a, change.b) for change in diff(a, b).settings}


PAIR, OUTPUT = "kind: pair\nscales: {lr: 1, hr: 4}", "kind: pair\nscales: {lr: 1, hr: 4}\noutput: "
ALL_DEFAULTS = "output: {range: [0, 1.0], dtype: float32, layout: chw, color: rgb, where: host}"
IMAGENET = "output: {normalize: {std: [0.229, 0.224, 0.225], mean: [0.485, 0.456, 0.406]}}"
NORMALIZED = {"output.normalize": (None, {"mean": [0.5], "std": [0.5]}), "output.range": ([0, 1], None)}
SETTINGS: list[tuple[str, str, dict[str, Any]]] = [
    ("output: {}", ALL_DEFAULTS, {}),
    ("output: {dtype: uint8}", "output: {dtype: uint8, range: [0, 255]}", {}),
    ("output: {normalize: imagenet}", IMAGENET, {}),
    ("inputs: {mask: optional}", "inputs: {}", {}),
    ("inputs: {boxes: optional}", "inputs: {boxes: {format: pascal_voc}}", {}),
    ("inputs: {boxes: absent, keypoints: absent}", "", {}),
    ("scales: {b: 2, a: 1}\nkind: pair", "allow_resampling: false\nkind: pair\nscales: {a: 1, b: 2}", {}),
    (f"{OUTPUT}{{layout: hwc}}", f"{OUTPUT}{{lr: {{layout: hwc}}, hr: {{layout: hwc}}}}", {}),
    ("", "output: {layout: hwc}", {"output.layout": ("chw", "hwc")}),
    ("", "output: {where: device}", {"output.where": ("host", "device")}),
    ("", "output: {normalize: {mean: 0.5, std: 0.5}}", NORMALIZED),
    ("", "inputs: {image: {channels: 1}}", {"inputs.image.channels": (None, 1)}),
    ("", "inputs: {image: {min_size: [8, 9]}}", {"inputs.image.min_size": (None, [8, 9])}),
    ("", "inputs: {mask: required}", {"inputs.mask": ("optional", "required")}),
    ("inputs: {boxes: coco}", "inputs: {boxes: {format: coco, clip: true}}", {"inputs.boxes.clip": (False, True)}),
    ("inputs: {keypoints: xy}", "inputs: {keypoints: yx}", {"inputs.keypoints.format": ("xy", "yx")}),
    (PAIR, "kind: pair\nscales: {lr: 1, hr: 2}", {"scales.hr": (4, 2)}),
    (PAIR, f"{OUTPUT}{{layout: hwc}}", {"output.layout": ("chw", "hwc")}),
    (PAIR, f"{OUTPUT}{{hr: {{layout: hwc}}}}", {"output.hr.layout": ("chw", "hwc")}),
]


@pytest.mark.parametrize(("a", "b", "changes"), SETTINGS)
def test_settings_that_differ(a: str, b: str, changes: dict[str, Any]) -> None:
    assert differing(recipe(a), recipe(b)) == changes
    assert differing(recipe(b), recipe(a)) == {key: (after, before) for key, (before, after) in changes.items()}


def test_boxes_or_none() -> None:
    (changed,) = differing(recipe(), recipe("inputs: {boxes: coco}")).items()
    assert changed[0] == "inputs.boxes" and changed[1][0] is None and changed[1][1]["format"] == "coco"


def test_what_changes_no_sample_is_a_remark() -> None:
    found = diff(recipe("about: One.", "a"), recipe("about: Two.\noptimize: fast", "b"))
    assert found.same
    assert found.remarks == (
        "recipe: a → b",
        "about: other words",
        "optimize: exact → fast: the same recipe and the same draws, planned differently",
    )
    a, b = (parse_text(f"version: 1\nrecipe: a\nsteps: [{flip}]") for flip in ("D4", "{D4: {p: 1.0}}"))
    assert diff(a, b).remarks == ("digest: the same in effect, in other words",)


def test_variants_are_compared_as_they_are_resolved() -> None:
    a = ar.load("stained-tissue")
    b = ar.load("stained-tissue", overrides={"RandomResizedCrop.size": [128, 128]}, without=["HorizontalFlip"])
    steps = [(one.what, one.site) for one in diff(a, b).steps]
    assert steps == [("changed", "RandomResizedCrop#1"), ("removed", "HorizontalFlip#1")]


RNG = np.random.default_rng(0)
LR, HR = RNG.integers(0, 256, (20, 24, 3), np.uint8), RNG.integers(0, 256, (40, 48, 3), np.uint8)
TILES = [RNG.integers(0, 256, (16, 20, 3), np.uint8) for _ in range(3)]

PAIRS = [
    "steps: [{RandomCrop: {height: 8, width: 8}}, {RandomGamma: {p: 1.0}}]",
    "steps: [{RandomCrop: {height: 8, width: 8, at: lr}}, {RandomGamma: {p: 1.0, target: [hr, lr]}}]",
    "steps: [{RandomCrop: {height: 8, width: 8, at: hr}}, {RandomGamma: {p: 1.0}}]",
    "steps: [{RandomCrop: {height: 8, width: 8}}, {RandomGamma: {p: 1.0, target: hr}}]",
    "steps: [{RandomCrop: {height: 8, width: 8}}, {Sequential: {target: hr, steps: [{RandomGamma: {p: 1.0}}]}}]",
    "steps: [{RandomCrop: {height: 8, width: 8}}, "
    "{Sequential: {target: hr, p: 1.0, steps: [{RandomGamma: {p: 1.0, target: hr}}]}}]",
    "steps: [{RandomCrop: {height: 8, width: 8}}, {RandomGamma: {p: 1.0}}]\noutput: {hr: {layout: hwc}}",
    "steps: [{RandomCrop: {height: 8, width: 8}}, {RandomGamma: {p: 1.0}}]\noutput: {hr: {layout: chw}}",
    "steps: [{RandomCrop: {height: 8, width: 8}}, {RandomGamma: {p: 1.0, id: fewer}}]",
]
BAGS = [
    "steps: [{RandomGamma: {p: 1.0}}, {Sequential: {steps: [{RandomGamma: {p: 1.0}}]}}]",
    "steps: [{RandomGamma: {p: 1.0, share: tile}}, {Sequential: {share: tile, steps: [{RandomGamma: {p: 1.0}}]}}]",
    "steps: [{RandomGamma: {p: 1.0, share: bag}}, {Sequential: {steps: [{RandomGamma: {p: 1.0}}]}}]",
    "steps: [{RandomGamma: {p: 1.0}}, {Sequential: {share: bag, steps: [{RandomGamma: {p: 1.0}}]}}]",
    "steps: [{RandomGamma: {p: 1.0}}, {Sequential: {steps: [{RandomGamma: {p: 1.0, share: bag}}]}}]",
]


def pair(text: str) -> Recipe:
    return parse_text(f"version: 1\nrecipe: a\nkind: pair\nscales: {{lr: 1, hr: 2}}\neval: []\n{text}")


def bag(text: str) -> Recipe:
    return parse_text(f"version: 1\nrecipe: a\nkind: bag\neval: []\n{text}")


def sample_of_pair(recipe: Recipe, index: int) -> dict[str, Any]:
    made: dict[str, Any] = recipe.compile().at(index)(lr=LR, hr=HR)
    return made


def sample_of_bag(recipe: Recipe, index: int) -> dict[str, Any]:
    pipeline = recipe.compile()
    return {str(k): pipeline.at(index, 0, k)(image=tile)["image"] for k, tile in enumerate(TILES)}


@pytest.mark.parametrize(
    ("make", "sample", "texts"), [(pair, sample_of_pair, PAIRS), (bag, sample_of_bag, BAGS)], ids=["pairs", "bags"]
)
def test_same_is_same_and_different_is_different(make: Any, sample: Any, texts: list[str]) -> None:
    recipes = [make(text) for text in texts]
    samples = [[sample(recipe, index) for index in range(8)] for recipe in recipes]
    alike = 0
    for (a, made), (b, other) in combinations(zip(recipes, samples, strict=True), 2):
        equal = all(np.array_equal(one[name], two[name]) for one, two in zip(made, other, strict=True) for name in one)
        assert diff(a, b).same == equal, diff(a, b)
        alike += equal
    assert alike
