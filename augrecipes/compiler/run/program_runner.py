"""ProgramRunner: runs a pipeline's samples by programs, in batches or one by one from exit to exit."""

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from augrecipes.compiler.executor.inputs import (
    AnyImage,
    MappedImages,
    as_bytes,
    as_image,
    from_bytes,
    is_image,
    is_mask,
    is_ready,
)
from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.kernels.sink import Allocate
from augrecipes.compiler.kernels.step_draws import stand_in
from augrecipes.compiler.run.batch import BatchOutput, SampleColumns, element
from augrecipes.compiler.run.draw_without_pixels import StepsWithoutPixels
from augrecipes.compiler.run.objects import NUMBER
from augrecipes.compiler.run.points import PointMoves
from augrecipes.compiler.run.program_run import ProgramRun, PythonFallback
from augrecipes.compiler.run.step_calls import StepFunction, call_alone
from augrecipes.compiler.run.targets import check_size, mask_in, mask_out
from augrecipes.errors import DataError
from augrecipes.ops.fills import mask_dtype

_FLAT = 2
_UINT8 = np.dtype(np.uint8)
_MASK, _NO_TARGETS = frozenset({"mask"}), frozenset[str]()
Key = tuple[int, int, int]  # epoch, index and tile


class ProgramRunner:
    """Runs samples of images, and of what lies on them, by programs.

    Args:
        pipeline: the pipeline of one thread and one arrival.
    """

    passes_all: ClassVar[bool] = False  # steps at exits see the whole sample, not image and mask alone

    def __init__(self, pipeline: Any) -> None:
        self.pipeline, self.programs = pipeline, pipeline.programs
        self._stains: Any = None  # stains of the current sample
        self._mask_dtypes: dict[np.dtype[Any], np.dtype[Any]] = {}  # output dtype by input dtype

    # Batches.

    def run_batch(self, output: BatchOutput, positions: Sequence[int], samples: SampleColumns) -> Sequence[int]:
        """Run the samples that need no step in Python; return the positions of the others."""
        program, names = self.programs.images, samples.names
        if self.programs.why_not_together is not None or isinstance(program, str) or not program.writes:
            return positions
        if (program.opaque and len(positions) == 1) or not self._takes(samples, names):
            return positions  # a single sample goes on from its exits
        program.take_stains(output.stains)
        keys = [output.keys[k] for k in positions]
        shape: tuple[int, ...] = ()

        def rows(shape_: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[np.ndarray, Sequence[int]] | None:
            nonlocal shape
            shape = shape_
            array = output.rows("image", shape, dtype)
            return None if array is None else (array, positions)

        has_points = not self.pipeline.usual_targets.isdisjoint(names - {"image", "mask"})
        moves = self._point_moves.buffer(len(keys)) if has_points and self._point_moves is not None else None
        failed = program.run_batch(output.epoch, keys, samples.image, rows, moves=moves)
        if failed is None or len(failed) == len(positions):  # results of several sizes run one by one: some may fail
            return positions
        if not failed and samples.mask is None and samples.others is None:
            return ()
        remaining = {*failed}
        size = shape[1:] if self.pipeline.recipe.output.layout == "chw" else shape[:2]
        if samples.mask is not None:
            remaining.update(self._run_masks(output, keys, samples.mask, positions, size))
        if samples.others is not None:
            remaining.update(self._run_others(output, keys, samples, positions, has_points, moves, size, remaining))
        return [positions[at] for at in sorted(remaining)]

    def _takes(self, samples: SampleColumns, names: set[str]) -> bool:
        """Whether programs take samples of these targets, and these agree with the recipe's inputs."""
        pipeline, images, masks = self.pipeline, samples.image, samples.mask
        if not pipeline.required_targets <= names:
            return False
        if masks is not None and isinstance(self.programs.masks(), str):
            return False
        try:
            if isinstance(images, MappedImages):
                for height, width, channels in np.unique(images.shapes, axis=0).tolist():
                    check_size(stand_in((height, width, channels), _UINT8), pipeline.recipe.inputs)
                lie = masks is None or _lie_on(masks, images)
                return lie and not pipeline.takes_files
            if not all(is_image(image, files=pipeline.takes_files) for image in images):
                return False
            for image in images:
                check_size(image, pipeline.recipe.inputs)
        except DataError:
            return False
        return masks is None or all(is_mask(mask, image) for mask, image in zip(masks, images, strict=True))  # type: ignore[arg-type]  # lists both

    def _run_masks(
        self,
        output: BatchOutput,
        keys: Sequence[tuple[int, int]],
        masks: Sequence[Any] | MappedImages,
        positions: Sequence[int],
        size: tuple[int, ...],
    ) -> Sequence[int]:
        """Run the masks of a batch, whose images have come out of `size`; return the indices of those that remain."""

        def rows(shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[np.ndarray, Sequence[int]] | None:
            array = output.rows("mask", shape[:2], dtype)
            return None if array is None else (array[..., None], positions)

        program = self.programs.masks(wide=True)
        images = masks if isinstance(masks, MappedImages) else [*map(as_image, masks)]
        if isinstance(program, str):
            return range(len(masks))
        size_is_known = not program.opaque and (isinstance(images, MappedImages) or all(map(is_ready, images)))
        failed = program.run_batch(output.epoch, keys, images, rows, size=size if size_is_known else None)
        return range(len(masks)) if failed is None else failed

    def _run_others(
        self,
        output: BatchOutput,
        keys: Sequence[tuple[int, int]],
        samples: SampleColumns,
        positions: Sequence[int],
        has_points: bool,
        moves: np.ndarray | None,
        size: tuple[int, ...],
        skip: set[int],
    ) -> Sequence[int]:
        """Move boxes and keypoints, copy what is no target; return the indices of samples that remain."""
        remaining: list[int] = []
        for at, others in enumerate(samples.others or ()):
            if at in skip:
                continue
            moved = dict(others)
            if has_points:
                key, image = (output.epoch, *keys[at]), element(samples.image, at)
                try:
                    moved = self._move_points(key, moved, image, None if moves is None else moves[at], size)
                except PythonFallback:
                    remaining.append(at)
                    continue
            output.others[positions[at]] = moved
        return remaining

    # One sample, from exit to exit.

    def is_idle(self, targets: dict[str, Any]) -> bool:
        """Whether all steps of the program are exits, so that Python runs the sample faster without it."""
        program, image = self.programs.images, targets.get("image")
        if isinstance(program, str) or image is None or not program.idle or self.pipeline.call is not None:
            return False
        return is_image(image, files=self.pipeline.takes_files) and program.takes(image.shape[2])

    def run(self, key: Key, targets: dict[str, Any], allocate: Allocate) -> dict[str, Any]:
        """Run one sample.

        Raises:
            PythonFallback: Python must run it.
        """
        pipeline, program, image = self.pipeline, self.programs.images, targets.get("image")
        fits = is_image(image, files=pipeline.takes_files) and pipeline.required_targets <= targets.keys()
        if isinstance(program, str) or not fits:
            raise PythonFallback
        image = check_size(image, pipeline.recipe.inputs)
        self._stains = targets.get("stains")
        program.take_stains(self._stains)
        sample = {name: value for name, value in targets.items() if name != "image"}
        mask, applied = sample.pop("mask", None), pipeline.compiled.save_applied_params
        others = pipeline.usual_targets.intersection(targets) - {"image"} if len(targets) > 1 else _NO_TARGETS
        walks = bool(others - _MASK or program.python_draws or applied or self.passes_all)
        run = ProgramRun(program, key, image, pipeline.caller_arrays(targets))
        mask_alone = mask is not None and not self._add_mask(run, mask, image)
        if walks and (self._point_moves is None or program.opaque or NUMBER in sample):
            sample = self._without_pixels.run(key, sample, image, run)
        elif walks:
            sample = self._move_points(key, sample, image, None)
        run_step = _refuse_exit if walks else partial(self._run_exit, key)
        result, labels = run.finish(allocate if program.writes else np.empty, run_step)
        if not program.writes:
            result = pipeline.sinks["image"](result, allocate)
        size = result.shape[1:] if pipeline.recipe.output.layout == "chw" else result.shape[:2]
        if "image" in sample and sample["image"].shape[:2] != size:
            raise PythonFallback
        sample = {"image": result} | sample | {"image": result}  # the image comes first, as the steps leave it
        if labels is not None:
            sample["mask"] = self.mask_out(labels, mask, run.mask_dtype)
        elif mask_alone:
            sample["mask"] = pipeline.plain.run_steps(key, targets, np.empty)["mask"]
        if applied:
            sample["applied"] = pipeline.applied()
        return sample

    def _add_mask(self, run: ProgramRun, mask: Any, image: AnyImage) -> bool:
        """Add a mask to the run; False where `fast` must make it separately, by the recipe as written.

        No image depends on a mask in `fast`. In `exact` Python runs the whole sample instead, with the same result.
        """
        program: Program | str
        if is_mask(mask, image):
            program, labels, dtype = self.programs.masks(), as_image(mask), _UINT8
        else:
            array = mask_in(mask, image, fills=self.pipeline.mask_fills)
            dtype = array.dtype
            if array.ndim != _FLAT or dtype == _UINT8:
                program = "its pixels have several channels"
            else:
                program, labels = self.programs.masks(dtype), as_bytes(array)
        if not isinstance(program, str):
            run.add_mask(program, labels, dtype)
        elif self.pipeline.optimize == "exact":
            raise PythonFallback(program)
        return not isinstance(program, str)

    def mask_out(self, labels: np.ndarray, mask: Any, dtype: np.dtype[Any]) -> np.ndarray:
        """The output mask from the bytes that its program wrote, H×W×B of `dtype`; `mask`: the input."""
        if (leaves := self._mask_dtypes.get(mask.dtype)) is None:
            leaves = self._mask_dtypes[mask.dtype] = mask_dtype(mask.dtype, self.pipeline.mask_fills)
        if dtype != _UINT8:
            return mask_out(from_bytes(labels, dtype), leaves, self.pipeline.recipe.output, None)
        out = labels.reshape(labels.shape[:2])
        return out.astype(bool) if leaves.kind == "b" and out.dtype == np.uint8 else out

    # Boxes and keypoints, and steps at exits.

    @cached_property
    def _without_pixels(self) -> StepsWithoutPixels:
        return StepsWithoutPixels(self.pipeline, self.programs.opaque, self.run_step)

    @cached_property
    def _point_moves(self) -> PointMoves | None:
        return PointMoves.of(self.pipeline, self.programs.images)

    def _move_points(
        self, key: Key, sample: dict[str, Any], image: AnyImage, moves: np.ndarray | None, size: tuple[int, ...] = ()
    ) -> dict[str, Any]:
        """Move the boxes and keypoints of a sample without its image, which has come out of `size`.

        `moves`: the program's notes. Raises PythonFallback where Python must run the sample.
        """
        if self._point_moves is None or NUMBER in sample:  # only the steps tell whether a mirror was passed
            moved = self._without_pixels.run(key, sample, image)
            if moved.pop("image").shape[:2] != size:
                raise PythonFallback
            return moved
        try:
            return self._point_moves.run(key, sample, image, moves)
        except Exception as error:
            raise PythonFallback from error

    def _run_exit(self, key: Key, place: int, sample: dict[str, Any]) -> dict[str, Any]:
        """Run the step at an exit on image and mask."""
        self.pipeline.position(*key)
        try:
            return self.run_step(place, self._exit_steps[place], sample | {"stains": self._stains})
        except Exception as error:  # Python runs the sample again and names the step
            raise PythonFallback from error

    def run_step(self, place: int, act: StepFunction, sample: dict[str, Any]) -> dict[str, Any]:
        """Run the step at `place` on a sample."""
        return self.pipeline.called(self.programs.opaque[place][0], act, sample)

    @cached_property
    def _exit_steps(self) -> dict[int, StepFunction]:
        """The functions of the steps at exits, by place."""
        return {
            place: call_alone(step, self.pipeline, forced=forced)
            for place, (step, forced) in self.programs.opaque.items()
        }


def _lie_on(masks: Any, images: MappedImages) -> bool:
    """Whether mapped masks have one channel and the sizes of their images."""
    if not isinstance(masks, MappedImages):
        return False
    return np.array_equal(masks.shapes[:, :2], images.shapes[:, :2]) and bool((masks.shapes[:, 2] == 1).all())


def _refuse_exit(place: int, sample: dict[str, Any]) -> dict[str, Any]:
    """Fall back to Python at an exit that should not be reached."""
    raise PythonFallback(place, sample)
