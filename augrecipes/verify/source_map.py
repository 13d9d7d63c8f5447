"""Maps a draw to its source: two ramps, x and y, run through the steps as further targets of the recipe."""

from dataclasses import replace
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.compiler.compile import build
from augrecipes.ops.dihedral import D4
from augrecipes.ops.step import Arguments
from augrecipes.recipe.model import UINT8_HWC, Recipe
from augrecipes.recipe.targets import Target
from augrecipes.sources.sample import Sample
from augrecipes.verify.variants import changed, fill_borders

_X, _Y = "source_x", "source_y"
_RAMP = Target("mask", interpolation="linear", fill=-1e6)  # the fill marks pixels outside the source, or hidden
_SIDE = 128  # px, longest side of the ramps whose slopes are measured
_NEAR = 0.966  # cosine of 15°, the largest angle between a draw's axes and those of a symmetry


class SourceMap(NamedTuple):
    """The part of the source that a draw shows.

    Attributes:
        seen: bool H×W of the source: whether the draw shows the pixel.
        shown: bool H×W of the draw: whether the pixel shows the source; others are borders, or hidden.
        places: rows and columns of the source at the pixels of `shown`, int64 (n,) each.
        move: the symmetry of the square, as `D4` names it, that the draw is closest to, regardless of crop and stretch;
            None: it is not within 15° of one, or too small to tell.
    """

    seen: NDArray[np.bool_]
    shown: NDArray[np.bool_]
    places: tuple[NDArray[np.int64], ...]
    move: str | None


def slopes(x: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
    """The Jacobian of source x and y by column and row of the draw, float64 (2, 2): medians over pixels but NaN."""
    known = (slope[np.isfinite(slope)] for ramp in (x, y) for slope in np.gradient(ramp)[::-1])
    return np.array([np.median(slope) if slope.size else 0.0 for slope in known]).reshape(2, 2)


_AXES = {name: slopes(*map(move.view, np.meshgrid(range(3), range(3)))) for name, move in D4.items()}


def source_map(x: NDArray[Any], y: NDArray[Any], size: tuple[int, int]) -> SourceMap:
    """The map of a draw, from the ramps after the steps; `size` is rows and columns of the source.

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
        # A pixel of a reduced image shows several pixels of the source, around its place.
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
    """Runs a recipe's training steps, unoptimised, and maps each draw to its source.

    Args:
        recipe: a recipe of kind image or bag.
        seed: seed of the draws.
    """

    def __init__(self, recipe: Recipe, seed: int) -> None:
        inputs = replace(recipe.inputs, targets=Arguments({**recipe.inputs.targets, _X: _RAMP, _Y: _RAMP}))
        steps = changed(recipe.steps, fill_borders)
        traced = replace(recipe, inputs=inputs, steps=steps, output=UINT8_HWC)
        self._pipeline = build(traced, "train", "none", seed, threads=1)

    def draw(self, sample: Sample, epoch: int, **more: Any) -> tuple[dict[str, Any], SourceMap]:
        """Draw a sample with `more` targets; returns the result and its map."""
        size = sample.images["image"].shape[:2]
        x, y = np.meshgrid(*(np.arange(side, dtype=np.float32) for side in size[::-1]))
        out = sample.run(self._pipeline, epoch, **{_X: x, _Y: y}, **more)
        return out, source_map(out[_X], out[_Y], size)
