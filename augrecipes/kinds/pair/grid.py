"""The grids of a pair, which samples one scene at the scale of each target; and the scene between two steps.

A pixel of the common grid, a cell, is a whole number of pixels on every target. Windows are drawn in cells, and a cell
is cut from every target or from none: that keeps crops aligned, for any number of scales.

Places are pixel centres. A cell c and a pixel d of a target with k pixels a cell show the same point where
d = (c + 1/2)·k − 1/2, so a matrix M between cells is S·M·S⁻¹ between pixels, where S multiplies by k and adds (k−1)/2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd

import numpy as np

from augrecipes.compiler.kernels.step_draws import stand_in
from augrecipes.errors import DataError
from augrecipes.ops.matrices import Matrix, Size
from augrecipes.recipe.model import Inputs

Factors = Mapping[str, int]
"""Scale factors by target: pixels along a cell of the common grid."""


def scale_factors(scales: Mapping[str, int]) -> dict[str, int]:
    """The scale factors of targets with these relative scales: the scales over their greatest common divisor.

    >>> scale_factors({"lr": 1, "hr": 4}), scale_factors({"a": 2, "b": 3}), scale_factors({"lr": 2, "hr": 4})
    ({'lr': 1, 'hr': 4}, {'a': 2, 'b': 3}, {'lr': 1, 'hr': 2})
    """
    common = gcd(*scales.values())
    return {name: scale // common for name, scale in scales.items()}


def common_size(sizes: Mapping[str, Sequence[int]], factors: Factors) -> Size:
    """Rows and columns of cells that all targets cover.

    Args:
        sizes: height and width of each target, px; or its whole shape.
        factors: the scale factor of every target in `sizes`.

    Raises:
        DataError: the targets differ in their number of whole cells, or are smaller than a cell. A remainder of less
            than a cell is allowed; it is cut off at the bottom and at the right (mod-crop, in super-resolution).

    >>> common_size({"lr": (75, 112), "hr": (300, 451)}, {"lr": 1, "hr": 4})
    (75, 112)
    """
    size, *others = {(shape[0] // factors[name], shape[1] // factors[name]) for name, shape in sizes.items()}
    if others or 0 in size:
        raise DataError(_problem({name: (shape[0], shape[1]) for name, shape in sizes.items()}, factors))
    return size


def _problem(sizes: Mapping[str, Size], factors: Factors) -> str:
    first, *others = sizes
    for name in others:
        fine, coarse = (name, first) if factors[name] >= factors[first] else (first, name)
        k, low = factors[fine], [n // factors[coarse] * factors[fine] for n in sizes[coarse]]
        if any(not least <= n < least + k for least, n in zip(low, sizes[fine], strict=True)):
            wanted = " × ".join(f"{n}..{n + k - 1}" if k > 1 else f"{n}" for n in low)
            return (
                f"{fine} is {_px(sizes[fine])} and {coarse} is {_px(sizes[coarse])}: "
                f"at scales {factors[coarse]}:{k}, {fine} must be {wanted} px (height × width)"
            )
    return f"{first} is {_px(sizes[first])}, less than one common cell of {factors[first]} px"


def _px(size: Size) -> str:
    return f"{size[0]}×{size[1]} px"


def inputs_of(name: str, inputs: Inputs, factors: Factors) -> Inputs:
    """The inputs of one target, with `min_size`, which is in pixels of the coarsest target, scaled to it."""
    if inputs.min_size is None:
        return inputs
    coarsest = min(factors.values())
    height, width = (-(-n * factors[name] // coarsest) for n in inputs.min_size)
    return replace(inputs, min_size=(height, width))


def window_shown(matrix: Matrix, size: Size, factor: int) -> tuple[int, int, int, int]:
    """The window (y0, x0, y1, x1) of a target's source, px, that a cropped, flipped and turned scene shows.

    Args:
        matrix: the map from cells of the source to cells of the result.
        size: rows and columns of cells of the result.
        factor: scale factor of the target.
    """
    rows, columns = size
    corners = np.linalg.inv(matrix) @ [[-0.5, columns - 0.5], [-0.5, rows - 0.5], [1, 1]]
    (x0, x1), (y0, y1) = (np.sort(np.rint(corners[:2] + 0.5), axis=1).astype(int) * factor).tolist()
    return y0, x0, y1, x1


@dataclass(slots=True)
class Scene:
    """The images of a pair between two steps, which change them in place.

    Attributes:
        arrays: H×W×C by target; a target that a Degrade makes is added when the Degrade runs.
        factors: pixels along a cell of the common grid, by target.
        matrix: the map from cells of the source to current cells; None where it is not needed, or after padding or
            resampling.
        stages: receives the images after each step, (label, {target: image}); None: it is not needed.
    """

    arrays: dict[str, np.ndarray]
    factors: Factors
    matrix: Matrix | None = None
    stages: list[tuple[str, dict[str, np.ndarray]]] | None = None

    def add_stage(self, label: str, **more: np.ndarray) -> None:
        """Append a copy of the current images to `stages`; those in `more` replace or join them."""
        if self.stages is not None:
            images = {**self.arrays, **more}
            self.stages.append((label, {name: np.array(images[name]) for name in self.factors if name in images}))

    def present(self, names: tuple[str, ...]) -> list[str]:
        """The targets of `names` that the scene has, the coarsest first, then by name."""
        return sorted((name for name in names if name in self.arrays), key=lambda name: (self.factors[name], name))

    def size(self) -> Size:
        """Rows and columns of cells; DataError where the targets no longer fit each other."""
        return common_size({name: array.shape for name, array in self.arrays.items()}, self.factors)

    def stand_in(self) -> np.ndarray:
        """A read-only array of a pixel per cell, without memory, on which windows and turns are drawn."""
        array = next(iter(self.arrays.values()))
        return stand_in((*self.size(), array.shape[2]), array.dtype)
