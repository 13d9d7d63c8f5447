"""Samples through programs: images, and what lies on them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from augrecipes.compat.boxes import forget_labels
from augrecipes.compiler.executor.inputs import AnyImage, as_bytes, as_image, is_image, is_mask, of_bytes
from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.kernels.sink import Allocate
from augrecipes.compiler.kernels.step_draws import stand_in
from augrecipes.compiler.lowering.lower import Lowered
from augrecipes.compiler.lowering.make_program import ProgramMaker
from augrecipes.compiler.lowering.walk import OpaqueError
from augrecipes.compiler.rewrite import UNOPTIMIZED_INPUTS
from augrecipes.compiler.run.exits import NotHereError, OnTheWay
from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.compiler.run.points import Points, take_points
from augrecipes.compiler.run.points_alone import point_steps
from augrecipes.compiler.run.prepared import Act, Prepared, alone, run_prepared
from augrecipes.compiler.run.targets import check_size, mask_in, mask_out
from augrecipes.ops.fills import mask_dtype

_FLAT, _BYTE = 2, np.dtype(np.uint8)
_MASK, _NOTHING, _IMAGE_AND_MASK = frozenset({"mask"}), frozenset[str](), frozenset({"image", "mask"})
# What is made of steps, when it is first needed.
_NATIVE = ("native", "native_masks", "_mask_plans", "_pixelless", "_opaque_steps", "_straight", "_maker")


def why_not_native(pipeline: Pipeline) -> str | None:
    """What keeps a pipeline from programs, whatever its steps are; None: nothing does."""
    if pipeline.optimize == "none":
        return "`none` runs its steps as albumentations does"
    if pipeline.arrival in UNOPTIMIZED_INPUTS:
        return "images are no uint8, or come together with others"
    return "images come decoded" if pipeline.arrival == "encoded" and not pipeline.takes_files else None


class ProgramPipeline(Pipeline):
    """A compiled recipe that runs without Python wherever all of its steps are known to the native kernels."""

    _usual: frozenset[str]
    _lowered: tuple[Lowered, ...]
    _on_the_way: OnTheWay | None = None
    hands_all = False  # to steps at which programs stop: all of a sample, not image and mask alone
    masks_keep_dtype: ClassVar[bool] = False  # where images become floats; else they are int64 there

    @abstractmethod
    def sample(
        self, epoch: int, index: int, tile: int, targets: dict[str, Any], allocate: Allocate = np.empty
    ) -> dict[str, Any]:
        """One sample; `allocate(shape, dtype)` gives the memory that its image is written to."""

    @abstractmethod
    def _held(self, targets: dict[str, Any]) -> tuple[Any, ...] | None:
        """Arrays of a sample that are the caller's, which no result may be; None: steps may hold others."""

    @abstractmethod
    def _by_steps(
        self, epoch: int, index: int, tile: int, targets: dict[str, Any], allocate: Allocate
    ) -> dict[str, Any]:
        """One sample, step by step in Python."""

    @abstractmethod
    def _planned(
        self, epoch: int, index: int, tile: int, targets: dict[str, Any], allocate: Allocate
    ) -> dict[str, Any]:
        """One sample that comes as this pipeline's own plan takes it."""

    def run_through(self, transforms: list[Any]) -> None:
        """Let samples go through these from now on."""
        super().run_through(transforms)
        for name in _NATIVE:
            self.__dict__.pop(name, None)

    @cached_property
    def native(self) -> Program | str:
        """What carries out samples of an image alone without Python, or why nothing does."""
        if (why := why_not_native(self)) is not None:
            return why
        try:
            return self.taken(self._maker.images(self._lowered, self.sinks["image"], files=self.takes_files))
        except OpaqueError as reason:
            return str(reason)

    @cached_property
    def _maker(self) -> ProgramMaker:
        return ProgramMaker(self.sites, self.compiled.seed, self.draws.position, self.recipe.max_bytes, self.tried)

    @cached_property
    def _required(self) -> frozenset[str]:
        """What has to lie on an image, by the recipe's inputs."""
        inputs = self.recipe.inputs
        said = {"mask": inputs.mask}
        said |= {name: of.presence for name in ("boxes", "keypoints") if (of := getattr(inputs, name)) is not None}
        return frozenset(name for name, presence in said.items() if presence == "required")

    @cached_property
    def _pixelless(self) -> list[Prepared]:
        """The steps without pixels, of samples whose images are made natively."""
        opaque = {} if isinstance(self.native, str) else self.native.opaque
        exits = {id(step): partial(partial, self._with_pixels, place) for place, (step, _) in opaque.items()}
        return point_steps(self.transforms, self, exits, all_draw=self.compiled.save_applied_params)

    @cached_property
    def native_masks(self) -> Program | str:
        """What carries out masks of uint8 natively, or why nothing does."""
        output, byte = self.recipe.output, np.dtype(np.uint8)
        if mask_dtype(byte, self.mask_fills) != byte:
            return "they are filled with numbers beyond 0 to 255"
        widens = not self.masks_keep_dtype and (output.dtype != "uint8" or output.where != "host")
        return self._mask_plan(wide=widens)

    @cached_property
    def _mask_plans(self) -> dict[np.dtype[Any], Program | str]:
        """The same of masks of other dtypes, by these."""
        return {}

    def _mask_plan(self, **how: Any) -> Program | str:
        if isinstance(self.native, str):
            return self.native
        if self.recipe.inputs.mask == "absent":
            return "there are none"
        try:
            return self.taken(self._maker.masks(self._lowered, self.native, **how))
        except OpaqueError as reason:
            return str(reason)

    @cached_property
    def _straight(self) -> Program | None:
        """What makes samples of images, and their masks, with nothing for Python to do in between."""
        native, asks = self.native, self.compiled.save_applied_params
        straight = isinstance(native, Program) and native.writes and not (native.opaque or native.python_draws or asks)
        return native if straight and self.arrival == "uint8" else None  # type: ignore[return-value]

    def _again(self, epoch: int, index: int, tile: int, targets: dict[str, Any]) -> dict[str, Any] | None:
        """A sample of an image, and a mask, like those of one before; None where nothing is known of such.

        With large images, which drive all else out of the cache, each thing that Python touches here costs.
        """
        image = targets.get("image")
        if type(image) is not np.ndarray or image.dtype is not _BYTE or not image.flags.c_contiguous:
            return None
        if self._straight is None or self.call is not None or not self._required <= targets.keys() <= _IMAGE_AND_MASK:
            return None
        done = dict(targets)
        if len(targets) > 1:
            plan, mask = self.native_masks, targets["mask"]
            if isinstance(plan, str) or type(mask) is not np.ndarray or not mask.flags.c_contiguous:
                return None
            labels = mask.view(np.uint8).reshape(*image.shape[:2], 1) if is_mask(mask, image) else None
            if labels is None or (made := plan.again(epoch, index, tile, labels)) is None:
                return None
            done["mask"] = self._mask_out(made, mask, _BYTE)
        if (made := self._straight.again(epoch, index, tile, image)) is None:
            return None
        done["image"] = made
        return done

    def _natively(
        self, epoch: int, index: int, tile: int, targets: dict[str, Any], allocate: Allocate
    ) -> dict[str, Any] | None:
        """A sample of an image, and of what lies on it, through programs; None: that is Python's."""
        if isinstance(self.native, str) or not self._required <= targets.keys():
            return None
        image = targets.get("image")
        on_it = self._usual.intersection(targets) - {"image"} if len(targets) > 1 else _NOTHING
        if not is_image(image, files=self.takes_files):
            return None
        image, done = check_size(image, self.recipe.inputs), dict(targets)
        if self.native.idle and self.call is None and self.native.takes(image.shape[2]):
            return self._by_steps(epoch, index, tile, targets, allocate)
        mask, key, applied = done.pop("mask", None), (epoch, index, tile), self.compiled.save_applied_params
        walks = bool(on_it - _MASK or self.native.python_draws or applied or self.hands_all)
        try:
            on_the_way = OnTheWay(self.native, key, image, self._held(targets))
            apart = mask is not None and not self._take_mask(on_the_way, mask, image)
            if walks:
                done = self._without_pixels(key, done, on_the_way)
            act = _no_more if walks else partial(self._at_an_exit, key)
            made, labels = on_the_way.end(allocate if self.native.writes else np.empty, act)
        except NotHereError:
            return None
        if not self.native.writes:
            made = self.sinks["image"](made, allocate)
        size = made.shape[1:] if self.recipe.output.layout == "chw" else made.shape[:2]
        if walks and done["image"].shape[:2] != size:
            return None
        done["image"] = made
        if labels is not None:
            done["mask"] = self._mask_out(labels, mask, on_the_way.dtype)
        elif apart:
            done["mask"] = self.plain._planned(*key, targets, np.empty)["mask"]
        if applied:
            done["applied"] = self.applied()
        return done

    def by_program(self, epoch: int, index: int, tile: int, targets: dict[str, Any], allocate: Allocate) -> Any:
        """A sample that comes as this pipeline's own plan takes it; None: no program makes it."""
        return self._natively(epoch, index, tile, targets, allocate)

    def _take_mask(self, on_the_way: OnTheWay, mask: Any, image: AnyImage) -> bool:
        """Let a mask go along; False where it is made apart, as the recipe is written.

        What `fast` makes of an image goes by no mask; in `exact` both ways make the same, so that one is enough.
        """
        if is_mask(mask, image):
            plan, labels, dtype = self.native_masks, as_image(mask), _BYTE
        else:
            known = mask_in(mask, image, fills=self.mask_fills)
            dtype = known.dtype
            if known.ndim != _FLAT or dtype == _BYTE:
                plan = "its pixels have several channels"
            else:
                labels = as_bytes(known)
                if dtype not in self._mask_plans:
                    self._mask_plans[dtype] = self._mask_plan(dtype=dtype, exactly=self.optimize == "exact")
                plan = self._mask_plans[dtype]
        if not isinstance(plan, str):
            on_the_way.take_mask(plan, labels, dtype)
        elif self.optimize == "exact":
            raise NotHereError(plan)
        return not isinstance(plan, str)

    def _mask_out(self, labels: np.ndarray, mask: Any, dtype: np.dtype[Any]) -> np.ndarray:
        """The mask of what its plan has written, of pixels of a dtype."""
        if dtype != _BYTE:
            return mask_out(of_bytes(labels, dtype), mask_dtype(mask.dtype, self.mask_fills), self.recipe.output, None)
        out, was = labels.reshape(labels.shape[:2]), mask_dtype(mask.dtype, self.mask_fills)
        return out.astype(bool) if was.kind == "b" and out.dtype == np.uint8 else out

    def _without_pixels(
        self, key: tuple[int, int, int], data: dict[str, Any], on_the_way: OnTheWay | None = None
    ) -> dict[str, Any]:
        """A sample with its boxes and keypoints where they belong, and what stands for an image of the size that it
        then has. Steps that a program stops at have pixels; else all draw from the key and the size alone.

        Args:
            key: epoch, index and tile.
            data: the sample, with its image as it came; changed in place.
            on_the_way: what has pixels for steps that need them; None: there are none.

        Raises:
            NotHereError: that is Python's, or it fails there, too.
        """
        data["image"] = stand_in(data["image"].shape, np.dtype(np.uint8))
        self._on_the_way = on_the_way
        try:
            points = self._take_points(data)
            self.position(*key)
            return self._put_back(run_prepared(self._pixelless, data), points)
        except Exception as error:  # what runs in Python then says where
            raise NotHereError from error
        finally:
            self._on_the_way = None

    def _take_points(self, data: dict[str, Any]) -> Sequence[Points]:
        """Let albumentations have a sample's boxes and keypoints, and return those that come out."""
        compiled = self.compiled
        points = take_points(data, self.recipe.inputs, resumes=compiled.resumes, pauses=compiled.pauses)
        for processor in self.processors.values():
            forget_labels(processor)
        self.preprocess(data)
        return points

    def _put_back(self, data: dict[str, Any], points: Sequence[Points]) -> dict[str, Any]:
        """The sample with its boxes and keypoints as the recipe's inputs have them."""
        data = self.postprocess(data)
        for taken in points:
            taken.put_back(data)
        return data

    def _with_pixels(self, place: int, act: Act, data: dict[str, Any]) -> dict[str, Any]:
        """A sample without pixels behind a step that needs them: it has those that the program has made so far."""
        if self._on_the_way is None:
            raise NotHereError
        done = self._called(place, act, {**data, **self._on_the_way.to(place)})
        self._on_the_way.behind(done)
        done.pop("mask", None)
        done["image"] = stand_in(done["image"].shape, np.dtype(np.uint8))
        return done

    def _at_an_exit(self, key: tuple[int, int, int], place: int, data: dict[str, Any]) -> dict[str, Any]:
        """What the step that a program has stopped at leaves of image and mask."""
        self.position(*key)
        try:
            return self._called(place, self._opaque_steps[place], data)
        except Exception as error:  # the whole sample in Python says where
            raise NotHereError from error

    def _called(self, place: int, act: Act, data: dict[str, Any]) -> dict[str, Any]:
        """What a step at this place of the program leaves of a sample."""
        step = None if isinstance(self.native, str) else self.native.opaque[place][0]
        done: dict[str, Any] = self.called(step, act, data)
        return done

    @cached_property
    def _opaque_steps(self) -> dict[int, Act]:
        """What carries out the steps that a program stops at, by their places."""
        return {} if isinstance(self.native, str) else {
            place: alone(step, self, forced=forced) for place, (step, forced) in self.native.opaque.items()
        }  # fmt: skip


def _no_more(place: int, data: dict[str, Any]) -> dict[str, Any]:
    """What is done at an exit where there should be none."""
    raise NotHereError(place, data)
