"""A recipe in two parts makes what it makes in one; and no draw depends on where it is cut."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.checks import DEAR

from augrecipes.compiler import prefix
from augrecipes.compiler.compile import build
from augrecipes.recipe.model import Arguments, Recipe, Step, label
from augrecipes.recipe.parse import parse_text

COMMON = settings(DEAR, derandomize=True)
IMAGES = """
version: 1
recipe: two-parts
inputs:
  boxes: {format: FORMAT, labels: box_labels, min_area: 4, min_visibility: 0.1}
  keypoints: {format: xya, labels: names}
steps:
  - SmallestMaxSize: {max_size: 30, interpolation: area}
  - HorizontalFlip: {p: 1.0}
  - PadIfNeeded: {min_height: 40, min_width: 40}
  - CenterCrop: {height: 36, width: 34}
  - ToGray: {p: 1.0}
  - RandomCrop: {height: 24, width: 20}
  - HorizontalFlip
  - Rotate: {limit: 20, p: 1.0}
  - OneOf: {p: 0.7, steps: [GaussianBlur: {p: 1.0}, RandomGamma: {p: 1.0}]}
  - RandomBrightnessContrast
"""
PAIRS = """
version: 1
recipe: two-parts
kind: pair
scales: {lr: 1, hr: 2}
steps:
  - CenterCrop: {height: 16, width: 15, at: lr}
  - HorizontalFlip: {p: 1.0}
  - ToGray: {p: 1.0, target: hr}
  - RandomCrop: {height: 12, width: 10, at: lr}
  - D4: {p: 1.0}
  - GaussNoise: {target: lr, p: 0.5}
"""
DEGRADED = """
version: 1
recipe: two-parts
kind: pair
scales: {lr: 1, hr: 2}
steps:
  - CenterCrop: {height: 32, width: 30, at: hr}
  - Degrade: {source: hr, target: lr, steps: [ResizeToTarget: {method: matlab_bicubic}]}
  - RandomCrop: {height: 12, width: 10, at: lr}
  - HorizontalFlip
"""


def in_parts(recipe: Recipe, count: int, key: tuple[int, int], targets: dict[str, Any]) -> dict[str, Any]:
    """A sample by way of its first `count` steps."""
    between = prefix.compile_prefix(recipe, "train", count, 3).at(*key)(**targets)
    if "mask" in between:
        between["mask"] = between["mask"].astype(targets["mask"].dtype)
    for value in between.values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    rest = prefix.suffix_recipe(recipe, "train", count)
    return build(rest, "train", None, 3, resumes=True).at(*key)(**between)


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Whether two samples agree to the bit."""
    pairs = [(np.asarray(a[key]), np.asarray(b.get(key))) for key in a]
    return set(a) == set(b) and all(
        x.shape == y.shape and x.dtype == y.dtype and x.tobytes() == y.tobytes() for x, y in pairs
    )


def scene_of(draw: np.random.Generator, box_format: str = "pascal_voc") -> dict[str, Any]:
    """An image with a mask, boxes and keypoints."""
    height, width = (int(n) for n in draw.integers(30, 60, 2))
    count = int(draw.integers(0, 5))
    corner = draw.random((count, 2)) * [width - 6, height - 6]
    size = draw.random((count, 2)) * 5 + 0.5
    boxes = np.hstack([corner, size if box_format == "coco" else corner + size])
    return {
        "image": draw.integers(0, 256, (height, width, 3), np.uint8),
        "mask": draw.integers(0, 300, (height, width)).astype(np.uint16),
        "boxes": boxes.astype(np.float32),
        "box_labels": draw.integers(0, 9, count),
        "keypoints": np.hstack([corner, draw.random((count, 1)) * 300]).astype(np.float32),
        "names": np.arange(count),
    }


