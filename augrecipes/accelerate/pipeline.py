"""Runs an accelerated Compose: by native kernels where possible, else by albumentations, with the same keyed draws."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import A, functions_of, is_gated, run_in_turn, share_processors
from augrecipes.compat.boxes import prepare
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
    """Runs the steps of a Compose by native programs.

    Attributes:
        step_error: the error of a step at an exit, raised again so that the step is not called twice.
    """

    def __init__(self, pipeline: Any) -> None:
        super().__init__(pipeline)
        self.step_error: Exception | None = None

    @property
    def passes_all(self) -> bool:  # type: ignore[override]
        """Whether steps at exits get the whole sample, not only image and mask."""
        return bool(self.pipeline.has_ungated)

    def mask_out(self, labels: np.ndarray, mask: Any, dtype: np.dtype[Any]) -> np.ndarray:
        """Convert a program's mask to the dtype and shape of the source mask."""
        pixels = np.ascontiguousarray(labels).view(dtype)[..., 0].astype(mask.dtype, copy=False)
        return pixels if mask.ndim < _AXES else pixels[..., None]

    def run_step(self, place: int, act: StepFunction, sample: dict[str, Any]) -> dict[str, Any]:
        """Run the step at an exit; if its result is no uint8 image, later calls end the pipeline before it."""
        forms = {name: _form(sample[name]) for name in ("image", "mask") if name in sample}
        try:
            result = super().run_step(place, act, sample)
        except PythonFallback:
            raise
        except Exception as error:
            self.step_error = error
            raise PythonFallback from error
        if any(_form(result.get(name)) != form for name, form in forms.items()):
            self.pipeline.compiled.convert(self.pipeline.label_of(self.programs.opaque[place][0]))
            raise PythonFallback
        return result


def _form(array: Any) -> Any:
    """The dtype of an array, and its number of axes."""
    return getattr(array, "dtype", None), getattr(array, "ndim", None)


_BYTE = np.dtype(np.uint8)
_IMAGE_AND_MASK = frozenset({"image", "mask"})
_ARGUMENTS = {"bboxes": "bbox", "keypoints": "keypoint"}
_TRACKED = "applied_transforms"
_STACKS = frozenset({"images", "masks", "volume", "volumes", "mask3d", "masks3d", _TRACKED})  # no kernel takes them
_TENSORS = A.ToTensorV2()


@dataclass(frozen=True, slots=True)
class CompiledCompose(Compiled):
    """A compiled recipe for the first steps of a Compose.

    Attributes:
        last: the transforms that the recipe's output replaces.
        rest: the steps after these, which run as they are.
        params: the parameters of `bboxes` and `keypoints`.
        attributes: attributes of the Compose that its pipeline takes over: its checks, and inside another Compose what
            that shares.
        convert: called with the label of a step that leaves no uint8 image; steps from there on belong in `rest`.
    """

    last: tuple[Any, ...] = ()
    rest: tuple[Step, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict, compare=False)
    attributes: Mapping[str, Any] = field(default_factory=dict, compare=False)
    convert: Callable[[str], None] = field(default=lambda label: None, compare=False)


