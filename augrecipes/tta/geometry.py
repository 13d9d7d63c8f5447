"""Where the steps of evaluation put the pixels of an image of some size, as one matrix.

Positions are pixel centres, and matrices lead from the source to the network's grid. Boxes count from pixels' corners,
half a pixel before their centres.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.compiler.run.step_matrices import StepMatrices
from augrecipes.ops.matrices import Matrix, Size, matrix_of, translation
from augrecipes.ops.records import op_record


@dataclass(frozen=True, slots=True)
class Placement:
    """What the steps do to places.

    Attributes:
        after: rows and columns behind the last step.
        pixels: 3×3, from pixels' centres of the source to those behind the last step.
        cuts: earlier grids, each with its matrix, outside of which pixels were lost that later steps pad again.
    """

    after: Size
    pixels: Matrix
    cuts: tuple[tuple[Matrix, Size], ...]


def of_corners(matrix: Matrix) -> Matrix:
    """A matrix between pixels' centres as one between places that count from pixels' corners, as boxes do.

    >>> of_corners(np.diag([4.0, 2, 1]))[0].tolist()
    [4.0, 0.0, -1.5]
    """
    return np.asarray(translation(0.5, 0.5) @ matrix @ translation(-0.5, -0.5))


def geometry_of(pipeline: Pipeline, size: Size, channels: int) -> Placement:
    """What the steps of a pipeline do to places in an image of `size`.

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
    pixels, after = np.eye(3), size
    cuts: list[tuple[Matrix, Size]] = []
    for move in StepMatrices(pipeline.again()).moves((0, 0, 0), (*size, channels)):
        name, *_, after = move
        pixels = matrix_of(*move) @ pixels
        if op_record(name).resizes != "whole":
            cuts.append((pixels, after))
    return Placement(after, pixels, tuple(cut for cut in cuts if cut[0] is not pixels))
