"""Warped: a picture that is to be cut, turned and warped, and has not been yet; one resampling instead of several."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot
from typing import Any

import cv2
import numpy as np

from augrecipes.compiler.kernels.drawing import stand_in
from augrecipes.compiler.kernels.grids import is_coarse, narrows
from augrecipes.compiler.kernels.moves import Moved, Symmetry
from augrecipes.compiler.kernels.resample import Sampling, Shrinks, reduction, resize, symmetry_matrix, warp
from augrecipes.compiler.kernels.scratch import Scratch
from augrecipes.compiler.kernels.undecoded import Undecoded
from augrecipes.ops.warps import LINEAR, Matrix, Warp, multiply

_NEAR = 1e-6  # px: rounding of composed matrices
_REPEAT = cv2.BORDER_REPLICATE


@dataclass(slots=True)  # never changed once it is handed out; frozen ones take three times as long to make
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
        neighbours: a sample next to the edge of what is seen blends in what lies beyond; otherwise it repeats the edge.
        between: of the grids that it went through before the last one: from each to `moved`, where it may be coarser.
    """

    moved: Moved
    matrix: Matrix | None = None
    height: int = 0
    width: int = 0
    interpolation: int = LINEAR
    border: int = _REPEAT
    fill: Any = 0
    neighbours: bool = False
    between: tuple[Matrix, ...] = ()

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
        cut = self._seen_through(multiply(self.matrix, shift), y_max - y_min, x_max - x_min)
        cut.neighbours |= cut.shape != self.shape
        return cut

    def turned(self, symmetry: Symmetry) -> Warped:
        """Turned once more."""
        if self.matrix is None:
            return Warped(self.moved.turned(symmetry))
        height, width = (self.width, self.height) if symmetry.transpose else (self.height, self.width)
        return self._seen_through(multiply(self.matrix, symmetry_matrix(symmetry, height, width)), height, width)

    def then(self, warp: Warp) -> Warped | None:
        """Warped once more; None where that is not the same as carrying out one after the other.

        It is the same where the warp stays inside what is there, so that neither a border nor an edge comes into play,
        and where no grid between is coarser than both ends, so that no detail comes back that it would have lost; and
        where nothing has been resampled before, so that its border is the picture's own.
        """
        if self.matrix is None:
            border = _REPEAT if warp.border is None else warp.border
            own = warp.border is not None
            return Warped(self.moved, warp.matrix, warp.height, warp.width, warp.interpolation, border, warp.fill, own)
        if warp.interpolation != self.interpolation:
            return None
        if not stays_inside(warp, self.height, self.width, edge_reach(warp) + _NEAR):
            return None
        matrix = multiply(self.matrix, warp.matrix)
        between = (*self.between, self.matrix) if is_coarse(self.matrix) else self.between
        if narrows(between, matrix, warp.height, warp.width):
            return None
        after = self._seen_through(matrix, warp.height, warp.width)
        after.between = between
        return after

    def _seen_through(self, matrix: Matrix, height: int, width: int) -> Warped:
        return Warped(
            self.moved, matrix, height, width, self.interpolation, self.border, self.fill, self.neighbours, self.between
        )

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
        if self.neighbours and min(hypot(a, b), hypot(d, e)) < 1:
            return None  # it looks beyond the window, where a resize would repeat the edge
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


def edge_reach(warp: Warp) -> float:
    """How far beyond the outermost pixels' centres a warp may look at true neighbours in place of what it would see.

    A resize repeats the edge, up to half a pixel. Where it enlarges more than twofold, that would be more than half a
    pixel of what comes out.
    """
    a, b, _, d, e, *_ = warp.matrix
    return min(0.5, 0.5 * hypot(a, b), 0.5 * hypot(d, e)) if warp.border is None else 0.0


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
