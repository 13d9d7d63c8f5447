"""Where the pixels of an output come from, as coordinate ramps show it when they are sent through a pipeline.

Ramps are images whose pixels say where they lie. Bilinear sampling, averaging and cubic sampling are all exact on a
ramp. They are not where it is folded at a border, or where the edge of an image is repeated: `Map.certain` leaves these
pixels out.
"""

from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np

from augrecipes.compiler.rewrite import Plan
from augrecipes.compiler.rewrite.nodes import Fused, Steps, is_single, singles
from augrecipes.flow import Dtype
from augrecipes.ops.groups import NO_OP
from augrecipes.ops.registry import chance
from augrecipes.recipe.model import Arguments, Output, Step
from augrecipes.verify.variants import moves_pixels

MARK = np.float32(0.3701)  # what is beyond the image shows by this value being gone: no fill is likely to be it
_KINK = 0.002  # px of the output: by how much a map bends from one px to the next, at a seam


def ramps(height: int, width: int) -> np.ndarray:
    """Column and row of each pixel in units of `unit`, and the mark, float32 H×W×3."""
    y, x = np.mgrid[:height, :width].astype(np.float32)
    px = unit(height, width)
    return np.dstack([x / px, y / px, np.full_like(x, MARK)])


def unit(height: int, width: int) -> np.float32:
    """What px are divided by to lie in 0..1: a power of two, so that no place is rounded."""
    return np.float32(1 << max(height, width).bit_length())


@dataclass(frozen=True)
class Map:
    """Where each pixel of an output comes from.

    Attributes:
        x: float32 H×W, px of the source from its first pixel's centre.
        y: the same.
        certain: bool H×W, what can be relied on: the image is shown there, off its edges and off all seams.
    """

    x: np.ndarray
    y: np.ndarray
    certain: np.ndarray


def map_of(output: np.ndarray, size: tuple[int, int]) -> Map:
    """The map that an output H×W×3 shows, which was `ramps` of `size` before."""
    x, y = (output[..., k] * unit(*size) for k in (0, 1))
    inside = np.abs(output[..., 2] - MARK) < 2e-6
    for values, length in ((x, size[1]), (y, size[0])):
        inside &= (values >= 4) & (values <= length - 5)
    return Map(x, y, ~_grown(~inside, 4) & ~_grown(_seams(x, y), 4))


def _grown(where: np.ndarray, by: int) -> np.ndarray:
    """What is at most `by` px from where it is True."""
    return np.asarray(cv2.dilate(where.astype(np.uint8), np.ones((2 * by + 1, 2 * by + 1), np.uint8)), bool)


def _seams(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Where a map has a kink: it folds at a border, or a step has repeated an edge.

    A smooth map, of a perspective say, bends as much two px further; at a kink it does not.
    """
    seams = np.zeros(x.shape, np.bool_)
    for values, out in ((x, seams), (y, seams), (x.T, seams.T), (y.T, seams.T)):
        bend = np.ascontiguousarray(np.diff(values, 2, axis=1))
        if bend.size:
            kernel = np.array([[-0.5, 0.0, 1.0, 0.0, -0.5]], np.float32)
            out[:, 1:-1] |= np.abs(cv2.filter2D(bend, -1, kernel, borderType=cv2.BORDER_REPLICATE)) > _KINK
    return seams


def only_moves(pipeline: Any, plan: Dtype) -> Any:
    """A pipeline that runs of one of its plans only what moves pixels, on float32 images H×W×C."""
    compiled = pipeline.compiled
    left = Plan(_moving(compiled.plans[plan].steps))
    recipe = replace(compiled.recipe, output=Output("float32", "hwc"), outputs=Arguments())
    return pipeline.again(replace(compiled, recipe=recipe, plans=dict.fromkeys(compiled.plans, left)))


def _moving(nodes: Steps) -> Steps:
    """The nodes; what moves no pixel does nothing, and fused nodes of which nothing is left are gone."""
    left: list[Step] = []
    for node in nodes:
        if is_single(node):
            nothing = Step(NO_OP, p=chance(node), target=node.target, share=node.share, site=node.site)
            left.append(node if moves_pixels(node) else nothing)
        elif not isinstance(node, Fused) or any(map(moves_pixels, singles(node))):
            left.append(replace(node, steps=_moving(node.steps)))
    return tuple(left)
