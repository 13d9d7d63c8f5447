"""Steps without pixels: they draw, and move boxes and keypoints, of samples whose images programs make."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from augrecipes.compat.steps import Sample, functions_of, group_of, is_plain, sampler_of
from augrecipes.compiler.executor.inputs import AnyImage
from augrecipes.compiler.kernels.step_draws import stand_in
from augrecipes.compiler.run.points import take_points
from augrecipes.compiler.run.program_run import ProgramRun, PythonFallback
from augrecipes.compiler.run.step_calls import Executors, StepCall, StepFunction, run_calls, step_call, unchanged
from augrecipes.ops.matrices import Size, output_size
from augrecipes.ops.places import MatrixPlaces
from augrecipes.ops.records import op_record

Move: TypeAlias = tuple[str, Mapping[str, Any], Size, Size]  # a step's name, what it drew, the size before it and after
_POINTS = frozenset({"boxes", "keypoints"})
_BYTE = np.dtype(np.uint8)


class StepsWithoutPixels:
    """Carries out the steps of a pipeline for what lies on images.

    Args:
        pipeline: of one thread.
        opaque: the steps at the exits of its program, which need pixels, by their places.
        run_step: runs one of these.
    """

    def __init__(self, pipeline: Any, opaque: Mapping[int, tuple[Any, bool]], run_step: Callable[..., Sample]) -> None:
        self._pipeline, self._run_step = pipeline, run_step
        self._run: ProgramRun | None = None  # of the sample whose points are moved
        exits = {id(step): partial(partial, self._run_with_pixels, place) for place, (step, _) in opaque.items()}
        all_draw = pipeline.compiled.save_applied_params
        self._steps = point_calls(pipeline.keyed_steps, pipeline, exits, all_draw=all_draw)

    def run(self, key: tuple[int, int, int], sample: Sample, image: AnyImage, run: ProgramRun | None = None) -> Sample:
        """A sample with its boxes and keypoints where they belong, and what stands for an image of the size that it
        then has. Steps at exits have pixels; else all draw from the key and the size alone.

        Args:
            key: epoch, index and tile.
            sample: without its image; changed in place.
            image: as it came.
            run: what has pixels for steps that need them; None: there are none.

        Raises:
            PythonFallback: that is Python's, or it fails there, too.
        """
        sample["image"] = stand_in(image.shape, _BYTE)
        takes_points = self._pipeline.takes_points
        self._run, processors = run, self._pipeline.processors.values() if takes_points else ()
        try:
            points = take_points(sample, self._pipeline.compiled) if takes_points else ()
            for processor in processors:  # without what `Compose.preprocess` checks once more
                processor.preprocess(sample)
            self._pipeline.position(*key)
            sample = run_calls(self._steps, sample)
            for put in (*(processor.postprocess for processor in processors), *(each.put_back for each in points)):
                put(sample)
        except Exception as error:  # what runs in Python then says where
            raise PythonFallback from error
        finally:
            self._run = None
        return sample

    def _run_with_pixels(self, place: int, act: StepFunction, sample: Sample) -> Sample:
        """A sample without pixels behind a step that needs them: it has those that the program has made so far."""
        if self._run is None:
            raise PythonFallback
        done = self._run_step(place, act, {**sample, **self._run.run_to(place)})
        self._run.resume(done)
        done.pop("mask", None)
        done["image"] = stand_in(done["image"].shape, _BYTE)
        return done


def point_calls(
    transforms: Sequence[Any],
    pipeline: Any,
    exits: Mapping[int, Callable[[StepFunction], StepFunction]],
    *,
    all_draw: bool,
) -> list[StepCall]:
    """The steps of a pipeline that a program carries out, for samples whose `image` has a shape and no pixels.

    Args:
        transforms: of the pipeline.
        pipeline: that they stand in.
        exits: by the ids of steps that need pixels, what wraps what they do in albumentations, and gives them some.
        all_draw: those that move nothing draw, too.
    """
    executors = Executors(move_targets if all_draw else _move_points, exits)
    idle = [not all_draw and _is_idle(step, exits) for step in transforms]
    steps = [
        step_call(step, pipeline, executors) for step, is_idle in zip(transforms, idle, strict=True) if not is_idle
    ]
    # Steps that move nothing are left out; what the first of all would have filtered is filtered before the others.
    return [unchanged(pipeline), *steps] if idle and idle[0] else steps


def _is_idle(step: Any, exits: Container[int]) -> bool:
    """Whether neither a step nor, in a group, any of its steps moves points or is an exit."""
    if id(step) in exits:
        return False
    if group_of(step):
        return all(_is_idle(each, exits) for each in step.transforms)
    return is_plain(step) and not _moves(step)


def _moves(step: Any) -> bool:
    return not op_record(type(step).__name__).targets.isdisjoint(_POINTS)


def _move_points(self: Any, takes: bool) -> StepFunction:
    """What a transform does to points, and to the shape of what stands for the image; without a draw, if nothing."""
    return move_targets(self, takes) if _moves(self) else lambda data: data


def move_targets(self: Any, takes: bool, note: Callable[[Move], object] = lambda _: None) -> StepFunction:
    """What a transform does to all but pixels, of a sample whose image has none; `note` is told how it moves places."""
    draw, functions, take, name = sampler_of(self), functions_of(self), self.py_random.random, type(self).__name__
    has_matrix = isinstance(self, MatrixPlaces)

    def act(data: Sample) -> Sample:
        if takes:
            take()
        image = data["image"]
        before = image.shape[:2]
        params = self.params = draw(data)
        after = output_size(self, params, before)
        note((name, params, before, after))
        known = {"geometry": self.geometry(params, after)} if has_matrix and len(data) > 1 else {}
        for key, value in data.items():
            function = functions.get(key)
            if function is not None and value is not None and key != "image":
                data[key] = function(value, **params, **known)
        if after != before:
            data["image"] = stand_in((*after, image.shape[2]), image.dtype)
        return data

    return act
