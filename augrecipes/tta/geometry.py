"""Where the steps of evaluation put the pixels of an image of some size, as one matrix.

Positions are pixel centres, and matrices lead from the source to the network's grid. Boxes count from pixels' corners,
half a pixel before their centres.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from augrecipes.compiler.kernels.moves import Symmetry, symmetry_of
from augrecipes.compiler.run.instrument import SINK, instrument
from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.ops.capabilities import claims

Matrix: TypeAlias = NDArray[np.float64]
Size: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Placement:
    """What the steps do to places.

    Attributes:
        after: rows and columns behind the last step.
        pixels: 3×3, from pixels' centres of the source to those behind the last step.
        points: the same of keypoints: albumentations multiplies them where an image is resized, without the half pixel.
        cuts: earlier grids, each with its matrix, outside of which pixels were lost that later steps pad again.
    """

    after: Size
    pixels: Matrix
    points: Matrix
    cuts: tuple[tuple[Matrix, Size], ...]


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


def of_corners(matrix: Matrix) -> Matrix:
    """A matrix between pixels' centres as one between places that count from pixels' corners, as boxes do.

    >>> of_corners(scaled(2, 4))[0].tolist()
    [4.0, 0.0, 0.0]
    """
    return np.asarray(shifted(0.5, 0.5) @ matrix @ shifted(-0.5, -0.5))


def turned(symmetry: Symmetry, size: Size) -> Matrix:
    """The matrix of a flip or turn of an image of `size`.

    >>> (turned(Symmetry(transpose=True, flip_x=True), (3, 5)) @ [4, 0, 1]).tolist()
    [2.0, 4.0, 1.0]
    """
    rows, columns = size[::-1] if symmetry.transpose else size
    flips = np.diag([1.0 - 2 * symmetry.flip_x, 1 - 2 * symmetry.flip_y, 1])
    flips[:2, 2] = symmetry.flip_x * (columns - 1), symmetry.flip_y * (rows - 1)
    return flips[:, [1, 0, 2]] if symmetry.transpose else flips


def geometry_of(pipeline: Pipeline, size: Size, channels: int) -> Placement:
    """What the steps of a pipeline do to places in an image of `size`: they run on a black one, those that move pixels.

    Args:
        pipeline: of steps that draw no places, `optimize` none; it stays as it is.
        size: of the image, rows and columns.
        channels: of the image.

    >>> import augrecipes as ar
    >>> pipeline = ar.load("folder-128").compile("eval", "none")
    >>> found = geometry_of(pipeline, (256, 512), 3)
    >>> found.after, found.pixels[0].tolist()
    ((128, 128), [0.5, 0.0, -64.25])
    """
    pixels, points, after = np.eye(3), np.eye(3), size
    cuts: list[tuple[Matrix, Size]] = []

    def call(label: str, step: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        nonlocal pixels, points, after
        if label == SINK:
            return args[0]
        made: Any = getattr(step, "innermost", step)
        if hasattr(made, "transforms"):  # a group, whose steps are called one by one
            return step(*args, **kwargs)
        name = type(made).__name__
        if not claims(name).moves:
            return kwargs
        done, before = step(*args, **kwargs), kwargs["image"].shape[:2]
        after = done["image"].shape[:2]
        pixels = _matrix(name, made.params, before, after, centres=True) @ pixels
        points = _matrix(name, made.params, before, after, centres=False) @ points
        if claims(name).resizes != "whole":
            cuts.append((pixels, after))
        return done

    own = pipeline.again()
    instrument(own, call)
    own.at(0)(image=np.zeros((*size, channels), np.uint8))
    return Placement(after, pixels, points, tuple(cut for cut in cuts if cut[0] is not pixels))


def _matrix(name: str, params: Mapping[str, Any], before: Size, after: Size, *, centres: bool) -> Matrix:
    """The matrix of a step of class `name`, by the parameters with which it made `after` of `before`."""
    record = claims(name)
    if record.action == "dihedral":
        return turned(symmetry_of(name, params), before)
    if record.resizes == "whole":
        y, x = after[0] / before[0], after[1] / before[1]
        if not centres and "scale" in params:  # to which the size was rounded
            y = x = params["scale"]
        return scaled(y, x, centres=centres)
    if "matrix" in params:
        cut = shifted(-params["x_min"], -params["y_min"]) if params.get("x_min", -1) >= 0 else np.eye(3)
        return np.asarray(cut @ params["matrix"])
    if "result_shape" in params:  # cut, padded and, where it keeps its size, resized
        x, y, *_ = params["crop_params"] or (0, 0)
        top, _, left, _ = params["pad_params"] or (0, 0, 0, 0)
        rows, columns = params["result_shape"][:2]
        return scaled(after[0] / rows, after[1] / columns, centres=centres) @ shifted(left - x, top - y)
    pads = params.get("pad_params") or params
    x, y, *_ = params.get("crop_coords", (0, 0))
    return shifted(pads.get("pad_left", 0) - x, pads.get("pad_top", 0) - y)
