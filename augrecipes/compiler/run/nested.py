"""A pipeline as a step of albumentations' own Compose or group: what goes in, what comes out, and who draws."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import A
from augrecipes.compiler.rewrite import ARRIVALS, Compiled, plan
from augrecipes.compiler.run.extra_targets import LIKE, is_array
from augrecipes.errors import DataError
from augrecipes.recipe.model import Boxes, Keypoints

_POINTS = ("bboxes", "keypoints")  # albumentations' names
_APPLIED = "applied_transforms"  # where a Compose with save_applied_params collects them
_BITS = 63


class Nested:
    """How a pipeline runs where it is a step of another Compose, or of a group.

    In and out go what albumentations' steps leave for one another: boxes and keypoints in its own terms, with the
    labels as columns; masks in the dtype that they came with; arrays that no step knows. The image leaves as the
    recipe's output says, as a tensor where that is `chw`, as of ToTensorV2. Every draw is decided by one number of the
    generator that the outer Compose hands on, so that they are its seed's, and move on with its calls.

    Attributes:
        py_random: that generator.
        limits: `bboxes` and `keypoints`: albumentations' parameters of the outer Compose, which drop boxes and points
            of recipes that declare none themselves.
    """

    def __init__(self) -> None:
        self.py_random = random.Random()
        self.limits: dict[str, Any] = {}
        self._pipelines: dict[tuple[bool, ...], tuple[Compiled, Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pipelines": {}}

    def limit(self, limits: dict[str, Any]) -> None:
        """Go by the limits of another outer Compose from now on."""
        self.limits, self._pipelines = limits, {}

    def run(self, pipeline: Any, stream: int, force_apply: bool, targets: dict[str, Any]) -> dict[str, Any]:
        """One call, of a pipeline with the probability `pipeline.p`; a group that has chosen it applies it by force."""
        if not force_apply and pipeline.p < 1 and self.py_random.random() >= pipeline.p:
            return targets
        index = self.py_random.getrandbits(_BITS)
        sample = dict(targets)
        applied = sample.pop(_APPLIED, None)
        inner = self._inner(pipeline, *(name in sample for name in _POINTS), applied is not None)
        others = {
            name: sample.pop(name) for name, value in targets.items() if is_array(value) and not inner.knows(name)
        }
        done = inner.run(stream, index, 0, sample)
        if applied is not None:
            applied.extend((name, parameters) for _, name, parameters in done.pop("applied"))
            others[_APPLIED] = applied
        for name in _POINTS:
            if name in sample and not np.size(sample[name]):
                done[name] = sample[name]  # none, with the columns of their labels
        return {**others, **done, **_as_next_step_takes(inner, sample, done)}

    def _inner(self, pipeline: Any, *has: bool) -> Any:
        """The pipeline that takes targets as other steps leave them: compiled anew, with the same draws."""
        compiled, inner = self._pipelines.get(has, (None, None))
        if compiled is not pipeline.compiled:
            inner = pipeline.again(_among_steps(pipeline.compiled, self.limits, *has))
            self._pipelines[has] = pipeline.compiled, inner
        return inner


def _among_steps(compiled: Compiled, limits: Mapping[str, Any], boxes: bool, points: bool, applied: bool) -> Compiled:
    """A recipe in the middle of other steps."""
    recipe = compiled.recipe
    inputs = replace(
        recipe.inputs,
        boxes=_boxes(recipe.inputs.boxes, limits.get("bboxes")) if boxes else recipe.inputs.boxes,
        keypoints=_keypoints(recipe.inputs.keypoints, limits.get("keypoints")) if points else recipe.inputs.keypoints,
    )
    recipe = replace(recipe, inputs=inputs)
    plans = {arrival: plan(recipe, compiled.steps, compiled.optimize, arrival) for arrival in ARRIVALS}
    more: dict[str, Any] = {"resumes": True, "pauses": True, "save_applied_params": applied}
    return replace(compiled, recipe=recipe, plans=plans, **more)


def _boxes(declared: Boxes | None, limits: Any) -> Boxes:
    if declared is not None:
        return replace(declared, format="albumentations", labels=None, clip=False)
    names = ("min_area", "min_visibility", "min_width", "min_height")
    return Boxes("albumentations", None, **({} if limits is None else {name: getattr(limits, name) for name in names}))


def _keypoints(declared: Keypoints | None, limits: Any) -> Keypoints:
    if declared is not None:
        if declared.of or declared.flip_pairs:
            raise DataError("`of` and `flip_pairs` of keypoints mean nothing among others' steps: call this by itself")
        return replace(declared, format="xy", labels=None)
    return Keypoints(remove_invisible=limits is None or limits.remove_invisible)


def _as_next_step_takes(inner: Any, sample: Mapping[str, Any], done: Mapping[str, Any]) -> dict[str, Any]:
    """Images and masks of a sample that is done, as the next step takes them."""
    likes, chw = {"image": "image", "mask": "mask", **inner.likes}, inner.recipe.output.layout == "chw"
    arrays: dict[str, Any] = {}
    for name in likes.keys() & done.keys():
        source, array = sample[name], done[name]
        if not isinstance(array, np.ndarray):
            continue
        if not LIKE[likes[name]].is_image:
            array = array.astype(source.dtype, copy=False)
        elif not chw and source.ndim == 2:
            array = array[..., 0] if array.shape[-1] == 1 else array
        arrays[name] = A.ToTensorV2().apply_to_mask(array) if chw else array
    return arrays
