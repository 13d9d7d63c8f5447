"""Recipes of kind image: one image, what lies on it (mask, boxes, keypoints), and what travels beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import accept_unconverted, skip_filtering
from augrecipes.compat.boxes import forget_labels, prepare
from augrecipes.compiler.compile import warn_of_floats
from augrecipes.compiler.kernels.sink import Allocate, Sink
from augrecipes.compiler.lowering.lower import lower, transforms_of
from augrecipes.compiler.rewrite import UNOPTIMIZED_INPUTS, Compiled
from augrecipes.compiler.rewrite.nodes import singles
from augrecipes.compiler.run.extra_targets import LIKE, STACKS, is_array, take_extra_targets
from augrecipes.compiler.run.native_batches import NativeBatches
from augrecipes.compiler.run.objects import BESIDE
from augrecipes.compiler.run.output_buffer import output_buffer
from augrecipes.compiler.run.points import processors, rows_of, take_points
from augrecipes.compiler.run.targets import (
    DTYPES,
    arrival_of,
    check_presence,
    image_in,
    mask_in,
    mask_out,
)
from augrecipes.errors import DataError
from augrecipes.flow import Arrival
from augrecipes.ops.fills import mask_dtype
from augrecipes.ops.registry import is_registered

Finish = Callable[[dict[str, Any]], dict[str, Any]]


class ImagePipeline(NativeBatches):
    """A compiled recipe of kind image.

    Targets in: `image` uint8 (0..255) or float32 (0..1), H×W or H×W×C, or an image that is not decoded yet, of which
    no more is decoded than the first steps leave (`augrecipes.images.encoded`); `mask` H×W of labels; `boxes` (n, 4)
    in the recipe's format with the labels under their own key; `keypoints` (n, 2 or more); `object` (n,) and
    `keypoint_object` (k,), whole numbers that say which are of one object. `bboxes` is understood too.
    Targets out: `image` as the recipe's `output` says; `mask` H×W, int64 or, of floats and of an output of uint8,
    with the dtype that it came with; `boxes` and `keypoints` float32; none of them shares memory with what went in.

    Besides the image, or without it, may come what albumentations knows (`images` N×H×W×C, `volume` D×H×W×C, `volumes`,
    `masks`, of boxes one each, `mask3d`, `masks3d`) and what `add_targets` has named. One draw is for all of a sample,
    whose steps run as they are written, whatever `optimize` says. Images come out as `output` says (a volume as
    C×D×H×W or D×H×W×C), masks as `mask` does. An array of any other name is an error; whatever is no array comes out as
    it went in.

    `out`, an array or a torch tensor of the very shape and dtype, is written to and comes out as `image`. It may also
    be a function (shape, dtype) → array; then that array comes out.
    """

    nests = True

    def __init__(self, compiled: Compiled, arrival: Arrival = "uint8") -> None:
        self._lowered, sites = lower(compiled.plans[arrival].steps)
        transforms = [*transforms_of(self._lowered)]
        super().__init__(compiled, arrival, transforms, sites, **processors(compiled.recipe.inputs))
        self.sinks = {"image": Sink(compiled.recipe.output)}
        steps = compiled.plans[arrival].steps
        self._hands_over = not any(is_registered(leaf.name) for step in steps for leaf in singles(step))
        self._usual = compiled.recipe.inputs.row_keys - {"masks"} | {"image", "mask", "boxes", "bboxes", "keypoints"}
        # Albumentations prepares points, and lists of images; an image alone would only wait for it.
        self._prepares = bool(self.processors) or arrival == "together"
        for inner, processor in self.processors.items():
            prepare(processor, rows_of(inner))
            if compiled.resumes:
                accept_unconverted(processor)
            if compiled.pauses:
                skip_filtering(processor)

    def sample(
        self, epoch: int, index: int, tile: int, targets: dict[str, Any], allocate: Allocate = np.empty
    ) -> dict[str, Any]:
        """One sample; `allocate(shape, dtype)` gives the memory that its image is written to, where `out` does not."""
        if allocate is np.empty and (again := self._again(epoch, index, tile, targets)) is not None:
            return again
        if (out := targets.get("out")) is not None:
            if targets.get("image") is None:
                raise DataError("out is what the image is written to, and the sample has none")
            allocate = output_buffer(out, "the image", (targets.get("image"),))
        if "out" in targets:
            targets = {name: value for name, value in targets.items() if name != "out"}
        done = self.coming(self._arrival_of(targets))._planned(epoch, index, tile, targets, allocate)
        if out is not None and not callable(out):
            done["image"] = out
        return done

    def _planned(
        self, epoch: int, index: int, tile: int, targets: dict[str, Any], allocate: Allocate
    ) -> dict[str, Any]:
        """One sample that comes as this pipeline's own plan takes it."""
        if (made := self._natively(epoch, index, tile, targets, allocate)) is not None:
            return made
        if self.optimize != "none" and self.arrival not in UNOPTIMIZED_INPUTS:
            return self.plain._planned(epoch, index, tile, targets, allocate)
        return self._by_steps(epoch, index, tile, targets, allocate)

    def _by_steps(
        self, epoch: int, index: int, tile: int, targets: dict[str, Any], allocate: Allocate
    ) -> dict[str, Any]:
        """One sample, step by step in Python."""
        data, finish = self._prepare(targets, allocate)
        self.position(epoch, index, tile)
        return finish(self._steps(data, None))

    def _arrival_of(self, targets: Mapping[str, Any]) -> Arrival:
        """How a sample comes; DataError where an array in it is no target, and would come back as it went in."""
        arrival = arrival_of(targets.get("image"))
        warn_of_floats(self, targets.get("image"))
        if self._usual.issuperset(targets):
            return arrival
        for name in targets.keys() - self._usual:
            value = targets[name]
            if name in self.likes and value is not None:
                arrival = "together"
            elif is_array(value):
                self._refuse_stranger(name)
        return arrival

    @property
    def likes(self) -> dict[str, str]:
        """Names of targets beside `image` and `mask`, and the one of albumentations' that each is like."""
        return {**STACKS, **self.compiled.added} if self.compiled.added else STACKS

    def knows(self, name: str) -> bool:
        """Whether arrays of this name go through the steps, or some step reads them."""
        inner = ("image", "mask", "bboxes", "keypoints")
        return name in inner or name in self.likes or name in self._read_by_steps()

    def _refuse_stranger(self, name: str) -> None:
        """DataError, unless some step reads this name."""
        inputs = self.recipe.inputs
        taken = {"image", *inputs.row_keys, *(["mask"] if inputs.mask != "absent" else ())}
        taken.difference_update(BESIDE["bboxes"], BESIDE["keypoints"])
        known = [*sorted(taken), *self.likes, *self._read_by_steps()]
        if name not in known:
            like = "mask" if "mask" in name.lower() else "image"
            raise DataError(
                f"{name!r} is an array, and no target of this recipe ({', '.join(known)}): it would come back as it "
                f"went in. To let it travel with the image: pipeline.add_targets({{{name!r}: {like!r}}}); to keep it "
                "as it is, keep it out of the call"
            )

    def _read_by_steps(self) -> list[str]:
        """Names that some step reads, or that a class of the program's own changes."""
        keys = {key for t in self.transforms for key in (*t.available_keys, *getattr(t, "targets_as_params", ()))}
        return sorted(keys - {*LIKE, "bboxes", "keypoints", *self.likes})

    def add_targets(self, additional_targets: dict[str, str] | None) -> None:
        """Let further images or masks travel with the image: {name: the target that it is like}.

        Args:
            additional_targets: for instance {"left": "image", "cells": "mask"}; or like `images`, `masks`, `volume`, …

        Raises:
            ValueError: a name is taken, or nothing is like that.

        >>> import augrecipes as ar
        >>> pipeline = ar.load("folder-128").compile()
        >>> pipeline.add_targets({"other": "image"})
        >>> image = np.zeros((150, 200, 3), np.uint8)
        >>> pipeline.at(0)(image=image, other=image)["other"].shape
        (3, 128, 128)
        """
        if "_usual" not in self.__dict__:  # albumentations' constructor asks too
            super().add_targets(additional_targets)
            return
        for name, like in (additional_targets or {}).items():
            if like not in LIKE:
                raise ValueError(f"{name}: a target can be like {', '.join(LIKE)}, not {like!r}")
            if name in self._usual or name in STACKS or name == "out":
                raise ValueError(f"{name!r} is a target already")
        super().add_targets(additional_targets)
        self.renew(replace(self.compiled, added=dict(self.additional_targets)))

    def trace(self, epoch: int, index: int, tile: int, targets: dict[str, Any]) -> list[tuple[str, Any]]:
        """The image after each outermost step."""
        arrival = self._arrival_of(targets)
        mine = self.coming(arrival) if arrival in UNOPTIMIZED_INPUTS else self.plain
        found: list[tuple[str, Any]] = []
        data, _ = mine._prepare(targets, np.empty)
        mine.position(epoch, index, tile)
        mine._steps(data, found)
        return found

    def _held(self, targets: dict[str, Any]) -> tuple[Any, ...] | None:
        """Arrays that no result may be; None: a class of the user's may give one that it writes to again."""
        return (targets.get("image"), targets.get("mask")) if self._hands_over else None

    def _prepare(self, targets: dict[str, Any], allocate: Allocate) -> tuple[dict[str, Any], Finish]:
        """The targets as albumentations wants them, and the function that turns its result into a sample."""
        inputs, output = self.compiled.recipe.inputs, self.compiled.recipe.output
        data = dict(targets)
        beside = take_extra_targets(data, self.likes, inputs) if self.arrival == "together" else []
        data["image"] = image = image_in(data.get("image"), inputs)
        mask = data.get("mask")
        check_presence("mask", inputs.mask, given=mask is not None)
        if mask is None:
            data.pop("mask", None)
        else:
            data["mask"] = mask_in(mask, image, fills=self.mask_fills)
        dtype = None if mask is None else mask_dtype(mask.dtype, self.mask_fills)
        held = self._held(targets)
        points = take_points(data, inputs, resumes=self.compiled.resumes, pauses=self.compiled.pauses)
        for other in beside:
            data[other.name] = other.lying_on(image, self.mask_fills)

        def finish(done: dict[str, Any]) -> dict[str, Any]:
            sink = self.sinks["image"]
            if beside and targets.get("image") is None:
                del done["image"]  # it stood in
            else:
                done["image"] = sink(done["image"], allocate, held)
            for other in beside:
                done[other.name] = other.out(done[other.name], sink, output, self.mask_fills)
            if dtype is not None:
                done["mask"] = mask_out(done["mask"], dtype, output, held)
            for taken in points:
                taken.put_back(done)
            if self.compiled.save_applied_params:
                done["applied"] = self.applied()
            return done

        return data, finish

    def _steps(self, data: dict[str, Any], stages: list[tuple[str, Any]] | None) -> dict[str, Any]:
        """Albumentations' own loop."""
        with self.blaming(np.atleast_3d(data["image"]).shape[2]):
            if self._prepares:
                for processor in self.processors.values():
                    forget_labels(processor)
                self.preprocess(data)
            for place, (first, p, act, filters) in enumerate(self.prepared):
                if first is None or first() < p:
                    data = act(data)
                if filters is not None:
                    data = filters(data)
                if stages is not None:
                    stages.append((self.label_of(self.transforms[place]), np.array(np.atleast_3d(data["image"]))))
            image = data["image"]
            if image.dtype not in DTYPES:
                raise DataError(
                    f"the steps left an image of {image.dtype}; images are uint8 (0..255) or float32 (0..1)"
                )
            if self._prepares:
                data = self.postprocess(data)
            data["image"] = np.atleast_3d(image)
        return data


PIPELINE = ImagePipeline
