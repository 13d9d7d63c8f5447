"""The baseline `stock`: the same steps in a plain `A.Compose`, as one writes them by hand, behind our own loader."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import A
from augrecipes.compiler.lowering.lower import group
from augrecipes.compiler.run.tiles import BagResult
from augrecipes.interop import plain
from augrecipes.ops.own import OWN
from augrecipes.ops.registry import construct, is_registered
from augrecipes.recipe.model import Mode, Output, Recipe, Step


def albumentations_only(recipe: Recipe) -> tuple[Recipe, tuple[str, ...]]:
    """The recipe without the steps that albumentations does not have, and the labels of those.

    A baseline must not change with what it measures: steps of ours, or of the program's, may.
    """
    left: list[str] = []

    def only(steps: Sequence[Step]) -> tuple[Step, ...]:
        found = []
        for step in steps:
            if step.name in OWN or is_registered(step.name):
                left.append(step.site)
                continue
            inside = only(step.steps)
            if not step.is_group or inside:
                found.append(replace(step, steps=inside))
        return tuple(found)

    return replace(recipe, steps=only(recipe.steps), eval=only(recipe.eval or ())), tuple(dict.fromkeys(left))


def compose(recipe: Recipe, mode: Mode = "train", seed: int = 0) -> Any:
    """A recipe's steps as an `A.Compose`, with `A.Normalize` or `A.ToFloat` for its output; H×W×C comes out.

    >>> import augrecipes as ar
    >>> [type(step).__name__ for step in compose(ar.load("folder-128"))]
    ['SmallestMaxSize', 'RandomCrop', 'HorizontalFlip', 'ToFloat']
    """
    steps = [_built(step) for step in recipe.section(mode) or ()]
    return A.Compose([*steps, *last_of(recipe.output)], **plain.processors_of(recipe.inputs), seed=seed)


class StockPipeline:
    """What a Dataset of ours asks of a pipeline, done by `A.Compose` with random parameters of its own. One thread.

    Images are decoded whole. `A.Normalize` or `A.ToFloat` and a transposition stand for the output. Of recipes of kind
    image or bag.
    """

    reads = False

    def __init__(self, recipe: Recipe, mode: Mode = "train", seed: int = 0) -> None:
        self._seed, self._output = seed, recipe.output
        self._dtype = np.dtype("uint8" if recipe.output.where == "device" else recipe.output.dtype)
        self._compose = compose(recipe, mode, seed)

    def rewind(self) -> None:
        """From here on the same random parameters again."""
        self._compose.set_random_seed(self._seed)

    def at(self, index: int, epoch: int = 0, tile: int = 0) -> Callable[..., dict[str, Any]]:
        """What makes the next sample, whatever its key."""
        del index, epoch, tile
        return self._sample

    def _sample(self, **targets: Any) -> dict[str, Any]:
        targets.pop("out", None)  # a batch's memory: the baseline leaves copying to the collate function
        if "boxes" in targets:
            targets["bboxes"] = targets.pop("boxes")
        done: dict[str, Any] = self._compose(**targets)
        image = done["image"].transpose(2, 0, 1) if self._output.layout == "chw" else done["image"]
        done["image"] = np.ascontiguousarray(image, self._dtype)
        if "mask" in done:
            done["mask"] = done["mask"].astype(np.int64)
        if "bboxes" in done:
            done["boxes"] = np.asarray(done.pop("bboxes"), np.float32).reshape(-1, 4)
        if "keypoints" in done:
            done["keypoints"] = np.asarray(done["keypoints"], np.float32)
        return done

    def bag(self, index: int, epoch: int, tiles: Sequence[int], read: Callable[[int], Any], **more: Any) -> BagResult:
        """The tiles of a bag, one after another."""
        del index, epoch
        images = [self._sample(image=read(k))["image"] for k in range(len(tiles))]
        out = more.get("allocate", np.empty)((len(images), *images[0].shape), images[0].dtype)
        np.stack(images, out=out)
        return BagResult(out, tuple(range(len(tiles))))


def _built(step: Step) -> Any:
    """One step, or a group with our defaults, as albumentations builds it."""
    return group(step, [_built(child) for child in step.steps]) if step.is_group else construct(step)


def last_of(output: Output) -> list[Any]:
    """What stands for the output's numbers, as one writes them by hand; colours and layout are not among them."""
    dtype = "uint8" if output.dtype == "uint8" else "float32"
    return plain.last_of(replace(output, dtype=dtype, color="rgb", layout="hwc"))
