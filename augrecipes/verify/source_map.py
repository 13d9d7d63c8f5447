"""What of its source a draw shows: two ramps, x and y, go through the steps as further targets of the recipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.compiler.compile import build
from augrecipes.compiler.run.clock import SINK, route_steps
from augrecipes.compiler.run.labels import labels_of
from augrecipes.ops.box_formats import corners_px
from augrecipes.ops.dihedral import Symmetry
from augrecipes.ops.frozen import Arguments
from augrecipes.recipe.model import UINT8_HWC, Inputs, Recipe
from augrecipes.recipe.targets import Target
from augrecipes.sources.sample import Sample
from augrecipes.verify.variants import changed, fill_borders

_X, _Y = "source_x", "source_y"
_RAMP = Target("mask", interpolation="linear", fill=-1e6)  # what is outside, or hidden, is far away
_AXIS = 0.26  # sine of the angle to a symmetry of the square from which on a draw is none: 15°
_NO_OBJECT = (0, 255)  # labels of masks: background, and what losses leave out


class SourceMap(NamedTuple):
    """What of its source a draw shows.

    Attributes:
        seen: bool, of the source: its pixels that the draw shows.
        shown: bool, of the draw: its pixels that show the source; others are borders, or hidden.
        places: rows and columns of the source under these.
        jacobian: source px along one of the draw: x by column and row, then y; the median of all.
    """

    seen: NDArray[np.bool_]
    shown: NDArray[np.bool_]
    places: tuple[NDArray[np.int64], ...]
    jacobian: NDArray[np.float64]

    @property
    def symmetry(self) -> Symmetry | None:
        """The symmetry of the square that the draw comes to, whatever it cuts or stretches; None: it turns further."""
        axes = self.jacobian / np.maximum(np.linalg.norm(self.jacobian, axis=1, keepdims=True), 1e-9)
        near = np.rint(axes)
        if np.abs(axes - near).max() > _AXIS or abs(np.linalg.det(near)) != 1:
            return None
        by_x, by_y = (near.sum(axis=1) < 0).tolist()
        return Symmetry(True, by_x, by_y) if near[0, 0] == 0 else Symmetry(False, by_y, by_x)


def source_map(x: NDArray[Any], y: NDArray[Any], size: tuple[int, int]) -> SourceMap:
    """The map of what ramps of a source of so many rows and columns have become.

    >>> y, x = np.indices((6, 8), np.float32)
    >>> half = source_map(x[:, :3:-1], y[:, :3:-1], (6, 8))
    >>> half.seen.mean(), half.symmetry
    (0.5, Symmetry(transpose=False, flip_y=False, flip_x=True))
    """
    shown, jacobian = (x > -1) & (y > -1), np.eye(2)
    if min(x.shape) > 1 and shown.any():
        jacobian = np.array([[np.median(slope[shown]) for slope in np.gradient(ramp)[::-1]] for ramp in (x, y)])
    # A pixel that was made small shows several of the source, around its place.
    covers = np.maximum(np.rint(np.linalg.norm(jacobian, axis=1)), 1).astype(int).tolist()
    columns, rows = (
        np.clip((ramp[shown] + 0.5 * (cover % 2)).astype(int), 0, most - 1)
        for ramp, cover, most in zip((x, y), covers, size[::-1], strict=True)
    )
    hits = np.zeros(size, np.uint8)
    hits[rows, columns] = 1
    seen = cv2.morphologyEx(cv2.dilate(hits, np.ones(covers[::-1])), cv2.MORPH_CLOSE, np.ones((3, 3)))
    return SourceMap(seen > 0, shown, (rows, columns), jacobian)


class Tracer:
    """A recipe's training steps as they are written, whose draws tell step by step what of the source they show.

    Args:
        recipe: of kind image or bag.
        seed: of the draws.
    """

    def __init__(self, recipe: Recipe, seed: int) -> None:
        inputs = replace(recipe.inputs, targets=Arguments({**recipe.inputs.targets, _X: _RAMP, _Y: _RAMP}))
        steps = changed(recipe.steps, fill_borders)
        traced = replace(recipe, inputs=inputs, steps=steps, output=UINT8_HWC)
        self._pipeline = build(traced, "train", "none", seed, threads=1)
        self._stages: list[tuple[str, NDArray[Any], NDArray[Any]]] = []
        route_steps(self._pipeline, self._call)

    def draw(self, sample: Sample, epoch: int, **more: Any) -> tuple[dict[str, Any], list[tuple[str, SourceMap]]]:
        """What comes out of a sample and `more` targets, and what it shows at first and behind each step that moves or
        hides pixels.
        """
        size = sample.images["image"].shape[:2]
        x, y = np.meshgrid(*(np.arange(side, dtype=np.float32) for side in size[::-1]))
        self._stages = [("", x, y)]
        out = sample.run(self._pipeline, epoch, **{_X: x, _Y: y}, **more)
        return out, [(label, source_map(x, y, size)) for label, x, y in self._stages]

    def _call(self, label: str, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        done = step(*args, **kwargs)
        if label != SINK and not all(map(np.array_equal, self._stages[-1][1:], (done[_X], done[_Y]))):
            self._stages.append((label, done[_X].copy(), done[_Y].copy()))
        return done


class Region(NamedTuple):
    """Pixels of an image that are one object.

    Attributes:
        what: `image`, `mask`, `box` or `keypoint`.
        of: its class; empty: it has none, or all classes of a mask.
        where: an index of the image's rows and columns.
    """

    what: str
    of: str
    where: Any


def regions_of(sample: Sample, inputs: Inputs, classes: dict[int, str]) -> Iterator[Region]:
    """The whole image, and what lies on it: the mask and each of its labels, boxes, keypoints within the image.

    Args:
        sample: as it was read.
        inputs: of the recipe.
        classes: names of labels of boxes.
    """
    rest, (height, width) = sample.rest, sample.images["image"].shape[:2]
    yield Region("image", "", np.s_[:, :])
    if "mask" in rest:
        mask = labels_of(rest["mask"], inputs.mask_labels).reshape(height, width)
        labels = [label for label in np.unique(mask).tolist() if label not in _NO_OBJECT] or [255]
        named = [(classes.get(label - 1, str(label)), [label]) for label in labels]
        pixels = [Region("mask", of, np.isin(mask, some)) for of, some in [("", labels), *named]]
        yield from (region for region in pixels if region.where.any())
    if inputs.boxes and "boxes" in rest:
        labels = rest.get(inputs.boxes.labels or "", [""] * len(rest["boxes"]))
        corners = np.ceil(corners_px(rest["boxes"], inputs.boxes.format, height, width) - 0.5)
        starts = corners[:, :2].clip(0, (width - 1, height - 1)).astype(int)
        ends = np.maximum(corners[:, 2:].astype(int), starts + 1)  # a box has one pixel at least
        for (x, y), (end_x, end_y), of in zip(starts.tolist(), ends.tolist(), labels, strict=True):
            yield Region("box", str(classes.get(of, of)), np.s_[y:end_y, x:end_x])
    if inputs.keypoints and "keypoints" in rest:
        for point in (np.asarray(row[:2], float) + 0.5 for row in rest["keypoints"]):
            x, y = point[::-1] if inputs.keypoints.format == "yx" else point
            if 0 <= x < width and 0 <= y < height:  # NaN, too, is none
                yield Region("keypoint", "", (int(y), int(x)))
