"""Samples through native plans: pictures, and what lies on them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from augrecipes.compat.boxes import forget_labels
from augrecipes.compiler.kernels.sink import Allocate
from augrecipes.compiler.kernels.step_draws import stand_in
from augrecipes.compiler.native_plan.carrying_out import NativePlan, Stopped
from augrecipes.compiler.native_plan.keyed_steps import NotNativeError
from augrecipes.compiler.native_plan.pictures import Picture, as_picture, is_mask, is_picture
from augrecipes.compiler.native_plan.planned import mask_plan, moves, native_plan
from augrecipes.compiler.run.lower import Sites
from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.compiler.run.points import take_points
from augrecipes.compiler.run.points_alone import point_steps
from augrecipes.compiler.run.prepared import Act, Prepared, alone
from augrecipes.compiler.run.targets import check_size

_POINTS, _AXES = ("boxes", "keypoints"), 3
_MASK, _NOTHING = frozenset({"mask"}), frozenset[str]()
_FEW = 3  # steps that act
_NATIVE = ("native", "native_masks", "_point_steps", "_opaque_steps")  # made of the steps when they are first needed


def kept_from_plans(pipeline: Pipeline) -> str | None:
    """What keeps a pipeline from native plans, whatever its steps are; None: nothing does."""
    if pipeline.optimize == "none":
        return "`none` runs its steps as albumentations does"
    if pipeline.compiled.save_applied_params:
        return "what its steps draw is asked for"
    if any(type(step) is not step.__class__ for step in pipeline.transforms):
        return "its steps are looked at"
    return None if pipeline.arrival == "uint8" or pipeline.takes_files else "pictures are no uint8"


class NativelyRun(Pipeline):
    """A compiled recipe that runs without Python wherever all of its steps are known to the native kernels."""

    _usual: frozenset[str]
    _sites: Sites

    @abstractmethod
    def sample(
        self, epoch: int, index: int, tile: int, targets: dict[str, Any], allocate: Allocate = np.empty
    ) -> dict[str, Any]:
        """One sample; `allocate(shape, dtype)` gives the memory that its image is written to."""

    def run_through(self, transforms: list[Any]) -> None:
        """Let samples go through these from now on."""
        super().run_through(transforms)
        for name in _NATIVE:
            self.__dict__.pop(name, None)

    def dress(self, dress: Callable[[Pipeline], object], *, natively: bool = False) -> None:
        """As every pipeline; its native plans are made of the steps as they were."""
        kept = {name: getattr(self, name) for name in _NATIVE} if natively else {}
        super().dress(dress, natively=natively)
        self.__dict__.update(kept)

    @property
    def _by_python(self) -> bool:
        """Whether every step of every sample is to be called."""
        return self._dress is not None and not self._dress[1]

    @cached_property
    def native(self) -> NativePlan | str:
        """What carries out samples of a picture alone without Python, or why nothing does."""
        if (why := kept_from_plans(self)) is not None:
            return why
        try:
            sink, seed = self.sinks["image"], self.compiled.seed
            return native_plan(
                self.transforms, self._sites, sink, seed, self.draws.position, self.recipe.max_bytes, self.takes_files
            )
        except NotNativeError as reason:
            return str(reason)

    @cached_property
    def _required(self) -> frozenset[str]:
        """What has to lie on a picture, by the recipe's inputs."""
        inputs = self.recipe.inputs
        said = {"mask": inputs.mask}
        said |= {name: of.presence for name in ("boxes", "keypoints") if (of := getattr(inputs, name)) is not None}
        return frozenset(name for name, presence in said.items() if presence == "required")

    @cached_property
    def _point_steps(self) -> list[Prepared]:
        """What moves boxes and keypoints of samples whose pictures are made natively."""
        return point_steps(self.transforms, self)

    @cached_property
    def native_masks(self) -> NativePlan | str:
        """What carries out the masks of its samples without Python, or why nothing does."""
        if isinstance(self.native, str):
            return self.native
        if self.recipe.inputs.mask == "absent":
            return "there are none"
        output, compiled = self.recipe.output, self.compiled
        wide = output.dtype != "uint8" or output.where != "host"
        try:
            return mask_plan(
                self.transforms, self._sites, compiled.seed, self.draws.position, self.recipe.max_bytes,
                self.native.opaque, wide=wide,
            )  # fmt: skip
        except NotNativeError as reason:
            return str(reason)

    def _natively(
        self, epoch: int, index: int, tile: int, targets: dict[str, Any], allocate: Allocate
    ) -> dict[str, Any] | None:
        """A sample of a picture, or of one and its mask, without Python between its steps; None: that is Python's."""
        if self._by_python or not isinstance(self.native, NativePlan) or not self._required <= targets.keys():
            return None
        image = targets.get("image")
        on_it = self._usual.intersection(targets) - {"image"} if len(targets) > 1 else _NOTHING
        if not is_picture(image, files=self.takes_files) or (on_it - _MASK and self.native.only_moves):
            return None
        if on_it - _MASK:
            self.position(epoch, index, tile)
            if sum(first is None or first() < p for first, p, _, _ in self._point_steps) < _FEW:
                return None  # Python walks through the steps for the points anyway, and is done with these sooner
        image, done, moved = check_size(image, self.recipe.inputs), dict(targets), None
        mask = done.pop("mask", None)
        if self.native.given:
            moved = self._with_points_moved(epoch, index, tile, done) if on_it - _MASK else None
            if moved is None:
                return None
            for plan in (self.native, self.native_masks):
                if isinstance(plan, NativePlan):
                    plan.take_given()
        given = mask if "mask" in on_it else None
        if (found := self._through((epoch, index, tile), image, given, allocate, points=bool(on_it - _MASK))) is None:
            return None
        made, mask = found
        if on_it - _MASK:
            size = made.shape[1:] if self.recipe.output.layout == "chw" else made.shape[:2]
            moved = self._with_points_moved(epoch, index, tile, done) if moved is None else moved
            if moved is None or moved["image"].shape[:2] != size:
                return None
            done = moved
        done["image"] = made
        if "mask" in on_it:
            done["mask"] = mask
        return done

    def _with_points_moved(self, epoch: int, index: int, tile: int, data: dict[str, Any]) -> dict[str, Any] | None:
        """A sample with its boxes and keypoints where they belong, and what stands for a picture of the size that it
        then has; None: that is Python's, or it fails there, too.

        Args:
            epoch: of the draws.
            index: the same.
            tile: the same.
            data: the sample, with its picture as it came; changed in place.
        """
        compiled, shape = self.compiled, data["image"].shape
        data["image"] = stand_in(shape, np.dtype(np.uint8))
        try:
            points = take_points(data, self.recipe.inputs, resumes=compiled.resumes, pauses=compiled.pauses)
            self.position(epoch, index, tile)
            for processor in self.processors.values():
                forget_labels(processor)
            self.preprocess(data)
            for first, p, act, filters in self._point_steps:
                if first is None or first() < p:
                    data = act(data)
                if filters is not None:
                    data = filters(data)
            data = self.postprocess(data)
        except Exception:  # what runs in Python then says where
            return None
        for taken in points:
            taken.put_back(data)
        return data

    def _through(
        self, key: tuple[int, int, int], image: Picture, mask: Any, allocate: Allocate, *, points: bool
    ) -> tuple[np.ndarray, np.ndarray | None] | None:
        """A picture and its mask, if there is one, through all steps; None where Python has to make the sample.

        The kernels carry them to the next step that only albumentations knows, this one runs in Python, and the kernels
        go on behind it. No step comes twice.
        """
        plan, of_masks = self.native, self.native_masks if mask is not None else None
        if isinstance(plan, str) or isinstance(of_masks, str) or (of_masks and not is_mask(mask, image)):
            return None
        labels, begin, masks_begin = image if of_masks is None else as_picture(mask), -1, -1
        while isinstance(made := plan.sample(*key, image, allocate, begin), Stopped):
            if self._dress is not None:  # whoever looks at steps is to see this one, and those behind it
                return None
            begin = made.place
            data: dict[str, Any] = {"image": made.picture}
            if of_masks is not None and begin in of_masks.opaque:
                there = of_masks.sample(*key, labels, np.empty, masks_begin)
                if not isinstance(there, Stopped) or there.place != begin:
                    return None
                data["mask"], masks_begin = there.picture[..., 0], begin
            if points and moves(plan.opaque[begin][0], *_POINTS):
                return None
            try:
                self.position(*key)
                data = self._opaque_steps[begin](data)
                image, labels = in_between(data["image"]), in_between(data["mask"]) if "mask" in data else labels
            except Exception:  # the whole sample in Python says where
                return None
        if made is None or of_masks is None:
            return None if made is None else (made, None)
        found = of_masks.sample(*key, labels, np.empty, masks_begin)
        if not isinstance(found, np.ndarray):
            return None
        out = found.reshape(found.shape[:2])
        return made, out.astype(bool) if mask.dtype == bool and out.dtype == np.uint8 else out

    @cached_property
    def _opaque_steps(self) -> dict[int, Act]:
        """What carries out the steps that a native plan stops at, by their places."""
        return {} if isinstance(self.native, str) else {
            place: alone(step, self, forced=forced) for place, (step, forced) in self.native.opaque.items()
        }  # fmt: skip


def in_between(picture: Any) -> np.ndarray:
    """A picture that a step has left, uint8 H×W×C; ValueError where it is another that kernels do not take."""
    if not isinstance(picture, np.ndarray) or picture.dtype != np.uint8 or not picture.size:
        raise ValueError("no uint8 picture")
    return picture if picture.ndim == _AXES else picture.reshape(*picture.shape[:2], -1)
