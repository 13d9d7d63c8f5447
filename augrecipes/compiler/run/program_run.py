"""Run one sample by programs, from one exit to the next."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import Sample
from augrecipes.compiler.executor.inputs import AnyImage, as_bytes, from_bytes
from augrecipes.compiler.executor.program import ExitReached, Program
from augrecipes.compiler.executor.program_buffer import END
from augrecipes.compiler.kernels.sink import Allocate, is_free

_AXES = 3


class PythonFallback(Exception):  # noqa: N818  # no error: Python runs the sample that raises it
    """Python has to run this sample: the kernels do not take it, or reach other steps than Python does."""


class ProgramRun:
    """An image, and its mask, that programs take from exit to exit. No step runs twice.

    Args:
        program: the program of the image.
        key: epoch, index and tile.
        image: the image.
        caller_arrays: arrays of the caller, which no result may be; None: not known.

    Attributes:
        mask_dtype: dtype of the mask.
    """

    __slots__ = ("_begin", "_caller_arrays", "_image", "_is_free", "_key", "_mask", "_mask_begin", "_mask_program",
                 "_program", "mask_dtype")  # fmt: skip

    def __init__(
        self, program: Program, key: tuple[int, int, int], image: AnyImage, caller_arrays: Sequence[Any] | None = None
    ) -> None:
        self._program, self._key, self._image, self._begin = program, key, image, END
        self._caller_arrays, self._is_free = caller_arrays, False
        self._mask_program: Program | None = None

    def add_mask(self, program: Program, mask: AnyImage, dtype: np.dtype[Any]) -> None:
        """Add a mask of `dtype`, given as the bytes of its pixels, uint8 H×W×B."""
        self._mask_program, self._mask, self.mask_dtype, self._mask_begin = program, mask, dtype, END

    def run_to(self, place: int) -> Sample:
        """Run to the exit at `place`; return the image, and the mask, that its step sees."""
        reached = self._run_image(np.empty)
        if not isinstance(reached, ExitReached) or reached.place != place:
            raise PythonFallback
        return self._at_exit(reached)

    def resume(self, data: Sample) -> None:
        """Take the result of the step at the exit."""
        self._image = uint8_image(data["image"])
        self._is_free = self._caller_arrays is not None and is_free(self._image, self._caller_arrays)
        if "mask" in data:
            mask = data["mask"]
            if not isinstance(mask, np.ndarray) or mask.dtype != self.mask_dtype or mask.ndim > _AXES or not mask.size:
                raise PythonFallback
            self._mask = as_bytes(mask)

    def finish(
        self, allocate: Allocate, run_step: Callable[[int, Sample], Sample]
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Run to the end; return image and mask as the programs write them. `run_step` runs the step at an exit."""
        while isinstance(result := self._run_image(allocate), ExitReached):
            self.resume(run_step(result.place, self._at_exit(result)))
        if self._mask_program is None:
            return result, None
        if not isinstance(mask := self._run_mask(self._mask_program), np.ndarray):
            raise PythonFallback
        return result, mask

    def _run_image(self, allocate: Allocate) -> np.ndarray | ExitReached:
        self._program.take_python_draws()
        is_free = self._is_free and allocate is np.empty
        if (result := self._program.run_one(*self._key, self._image, allocate, self._begin, is_free)) is None:
            raise PythonFallback
        return result

    def _at_exit(self, reached: ExitReached) -> Sample:
        self._begin = reached.place
        if self._mask_program is None or reached.place not in self._mask_program.opaque:
            return {"image": reached.image}
        mask = self._run_mask(self._mask_program)
        if not isinstance(mask, ExitReached) or mask.place != reached.place:
            raise PythonFallback
        self._mask_begin = reached.place
        return {"image": reached.image, "mask": from_bytes(mask.image, self.mask_dtype)}

    def _run_mask(self, program: Program) -> np.ndarray | ExitReached | None:
        program.take_python_draws()
        return program.run_one(*self._key, self._mask, np.empty, self._mask_begin)


def uint8_image(image: Any) -> np.ndarray:
    """A step's result as uint8 H×W×C; PythonFallback for any other dtype."""
    if not isinstance(image, np.ndarray) or image.dtype != np.uint8 or not image.size:
        raise PythonFallback
    return image if image.ndim == _AXES else image.reshape(*image.shape[:2], -1)