@pytest.mark.parametrize("box_format", ["pascal_voc", "coco"])
@COMMON
@given(st.integers(0, 2**31), st.integers(0, 10), st.integers(0, 3))
def test_an_image_in_two_parts_is_the_image(box_format: str, seed: int, count: int, epoch: int) -> None:
    recipe = parse_text(IMAGES.replace("FORMAT", box_format))
    targets = scene_of(np.random.default_rng(seed), box_format)
    whole = recipe.compile(seed=3).at(seed, epoch)(**targets)
    assert same(whole, in_parts(recipe, count, (seed, epoch), targets))


@pytest.mark.parametrize(("text", "made"), [(PAIRS, ()), (DEGRADED, ("lr",))], ids=["pair", "degraded"])
@COMMON
@given(st.integers(0, 2**31), st.integers(0, 6))
def test_a_pair_in_two_parts_is_the_pair(text: str, made: tuple[str, ...], seed: int, count: int) -> None:
    recipe, draw = parse_text(text), np.random.default_rng(seed)
    count = min(count, len(recipe.steps))
    images = {"lr": draw.integers(0, 256, (20, 18, 3), np.uint8), "hr": draw.integers(0, 256, (41, 37, 3), np.uint8)}
    targets = {name: image for name, image in images.items() if name not in made}
    assert same(recipe.compile(seed=3).at(seed)(**targets), in_parts(recipe, count, (seed, 0), targets))


def test_renumbered_sites_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe, targets = parse_text(IMAGES.replace("FORMAT", "coco")), scene_of(np.random.default_rng(0), "coco")
    plain = prefix._with_section
    monkeypatch.setattr(prefix, "_with_section", lambda r, mode, steps: plain(r, mode, label(steps)))
    whole = [recipe.compile(seed=3).at(i)(**targets) for i in range(8)]
    assert not all(same(a, in_parts(recipe, 2, (i, 0), targets)) for i, a in enumerate(whole))


def test_groups_and_what_nobody_knows() -> None:
    crop = Step("CenterCrop", Arguments({"height": 8, "width": 8}))
    assert prefix.draws_nothing(Step("Sequential", steps=(crop,)))
    for step in (
        Step("Sequential", steps=(crop, Step("D4"))),
        Step("Sequential", p=0.5, steps=(crop,)),
        Step("OneOf", steps=(crop,)),
        Step("RandomOrder", steps=(crop,)),
        Step("SomeClassOfYours"),
    ):
        assert not prefix.draws_nothing(step)
    assert prefix.is_light(Step("OneOf", steps=(crop, Step("D4"))))
    assert not prefix.is_light(Step("OneOf", steps=(crop, Step("GaussianBlur"))))


def test_sections_share_what_is_equal_in_effect() -> None:
    text = """
version: 1
recipe: shares
steps: [Resize: {height: 8, width: 8}, HorizontalFlip: {p: 1.0}, HorizontalFlip]
eval: [Resize: {height: 8, width: 8, interpolation: linear, id: small}, VerticalFlip: {p: 1.0}]
"""
    recipe = parse_text(text)
    assert (
        prefix.deterministic_prefix(recipe.steps),
        prefix.common_prefix(recipe),
        prefix.common_prefix(replace(recipe, eval=None)),
    ) == (2, 1, 2)


def test_a_digest_speaks_of_what_takes_effect() -> None:
    def of(text: str) -> str:
        steps = parse_text(f"{{version: 1, recipe: r, steps: [{text}]}}").steps
        return prefix.digest_of([prefix.described(step) for step in steps])

    same_ = {of("Resize: {height: 8, width: 8}"), of("Resize: {width: 8, height: 8, interpolation: linear, id: x}")}
    assert len(same_) == 1
    assert len({*same_, of("Resize: {height: 8, width: 9}"), of("Resize: {height: 8, width: 8, p: 0.5}")}) == 3
    assert of("HorizontalFlip: {id: a}") != of("HorizontalFlip: {id: b}")  # draws of its own
