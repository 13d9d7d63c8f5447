"""What runs an accelerated Compose: kernels where they can, else albumentations, under the same keyed draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import A
from augrecipes.compat.boxes import prepare
from augrecipes.compat.steps import functions_of, is_gated, run_in_turn, share_processors
from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.kernels.sink import Allocate, Sink
from augrecipes.compiler.lowering.lower import lower, transforms_of
from augrecipes.compiler.rewrite import UNOPTIMIZED_INPUTS, Compiled
from augrecipes.compiler.rewrite.nodes import ObjectStep
from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.compiler.run.points import rows_of
from augrecipes.compiler.run.program_run import PythonFallback
from augrecipes.compiler.run.program_runner import Key, ProgramRunner
from augrecipes.compiler.run.programs import Programs
from augrecipes.compiler.run.step_calls import StepFunction, run_calls
from augrecipes.compiler.run.targets import mask_in
from augrecipes.errors import DataError
from augrecipes.flow import Arrival
from augrecipes.ops.fills import mask_dtype
from augrecipes.ops.step import Step

_AXES = 3


class ComposeRunner(ProgramRunner):
    """Carries out the steps of a Compose by programs.

    Attributes:
        step_error: what a step at an exit has raised, which is not called again.
    """

    def __init__(self, pipeline: Any) -> None:
        super().__init__(pipeline)
        self.step_error: Exception | None = None

    @property
    def passes_all(self) -> bool:  # type: ignore[override]
        """Whether steps at exits see all of a sample, not image and mask alone."""
        return bool(self.pipeline.has_ungated)

    def mask_out(self, labels: np.ndarray, mask: Any, dtype: np.dtype[Any]) -> np.ndarray:
        """The mask of what its program has written, as it came."""
        pixels = np.ascontiguousarray(labels).view(dtype)[..., 0].astype(mask.dtype, copy=False)
        return pixels if mask.ndim < _AXES else pixels[..., None]

    def run_step(self, place: int, act: StepFunction, sample: dict[str, Any]) -> dict[str, Any]:
        """What the step at an exit leaves; where that is no uint8 image any more, the pipeline ends before it."""
        forms = {name: _form(sample[name]) for name in ("image", "mask") if name in sample}
        try:
            done = super().run_step(place, act, sample)
        except PythonFallback:
            raise
        except Exception as error:
            self.step_error = error
            raise PythonFallback from error
        if any(_form(done.get(name)) != form for name, form in forms.items()):
            self.pipeline.compiled.convert(self.pipeline.label_of(self.programs.opaque[place][0]))
            raise PythonFallback
        return done


def _form(array: Any) -> Any:
    """The dtype of an array, and how many axes it has."""
    return getattr(array, "dtype", None), getattr(array, "ndim", None)


_BYTE = np.dtype(np.uint8)
_IMAGE_AND_MASK = frozenset({"image", "mask"})
_ARGUMENTS = {"bboxes": "bbox", "keypoints": "keypoint"}
_TRACKED = "applied_transforms"
_STACKS = frozenset({"images", "masks", "volume", "volumes", "mask3d", "masks3d", _TRACKED})  # no kernel takes them
_TENSORS = A.ToTensorV2()


@dataclass(frozen=True, slots=True)
class CompiledCompose(Compiled):
    """A compiled recipe that stands for the first steps of a Compose.

    Attributes:
        last: the objects that the recipe's output stands for.
        rest: the steps behind these, which run as they are.
        params: of its `bboxes` and `keypoints`.
        attributes: of it, that what runs it has as they are: what it checks; inside another Compose what that shares.
        convert: called with the label of a step that leaves no uint8 image: those from it on are to be in `rest`.
    """

    last: tuple[Any, ...] = ()
    rest: tuple[Step, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict, compare=False)
    attributes: Mapping[str, Any] = field(default_factory=dict, compare=False)
    convert: Callable[[str], None] = field(default=lambda label: None, compare=False)


class ComposePipeline(Pipeline):
    """The steps of a Compose, whose targets have albumentations' names and types, in and out.

    `sample` does what `A.Compose.__call__` does once that has decided to act.
    """

    compiled: CompiledCompose
    required_targets = frozenset[str]()
    masks_keep_dtype = True
    takes_points = False
    caches_of_steps = ("programs", "program_runner")

    def __init__(self, compiled: CompiledCompose, arrival: Arrival = "uint8") -> None:
        self._lowered, sites = lower(compiled.plans[arrival].steps)
        rest, more = lower(compiled.rest)
        self._has_objects = any(isinstance(step, ObjectStep) for step in compiled.recipe.walk())
        # Of boxes and points, by which labels are found again: not where somebody's own steps look at their columns.
        self._numbers_rows = not (compiled.rest or self._has_objects)
        steps, self._rest = [*transforms_of(self._lowered)], [*transforms_of(rest)]
        super().__init__(
            compiled, arrival, [*steps, *self._rest], [*sites, *more], **_arguments(compiled, self._numbers_rows)
        )
        for each, _, _ in self.sites:
            if getattr(each, "keys_draws", False):  # as a method of the class: the object's own is refused now
                type(each).set_random_state(each, each.random_generator, each.py_random)
        own = self.processors.keys() - {*compiled.added.values()}
        self._own_points = {name: processor for name, processor in self.processors.items() if name in own}
        for name, processor in self._own_points.items():
            prepare(processor, rows_of(name) if self._numbers_rows else None)
        self.__dict__.update(compiled.attributes)
        if not self.main_compose:
            share_processors(self, self.transforms)
        self.run_through(steps)
        self.sinks = {"image": Sink(compiled.recipe.output)}
        self.usual_targets = frozenset({"image", "mask", *_ARGUMENTS})
        self._together = _STACKS | compiled.added.keys()
        self.has_ungated = any(not is_gated(each) for each, _, _ in sites if not isinstance(each, A.BaseCompose))

    @cached_property
    def programs(self) -> Programs:
        """The programs of its steps."""
        return Programs(self, self._lowered)

    @cached_property
    def program_runner(self) -> ComposeRunner:
        """What carries out samples by programs."""
        return ComposeRunner(self)

    @property
    def native(self) -> Program | str:
        """What carries out samples of an image alone without Python, or why nothing does."""
        return self.programs.images

    def sample(
        self, epoch: int, index: int, tile: int, targets: dict[str, Any], allocate: Allocate = np.empty
    ) -> dict[str, Any]:
        """One sample."""
        key = epoch, index, tile
        if "image" in targets and targets.keys() <= _IMAGE_AND_MASK and not self.programs.has_exits:
            with suppress(DataError, PythonFallback):
                return self._end(key, self._as_tensors(self.program_runner.run(key, targets, allocate)))
        return self.coming(self._arrival_of(targets))._whole(key, targets)

    def _arrival_of(self, targets: Mapping[str, Any]) -> Arrival:
        """How a sample comes: `uint8` where kernels may take it."""
        image, mask = targets.get("image"), targets.get("mask")
        if not (self._together.isdisjoint(targets) and isinstance(image, np.ndarray)):
            return "together"
        program = self.programs.images
        native = self.optimize != "none" and not isinstance(program, str) and not program.idle
        least = _AXES if self._has_objects else 2  # somebody's own see images as they came
        known = native and image.dtype == _BYTE and least <= image.ndim <= _AXES and image.size > 0
        takes = known and program.takes(np.atleast_3d(image).shape[2])  # type: ignore[union-attr]
        return "uint8" if takes and (mask is None or self._takes_mask(mask, image)) else "float32"

    def _takes_mask(self, mask: Any, image: np.ndarray) -> bool:
        if not isinstance(mask, np.ndarray) or (self._has_objects and (mask.dtype != _BYTE or mask.ndim != 2)):
            return False
        lies = mask.shape in (image.shape[:2], (*image.shape[:2], 1))
        known = lies and mask.dtype.kind in "biuf" and mask.dtype != np.float16
        return known and mask_dtype(mask.dtype, self.mask_fills) == mask.dtype

    def _whole(self, key: tuple[int, int, int], targets: dict[str, Any]) -> dict[str, Any]:
        """One sample that comes as this pipeline's own plan takes it, checked, and with its labels."""
        data = dict(targets)
        labels = self._enter(data)
        done = self._run_all_steps(key, data) if self.arrival in UNOPTIMIZED_INPUTS else self._run_programs(key, data)
        if done is None:
            return self.plain._whole(key, targets)
        return self._leave(self._end(key, done), labels)

    # The steps.

    def _run_programs(self, key: Key, data: dict[str, Any]) -> dict[str, Any] | None:
        """What the steps, and what stands last, leave of a sample of a uint8 image; None: that is albumentations'."""
        image = data["image"]
        present = {name: value for name, value in data.items() if value is not None}
        present["image"] = image if image.ndim == _AXES else image[..., None]
        if self._has_objects:
            self.usual_targets = frozenset(present)  # they may look at anything
        self.program_runner.step_error = None
        try:
            outputs = self.program_runner.run(key, present, np.empty)
        except (DataError, PythonFallback):  # of what is wrong albumentations says so, in its own words
            if self.program_runner.step_error is not None:
                raise self.program_runner.step_error from None
            return None
        names = [name for name in data if name in outputs or data[name] is None]
        done: dict[str, Any] = {name: outputs.get(name) for name in names} | outputs
        if image.ndim < _AXES and self.recipe.output.layout == "hwc" and done["image"].shape[-1] == 1:
            done["image"] = done["image"][..., 0]
        return self._as_tensors(done)

    def _run_all_steps(self, key: Key, targets: dict[str, Any]) -> dict[str, Any]:
        """The same, step by step in albumentations, of any sample."""
        data = self.run_steps(key, targets, np.empty)
        if self.arrival == "together" or not self._sink_takes(image := data["image"]):
            return run_in_turn(self, self.compiled.last, data)
        if self.compiled.last:
            converted = self.sinks["image"](np.atleast_3d(image))
            is_whole = converted.ndim == image.ndim or self.recipe.output.layout == "chw"
            data["image"] = converted if is_whole else converted[..., 0]
        return self._as_tensors(data)

    def run_steps(self, key: Key, targets: dict[str, Any], allocate: Allocate) -> dict[str, Any]:
        """What the steps alone leave."""
        del allocate
        self.position(*key)
        mask: Any = targets.get("mask")
        known = self.arrival != "together" and not self._has_objects
        if converts := known and mask is not None and mask.dtype.kind in "iub":
            with suppress(DataError):  # OpenCV warps no dtype that holds its labels
                targets["mask"] = mask_in(mask, targets["image"], fills=self.mask_fills).reshape(mask.shape)
        tracked = _TRACKED in targets
        data = run_in_turn(self, self.transforms, targets) if tracked else run_calls(self.step_calls, targets)
        if converts and isinstance(data["mask"], np.ndarray):
            data["mask"] = data["mask"].astype(mask.dtype, copy=False)
        return data

    def _sink_takes(self, image: Any) -> bool:
        normalize = self.recipe.output.normalize
        known = isinstance(image, np.ndarray) and image.dtype == _BYTE and image.size > 0
        return known and (normalize is None or len(normalize.mean) in (1, np.atleast_3d(image).shape[2]))

    def _as_tensors(self, data: dict[str, Any]) -> dict[str, Any]:
        """A sample whose image the output has laid out, with the rest of what ToTensorV2 does."""
        if self.recipe.output.layout == "chw":
            act = {**functions_of(self.compiled.last[-1]), "image": _TENSORS.apply_to_mask}
            data |= {name: act[name](value) for name, value in data.items() if name in act and value is not None}
        return data

    def _end(self, key: tuple[int, int, int], data: dict[str, Any]) -> dict[str, Any]:
        """A sample behind the steps that run as they are."""
        if self._rest:
            self.position(*key)
        return run_in_turn(self, self._rest, data)

    # What lies on the image.

    def _enter(self, data: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """Check a sample, let albumentations have its boxes and keypoints, and return their labels; changes it."""
        labels = dict[str, dict[str, Any]]()
        for name, processor in self._own_points.items():
            if self._numbers_rows:
                rows = data.get(name)
                data[rows_of(name)] = [*range(0 if rows is None else len(rows))]
                labels[name] = {each: data[each] for each in processor.params.label_fields[:-1] if each in data}
        self.preprocess(data)
        return labels

    def _leave(self, data: dict[str, Any], labels: dict[str, dict[str, Any]]) -> dict[str, Any]:
        """The sample as it came, its labels those of the boxes and keypoints that are left."""
        data = self.postprocess(data)
        if "keypoints" in self._own_points and isinstance(data.get("keypoints"), np.ndarray):
            data["keypoints"] = data["keypoints"].astype(np.float32, copy=False)
        for name, fields in labels.items():
            rows = np.array(data.pop(rows_of(name)), int)
            if data.get(name) is not None:
                data |= {each: _chosen(labels_before, rows) for each, labels_before in fields.items()}
        return data

    def caller_arrays(self, targets: dict[str, Any]) -> tuple[Any, ...] | None:
        """Arrays that no result may be; None: somebody's own steps may leave others that they write to again."""
        return None if self._has_objects else (targets.get("image"), targets.get("mask"))


def _arguments(compiled: CompiledCompose, numbers_rows: bool) -> dict[str, Any]:
    """Arguments of a Compose for boxes and keypoints, with a label field more that numbers them where it can."""
    arguments = {}
    for name, original in compiled.params.items():
        params = arguments[f"{_ARGUMENTS[name]}_params"] = copy(original)
        if numbers_rows and name not in compiled.added.values():
            params.label_fields = [*(original.label_fields or ()), rows_of(name)]
    return arguments


def _chosen(labels: Any, rows: np.ndarray) -> Any:
    """The labels of some rows: of an array, n or n×1, an array, else a list."""
    return labels.reshape(len(labels))[rows] if isinstance(labels, np.ndarray) else [labels[row] for row in rows]
