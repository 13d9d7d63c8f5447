"""The scene of a pair between two steps: an array for each target, which every step keeps aligned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from augrecipes.compiler.kernels.step_draws import stand_in
from augrecipes.kinds.pair.grid import Factors, common_size
from augrecipes.ops.matrices import Matrix, Size


@dataclass(slots=True)
class Scene:
    """What a pair's steps change in place.

    Attributes:
        arrays: by target, H×W×C; targets that a Degrade makes appear when it has run.
        factors: pixels along a cell of the common grid, by target.
        matrix: from cells of the scene as it came to those of now; None where nobody asks, or a step has padded or
            resampled them.
        stages: takes the images after each step, (label, {target: image}); None: nobody asks.
    """

    arrays: dict[str, np.ndarray]
    factors: Factors
    matrix: Matrix | None = None
    stages: list[tuple[str, dict[str, np.ndarray]]] | None = None

    def add_stage(self, label: str, **more: np.ndarray) -> None:
        """Copy the images as they are now to `stages`; `more`: instead of those of the same name, or beside them."""
        if self.stages is not None:
            images = {**self.arrays, **more}
            self.stages.append((label, {name: np.array(images[name]) for name in self.factors if name in images}))

    def present(self, names: tuple[str, ...]) -> list[str]:
        """The targets of `names` that are there, the coarsest first, and by name where they are of one scale."""
        return sorted((name for name in names if name in self.arrays), key=lambda name: (self.factors[name], name))

    def size(self) -> Size:
        """Rows and columns of cells; DataError where the targets no longer fit together."""
        return common_size({name: array.shape for name, array in self.arrays.items()}, self.factors)

    def stand_in(self) -> np.ndarray:
        """A read-only array with one pixel a cell, and no memory: what windows and turns are drawn on."""
        array = next(iter(self.arrays.values()))
        return stand_in((*self.size(), array.shape[2]), array.dtype)
