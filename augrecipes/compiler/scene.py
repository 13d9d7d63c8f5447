"""A pair on its way through the steps: the arrays of one scene, which every step keeps aligned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from augrecipes.compiler.grid import Region, cells
from augrecipes.compiler.kernels.drawing import stand_in


@dataclass(slots=True)
class Scene:
    """What a pair's steps change in place.

    Attributes:
        arrays: by target, H×W×C; targets that a Degrade makes appear when it has run.
        units: pixels of each target along one common cell.
        region: the cells of the scene that are left, or None once a step has padded or resampled them.
        stages: where pictures after each step are kept, (label, {target: picture}); None: nowhere.
    """

    arrays: dict[str, np.ndarray]
    units: Mapping[str, int]
    region: Region | None
    stages: list[tuple[str, dict[str, np.ndarray]]] | None = None

    def show(self, label: str, **more: np.ndarray) -> None:
        """Keep copies of the pictures as they are now; `more`: instead of those of the same name, or beside them."""
        if self.stages is not None:
            pictures = {**self.arrays, **more}
            self.stages.append((label, {name: np.array(pictures[name]) for name in self.units if name in pictures}))

    def present(self, names: tuple[str, ...]) -> list[str]:
        """Those of `names` that are there, the coarsest first."""
        return sorted((name for name in names if name in self.arrays), key=self.units.__getitem__)

    def shape(self) -> tuple[int, int]:
        """Rows and columns of common cells; DataError where the targets no longer fit together."""
        return cells({name: array.shape[:2] for name, array in self.arrays.items()}, self.units)

    def stand_in(self) -> np.ndarray:
        """A read-only array with one pixel a cell, and no memory: what windows and turns are drawn on."""
        array = next(iter(self.arrays.values()))
        return stand_in((*self.shape(), array.shape[2]), array.dtype)
