"""Recipes of kind image: one picture, and the mask, boxes and keypoints that lie on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from albumentations.core.label_manager import LabelManager

from augrecipes.compiler.into import into
from augrecipes.compiler.kernels.joined import Joined
from augrecipes.compiler.kernels.moves import Moved
from augrecipes.compiler.kernels.sink import Allocate, Sink
from augrecipes.compiler.kernels.tints import Tints
from augrecipes.compiler.kernels.undecoded import Undecoded
from augrecipes.compiler.kernels.warps import Warps
from augrecipes.compiler.lower import lower
from augrecipes.compiler.pipeline import Pipeline
from augrecipes.compiler.plan import Compiled
from augrecipes.compiler.points import as_they_are, as_they_come, processors, take_points, with_quick_check
from augrecipes.compiler.targets import arrival_of, check_presence, mask_in, mask_out, picture_in
from augrecipes.errors import DataError
from augrecipes.flow import Arrival
from augrecipes.ops.registry import is_registered

Finish = Callable[[dict[str, Any]], dict[str, Any]]


class ImagePipeline(Pipeline):
    """A compiled recipe of kind image.

    Targets in: `image` uint8 (0..255) or float32 (0..1), H×W or H×W×C, or a picture that is not decoded yet, of which
    no more is decoded than the first steps leave (`augrecipes.sources.encoded`); `mask` H×W of labels; `boxes` (n, 4)
    in the recipe's format with the labels under their own key; `keypoints` (n, 2 or more). `bboxes` is understood too.
    Targets out: `image` as the recipe's `output` says; `mask` H×W, int64 or, of an output of uint8, with the dtype that
    it came with; `boxes` and `keypoints` float32; none of them shares memory with what went in.

    `out`, an array or a torch tensor of the very shape and dtype, is written to and comes out as `image`. It may also
    be a function (shape, dtype) → array; then that array comes out.
    """

    def __init__(self, compiled: Compiled, arrival: Arrival = "uint8") -> None:
        transforms, sites = lower(compiled.plans[arrival].steps)
        super().__init__(compiled, arrival, transforms, sites, **processors(compiled.recipe.inputs))
        self.sinks = {"image": Sink(compiled.recipe.output)}
        steps = compiled.plans[arrival].steps
        self._hands_over = not any(is_registered(leaf.name) for step in steps for leaf in step.walk())
        for processor in self.processors.values():
            with_quick_check(processor)
            if compiled.resumes:
                as_they_come(processor)
            if compiled.pauses:
                as_they_are(processor)

    def _set_keys(self) -> None:
        # Albumentations warns of boxes that no step moves. Here a recipe, or a part of one, may well have no steps.
        self._available_keys.update(self.processors)
        super()._set_keys()

    def sample(
        self, epoch: int, index: int, tile: int, targets: dict[str, Any], allocate: Allocate = np.empty
    ) -> dict[str, Any]:
        """One sample; `allocate(shape, dtype)` gives the memory that its image is written to, where `out` does not."""
        if "out" in targets:
            return self._into(epoch, index, tile, dict(targets), allocate)
        mine = self.coming(arrival_of(targets.get("image")))
        if mine is not self:
            return mine.sample(epoch, index, tile, targets, allocate)
        data, finish = self._prepare(targets, allocate)
        self.position(epoch, index, tile)
        return finish(self._steps(data, None))

    def _into(self, epoch: int, index: int, tile: int, targets: dict[str, Any], allocate: Allocate) -> dict[str, Any]:
        out = targets.pop("out")
        if out is not None:
            allocate = into(out, "the image", (targets.get("image"),))
        done = self.sample(epoch, index, tile, targets, allocate)
        if out is not None and not callable(out):
            done["image"] = out
        return done

    def trace(self, epoch: int, index: int, tile: int, targets: dict[str, Any]) -> list[tuple[str, Any]]:
        """The picture after each outermost step."""
        found: list[tuple[str, Any]] = []
        data, _ = self._prepare(targets, np.empty)
        self.position(epoch, index, tile)
        self._steps(data, found)
        return found

    def _prepare(self, targets: dict[str, Any], allocate: Allocate) -> tuple[dict[str, Any], Finish]:
        """The targets as albumentations wants them, and the function that turns its result into a sample."""
        inputs = self.recipe.inputs
        data = dict(targets)
        data["image"] = image = picture_in(data.get("image"), inputs, lazily=self.takes_files)
        mask = data.get("mask")
        check_presence("mask", inputs.mask, given=mask is not None)
        if mask is None:
            data.pop("mask", None)
        else:
            data["mask"] = mask_in(mask, image)
        mask_dtype = None if mask is None else mask.dtype
        # A class of the user's may give an array that it writes to again.
        held = (targets.get("image"), mask) if self._hands_over else None
        box_key = "bboxes" if "bboxes" in data else "boxes"
        part = {"resumes": self.compiled.resumes, "pauses": self.compiled.pauses}
        points = (
            take_points(data, box_key, "bboxes", inputs.boxes, 4, **part),
            take_points(data, "keypoints", "keypoints", inputs.keypoints, 2, **part),
        )

        def finish(done: dict[str, Any]) -> dict[str, Any]:
            done["image"] = self.sinks["image"](done["image"], allocate, held)
            if mask_dtype is not None:
                done["mask"] = mask_out(done["mask"], mask_dtype, self.recipe.output, held)
            for taken in points:
                if taken is not None:
                    taken.put_back(done)
            if self.compiled.save_applied_params:
                done["applied"] = self.applied()
            return done

        return data, finish

    def _steps(self, data: dict[str, Any], stages: list[tuple[str, Any]] | None) -> dict[str, Any]:
        """Albumentations' own loop."""
        try:
            for processor in self.processors.values():
                processor.label_manager = LabelManager()  # it remembers the labels of the sample before
            first = data["image"]
            if isinstance(first, Undecoded):
                data["image"] = Moved(first).stand_in()
                self.preprocess(data)
                data["image"] = first
            else:
                self.preprocess(data)
            for step in self.transforms:
                data = step(**data)
                if self.check_each_transform and not isinstance(step, Joined | Warps | Tints):
                    data = self.check_data_post_transform(data)
                if stages is not None:
                    stages.append((self.label_of(step), _copy_of(data["image"])))
            image = data["image"]
            if image.dtype not in (np.uint8, np.float32):
                raise DataError(
                    f"the steps left an image of {image.dtype}; images are uint8 (0..255) or float32 (0..1)"
                )
            if isinstance(image, Moved):
                data["image"] = image.stand_in()  # the boxes' last filter reads its size
            data = self.postprocess(data)
            data["image"] = image if isinstance(image, Moved) or image.ndim == 3 else image[..., None]
        except Exception as error:
            blamed = self.blame(error)
            if blamed is error:
                raise
            raise blamed from error
        return data


def _copy_of(image: np.ndarray) -> np.ndarray:
    return np.array(image if image.ndim == 3 else image[..., None])
