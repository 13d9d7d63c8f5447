"""Runs recipes of kind pair: one scene on several grids, which stay aligned by construction."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from augrecipes.compiler.compile import warn_of_floats
from augrecipes.compiler.executor.inputs import MappedImages
from augrecipes.compiler.kernels.encoded_images import EncodedWindow
from augrecipes.compiler.kernels.sink import Allocate, Sink
from augrecipes.compiler.lowering import lower, make_program, walk
from augrecipes.compiler.rewrite import UNOPTIMIZED_INPUTS, Compiled
from augrecipes.compiler.run import batch, deep_images, extra_targets, pipeline, program_run
from augrecipes.compiler.run.input_values import take_channels
from augrecipes.compiler.run.programs import why_not_native
from augrecipes.compiler.run.targets import DTYPES, image_in
from augrecipes.errors import AugrecipesError, DataError
from augrecipes.flow import Arrival
from augrecipes.kinds.pair.grid import Scene, common_size, inputs_of, scale_factors, window_shown
from augrecipes.kinds.pair.lowering import lower_pair, opened, pair_programs
from augrecipes.kinds.pair.programs import PairPrograms, PairRun, TargetArray
from augrecipes.kinds.pair.shared import Degrade, Key, PairStep, sharing
from augrecipes.kinds.pair.versions import Applied, Choices, applied_choices, reading, target_of

SceneImages = Mapping[str, np.ndarray | EncodedWindow]

# Targets of other kinds, which a pair does not have.
_FOREIGN = ("image", "images", "mask", "masks", "boxes", "bboxes", "keypoints")


class _RaggedError(Exception):
    """Samples of a batch differ in size."""


class PairPipeline(pipeline.Pipeline):
    """A compiled recipe of kind pair.

    Targets in: for each target of `scales:` an array H×W or H×W×C, all uint8 (0..255), all float32 (0..1) or all of the
    depth that the inputs say, or an encoded image. Targets that a Degrade makes are not passed, unless the inputs say
    which share is `real`. Versions are `lr=`, `lr_2=`, …: training draws one of them, evaluation takes the first. Up
    to scale − 1 excess pixels are cut off at the bottom and at the right.
    Targets out: every target of `scales:`, each as its output says; with `save_applied_params` also `window`, for each
    input target the window (y0, x0, y1, x1) that the output shows, in pixels, before flips and turns; None after
    padding or resampling. `out={target: array}` is written to and returned; in place of an array, a function (shape,
    dtype) → array will do.

    Draws: windows, flips and turns are drawn once, on the coarsest grid common to all targets, and scaled to each
    target. Shared colour steps draw once.
    """

    natively = "samples of pairs, and batches of packed pairs"  # what native programs make, in words

    def __init__(self, compiled: Compiled, arrival: Arrival = "uint8") -> None:
        recipe, scales = compiled.recipe, dict[str, int](compiled.recipe.scales)
        self.factors = scale_factors(scales)
        steps = compiled.plans[arrival].steps  # no rewrite rule merges steps of pairs
        self._lowered = tuple(lower_pair(step, tuple(scales), self.factors) for step in steps)
        entries = [*opened(self._lowered)]
        self.cells = {
            id(entry.transform.step): entry.transform.largest_factor
            for entry in entries
            if isinstance(entry.transform, PairStep)
        }
        draw = (entry for entry in entries if not isinstance(entry.transform, Degrade))
        sites: lower.Sites = [
            (entry.transform.step if isinstance(entry.transform, PairStep) else entry.transform, entry.node.site, False)
            for entry in draw
        ]
        super().__init__(compiled, arrival, [*lower.transforms_of(self._lowered)], sites)
        own = [step for entry in entries for step in getattr(entry.transform, "by_target", {}).values()]
        deep_images.attach(own, recipe.inputs, self.image_names)
        self._labels |= {id(entry.transform): entry.node.site for entry in entries}
        degraded = {entry.transform.target for entry in entries if isinstance(entry.transform, Degrade)}
        made_here = degraded | compiled.later if self.mode == "train" else set()
        self.optional = frozenset(made_here.intersection(recipe.inputs.real))
        self.outputs = tuple(name for name in scales if name not in compiled.later - self.optional)
        self.targets = tuple(name for name in self.outputs if name not in degraded - self.optional)
        shares = {name: 1 if name in compiled.later else recipe.inputs.real[name] for name in self.optional}
        draws = {name: self.draws.add(f"inputs.{name}")[1] for name in self.targets}
        self._choices = Choices(draws, shares, dict(scales), draws_version=self.mode == "train")
        self._variants = dict[frozenset[str], PairPipeline]()
        self._inputs = {name: inputs_of(name, recipe.inputs, self.factors) for name in self.targets}
        full_range, depth = recipe.inputs.range, recipe.inputs.deep_dtype
        self.sinks = {name: Sink(recipe.outputs.get(name, recipe.output), full_range, depth) for name in scales}

    def add_targets(self, additional_targets: dict[str, str] | None) -> None:
        """Raise TypeError: a target of a pair needs a scale."""
        if additional_targets:
            raise TypeError("the targets of a pair are those of the recipe's `scales:`; add it there")
        super().add_targets(additional_targets)

    def _transform(self, step: Any) -> Any:
        raise TypeError("the steps of a pair act on several targets at once; pipeline.recipe.steps describes them")

    def sample(self, epoch: int, index: int, tile: int, targets: dict[str, Any]) -> dict[str, Any]:
        """Make one sample."""
        pipeline, targets, chosen = self._chosen((epoch, index, tile), targets)
        out = pipeline._outs(targets)
        images, rest = pipeline._images(targets)
        allocate: Callable[[str], Allocate] = lambda name: out[name][1] if name in out else np.empty  # noqa: E731
        rest.update(pipeline._run((epoch, index, tile), images, allocate))
        rest.update((name, array) for name, (array, _) in out.items() if not callable(array))
        if chosen and self.compiled.save_applied_params:
            rest["applied"] = [*chosen, *rest["applied"]]
        return rest

    def choices(self, key: Key, names: Collection[str]) -> dict[str, str]:
        """For each target with a choice, the name of the image that a sample takes; "": its Degrade makes it."""
        if not self.optional and {*self.recipe.scales, "out"}.issuperset(names):
            return {}
        self.position(*key)
        return self._choices.of_sample(names)

    def target_of(self, name: str) -> str | None:
        """The target that an image is of, by its name; a version is of its target."""
        return target_of(name, self.recipe.scales)

    def wanted(self, epoch: int, index: int, names: Iterable[str]) -> dict[str, bool]:
        """Whether a sample takes the image of each name, for names of images that samples may take."""
        choices = self.for_this_thread(epoch).choices((epoch, index, 0), names := [*names])
        targets = {name: target for name in names if (target := self.target_of(name)) and target in self.targets}
        return {name: choices.get(target, name) == name for name, target in targets.items()}

    def _chosen(self, key: Key, targets: Mapping[str, Any]) -> "tuple[PairPipeline, dict[str, Any], list[Applied]]":
        """The pipeline of a sample, its images by target, and the choices in the form of `applied`."""
        if not (choices := self.choices(key, targets)):
            return self, dict(targets), []
        images = {target: targets[name] for target, name in choices.items() if name and targets[name] is not None}
        rest = {name: value for name, value in targets.items() if self.target_of(name) not in choices}
        real = self.optional.intersection(images)
        if self.optional and real not in self._variants:
            self._variants[real] = self.again(reading(self.compiled, real))
        return self._variants[real] if self.optional else self, rest | images, [*applied_choices(choices, images)]

    def _run(self, key: Key, images: SceneImages, allocate: Callable[[str], Allocate]) -> dict[str, Any]:
        """Run one sample, whose images have whole cells only."""
        save_applied, scene = self.compiled.save_applied_params, None
        if self.optimize == "none" or self.arrival in UNOPTIMIZED_INPUTS:
            scene = self._steps(key, images)
            results, unfinished = dict[str, Any](scene.arrays), self.outputs
        else:
            try:
                if isinstance(programs := self.native, str):
                    raise program_run.PythonFallback(programs)
                results, unfinished = PairRun(programs, key, images).finish(allocate), programs.unfinished
            except program_run.PythonFallback:
                return self.plain._run(key, images, allocate)
        for name in unfinished:
            results[name] = self.sinks[name](results[name], allocate(name))
        if save_applied:
            scene = scene or self._steps(key, images)  # programs do not report their draws: draw again
            results["applied"], matrix, size = self.applied(), scene.matrix, scene.size()
            results["window"] = {
                name: None if matrix is None else window_shown(matrix, size, self.factors[name])
                for name in self.targets
            }
        return results

    def run_batch(
        self, epoch: int, indices: Sequence[int] | np.ndarray, images: Mapping[str, MappedImages], allocate: TargetArray
    ) -> dict[str, np.ndarray] | None:
        """Make a batch of samples, each equal to `at`; None where they differ in size.

        Args:
            epoch: the epoch, which keys the draws.
            indices: the index of each sample, which keys its draws.
            images: images by target, as an earlier part of the recipe left them; they are not checked again.
            allocate: makes the array for a target's results.
        """
        pipeline, results = self.for_this_thread(epoch), dict[str, np.ndarray]()

        def array(name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
            if name not in results:
                results[name] = allocate(name, shape, dtype)
            if results[name].shape[1:] != shape:
                raise _RaggedError
            return results[name]

        try:
            remaining: Sequence[int] | None = range(len(indices))
            if not isinstance(pipeline.native, str):
                remaining = pipeline.native.run_batch(epoch, indices, images, array)
            for k in remaining or ():
                whole = pipeline._whole_cells({name: mapped.array(k) for name, mapped in images.items()})
                pipeline._run((epoch, int(indices[k]), 0), whole, lambda name, k=k: lambda *form: array(name, *form)[k])  # type: ignore[misc]
        except _RaggedError:
            return None
        return None if remaining is None else results

    @property
    def at_once(self) -> PairPrograms | str:
        """The native programs of batches, or why there are none."""
        return self.native

    @cached_property
    def native(self) -> PairPrograms | str:
        """The native programs of samples, or why there are none."""
        if (why := why_not_native(self)) is not None:
            return why
        sinks = {name: self.sinks[name] for name in self.outputs}
        try:
            programs = pair_programs(self._lowered, make_program.ProgramMaker(self), sinks, self.factors, self.called)
        except walk.OpaqueError as reason:
            return str(reason)
        for program in programs:
            self.watched(program)
        return programs

    def _outs(self, targets: dict[str, Any]) -> dict[str, tuple[Any, Allocate]]:
        """Take `out` from the targets: for each target in it, the array and its allocator."""
        out = targets.pop("out", None)
        if out is None:
            return {}
        if not isinstance(out, Mapping) or not set(out) <= set(self.outputs):
            raise DataError(f"out must be a dict of arrays by target ({', '.join(self.outputs)}), got {_named(out)}")
        images = [targets.get(name) for name in self.targets]
        return {
            name: (array, batch.output_buffer(array, name, images, f"out[{name!r}]")) for name, array in out.items()
        }

    def trace(self, epoch: int, index: int, tile: int, targets: dict[str, Any]) -> list[tuple[str, Any]]:
        """The images by target after each outermost step, and after each step inside a Degrade."""
        stages: list[tuple[str, Any]] = []
        pipeline, targets, _ = self._chosen((epoch, index, tile), targets)
        pipeline._steps((epoch, index, tile), pipeline._images(targets)[0], stages)
        return stages

    def _images(self, targets: dict[str, Any]) -> tuple[SceneImages, dict[str, Any]]:
        """The whole cells of the images of a sample by target, and its other values."""
        rest = take_channels(dict(targets), self.recipe.inputs, self.targets)
        self._check_names(rest)
        images: dict[str, np.ndarray | EncodedWindow] = {}
        for name in self.targets:
            image = rest.pop(name)
            lazily = self.reads and getattr(image, "dtype", None) != np.float32  # floats are checked value by value
            images[name] = image_in(image, self._inputs[name], name, lazily=lazily)
            warn_of_floats(self, images[name])
        if not self.compiled.resumes:  # earlier steps may have changed the form of some targets
            _check_same_form(images)
        return self._whole_cells(images), rest

    def _whole_cells(self, images: SceneImages) -> SceneImages:
        """The images, cut to whole cells."""
        factors = self.factors
        rows, columns = common_size({name: image.shape for name, image in images.items()}, factors)
        return {name: image[: rows * factors[name], : columns * factors[name]] for name, image in images.items()}

    def _check_names(self, targets: Mapping[str, Any]) -> None:
        wrong, others = "", targets.keys() - set(self.outputs)
        for name in self.outputs:
            if name in self.targets and targets.get(name) is None:
                wrong = wrong or f"{name} is missing"
            if name not in self.targets and name in targets:
                wrong = wrong or f"{name} is made by Degrade and cannot be given"
        for name in sorted(others):
            if targets[name] is not None and (name in _FOREIGN or extra_targets.is_array(targets[name])):
                wrong = wrong or f"a pair has no {name!r}"
        if wrong:
            raise DataError(f"{wrong}; the recipe's targets are {', '.join(f'{name}=' for name in self.targets)}")

    def _steps(self, key: Key, images: SceneImages, stages: list[tuple[str, Any]] | None = None) -> Scene:
        """Run the steps on a scene, each at its key."""
        first = self.keyed_steps[0] if self.keyed_steps else None
        # Where the first step crops, only its window of a file is decoded.
        cuts = isinstance(first, PairStep) and first.how == "window"
        arrays: dict[str, Any] = dict(images) if cuts else _decode(images)
        matrix = np.eye(3) if self.compiled.save_applied_params else None
        scene = Scene(arrays, self.factors, matrix, stages)
        self.position(*key)
        try:
            for step in self.keyed_steps:
                step(scene=scene)
                if cuts and step is first:
                    scene.arrays |= _decode(scene.arrays)
                if not isinstance(step, Degrade):  # a Degrade adds a stage for each of its steps
                    scene.add_stage(self.label_of(step))
            scene.size()
        except (AugrecipesError, MemoryError):
            raise
        except Exception as error:
            raise self.step_error(error) from error
        for name, array in scene.arrays.items():
            if array.dtype not in DTYPES:
                raise DataError(f"the steps left {name} as {array.dtype}; images are uint8, uint16 or float32")
        return scene


def _decode(images: SceneImages) -> dict[str, np.ndarray]:
    return {name: image.array() if isinstance(image, EncodedWindow) else image for name, image in images.items()}


def _check_same_form(arrays: Mapping[str, np.ndarray | EncodedWindow]) -> None:
    """DataError unless all targets have the same channels and dtype."""
    (first, reference), *others = arrays.items()
    for name, array in others:
        if array.shape[2] != reference.shape[2]:
            values = f"channels, got {reference.shape[2]} and {array.shape[2]}"
        elif array.dtype != reference.dtype:
            values = f"dtype, got {reference.dtype} and {array.dtype}"
        else:
            continue
        raise DataError(f"{first} and {name} must have the same {values}")


def _named(out: Any) -> str:
    return f"the keys {', '.join(map(repr, out))}" if isinstance(out, Mapping) else type(out).__name__


PIPELINE = PairPipeline
__all__ = ["PIPELINE", "PairPipeline", "sharing"]
