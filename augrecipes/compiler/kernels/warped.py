"""Warped: a picture that is to be cut, turned and warped, and has not been yet; one resampling instead of several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np

from augrecipes.compiler.kernels.drawing import stand_in
from augrecipes.compiler.kernels.moves import Moved, Symmetry
from augrecipes.compiler.kernels.resample import Sampling, Shrinks, reduction, resize, symmetry_matrix, warp
from augrecipes.compiler.kernels.scratch import Scratch
from augrecipes.compiler.kernels.undecoded import Undecoded
from augrecipes.ops.warps import LINEAR, Matrix, Warp, multiply

_NEAR = 1e-6  # px: rounding of composed matrices
_REPEAT = cv2.BORDER_REPLICATE


@dataclass(slots=True)  # never changed; frozen ones take three times as long to make
class Warped:
    """A picture and the geometry that it still owes.

    Attributes:
        moved: the picture, cut and turned: exact, and what was cut away stays hidden.
        matrix: from output to `moved`; None where nothing is resampled.
        height: of the output, px.
        width: of the output, px.
        interpolation: of every resampling step so far.
        border: what lies beyond `moved`, cv2's border mode.
        fill: of a constant border.
    """

    moved: Moved
    matrix: Matrix | None = None
    height: int = 0
    width: int = 0
    interpolation: int = LINEAR
    border: int = _REPEAT
    fill: Any = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the output."""
        if self.matrix is None:
            return self.moved.shape
        return (self.height, self.width, *self.moved.shape[2:])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype, which no geometry changes."""
        return self.moved.dtype

    def stand_in(self) -> np.ndarray:
        """What a step that draws sees of it."""
        return stand_in(self.shape, self.moved.base.dtype)

    def cut(self, x_min: int, y_min: int, x_max: int, y_max: int) -> Warped:
        """Cut to a window, ends exclusive."""
        if self.matrix is None:
            return Warped(self.moved.cut(x_min, y_min, x_max, y_max))
        shift: Matrix = (1.0, 0.0, x_min, 0.0, 1.0, y_min, 0.0, 0.0, 1.0)
        return self._seen_through(multiply(self.matrix, shift), y_max - y_min, x_max - x_min)

    def turned(self, symmetry: Symmetry) -> Warped:
        """Turned once more."""
        if self.matrix is None:
            return Warped(self.moved.turned(symmetry))
        height, width = (self.width, self.height) if symmetry.transpose else (self.height, self.width)
        return self._seen_through(multiply(self.matrix, symmetry_matrix(symmetry, height, width)), height, width)

    def then(self, warp: Warp) -> Warped | None:
        """Warped once more; None where that is not the same as carrying out one after the other.

        It is the same where the warp stays inside what is there, so that neither a border nor an edge comes into play;
        and where nothing has been resampled before, so that its border is the picture's own.
        """
        if self.matrix is None:
            border = _REPEAT if warp.border is None else warp.border
            return Warped(self.moved, warp.matrix, warp.height, warp.width, warp.interpolation, border, warp.fill)
        if warp.interpolation != self.interpolation:
            return None
        # A resize repeats the edge, up to half a pixel; what stands there instead is its true neighbour.
        reach = 0.5 if warp.border is None else 0.0
        if not stays_inside(warp, self.height, self.width, reach + _NEAR):
            return None
        return self._seen_through(multiply(self.matrix, warp.matrix), warp.height, warp.width)

    def _seen_through(self, matrix: Matrix, height: int, width: int) -> Warped:
        return Warped(self.moved, matrix, height, width, self.interpolation, self.border, self.fill)

    def realise(self, scratch: Scratch, shrinks: Shrinks) -> Moved:
        """The resampling carried out, in memory of `scratch` or in the picture's own; a last turn may still be owed."""
        if self.matrix is None:
            return self.moved
        smaller = shrinks.scales and isinstance(self.moved.base, Undecoded) and reduction(self.matrix) > 1
        upright = None if smaller else self._upright()
        if upright is None:
            how = Sampling(self.interpolation, self.border, self.fill, shrinks)
            return Moved(warp(self.moved, self.matrix, self.height, self.width, how, scratch))
        window, turn = upright
        height, width = (self.width, self.height) if turn.transpose else (self.height, self.width)
        return resize(window, height, width, self.interpolation, scratch).turned(turn)

    def _upright(self) -> tuple[Moved, Symmetry] | None:
        """The window of whole pixels that is only scaled, and how it is turned afterwards, where there is no more.

        OpenCV's resize is quicker than its warp, and for one resize it gives the very bits.
        """
        assert self.matrix is not None
        a, b, c, d, e, f, g, h, _ = self.matrix
        if g or h or self.interpolation != LINEAR or not ((b == 0 and d == 0) or (a == 0 and e == 0)):
            return None
        transpose = a == 0
        x, y = (b, d) if transpose else (a, e)
        across, down = (self.height, self.width) if transpose else (self.width, self.height)
        left, top = c - 0.5 * x + 0.5, f - 0.5 * y + 0.5
        xs, ys = sorted((left, left + x * across)), sorted((top, top + y * down))
        x0, x1, y0, y1 = round(xs[0]), round(xs[1]), round(ys[0]), round(ys[1])
        if max(abs(xs[0] - x0), abs(xs[1] - x1), abs(ys[0] - y0), abs(ys[1] - y1)) > _NEAR:
            return None
        rows, columns = self.moved.shape[:2]
        if not (0 <= x0 < x1 <= columns and 0 <= y0 < y1 <= rows):
            return None
        # x runs along rows of the output after a transposition, so its sign says how those are turned.
        flips = (x < 0, y < 0) if transpose else (y < 0, x < 0)
        return self.moved.cut(x0, y0, x1, y1), Symmetry(transpose, *flips)


def stays_inside(warp: Warp, height: int, width: int, reach: float) -> bool:
    """Whether a warp reads nothing further than `reach` px outside the centres of a picture's outermost pixels."""
    a, b, c, d, e, f, g, h, i = warp.matrix
    right, bottom = warp.width - 1, warp.height - 1
    for x, y in ((0, 0), (right, 0), (0, bottom), (right, bottom)):
        w = g * x + h * y + i
        if w <= 0:
            return False
        u, v = (a * x + b * y + c) / w, (d * x + e * y + f) / w
        if not (-reach <= u <= width - 1 + reach and -reach <= v <= height - 1 + reach):
            return False
    return True
