"""Jobs: a picture that is to be warped, coloured and written as the output asks, by one native kernel in one go.

`native/job.h` says what a job is, and `tests/laws/job_in_numpy.py` defines what comes out. Where there is no kernel, or
where it refuses, the kernels in Python make the picture.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import cv2
import numpy as np

from augrecipes.compiler.kernels.colour_native import turn_of
from augrecipes.compiler.kernels.hue_saturation_value import limited
from augrecipes.compiler.kernels.moves import IDENTITY, Moved, Symmetry
from augrecipes.compiler.kernels.pending_colours import SMALL, PendingColours, dropped
from augrecipes.compiler.kernels.resample import Sampling, Shrinks, read_part, reduction, symmetry_matrix
from augrecipes.compiler.kernels.scratch import Scratch
from augrecipes.compiler.kernels.undecoded import Undecoded
from augrecipes.compiler.kernels.warp_native import border_of
from augrecipes.compiler.kernels.warped import Warped
from augrecipes.native.kernels import library, written_as
from augrecipes.native.op_numbers import LIMITS, OPERATIONS
from augrecipes.ops.colour_ops import Contrast, Hue, HueSaturationValue, Linear, Operation
from augrecipes.ops.warps import LINEAR, multiply

# The fields of `Job` in order: picture; matrix; border, fill, reduction; size; target; scales and shifts; the rest.
_HEAD = struct.Struct("=5q9d3q2q5q6d5q")
_OPERATION = struct.Struct("=q12dq")
_UINT8 = np.dtype(np.uint8)
_CHANNELS = (1, 3)
_NO = (*(0.0,) * 9, 0)  # numbers of an operation that has but three, and no tables
_RGB = 3
_ONES, _ZEROS = (1.0, 1.0, 1.0), (0.0, 0.0, 0.0)
_FARTHEST = (1 << 30) - 1  # bytes from the first row to behind the last
_STEPS = 180  # of a hue, round the circle
BODY = 32  # pixels of a row that OpenCV takes from HSV to RGB at a time, with AVX2: in what is left it rounds


class Kernel:
    """The native kernel, and memory for it to work in. One thread at a time.

    Args:
        carry_out: the kernel.

    Attributes:
        begins: column and row of a larger picture, else of the fill alone, at which the one that is warped begins.
    """

    begins: tuple[int, int] = (0, 0)

    def __init__(self, carry_out: Callable[[int], int]) -> None:
        self._carry_out = carry_out
        self.job = (ctypes.c_char * (_HEAD.size + LIMITS.MOST_OPERATIONS * _OPERATION.size))()
        self._at = ctypes.addressof(self.job)
        self.room(1 << 16)

    def room(self, size: int) -> None:
        """Have so many bytes to work in."""
        self._room = np.empty(size, np.uint8)
        self.scratch = self._room.ctypes.data, size

    def __call__(self, head: tuple[Any, ...], operations: Sequence[tuple[Any, ...]]) -> bool:
        """Carry out a job; False where the kernel does not take it.

        Args:
            head: its numbers, up to the memory to work in.
            operations: kind, twelve numbers, and the address of tables, of each.
        """
        if len(operations) > LIMITS.MOST_OPERATIONS:
            return False
        at = _HEAD.size
        for one in operations:
            _OPERATION.pack_into(self.job, at, *one)
            at += _OPERATION.size
        _HEAD.pack_into(self.job, 0, *head, *self.scratch, *self.begins, len(operations))
        answer = self._carry_out(self._at)
        if answer > 0:  # so much room
            self.room(answer)
            _HEAD.pack_into(self.job, 0, *head, *self.scratch, *self.begins, len(operations))
            answer = self._carry_out(self._at)
        return answer == 0


def kernel() -> Kernel | None:
    """The kernel, with memory of its own; None where there is none."""
    found = _found(library())
    return None if found is None else Kernel(found)


@cache
def _found(kernels: Any) -> Callable[[int], int] | None:
    return None if kernels is None else kernels.kernel("fused", "p")


class ToMake:
    """A picture that is still to be made: warped, and its colours changed. Most often the sink has it made.

    Args:
        warped: what it is made of, uint8.
        shrinks: how a picture is had for a warp that shrinks it.
        scratch: memory for what is made here.
        kernel: makes it.
    """

    __slots__ = ("_kernel", "_numbers", "_scratch", "_shrinks", "operations", "warped")
    ndim, dtype, full = 3, _UINT8, 255.0

    def __init__(self, warped: Warped, shrinks: Shrinks, scratch: Scratch, kernel: Kernel) -> None:
        self.warped, self._shrinks, self._scratch, self._kernel = warped, shrinks, scratch, kernel
        self.operations: list[Operation] = []
        self._numbers: list[tuple[Any, ...]] = []

    @property
    def shape(self) -> tuple[int, ...]:
        """H×W×C."""
        return self.warped.shape

    @property
    def is_made(self) -> bool:
        """Whether nothing is left to be done."""
        return self.warped.matrix is None and self.warped.moved.symmetry == IDENTITY and not self.operations

    def stand_in(self) -> np.ndarray:
        """What a step that draws sees of it."""
        return self.warped.stand_in()

    def turned(self, symmetry: Symmetry) -> None:
        """Turn it."""
        self.warped = self.warped.turned(symmetry)
        shape = self.warped.shape[:2]
        self._numbers = [_with_part(one, symmetry.after(one[4:8], *shape)) for one in self._numbers]

    def apply(self, operation: Operation) -> None:
        """Change its colours once more; at once where that is no part of a job."""
        numbers = numbers_of(operation) if self.shape[2] == _RGB else None
        if numbers is not None:
            self.operations.append(operation)
            height, width, _ = self.shape
            self._numbers.append(_with_part(numbers, (width // BODY * BODY, 0, width, height)))
            return
        colours = PendingColours(self.array(), self._scratch)
        colours.apply(operation)
        self.replace(colours.settle())

    def replace(self, array: np.ndarray) -> None:
        """Another picture in its place, with nothing pending."""
        self.warped, self.operations, self._numbers = Warped(Moved(array)), [], []

    def array(self) -> np.ndarray:
        """The picture made: uint8, H×W×C, in scratch."""
        if self.is_made and isinstance(self.warped.moved.base, np.ndarray):
            return self.warped.moved.base
        height, width, channels = self.shape
        out = self._scratch.array("made", (height, width, channels), _UINT8, beside=self.warped.moved.base)  # type: ignore[arg-type]
        if not self.write(out, (0, 0, width * channels, channels, 1), _ONES, _ZEROS):
            image = self.warped.realise(self._scratch, self._shrinks).array()
            if self.operations:
                colours = PendingColours(np.ascontiguousarray(image), self._scratch)
                for operation in self.operations:
                    colours.apply(operation)
                image = colours.settle()
            out = image
        self.replace(out)
        return out

    settle = array  # as colour steps ask

    def write(self, out: np.ndarray, strides: Sequence[int], scales: Sequence[float], shifts: Sequence[float]) -> bool:
        """Write it as an output asks; False where that is not the kernel's to do, and nothing has been written.

        Args:
            out: memory of the output's dtype.
            strides: as `NativeSink.strides` gives them.
            scales: of each channel, three.
            shifts: the same: a float is level * scale + shift.
        """
        w = self.warped
        channels = w.moved.shape[2]
        fill = border_of(w.fill) if w.border == cv2.BORDER_CONSTANT else 0
        if fill < 0:
            return False
        height, width = w.shape[:2]
        part, matrix, k = self._picture(height, width)
        if not isinstance(part, np.ndarray):
            return False
        if not lies_well(part):
            part = np.array(part, order="C")  # a refusal would be another kernel's bits, because of how it lies
        rows, columns = part.shape[:2]
        start, _, *steps = strides
        head = (
            part.ctypes.data, rows, columns, part.strides[0], channels, *matrix, w.border, fill, k, height, width,
            out.ctypes.data + start, written_as(out), *steps, *scales, *shifts,
        )  # fmt: skip
        return self._kernel(head, self._numbers)

    def _picture(self, height: int, width: int) -> tuple[Any, Any, int]:
        """What is read, the matrix to it, and by how much it is to be reduced before."""
        w = self.warped
        base, symmetry, matrix = w.moved.base, w.moved.symmetry, w.matrix
        if symmetry != IDENTITY:
            turn = symmetry_matrix(symmetry, *w.moved.shape[:2])
            matrix = turn if matrix is None else multiply(turn, matrix)
        if matrix is None:
            return base, _EYE, 1
        if isinstance(base, Undecoded):
            how = Sampling(LINEAR, w.border, w.fill, self._shrinks)
            return *read_part(base, matrix, height, width, how, self._scratch), 1
        return base, matrix, reduction(matrix) if self._shrinks.reduces and w.matrix is not None else 1


def _with_part(numbers: tuple[Any, ...], part: tuple[int, int, int, int]) -> tuple[Any, ...]:
    """The numbers of an operation; of one that goes through HSV with the part of the picture where that rounds."""
    return (*numbers[:4], *part, *numbers[8:]) if numbers[0] in (OPERATIONS.HUE, OPERATIONS.HSV) else numbers


_EYE = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


def lies_well(picture: np.ndarray) -> bool:
    """Whether kernels read a uint8 picture H×W×C where it lies: row below row, with its pixels side by side.

    >>> picture = np.zeros((4, 5, 3), np.uint8)
    >>> lies_well(picture[1:, 2:]), lies_well(picture[::-1]), lies_well(picture[:, ::2]), lies_well(picture[..., ::-1])
    (True, False, False, False)
    """
    rows, columns, channels = picture.shape
    down, across, beside = picture.strides
    whole_pixels = (beside == 1 or channels == 1) and across == channels
    return whole_pixels and columns * channels <= down < _FARTHEST // rows


def takes(picture: Warped) -> bool:
    """Whether a picture is what the kernel makes: uint8, grey or RGB, between whose pixels it goes straight."""
    return (
        picture.interpolation == LINEAR
        and picture.moved.dtype == _UINT8
        and picture.moved.shape[2] in _CHANNELS
        and picture.is_one_warp()
    )


def numbers_of(operation: Operation) -> tuple[Any, ...] | None:
    """Kind and twelve numbers of a native operation; None where it has none such."""
    match operation:
        case Linear(rows, truncates):
            (r0, r1, r2, r3), (g0, g1, g2, g3), (b0, b1, b2, b3) = rows
            less = dropped(truncates)
            return (
                OPERATIONS.MATRIX, r0, r1, r2, r3 * 255.0 - less, g0, g1, g2, g3 * 255.0 - less,
                b0, b1, b2, b3 * 255.0 - less, 0,
            )  # fmt: skip
        case Contrast(factor):
            return OPERATIONS.CONTRAST, factor, 0.0, 0.0, *_NO
        case Hue(shift):
            return OPERATIONS.HUE, math.floor(_STEPS * shift) % _STEPS, float(abs(shift) <= SMALL), 0.0, *_NO
        case HueSaturationValue(hue, saturation, value) if (turn := turn_of(hue)) is not None:
            return OPERATIONS.HSV, turn, limited(saturation), limited(value), *_NO
    return None
