"""Source coordinates of output pixels, measured by sending coordinate ramps through a pipeline.

A ramp is an image whose pixels hold their coordinates. Bilinear sampling, averaging and cubic sampling are exact on a
ramp, except where a border mode folds it or repeats an edge: `Map.certain` excludes these pixels.
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

MARK = np.float32(0.3701)  # a constant channel that fills beyond the image do not have
_KINK = 0.002  # px; a larger second difference of the map from one pixel to the next is a seam


def ramps(height: int, width: int) -> np.ndarray:
    """Return column and row of each pixel in units of `unit`, and the mark, float32 H×W×3."""
    y, x = np.mgrid[:height, :width].astype(np.float32)
    px = unit(height, width)
    return np.dstack([x / px, y / px, np.full_like(x, MARK)])


def unit(height: int, width: int) -> np.float32:
    """Return the divisor of px that maps them to [0, 1]: a power of two, so that no coordinate is rounded."""
    return np.float32(1 << max(height, width).bit_length())


@dataclass(frozen=True)
class Map:
    """The source coordinates of each pixel of an output.

    Attributes:
        x: float32 H×W: column in px from the centre of the source's first pixel.
        y: float32 H×W: row.
        certain: bool H×W: whether both are reliable, inside the image and off its edges and all seams.
    """

    x: np.ndarray
    y: np.ndarray
    certain: np.ndarray


def map_of(output: np.ndarray, size: tuple[int, int]) -> Map:
    """Return the map of an output H×W×3 that a pipeline made from `ramps` of `size`."""
    x, y = (output[..., k] * unit(*size) for k in (0, 1))
    inside = np.abs(output[..., 2] - MARK) < 2e-6
    for values, length in ((x, size[1]), (y, size[0])):
        inside &= (values >= 4) & (values <= length - 5)
    return Map(x, y, ~_grown(~inside, 4) & ~_grown(_seams(x, y), 4))


def _grown(where: np.ndarray, by: int) -> np.ndarray:
    """Dilate a mask by `by` px."""
    return np.asarray(cv2.dilate(where.astype(np.uint8), np.ones((2 * by + 1, 2 * by + 1), np.uint8)), bool)


def _seams(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Find the kinks of a map, where a border mode folds it or repeats an edge.

    The second difference of a smooth map, such as a perspective, is nearly the same two px away; at a kink it is not.
    """
    seams = np.zeros(x.shape, np.bool_)
    for values, out in ((x, seams), (y, seams), (x.T, seams.T), (y.T, seams.T)):
        bend = np.ascontiguousarray(np.diff(values, 2, axis=1))
        if bend.size:
            kernel = np.array([[-0.5, 0.0, 1.0, 0.0, -0.5]], np.float32)
            out[:, 1:-1] |= np.abs(cv2.filter2D(bend, -1, kernel, borderType=cv2.BORDER_REPLICATE)) > _KINK
    return seams


def only_moves(pipeline: Any, plan: Dtype) -> Any:
    """Reduce a pipeline to the steps of one plan that move pixels, on float32 images H×W×C."""
    compiled = pipeline.compiled
    left = Plan(_moving(compiled.plans[plan].steps))
    recipe = replace(compiled.recipe, output=Output("float32", "hwc"), outputs=Arguments())
    return pipeline.again(replace(compiled, recipe=recipe, plans=dict.fromkeys(compiled.plans, left)))


def _moving(nodes: Steps) -> Steps:
    """Replace nodes that move no pixel by no-ops, and drop fused nodes without any that does."""
    left: list[Step] = []
    for node in nodes:
        if is_single(node):
            nothing = Step(NO_OP, p=chance(node), target=node.target, share=node.share, site=node.site)
            left.append(node if moves_pixels(node) else nothing)
        elif not isinstance(node, Fused) or any(map(moves_pixels, singles(node))):
            left.append(replace(node, steps=_moving(node.steps)))
    return tuple(left)
