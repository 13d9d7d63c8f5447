"""How much sooner a recipe makes an image than plain albumentations does, on one image, quickly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import median
from time import perf_counter, thread_time
from typing import Any

import numpy as np

from augrecipes.compiler.run.draws import Draws
from augrecipes.ops.capabilities import capability
from augrecipes.ops.groups import GROUPS
from augrecipes.recipe.model import Optimize, Recipe

_LEAST = 5  # rounds
_SETTINGS: tuple[Optimize, ...] = ("exact", "fast")


def gain(recipe: Recipe, image: np.ndarray, seconds: float = 1.0) -> dict[str, float]:
    """How many times as fast `exact` and `fast` are as the same steps in albumentations: CPU time, sides in turns.

    Args:
        recipe: of kind image.
        image: H×W×3 uint8; beside it lie a mask, a box and a point, where the recipe takes some.
        seconds: how long it may take.

    Raises:
        AugrecipesError: the recipe cannot be compiled, or a step fails on the image.
    """
    given = targets_on(recipe, image)
    sides = {"plain": _plain(recipe, given)}
    for setting in _SETTINGS:
        sides[setting] = _ours(recipe.compile(optimize=setting), given)
    # The first time through, what a step needs is looked up and tried out; the second time is measured.
    end = perf_counter() + seconds / 2
    indices = 0
    while indices < _LEAST or perf_counter() < end:
        for side in sides.values():
            side(indices)
        indices += 1
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for index in range(indices):
        for name, side in sides.items():
            before = thread_time()
            side(index)
            taken[name].append(thread_time() - before)
    whole = {name: sum(times) for name, times in taken.items()}
    return {name: whole["plain"] / whole[name] for name in _SETTINGS if whole[name] > 0}


def _ours(pipeline: Any, given: dict[str, Any]) -> Callable[[int], Any]:
    return lambda index: pipeline.at(index)(**given)


def _plain(recipe: Recipe, given: dict[str, Any]) -> Callable[[int], Any]:
    """The same by albumentations, with the same draws, wherever each object of it is one step of the recipe."""
    compose = recipe.to_albumentations()
    made = list(_objects(compose.transforms))
    sites = [inner.site for step in recipe.steps for inner in step.walk()]
    draws = Draws(0)
    if len(made) - len(sites) == len(compose.transforms) - len(recipe.steps):
        for one, site in zip(made, sites, strict=False):
            one.random_generator, one.py_random = draws.add(site)
    named = {"bboxes" if name == "boxes" else name: value for name, value in given.items()}

    def run(index: int) -> Any:
        draws.position(0, index)
        return compose(**named)

    return run


def _objects(transforms: Sequence[Any]) -> Iterator[Any]:
    """Transforms and groups, and what is in groups, in order; a ColorJitter holds functions, which draw nothing."""
    for each in transforms:
        yield each
        if type(each).__name__ in GROUPS:
            yield from _objects(each.transforms)


def targets_on(recipe: Recipe, image: np.ndarray) -> dict[str, Any]:
    """An image, H×W×3 uint8, and beside it what the recipe's inputs are about: a mask, a box, a point."""
    height, width = image.shape[:2]
    given: dict[str, Any] = {"image": image}
    if recipe.inputs.mask == "required" or any(_needs_mask(step.name) for step in recipe.walk()):
        given["mask"] = (image[..., 0] > median(image[::16, ::16, 0].ravel().tolist())).astype(np.uint8)
    boxes, points = recipe.inputs.boxes, recipe.inputs.keypoints
    if boxes is not None:
        x, y, w, h = width // 4, height // 4, width // 2, height // 2
        box = {
            "pascal_voc": [x, y, x + w, y + h],
            "coco": [x, y, w, h],
            "yolo": [0.5, 0.5, 0.5, 0.5],
            "albumentations": [0.25, 0.25, 0.75, 0.75],
        }[boxes.format]
        given["boxes"] = np.array([box], np.float32)
        given |= {boxes.labels: [1]} if boxes.labels else {}
    if points is not None:
        given["keypoints"] = np.array([[width // 3, height // 3, *[1.0] * (len(points.format) - 2)]], np.float32)
        given |= {points.labels: [1]} if points.labels else {}
    return given


def _needs_mask(name: str) -> bool:
    record = capability(name)
    return record is not None and record.needs == "mask"
