"""The cheaper of two ways to an image is taken: an OpenCV resize is not given up for a warp that saves nothing."""

from typing import Any

import numpy as np
import pytest

from augrecipes.compiler.rewrite import Compiled, Plan, plan
from augrecipes.compiler.rewrite.nodes import fuse
from augrecipes.kinds.image.pipeline import ImagePipeline
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import parse_text

RESIZE = "{Resize: {height: 256, width: 256}}"
CROP = "{RandomCrop: {height: 224, width: 224}}"


def recipe_of(steps: str) -> Recipe:
    return parse_text(f"version: 1\nrecipe: cost\nsteps: [{steps}]\neval: []\noutput: {{dtype: uint8, layout: hwc}}\n")


def rules(steps: str, arrival: Any = "uint8") -> set[str]:
    recipe = recipe_of(steps)
    return {fired.rule for fired in plan(recipe, recipe.steps, "fast", arrival).fired}


@pytest.mark.parametrize(
    "steps",
    [
        f"{RESIZE}, {CROP}, HorizontalFlip",
        f"{{SmallestMaxSize: {{max_size: 256}}}}, {CROP}, HorizontalFlip",
        f"{{RandomScale: {{scale_limit: 0.5}}}}, {CROP}",
        "{SmallestMaxSize: {max_size: 256}}, {RandomResizedCrop: {size: [224, 224]}}",
    ],
)
def test_a_resize_that_is_cut_a_little_stays_a_resize(steps: str) -> None:
    assert "join_warps" not in rules(steps)
    assert "join_warps" in rules(steps, "encoded")  # the decoder is spared what is cut off


@pytest.mark.parametrize(
    "steps",
    [
        f"{RESIZE}, {{RandomCrop: {{height: 60, width: 60}}}}",
        f"{{RandomResizedCrop: {{size: [300, 300]}}}}, {RESIZE}",
        f"{{Rotate: {{limit: 20}}}}, {RESIZE}",
        f"{RESIZE}, {{OneOf: {{p: 1.0, steps: [{CROP}]}}}}",
    ],
)
def test_what_saves_pixels_is_merged(steps: str) -> None:
    assert "join_warps" in rules(steps)


def images() -> list[np.ndarray]:
    draw = np.random.default_rng(0)
    return [draw.integers(0, 256, (*size, 3), np.uint8) for size in ((300, 401), (512, 512), (90, 120))]


@pytest.mark.parametrize("turn", ["", "HorizontalFlip, ", "Transpose, ", "RandomRotate90, "])
def test_a_part_of_a_resize_has_its_bits(turn: str) -> None:
    """Turned before, cut and turned after; where the output is made with it, it rounds otherwise: by a level."""
    recipe = recipe_of(f"{turn}{RESIZE}, {{RandomCrop: {{height: 224, width: 224}}}}, {{D4: {{p: 1.0}}}}")
    merged = Plan((fuse("JoinedWarps", recipe.steps),))
    fast = ImagePipeline(Compiled(recipe, "train", "fast", 0, False, {"uint8": merged}))
    for image in images():
        for index in range(8):
            mask = image[..., 0].copy()
            one, other = (p.at(index)(image=image, mask=mask) for p in (recipe.compile(optimize="none"), fast))
            assert int(np.abs(one["image"].astype(int) - other["image"]).max()) <= 1
            assert turn or (one["mask"] == other["mask"]).all()  # a turned mask is warped
