"""How many times as fast a recipe is once it is optimized, on one image, quickly; and what lies on such an image."""

from __future__ import annotations

from statistics import median
from typing import Any

import numpy as np

from augrecipes.compiler.timing import measure
from augrecipes.ops import box_formats, records
from augrecipes.recipe.model import Optimize, Recipe

_SETTINGS: tuple[Optimize, ...] = ("exact", "fast")


def gain(recipe: Recipe, image: np.ndarray, seconds: float = 1.0) -> dict[str, float]:
    """How many times as fast `exact` and `fast` are as `none`, which runs each step as albumentations has it.

    Args:
        recipe: of kind image.
        image: H×W×3 uint8; beside it lie a mask, a box and a point, where the recipe takes some.
        seconds: how long it may take, roughly.

    Raises:
        AugrecipesError: the recipe cannot be compiled, or a step fails on the image.
    """
    targets = targets_on(recipe, image)
    return {
        setting: measure(recipe, targets, optimize=setting, seconds=seconds / 2 / len(_SETTINGS)).ratio
        for setting in _SETTINGS
    }


def targets_on(recipe: Recipe, image: np.ndarray) -> dict[str, Any]:
    """An image, H×W×3 uint8, and beside it what the recipe's inputs are about: a mask, a box, a point."""
    height, width = image.shape[:2]
    targets: dict[str, Any] = {"image": image}
    if recipe.inputs.mask == "required" or any(records.op_record(step.name).needs == "mask" for step in recipe.walk()):
        targets["mask"] = (image[..., 0] > median(image[::16, ::16, 0].ravel().tolist())).astype(np.uint8)
    boxes, points = recipe.inputs.boxes, recipe.inputs.keypoints
    if boxes is not None:
        middle = np.array([[width, height, 3 * width, 3 * height]]) / 4
        targets["boxes"] = box_formats.from_corners_px(middle, boxes.format, height, width)
        targets |= {boxes.labels: [1]} if boxes.labels else {}
    if points is not None:
        targets["keypoints"] = np.array([[width // 3, height // 3, *[1.0] * (len(points.format) - 2)]], np.float32)
        targets |= {points.labels: [1]} if points.labels else {}
    return targets
