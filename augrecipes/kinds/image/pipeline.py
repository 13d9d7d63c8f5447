"""Runs recipes of kind image: one image, its mask, boxes and keypoints, and further images beside it."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from augrecipes import flow, seeds
from augrecipes.compat import albumentations, boxes
from augrecipes.compiler.compile import warn_of_floats
from augrecipes.compiler.executor.inputs import MappedImages
from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.kernels.sink import Allocate, Sink
from augrecipes.compiler.lowering.lower import lower, transforms_of
from augrecipes.compiler.rewrite import UNOPTIMIZED_INPUTS, Compiled
from augrecipes.compiler.rewrite.nodes import singles
from augrecipes.compiler.run import batch_threads, extra_targets, input_values, pipeline, program_run
from augrecipes.compiler.run.batch import AllocateTarget, BatchOutput, SampleColumns, output_buffer
from augrecipes.compiler.run.draw_without_pixels import StepMatrices
from augrecipes.compiler.run.extra_targets import act_part_by_part
from augrecipes.compiler.run.input_values import WHOLE_FILES, take_channels
from augrecipes.compiler.run.points import processors, rows_of
from augrecipes.compiler.run.program_runner import Key, ProgramRunner
from augrecipes.compiler.run.programs import Programs
from augrecipes.compiler.run.targets import arrival_of
from augrecipes.errors import DataError
from augrecipes.kinds.image.steps import run_steps, trace_steps
from augrecipes.ops.registry import is_registered

_FURTHER = "a sample has further images, which move by the steps as albumentations runs them"


class ImagePipeline(pipeline.Pipeline):
    """A compiled recipe of kind image.

    Targets in: `image` uint8 (0..255) or float32 (0..1), H×W or H×W×C, or an encoded image
    (`augrecipes.images.encoded`), of which only the part that the first steps keep is decoded; `mask` H×W of labels;
    `boxes` (or `bboxes`) (n, 4) in the recipe's box format, with their labels under a key of their own; `keypoints`
    (n, 2 or more); `object` (n,) and `keypoint_object` (k,), whole numbers that name the object of each.
    Targets out: `image` as the recipe's `output` says; `mask` H×W, int64, or its own dtype if that is float or the
    output is uint8; `boxes` and `keypoints` float32. None of them shares memory with an argument.

    With the image, or without it, a sample may have the further targets of albumentations (`images` N×H×W×C, `volume`
    D×H×W×C, `volumes`, `masks` with one for each box, `mask3d`, `masks3d`) and those that `add_targets` has named. All
    share the sample's draws, and the steps run as written, whatever `optimize` says. Images come out as `output` says
    (a volume as C×D×H×W or D×H×W×C), masks as `mask` does. An array under any other name is an error; values that are
    not arrays are returned unchanged. The recipe's `targets:` go in and come out under their names, each with its own
    fill and grid.

    `out`, an array or torch tensor of the result's shape and dtype, is written to and returned as `image`. It may also
    be a function (shape, dtype) → array, whose array is returned.
    """

    moves_views = True
    caches_of_steps = ("programs", "program_runner", "step_matrices")

    def __init__(self, compiled: Compiled, arrival: flow.Arrival = "uint8") -> None:
        steps = compiled.plans[arrival].steps
        self._lowered, sites = lower(steps)
        transforms = [*transforms_of(self._lowered)]
        super().__init__(compiled, arrival, transforms, sites, **processors(compiled.recipe.inputs))
        inputs = compiled.recipe.inputs
        self._always: flow.Arrival | None = "together" if inputs.targets else "float32" if inputs.is_deep else None
        self._sees_as_given = inputs.mask_labels is None and not inputs.takes_channels
        self.sinks = {"image": Sink(compiled.recipe.output, inputs.range, inputs.deep_dtype)}
        if inputs.stack:
            self.targets = self.outputs = ("images",)
        self._has_own_classes = any(is_registered(leaf.name) for step in steps for leaf in singles(step))
        names = {"image", "mask", "boxes", "bboxes", "keypoints", *inputs.targets}
        self.usual_targets = inputs.row_keys - {"masks"} | names
        # Albumentations' preprocessing serves points and lists of images; for an image alone it only takes time.
        self.prepares = bool(self.processors) or arrival == "together"
        if arrival == "together":
            act_part_by_part(transforms, self.likes)
        for inner, processor in self.processors.items():
            boxes.prepare(processor, rows_of(inner))
            if compiled.resumes:
                albumentations.accept_unconverted(processor)
            if compiled.pauses:
                albumentations.skip_filtering(processor)

    @cached_property
    def programs(self) -> Programs:
        """The native programs of the steps."""
        return Programs(self, self._lowered)

    @cached_property
    def program_runner(self) -> ProgramRunner:
        """Runs samples by native programs."""
        return ProgramRunner(self)

    @cached_property
    def step_matrices(self) -> StepMatrices:
        """The matrices by which the steps, as written, move the pixels of samples."""
        return StepMatrices(self)

    def run_batch(self, output: BatchOutput, positions: Sequence[int], samples: SampleColumns) -> None:
        """Make some samples of a batch: by a native batch program, and those that it leaves one by one."""
        image, others = samples.image, samples.others
        arrival = "uint8" if isinstance(image, MappedImages) else self._always or arrival_of(image[0])
        remaining = positions
        if not self._why_alone and (others is None or self.usual_targets.issuperset(others[0])):
            labelled = samples.with_labels(self.recipe.inputs.mask_labels)
            remaining = self.coming(arrival).program_runner.run_batch(output, positions, labelled)
        if remaining:
            row_of = {k: row for row, k in enumerate(positions)}
            for k in remaining:
                self.run_alone(output, k, samples.sample(row_of[k]))

    def run_alone(self, output: BatchOutput, k: int, targets: dict[str, Any]) -> None:
        """Make one sample of a batch."""
        targets = targets if output.stains is None else {**targets, "stains": output.stains}
        try:
            pipeline = self.coming(self._arrival_of(targets))
            output.put(k, pipeline.run_one((output.epoch, *output.keys[k]), targets, partial(output.row, k)))
        except DataError as error:
            output.fail(k, error)

    def run_one(self, key: Key, targets: dict[str, Any], allocate: Allocate) -> dict[str, Any]:
        """Make a sample that arrives as this pipeline's plan expects: by the native program, or step by step."""
        targets = self.as_steps_see(targets)
        if self.optimize == "none" or self.arrival in UNOPTIMIZED_INPUTS or self.program_runner.is_idle(targets):
            return self.run_steps(key, targets, allocate)
        try:
            return self.program_runner.run(key, targets, allocate)
        except program_run.PythonFallback:
            return self.plain.run_steps(key, targets, allocate)

    def run_steps(self, key: Key, targets: dict[str, Any], allocate: Allocate) -> dict[str, Any]:
        """Make a sample step by step."""
        return run_steps(self, key, targets, allocate)

    def sample(
        self, epoch: int, index: int, tile: int, targets: dict[str, Any], allocate: Allocate = np.empty
    ) -> dict[str, Any]:
        """Make one sample; `allocate(shape, dtype)` makes the array of its image, where `out` does not."""
        out = targets.get("out")
        if "out" in targets:
            targets = {name: value for name, value in targets.items() if name != "out"}
        if out is not None:
            if targets.get("image") is None:
                raise DataError("out receives the image, and the sample has no image: pass `image=`, or no `out=`")
            allocate = output_buffer(out, "the image", (targets.get("image"),))
        result = self.coming(self._arrival_of(targets)).run_one((epoch, index, tile), targets, allocate)
        if out is not None and not callable(out):
            result["image"] = out
        return result

    def batch(
        self,
        images: Sequence[Any],
        indices: Sequence[int] | None = None,
        epoch: int = 0,
        *,
        out: Any = None,
        threads: int = 1,
    ) -> np.ndarray:
        """Run images as one array: row k equals `at(indices[k], epoch)(image=images[k])["image"]` to the bit.

        Where the native kernels have all steps (`explain` says so), no Python runs between them.

        Args:
            images: a list or array of images, each as `image` of a sample; sizes may differ.
            indices: the index of each image, which keys its draws; None: 0, 1, 2, …
            epoch: the epoch, which keys the draws, too.
            out: an array or torch tensor of the result's shape and dtype to write to.
            threads: the most threads to share the work.

        Returns:
            The images, (n, C, H, W) or (n, H, W, C), as the recipe's `output` says; `out`, if it is given.

        Raises:
            DataError: an image is not as the recipe's inputs say, or a step fails on it; the first such image.
            CollateError: the results differ in size.

        >>> import augrecipes as ar
        >>> pipeline = ar.load("imagenet-train").compile()
        >>> pipeline.batch([np.zeros((300, 400, 3), np.uint8), np.zeros((256, 256, 3), np.uint8)], [7, 8]).shape
        (2, 3, 224, 224)
        """
        images = [*images]
        keys = [(seeds.key_part("indices", index), 0) for index in (range(len(images)) if indices is None else indices)]
        if len(keys) != len(images) or not keys:
            raise ValueError(f"a batch needs images, and an index for each: got {len(images)} and {len(keys)}")
        allocate: Allocate = np.empty if out is None else output_buffer(out, "the batch", images)
        rows: AllocateTarget = lambda _, shape, dtype: allocate((len(keys), *shape), dtype)  # noqa: E731
        output = BatchOutput(seeds.key_part("epoch", epoch), keys, rows)
        output.run(self, lambda k: {"image": images[k]}, batch_threads.busy_threads(threads, images), in_memory=True)
        return output.image()

    # Which native programs there are, for `explain` and for datasets.

    @property
    def native(self) -> Program | str:
        """The native program of samples that are one image, or why there is none."""
        return _FURTHER if self.recipe.targets or self.recipe.inputs.stack else self.programs.images

    @property
    def _why_alone(self) -> str:
        """Why no native program makes batches of samples, whatever targets they have; empty: it may."""
        if self.outputs != ("image",):
            return "a sample is more than one image"
        return _FURTHER if self.recipe.targets else WHOLE_FILES if self.recipe.inputs.takes_channels else ""

    @property
    def at_once(self) -> Program | str:
        """The native program of batches of images, or why there is none."""
        return self._why_alone or self.coming("encoded" if self.reads else "uint8").native

    @property
    def natively(self) -> str:
        """What the native programs make, in words."""
        inputs = self.recipe.inputs
        kinds = {"boxes": inputs.boxes, "keypoints": inputs.keypoints}
        points = [name for name, declared in kinds.items() if declared and declared.presence != "absent"]
        if isinstance(self.at_once, Program) and self.at_once.python_draws:
            return f"samples with boxes, one by one: {self.why_one_by_one()}"
        masks = self.why_one_by_one({"mask"}) if inputs.mask != "absent" else None
        moved = f", with {' and '.join(points)} moved in Python" if points else ""
        return f"samples and batches{moved}" + (f"; not those with masks: {masks}" if masks else "")

    def why_one_by_one(self, targets: Set[str] = frozenset(), *, files: bool = True) -> str | None:
        """Why samples with these targets beside their images are made one by one; None: they are made as batches.

        `files`: whether images arrive encoded, where the pipeline takes those.
        """
        programs = self.coming("encoded" if files and self.reads else "uint8").programs
        why = self._why_alone or programs.why_not_together
        if why is not None or "mask" not in targets:
            return why
        masks = programs.masks()
        return masks if isinstance(masks, str) else None

    @cached_property
    def required_targets(self) -> frozenset[str]:
        """The targets that the recipe's inputs require beside the image."""
        inputs = self.recipe.inputs
        presence = {"mask": inputs.mask}
        declared = {"boxes": inputs.boxes, "keypoints": inputs.keypoints}
        presence |= {name: points.presence for name, points in declared.items() if points is not None}
        return frozenset(name for name, value in presence.items() if value == "required")

    def caller_arrays(self, targets: dict[str, Any]) -> tuple[Any, ...] | None:
        """The caller's arrays, which may not be results; None: no array may be, as a user's class may reuse its own."""
        return None if self._has_own_classes else (targets.get("image"), targets.get("mask"))

    # Targets.

    def as_steps_see(self, targets: dict[str, Any]) -> dict[str, Any]:
        """The sample with masks as labels, and images with the channels that the steps take."""
        if self._sees_as_given:
            return targets
        return take_channels(
            input_values.with_labels(targets, self.recipe.inputs.mask_labels), self.recipe.inputs, self.image_names
        )

    def _arrival_of(self, targets: Mapping[str, Any]) -> flow.Arrival:
        """How a sample arrives; DataError for an array that is no target: it would be returned unchanged."""
        arrival = self._always or arrival_of(targets.get("image"))
        warn_of_floats(self, targets.get("image"))
        if self.usual_targets.issuperset(targets):
            return arrival
        for name in targets.keys() - self.usual_targets:
            value = targets[name]
            if name in self.likes and value is not None:
                arrival = "together"
            elif extra_targets.is_array(value):
                extra_targets.refuse_stranger(self, name)
        return arrival

    @property
    def image_names(self) -> tuple[str, ...]:
        """Names of all targets that may hold images."""
        further = (name for name, target in self.recipe.targets.items() if target.is_image)
        return ("image", *(name for name, like in self.likes.items() if extra_targets.LIKE[like].is_image), *further)

    @property
    def likes(self) -> dict[str, str]:
        """Names of targets beside `image` and `mask`, and the albumentations target that each is like."""
        return {**extra_targets.STACKS, **self.compiled.added} if self.compiled.added else extra_targets.STACKS

    def add_targets(self, additional_targets: dict[str, str] | None) -> None:
        """Add further images or masks that are transformed with the image, as albumentations' method does.

        Args:
            additional_targets: the target that each name is like: {"left": "image", "cells": "mask"}; or `images`,
                `masks`, `volume`, …

        Raises:
            ValueError: a name is taken, or the target is unknown.

        >>> import augrecipes as ar
        >>> pipeline = ar.load("folder-128").compile()
        >>> pipeline.add_targets({"other": "image"})
        >>> image = np.zeros((150, 200, 3), np.uint8)
        >>> pipeline.at(0)(image=image, other=image)["other"].shape
        (3, 128, 128)
        """
        if "usual_targets" not in self.__dict__:  # albumentations' constructor asks too
            super().add_targets(additional_targets)
            return
        for name, like in (additional_targets or {}).items():
            if like not in extra_targets.LIKE:
                raise ValueError(f"{name}: a target can be like {', '.join(extra_targets.LIKE)}, not {like!r}")
            if name in self.usual_targets or name in extra_targets.STACKS or name == "out":
                raise ValueError(f"{name!r} is a target already")
        super().add_targets(additional_targets)
        self.renew(replace(self.compiled, added=dict(self.additional_targets)))

    def trace(self, epoch: int, index: int, tile: int, targets: dict[str, Any]) -> list[tuple[str, Any]]:
        """The image after each outermost step."""
        arrival = self._arrival_of(targets)
        pipeline = self.coming(arrival) if arrival in UNOPTIMIZED_INPUTS else self.plain
        return trace_steps(pipeline, (epoch, index, tile), self.as_steps_see(targets))


PIPELINE = ImagePipeline
