"""Warped: a picture that is to be cut, turned and warped, and has not been yet; one resampling instead of several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import hypot
from typing import Any, NamedTuple, TypeAlias

import cv2
import numpy as np

from augrecipes.compiler.kernels.cost import of_decoding, of_resize, of_warp
from augrecipes.compiler.kernels.grids import enlarges, is_coarse, narrows
from augrecipes.compiler.kernels.moves import IDENTITY, Moved, Symmetry
from augrecipes.compiler.kernels.resample import Sampling, Shrinks, box, reduction, resize, symmetry_matrix, warp
from augrecipes.compiler.kernels.scratch import Scratch
from augrecipes.compiler.kernels.step_draws import stand_in
from augrecipes.compiler.kernels.undecoded import Undecoded
from augrecipes.ops.warps import LINEAR, NEAREST, Matrix, Warp, multiply, scaling

_NEAR = 1e-6  # px: rounding of composed matrices
_REPEAT = cv2.BORDER_REPLICATE
_STILL = scaling(1.0, 1.0)


@dataclass(slots=True)  # never changed once it is handed out; frozen ones take three times as long to make
class Warped:
    """A picture and the geometry that is still to be applied to it.

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
        last: the last resampling step.
        own: from output to what `last` was given.
        earlier: that, where something was resampled before.
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
    last: Warp | None = None
    own: Matrix | None = None
    earlier: Warped | None = None

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
        cut = self._seen_through(shift, y_max - y_min, x_max - x_min)
        cut.neighbours |= cut.shape != self.shape
        return cut

    def turned(self, symmetry: Symmetry) -> Warped:
        """Turned once more."""
        if self.matrix is None:
            return Warped(self.moved.turned(symmetry))
        height, width = (self.width, self.height) if symmetry.transpose else (self.height, self.width)
        return self._seen_through(symmetry_matrix(symmetry, height, width), height, width)

    def then(self, warp: Warp) -> Warped | None:
        """Warped once more; None where that is not the same as carrying out one after the other.

        It is the same where the warp stays inside what is there, so that neither a border nor an edge comes into play,
        and where no grid between is coarser than both ends, so that no detail comes back that it would have lost; and
        where nothing has been resampled before, so that its border is the picture's own.
        """
        if warp.border is None and warp.matrix == _STILL and (warp.height, warp.width) == self.shape[:2]:
            return self  # it has that size
        if self.matrix is None:
            return _first(self.moved, warp)
        if warp.interpolation != self.interpolation:
            return None
        if not stays_inside(warp, self.height, self.width, edge_reach(warp) + _NEAR):
            return None
        matrix = multiply(self.matrix, warp.matrix)
        between = (*self.between, self.matrix) if is_coarse(self.matrix) else self.between
        if narrows(between, matrix, warp.height, warp.width):
            return None
        return Warped(
            self.moved, matrix, warp.height, warp.width, self.interpolation, self.border, self.fill, self.neighbours,
            between, warp, warp.matrix, self,
        )  # fmt: skip

    def _seen_through(self, move: Matrix, height: int, width: int) -> Warped:
        assert self.matrix is not None
        assert self.own is not None
        matrix = multiply(self.matrix, move)
        own = matrix if self.earlier is None else multiply(self.own, move)
        return Warped(
            self.moved, matrix, height, width, self.interpolation, self.border, self.fill, self.neighbours,
            self.between, self.last, own, self.earlier,
        )  # fmt: skip

    def realise(self, scratch: Scratch, shrinks: Shrinks, make: Make | None = None) -> Moved:
        """The resampling carried out, in memory of `scratch` or in the picture's own; a last turn may still be pending.

        At once, or step by step where that costs less: a resize, and a part of it, may be had sooner than a warp.
        `make` is asked to make what is sampled once, before OpenCV is.
        """
        if self.matrix is None:
            return self.moved
        smaller = shrinks.scales and isinstance(self.moved.base, Undecoded) and reduction(self.matrix) > 1
        if not smaller and self._goes_in_turn():
            assert self.earlier is not None
            assert self.last is not None
            first = self.earlier.realise(scratch, Shrinks() if enlarges(self.last.matrix) else shrinks, make)
            return self._alone(first).realise(scratch, Shrinks(), make)
        if not smaller and (found := self._resized()) is not None:
            done = resize(found.window, found.height, found.width, self.interpolation, scratch).turned(found.turn)
            return done if found.part is None else done.cut(*found.part[0]).turned(found.part[1])
        if make is not None and (made := make(self, shrinks)) is not None:
            return Moved(made)
        how = Sampling(self.interpolation, self.border, self.fill, shrinks)
        return Moved(warp(self.moved, self.matrix, self.height, self.width, how, scratch))

    def is_one_warp(self) -> bool:
        """Whether `realise` samples the picture once, because neither its steps in turn nor a resize is had sooner."""
        return self.matrix is not None and not self._goes_in_turn() and self._resized() is None

    def cost(self) -> float:
        """About what `realise` takes, ns."""
        if self.matrix is None:
            return 0.0
        return self._at_once() if self.earlier is None else min(self._at_once(), self._in_turn())

    def _goes_in_turn(self) -> bool:
        """Whether the last step on what the earlier ones leave is had sooner than all at once."""
        return self.earlier is not None and self._in_turn() < self._at_once()

    def _resized(self) -> _Resized | None:
        """The resize, or the part of one, that is had sooner than a warp; None: there is none."""
        found = self._upright() or self._part_of_resize()
        return found if found is None or found.part is None or self._costs(found) < self._warping() else None

    def _at_once(self) -> float:
        found = self._upright() or self._part_of_resize()
        if found is not None and found.part is None:
            return self._costs(found)
        return self._warping() if found is None else min(self._costs(found), self._warping())

    def _in_turn(self) -> float:
        """Of the last step on what the earlier ones have left."""
        assert self.earlier is not None
        return self.earlier.cost() + self._alone(Moved(self.earlier.stand_in())).cost()

    def _costs(self, found: _Resized) -> float:
        labels = self.interpolation == NEAREST
        rows, columns = found.window.shape[:2]
        return of_resize(rows, columns, found.height, found.width, labels=labels) + _decoding(found.window)

    def _warping(self) -> float:
        assert self.matrix is not None
        rows, columns = self.moved.shape[:2]
        y0, x0, y1, x1 = box(self.matrix, self.height, self.width)
        y0, x0, y1, x1 = max(y0, 0), max(x0, 0), min(y1, rows), min(x1, columns)
        if y0 >= y1 or x0 >= x1:
            return 0.0  # nothing of the picture is seen
        labels = self.interpolation == NEAREST
        pixels = of_warp(y1 - y0, x1 - x0, self.height, self.width, labels=labels)
        return pixels + _decoding(self.moved.cut(x0, y0, x1, y1))

    def _alone(self, picture: Moved) -> Warped:
        """The last step, and the cuts and turns since, on what the earlier ones have left."""
        assert self.last is not None
        alone = _first(picture, self.last)
        same = {self.height, self.width} == {self.last.height, self.last.width}
        return Warped(
            picture, self.own, self.height, self.width, self.last.interpolation, alone.border, self.last.fill,
            alone.neighbours or not same, (), self.last, self.own,
        )  # fmt: skip

    def _part_of_resize(self) -> _Resized | None:
        """The one resize of which a part is left, and that part: rows and columns in another order, no more."""
        if self.last is None or self.last.border is not None or self.earlier is not None:
            return None
        assert self.own is not None
        found = _first(self.moved, self.last)._upright()
        if found is None:
            return None
        x, _, left, _, y, top, *_ = self.last.matrix
        a, b, c, d, e, f, *_ = self.own
        a, b, c, d, e, f = a / x, b / x, (c - left) / x, d / y, e / y, (f - top) / y
        right, bottom = self.width - 1, self.height - 1
        xs, ys = (c, c + a * right + b * bottom), (f, f + d * right + e * bottom)
        window = (round(min(xs)), round(min(ys)), round(max(xs)) + 1, round(max(ys)) + 1)
        transpose = abs(b) > 0.5
        turn = Symmetry(transpose, *((b < -0.5, d < -0.5) if transpose else (e < -0.5, a < -0.5)))
        return found._replace(part=(window, turn))

    def _upright(self) -> _Resized | None:
        """The window of whole pixels that is only scaled, and how it is turned afterwards, where there is no more.

        OpenCV's resize is quicker than its warp, and for one resize it gives the very bits. For labels it takes the
        pixel to the left and above, which a turn before it would exchange.
        """
        assert self.matrix is not None
        a, b, c, d, e, f, g, h, _ = self.matrix
        if g or h or not ((b == 0 and d == 0) or (a == 0 and e == 0)) or self.interpolation not in (LINEAR, NEAREST):
            return None
        if self.interpolation == NEAREST and not self._labels_alike():
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
        height, width = (self.width, self.height) if transpose else (self.height, self.width)
        return _Resized(self.moved.cut(x0, y0, x1, y1), height, width, Symmetry(transpose, *flips))

    def _labels_alike(self) -> bool:
        """Whether labels are resized once, and turned afterwards if at all."""
        once = self.earlier is None and self.last is not None and self.last.border is None
        return once and self.moved.symmetry == IDENTITY


Make: TypeAlias = Callable[[Warped, Shrinks], np.ndarray | None]


class _Resized(NamedTuple):
    """A window scaled to `height` × `width` px, then turned, and of that a part, turned again; None: all of it."""

    window: Moved
    height: int
    width: int
    turn: Symmetry
    part: tuple[tuple[int, int, int, int], Symmetry] | None = None


def _decoding(part: Moved) -> float:
    base = part.base
    return of_decoding(base.y1, base.source.shape[1]) if isinstance(base, Undecoded) else 0.0


def _first(moved: Moved, warp: Warp) -> Warped:
    """A picture of which nothing has been resampled, warped."""
    own = warp.border is not None
    border = _REPEAT if warp.border is None else warp.border
    return Warped(
        moved, warp.matrix, warp.height, warp.width, warp.interpolation, border, warp.fill, own, (), warp, warp.matrix
    )


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
