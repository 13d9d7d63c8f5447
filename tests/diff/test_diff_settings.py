"""What stands beside the steps: kinds, inputs, output, and what changes no sample."""

from __future__ import annotations

from typing import Any

import pytest

import augrecipes as ar
from augrecipes.diff import diff
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import parse_text


def recipe(rest: str = "", name: str = "test") -> Recipe:
    return parse_text(f"version: 1\nrecipe: {name}\nsteps: []\n{rest}")


def told(a: Recipe, b: Recipe) -> dict[str, tuple[Any, Any]]:
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
    assert told(recipe(a), recipe(b)) == changes
    assert told(recipe(b), recipe(a)) == {key: (after, before) for key, (before, after) in changes.items()}


def test_boxes_or_none() -> None:
    (changed,) = told(recipe(), recipe("inputs: {boxes: coco}")).items()
    assert changed[0] == "inputs.boxes" and changed[1][0] is None and changed[1][1]["format"] == "coco"


def test_what_changes_no_sample_is_a_remark() -> None:
    found = diff(recipe("about: One.", "a"), recipe("about: Two.\noptimize: fast", "b"))
    assert found.same
    assert found.remarks == (
        "recipe: a → b",
        "about: other words",
        "optimize: exact → fast: the same recipe and the same draws, planned differently",
    )


def test_digests_differ_where_defaults_are_written() -> None:
    a = parse_text("version: 1\nrecipe: a\nsteps: [HorizontalFlip]")
    b = parse_text("version: 1\nrecipe: a\nsteps: [{HorizontalFlip: {p: 0.5}}]")
    assert diff(a, b).remarks == ("digest: the same in effect, in other words",)


def test_variants_are_compared_as_they_are_resolved() -> None:
    a = ar.load("stained-tissue")
    b = ar.load("stained-tissue", overrides={"RandomResizedCrop.size": [128, 128]}, without=["HorizontalFlip"])
    assert [(one.what, one.site) for one in diff(a, b).steps] == [
        ("changed", "RandomResizedCrop#1"),
        ("removed", "HorizontalFlip#1"),
    ]
