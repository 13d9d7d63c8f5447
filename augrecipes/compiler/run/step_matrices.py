"""Where steps put the pixels of a sample, as one 3×3 matrix: multiplied from what each of them drew, without pixels.

Places are pixel centres, (x, y, 1). Steps whose geometry is no matrix have none: see `Capability.is_matrix`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from augrecipes.compat.steps import Sample, functions_of, sampler_of
from augrecipes.compiler.kernels.moves import Symmetry, symmetry_of
from augrecipes.compiler.kernels.step_draws import stand_in
from augrecipes.compiler.lowering.walk import encode
from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.compiler.run.points_alone import size_behind
from augrecipes.compiler.run.prepared import Act, Executors, prepared
from augrecipes.ops.capabilities import claims

Matrix: TypeAlias = NDArray[np.float64]
Size: TypeAlias = tuple[int, int]
Move: TypeAlias = tuple[str, Mapping[str, Any], Size, Size]  # a step's name, what it drew, the size before it and after
_BYTE = np.dtype(np.uint8)


def shifted(x: float, y: float) -> Matrix:
    """The matrix that adds to columns and rows."""
    return np.array([[1, 0, x], [0, 1, y], [0, 0, 1]], np.float64)


def scaled(y: float, x: float, *, centres: bool = True) -> Matrix:
    """The matrix to a grid of so many pixels along one of before; `centres`: of pixels, whose halves are scaled, too.

    >>> scaled(2, 4).tolist()
    [[4.0, 0.0, 1.5], [0.0, 2.0, 0.5], [0.0, 0.0, 1.0]]
    """
    half = 0.5 if centres else 0
    return np.array([[x, 0, half * (x - 1)], [0, y, half * (y - 1)], [0, 0, 1]], np.float64)


def turned(symmetry: Symmetry, size: Size) -> Matrix:
    """The matrix of a flip or turn of an image of `size`, rows and columns.

    >>> (turned(Symmetry(transpose=True, flip_x=True), (3, 5)) @ [4, 0, 1]).tolist()
    [2.0, 4.0, 1.0]
    """
    rows, columns = size[::-1] if symmetry.transpose else size
    flips = np.diag([1.0 - 2 * symmetry.flip_x, 1 - 2 * symmetry.flip_y, 1])
    flips[:2, 2] = symmetry.flip_x * (columns - 1), symmetry.flip_y * (rows - 1)
    return flips[:, [1, 0, 2]] if symmetry.transpose else flips


def matrix_of(name: str, params: Mapping[str, Any], before: Size, after: Size, *, centres: bool = True) -> Matrix:
    """The matrix of a step: from places in the image before it to those behind it.

    Args:
        name: of its class.
        params: that it drew.
        before: rows and columns of the image.
        after: the same behind it.
        centres: places are pixels' centres; False: as albumentations moves keypoints where it resizes.

    >>> matrix_of("CenterCrop", {"crop_coords": (2, 1, 6, 4), "pad_params": None}, (5, 8), (3, 4))[:2, 2].tolist()
    [-2.0, -1.0]
    """
    record = claims(name)
    if record.action == "dihedral":
        return turned(symmetry_of(name, params), before)
    if record.resizes == "whole":
        y, x = after[0] / before[0], after[1] / before[1]
        if not centres and "scale" in params:  # to which the size was rounded
            y = x = params["scale"]
        return scaled(y, x, centres=centres)
    if "matrix" in params:
        matrix = params["matrix"]
        if "max_width" in params:  # a perspective is scaled to the size that it keeps, without the half pixel
            matrix = scaled(after[0] / params["max_height"], after[1] / params["max_width"], centres=False) @ matrix
        cut = shifted(-params["x_min"], -params["y_min"]) if params.get("x_min", -1) >= 0 else np.eye(3)
        return np.asarray(cut @ matrix)
    if "result_shape" in params:  # cut, padded and, where it keeps its size, resized
        x, y, *_ = params["crop_params"] or (0, 0)
        top, _, left, _ = params["pad_params"] or (0, 0, 0, 0)
        rows, columns = params["result_shape"][:2]
        return scaled(after[0] / rows, after[1] / columns, centres=centres) @ shifted(left - x, top - y)
    pads = params.get("pad_params") or params
    x, y, *far = params.get("crop_coords", (0, 0))
    moved = shifted(pads.get("pad_left", 0) - x, pads.get("pad_top", 0) - y)
    if record.resizes == "window":
        moved = scaled(after[0] / (far[1] - y), after[1] / (far[0] - x), centres=centres) @ moved
    return moved


class StepMatrices:
    """The matrices of a pipeline's samples, by their keys: each step draws as it does for pixels, and none is touched.

    Args:
        pipeline: whose steps run as they are written; its generators are moved.

    >>> import augrecipes as ar
    >>> found = StepMatrices(ar.load("folder-128").compile("eval").plain)
    >>> found.at((0, 7, 0), (256, 512, 3))[:2, 2].tolist()
    [-64.25, -0.25]
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline, self._seen = pipeline, list[Move]()
        still = {id(step): lambda _: lambda data: data for step, _, _ in pipeline.sites if not _moves(step)}
        how = Executors(partial(_followed, self._seen), still)
        self._steps = [prepared(step, pipeline, how) for step in pipeline.transforms]

    def at(self, key: tuple[int, int, int], shape: tuple[int, int, int]) -> Matrix:
        """From places in an image H×W×C to those behind the last step, float64 (3, 3); `key`: epoch, index, tile."""
        return reduce(lambda matrix, move: matrix_of(*move) @ matrix, self.moves(key, shape), np.eye(3))

    def moves(self, key: tuple[int, int, int], shape: tuple[int, int, int]) -> list[Move]:
        """The steps that move places, as they act on an image H×W×C: the first arguments of `matrix_of`."""
        self._pipeline.position(*key)
        self._seen.clear()
        data: Sample = {"image": stand_in(shape, _BYTE)}
        with self._pipeline.blaming():
            for first, p, act, _ in self._steps:
                if first is None or first() < p:
                    data = act(data)
        return [*self._seen]


def _moves(step: Any) -> bool:
    """Whether a step, or one in a group, moves places."""
    return claims(type(step).__name__).moves or any(map(_moves, getattr(step, "transforms", ())))


def _followed(seen: list[Move], step: Any, takes: bool) -> Act:
    """What a step does to the shape of what stands for the image; how it moves places is noted."""
    draw, take, numbers = sampler_of(step), step.py_random.random, encode(step)
    apply: Callable[..., Any] = functions_of(step)["image"]

    def act(data: Sample) -> Sample:
        if takes:
            take()
        image = data["image"]
        params, before = draw(data), image.shape[:2]
        if numbers is not None:
            after = size_behind(numbers, params, *before)
        else:  # its size is its own business
            after = apply(np.zeros(image.shape, _BYTE), **params).shape[:2]
        seen.append((type(step).__name__, params, before, after))
        data["image"] = stand_in((*after, image.shape[2]), _BYTE)
        return data

    return act
