"""A sample of images step by step, in albumentations' own loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from augrecipes.compat.boxes import forget_labels
from augrecipes.compiler.kernels.sink import Allocate
from augrecipes.compiler.run.extra_targets import take_extra_targets
from augrecipes.compiler.run.points import take_points
from augrecipes.compiler.run.program_runner import Key
from augrecipes.compiler.run.targets import DTYPES, check_presence, image_in, mask_in, mask_out
from augrecipes.errors import DataError
from augrecipes.ops.fills import mask_dtype

Finish = Callable[[dict[str, Any]], dict[str, Any]]


class StepRunner:
    """Carries out a pipeline's samples step by step.

    Args:
        pipeline: whose steps these are, as images come to it; of one thread.
    """

    def __init__(self, pipeline: Any) -> None:
        self._pipeline = pipeline

    def run(self, key: Key, targets: dict[str, Any], allocate: Allocate) -> dict[str, Any]:
        """Make one sample; `allocate(shape, dtype)` gives the memory of its image."""
        sample, finish = self._prepare(targets, allocate)
        self._pipeline.position(*key)
        return finish(self._run_steps(sample, None))

    def trace(self, key: Key, targets: dict[str, Any]) -> list[tuple[str, Any]]:
        """The image after each outermost step."""
        stages: list[tuple[str, Any]] = []
        sample, _ = self._prepare(targets, np.empty)
        self._pipeline.position(*key)
        self._run_steps(sample, stages)
        return stages

    def _prepare(self, targets: dict[str, Any], allocate: Allocate) -> tuple[dict[str, Any], Finish]:
        """The targets as albumentations wants them, and the function that turns its result into a sample."""
        pipeline, compiled = self._pipeline, self._pipeline.compiled
        inputs, output, fills = compiled.recipe.inputs, compiled.recipe.output, pipeline.mask_fills
        sample = dict(targets)
        extra = take_extra_targets(sample, pipeline.likes, inputs) if pipeline.arrival == "together" else []
        sample["image"] = image = image_in(sample.get("image"), inputs)
        mask = sample.get("mask")
        check_presence("mask", inputs.mask, given=mask is not None)
        if mask is None:
            sample.pop("mask", None)
        else:
            sample["mask"] = mask_in(mask, image, fills=fills)
        dtype = None if mask is None else mask_dtype(mask.dtype, fills)
        caller_arrays = pipeline.caller_arrays(targets)
        points = take_points(sample, inputs, resumes=compiled.resumes, pauses=compiled.pauses)
        for other in extra:
            sample[other.name] = other.lying_on(image, fills)

        def finish(done: dict[str, Any]) -> dict[str, Any]:
            sink = pipeline.sinks["image"]
            if extra and targets.get("image") is None:
                del done["image"]  # it stood in
            else:
                done["image"] = sink(done["image"], allocate, caller_arrays)
            for other in extra:
                done[other.name] = other.out(done[other.name], sink, output, fills)
            if dtype is not None:
                done["mask"] = mask_out(done["mask"], dtype, output, caller_arrays)
            for each in points:
                each.put_back(done)
            if compiled.save_applied_params:
                done["applied"] = pipeline.applied()
            return done

        return sample, finish

    def _run_steps(self, sample: dict[str, Any], stages: list[tuple[str, Any]] | None) -> dict[str, Any]:
        """A sample behind all steps; its image behind each outermost one goes to `stages`."""
        pipeline = self._pipeline
        with pipeline.step_errors(np.atleast_3d(sample["image"]).shape[2]):
            if pipeline.prepares:
                for processor in pipeline.processors.values():
                    forget_labels(processor)
                pipeline.preprocess(sample)
            for place, (first, p, act, filters) in enumerate(pipeline.prepared):
                if first is None or first() < p:
                    sample = act(sample)
                if filters is not None:
                    sample = filters(sample)
                if stages is not None:
                    label = pipeline.label_of(pipeline.transforms[place])
                    stages.append((label, np.array(np.atleast_3d(sample["image"]))))
            image = sample["image"]
            if image.dtype not in DTYPES:
                raise DataError(
                    f"the steps left an image of {image.dtype}; images are uint8 (0..255) or float32 (0..1)"
                )
            if pipeline.prepares:
                sample = pipeline.postprocess(sample)
            sample["image"] = np.atleast_3d(image)
        return sample
