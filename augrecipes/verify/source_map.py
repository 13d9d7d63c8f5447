"""What of its source a draw shows: two ramps, x and y, go through the steps as further targets of the recipe."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.compiler.compile import build
from augrecipes.ops.dihedral import D4
from augrecipes.ops.frozen import Arguments
from augrecipes.recipe.model import UINT8_HWC, Recipe
from augrecipes.recipe.targets import Target
from augrecipes.sources.sample import Sample
from augrecipes.verify.variants import changed, fill_borders

_X, _Y = "source_x", "source_y"
_RAMP = Target("mask", interpolation="linear", fill=-1e6)  # what is outside, or hidden, is far away
_SIDE = 128  # px of a draw that slopes are taken of
_NEAR = 0.966  # cosine of the angle between an axis and that of a symmetry, up to which a draw counts as one: 15°


class SourceMap(NamedTuple):
    """What of its source a draw shows.

    Attributes:
        seen: bool, of the source: its pixels that the draw shows.
        shown: bool, of the draw: its pixels that show the source; others are borders, or hidden.
        places: rows and columns of the source under these.
        move: the symmetry of the square that the draw comes to, as `D4` names it, whatever it cuts or stretches;
            None: it turns further, or is too small to tell.
    """

    seen: NDArray[np.bool_]
    shown: NDArray[np.bool_]
    places: tuple[NDArray[np.int64], ...]
    move: str | None


def slopes(x: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
    """Source px along one of the draw: of x by column and row, then of y; the median of all pixels but NaN."""
    known = (slope[np.isfinite(slope)] for ramp in (x, y) for slope in np.gradient(ramp)[::-1])
    return np.array([np.median(slope) if slope.size else 0.0 for slope in known]).reshape(2, 2)


_AXES = {name: slopes(*map(move.view, np.meshgrid(range(3), range(3)))) for name, move in D4.items()}


def source_map(x: NDArray[Any], y: NDArray[Any], size: tuple[int, int]) -> SourceMap:
    """The map of what ramps of a source of so many rows and columns have become.

    >>> y, x = np.indices((6, 8), np.float32)
    >>> half = source_map(x[:, :3:-1], y[:, :3:-1], (6, 8))
    >>> float(half.seen.mean()), half.move
    (0.5, 'h')
    """
    shown, move, covers = (x > -1) & (y > -1), None, [1, 1]
    stride = 1 + min(x.shape) // _SIDE
    coarse = [np.where(shown, ramp, np.nan)[::stride, ::stride] for ramp in (x, y)]
    if min(coarse[0].shape) > 1:
        jacobian = slopes(*coarse) / stride
        norms = np.maximum(np.linalg.norm(jacobian, axis=1), 1e-9)
        # A pixel that was made small shows several of the source, around its place.
        covers = np.maximum(np.rint(norms), 1).astype(int).tolist()
        likeness = {name: (axes * jacobian).sum(axis=1) / norms for name, axes in _AXES.items()}
        move = next((name for name, cosines in likeness.items() if cosines.min() > _NEAR), None)
    columns, rows = (
        np.clip((ramp[shown] + 0.5 * (cover % 2)).astype(int), 0, most - 1)
        for ramp, cover, most in zip((x, y), covers, size[::-1], strict=True)
    )
    hits = np.zeros(size, np.uint8)
    hits[rows, columns] = 1
    seen = cv2.morphologyEx(cv2.dilate(hits, np.ones(covers[::-1])), cv2.MORPH_CLOSE, np.ones((3, 3)))
    return SourceMap(seen > 0, shown, (rows, columns), move)


class Tracer:
    """A recipe's training steps as they are written, whose draws tell what of the source they show.

    Args:
        recipe: of kind image or bag.
        seed: of the draws.
    """

    def __init__(self, recipe: Recipe, seed: int) -> None:
        inputs = replace(recipe.inputs, targets=Arguments({**recipe.inputs.targets, _X: _RAMP, _Y: _RAMP}))
        steps = changed(recipe.steps, fill_borders)
        traced = replace(recipe, inputs=inputs, steps=steps, output=UINT8_HWC)
        self._pipeline = build(traced, "train", "none", seed, threads=1)

    def draw(self, sample: Sample, epoch: int, **more: Any) -> tuple[dict[str, Any], SourceMap]:
        """What comes out of a sample and `more` targets, and what of the source that shows."""
        size = sample.images["image"].shape[:2]
        x, y = np.meshgrid(*(np.arange(side, dtype=np.float32) for side in size[::-1]))
        out = sample.run(self._pipeline, epoch, **{_X: x, _Y: y}, **more)
        return out, source_map(out[_X], out[_Y], size)
