"""Run steps without pixels: they draw, and move boxes and keypoints, while programs make the images.

The product of the drawn matrices is the matrix by which the steps move the pixels of a sample.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial, reduce
from typing import Any, TypeAlias

import numpy as np

from augrecipes.compat.albumentations import Sample, functions_of, group_of, is_plain, sampler_of
from augrecipes.compiler.executor.inputs import AnyImage
from augrecipes.compiler.kernels.step_draws import stand_in
from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.compiler.run.points import take_points
from augrecipes.compiler.run.program_run import ProgramRun, PythonFallback
from augrecipes.compiler.run.step_calls import Executors, StepCall, StepFunction, run_calls, step_call, unchanged
from augrecipes.errors import AugrecipesError
from augrecipes.ops.matrices import Matrix, Size, matrix_of, output_size
from augrecipes.ops.places import MatrixPlaces
from augrecipes.ops.records import op_record

Move: TypeAlias = tuple[str, Mapping[str, Any], Size, Size]  # class, drawn parameters, size before and after
_POINTS = frozenset({"boxes", "keypoints"})
_BYTE = np.dtype(np.uint8)


class StepsWithoutPixels:
    """Runs the steps of a pipeline for boxes and keypoints.

    Args:
        pipeline: the pipeline of one thread.
        opaque: by place, the steps at the exits of its program, which need pixels.
        run_step: runs one of these.
    """

    def __init__(self, pipeline: Any, opaque: Mapping[int, tuple[Any, bool]], run_step: Callable[..., Sample]) -> None:
        self._pipeline, self._run_step = pipeline, run_step
        self._run: ProgramRun | None = None  # the run of the current sample
        exits = {id(step): partial(partial, self._run_with_pixels, place) for place, (step, _) in opaque.items()}
        all_draw = pipeline.compiled.save_applied_params
        self._steps = point_calls(pipeline.keyed_steps, pipeline, exits, all_draw=all_draw)

    def run(self, key: tuple[int, int, int], sample: Sample, image: AnyImage, run: ProgramRun | None = None) -> Sample:
        """Move the boxes and keypoints of a sample; its `image` becomes a stand-in of the final size.

        Steps at exits see pixels; all others draw from the key and the size alone.

        Args:
            key: epoch, index and tile.
            sample: the sample without its image; changed in place.
            image: the image, of which only the shape is read.
            run: the run that provides pixels for exits; None: there are no exits.

        Raises:
            PythonFallback: Python must run the sample, and may raise there.
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
        except Exception as error:  # Python runs the sample again and names the step
            raise PythonFallback from error
        finally:
            self._run = None
        return sample

    def _run_with_pixels(self, place: int, act: StepFunction, sample: Sample) -> Sample:
        """Run a step that needs pixels, with those that the program has made so far."""
        if self._run is None:
            raise PythonFallback
        result = self._run_step(place, act, {**sample, **self._run.run_to(place)})
        self._run.resume(result)
        result.pop("mask", None)
        result["image"] = stand_in(result["image"].shape, _BYTE)
        return result


def point_calls(
    transforms: Sequence[Any],
    pipeline: Any,
    exits: Mapping[int, Callable[[StepFunction], StepFunction]],
    *,
    all_draw: bool,
) -> list[StepCall]:
    """The calls of a pipeline's steps for samples whose `image` has a shape and no pixels.

    Args:
        transforms: the pipeline's transforms.
        pipeline: the pipeline.
        exits: by id, for steps that need pixels: a wrapper that gives the step's function pixels.
        all_draw: steps that move no points draw, too.
    """
    executors = Executors(move_targets if all_draw else _move_points, exits)
    idle = [not all_draw and _is_idle(step, exits) for step in transforms]
    steps = [
        step_call(step, pipeline, executors) for step, is_idle in zip(transforms, idle, strict=True) if not is_idle
    ]
    # Idle steps are left out, but the filter that albumentations runs after the first of them must run.
    return [unchanged(pipeline), *steps] if idle and idle[0] else steps


def _is_idle(step: Any, exits: Container[int]) -> bool:
    """Whether a step, or all steps of a group, move no points and are no exits."""
    if id(step) in exits:
        return False
    if group_of(step):
        return all(_is_idle(each, exits) for each in step.transforms)
    return is_plain(step) and not _moves(step)


def _moves(step: Any) -> bool:
    return not op_record(type(step).__name__).targets.isdisjoint(_POINTS)


def _move_points(self: Any, takes: bool) -> StepFunction:
    """The function that moves points and changes the stand-in's shape; a step that moves none does not draw."""
    return move_targets(self, takes) if _moves(self) else lambda data: data


def move_targets(self: Any, takes: bool, note: Callable[[Move], object] = lambda _: None) -> StepFunction:
    """The function of a transform on all targets but the image; `note` receives each move."""
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
        geometry = {"geometry": self.geometry(params, after)} if has_matrix and len(data) > 1 else {}
        for key, value in data.items():
            function = functions.get(key)
            if function is not None and value is not None and key != "image":
                data[key] = function(value, **params, **geometry)
        if after != before:
            data["image"] = stand_in((*after, image.shape[2]), image.dtype)
        return data

    return act


class StepMatrices:
    """The matrices of a pipeline's samples, by key: each step draws as it does for pixels.

    Args:
        pipeline: a pipeline that runs its steps as written; its generators are moved.

    >>> import augrecipes as ar
    >>> matrices = StepMatrices(ar.load("folder-128").compile("eval").plain)
    >>> matrices.at((0, 7, 0), (256, 512, 3))[:2, 2].tolist()
    [-64.25, -0.25]
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline, self._moves = pipeline, list[Move]()
        still = {id(step): lambda _: lambda data: data for step, _, _ in pipeline.sites if not _moves_places(step)}
        executors = Executors(partial(move_targets, note=self._moves.append), still)
        self._steps = [step_call(step, pipeline, executors) for step in pipeline.keyed_steps]

    def at(self, key: tuple[int, int, int], shape: tuple[int, int, int]) -> Matrix:
        """The matrix from the input image to the result, float64 (3, 3); `shape`: H×W×C, `key`: epoch, index, tile."""
        return reduce(lambda matrix, move: matrix_of(*move) @ matrix, self.moves(key, shape), np.eye(3))

    def moves(self, key: tuple[int, int, int], shape: tuple[int, int, int]) -> list[Move]:
        """The moves of the steps that act on an image of shape H×W×C: arguments of `matrix_of`."""
        self._pipeline.position(*key)
        self._moves.clear()
        data: Sample = {"image": stand_in(shape, _BYTE)}
        try:
            for first, p, act, _ in self._steps:
                if first is None or first() < p:
                    data = act(data)
        except (AugrecipesError, MemoryError):
            raise
        except Exception as error:
            raise self._pipeline.step_error(error) from error
        return [*self._moves]


def _moves_places(step: Any) -> bool:
    """Whether a step, or a step inside a group, moves pixels."""
    return op_record(type(step).__name__).moves or any(map(_moves_places, getattr(step, "transforms", ())))