class ComposePipeline(Pipeline):
    """The pipeline of a Compose, with albumentations' names and types of targets.

    `sample` does what `A.Compose.__call__` does after its gate.
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
        # Rows of boxes and keypoints are numbered to find their labels, unless a user's class may look at the columns.
        self._numbers_rows = not (compiled.rest or self._has_objects)
        steps, self._rest = [*transforms_of(self._lowered)], [*transforms_of(rest)]
        super().__init__(
            compiled, arrival, [*steps, *self._rest], [*sites, *more], **_arguments(compiled, self._numbers_rows)
        )
        for each, _, _ in self.sites:
            if getattr(each, "keys_draws", False):  # by the class's method, as the object's own now refuses
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
        """The native programs of the steps."""
        return Programs(self, self._lowered)

    @cached_property
    def program_runner(self) -> ComposeRunner:
        """Runs samples by native programs."""
        return ComposeRunner(self)

    @property
    def native(self) -> Program | str:
        """The native program of samples that are one image, or why there is none."""
        return self.programs.images

    def sample(
        self, epoch: int, index: int, tile: int, targets: dict[str, Any], allocate: Allocate = np.empty
    ) -> dict[str, Any]:
        """Transform one sample."""
        key = epoch, index, tile
        if "image" in targets and targets.keys() <= _IMAGE_AND_MASK and not self.programs.has_exits:
            with suppress(DataError, PythonFallback):
                return self._end(key, self._as_tensors(self.program_runner.run(key, targets, allocate)))
        return self.coming(self._arrival_of(targets))._whole(key, targets)

    def _arrival_of(self, targets: Mapping[str, Any]) -> Arrival:
        """How a sample arrives: `uint8` where native programs can take it."""
        image, mask = targets.get("image"), targets.get("mask")
        if not (self._together.isdisjoint(targets) and isinstance(image, np.ndarray)):
            return "together"
        program = self.programs.images
        native = self.optimize != "none" and not isinstance(program, str) and not program.idle
        least = _AXES if self._has_objects else 2  # a user's class must get the image unchanged
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
        """Transform a sample that arrives as this pipeline's plan expects, with checks and labels."""
        data = dict(targets)
        labels = self._enter(data)
        plain = self.arrival in UNOPTIMIZED_INPUTS
        result = self._run_all_steps(key, data) if plain else self._run_programs(key, data)
        if result is None:
            return self.plain._whole(key, targets)
        return self._leave(self._end(key, result), labels)

    # The steps.

    def _run_programs(self, key: Key, data: dict[str, Any]) -> dict[str, Any] | None:
        """Run the steps and the output natively on a sample of a uint8 image; None: albumentations must run it."""
        image = data["image"]
        present = {name: value for name, value in data.items() if value is not None}
        present["image"] = image if image.ndim == _AXES else image[..., None]
        if self._has_objects:
            self.usual_targets = frozenset(present)  # a user's class may read any target
        self.program_runner.step_error = None
        try:
            outputs = self.program_runner.run(key, present, np.empty)
        except (DataError, PythonFallback):  # albumentations raises its own error
            if self.program_runner.step_error is not None:
                raise self.program_runner.step_error from None
            return None
        names = [name for name in data if name in outputs or data[name] is None]
        done: dict[str, Any] = {name: outputs.get(name) for name in names} | outputs
        if image.ndim < _AXES and self.recipe.output.layout == "hwc" and done["image"].shape[-1] == 1:
            done["image"] = done["image"][..., 0]
        return self._as_tensors(done)

    def _run_all_steps(self, key: Key, targets: dict[str, Any]) -> dict[str, Any]:
        """Run the steps in albumentations and the output natively, on any sample."""
        data = self.run_steps(key, targets, np.empty)
        if self.arrival == "together" or not self._sink_takes(image := data["image"]):
            return run_in_turn(self, self.compiled.last, data)
        if self.compiled.last:
            converted = self.sinks["image"](np.atleast_3d(image))
            is_whole = converted.ndim == image.ndim or self.recipe.output.layout == "chw"
            data["image"] = converted if is_whole else converted[..., 0]
        return self._as_tensors(data)

    def run_steps(self, key: Key, targets: dict[str, Any], allocate: Allocate) -> dict[str, Any]:
        """Run the steps without the output."""
        self.position(*key)
        mask: Any = targets.get("mask")
        known = self.arrival != "together" and not self._has_objects
        if converts := known and mask is not None and mask.dtype.kind in "iub":
            with suppress(DataError):  # no dtype that OpenCV warps holds the labels
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
        """Finish ToTensorV2 for a sample whose image the output has made C×H×W."""
        if self.recipe.output.layout == "chw":
            act = {**functions_of(self.compiled.last[-1]), "image": _TENSORS.apply_to_mask}
            data |= {name: act[name](value) for name, value in data.items() if name in act and value is not None}
        return data

    def _end(self, key: tuple[int, int, int], data: dict[str, Any]) -> dict[str, Any]:
        """Run the remaining steps as they are."""
        if self._rest:
            self.position(*key)
        return run_in_turn(self, self._rest, data)

    # Boxes, keypoints and labels.

    def _enter(self, data: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """Check a sample and preprocess its boxes and keypoints, in place; returns their labels."""
        labels = dict[str, dict[str, Any]]()
        for name, processor in self._own_points.items():
            if self._numbers_rows:
                rows = data.get(name)
                data[rows_of(name)] = [*range(0 if rows is None else len(rows))]
                labels[name] = {each: data[each] for each in processor.params.label_fields[:-1] if each in data}
        self.preprocess(data)
        return labels

    def _leave(self, data: dict[str, Any], labels: dict[str, dict[str, Any]]) -> dict[str, Any]:
        """Postprocess a sample, with the labels of the boxes and keypoints that remain."""
        data = self.postprocess(data)
        if "keypoints" in self._own_points and isinstance(data.get("keypoints"), np.ndarray):
            data["keypoints"] = data["keypoints"].astype(np.float32, copy=False)
        for name, fields in labels.items():
            rows = np.array(data.pop(rows_of(name)), int)
            if data.get(name) is not None:
                data |= {each: _select_labels(labels_before, rows) for each, labels_before in fields.items()}
        return data

    def caller_arrays(self, targets: dict[str, Any]) -> tuple[Any, ...] | None:
        """The caller's arrays, which may not be results; None: no array may be, as a user's class may reuse its own."""
        return None if self._has_objects else (targets.get("image"), targets.get("mask"))


def _arguments(compiled: CompiledCompose, numbers_rows: bool) -> dict[str, Any]:
    """Arguments of a Compose for boxes and keypoints, with `numbers_rows` plus a label field of row numbers."""
    arguments = {}
    for name, original in compiled.params.items():
        params = arguments[f"{_ARGUMENTS[name]}_params"] = copy(original)
        if numbers_rows and name not in compiled.added.values():
            params.label_fields = [*(original.label_fields or ()), rows_of(name)]
    return arguments


def _select_labels(labels: Any, rows: np.ndarray) -> Any:
    """The labels of some rows: as an array for an array, (n,) or (n, 1), else as a list."""
    return labels.reshape(len(labels))[rows] if isinstance(labels, np.ndarray) else [labels[row] for row in rows]
