"""A pair on its way through the steps: the arrays of one scene, which every step keeps aligned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from augrecipes.compiler.kernels.moves import IDENTITY, Moved
from augrecipes.compiler.kernels.step_draws import stand_in
from augrecipes.compiler.kernels.undecoded import Undecoded, realised
from augrecipes.compiler.run.grid import Region, cells


@dataclass(slots=True)
class Scene:
    """What a pair's steps change in place.

    Attributes:
        arrays: by target, H×W×C; targets that a Degrade makes appear when it has run. Who reads pixels asks `pixels`.
        units: pixels of each target along one common cell.
        region: the cells of the scene that are left, or None once a step has padded or resampled them.
        defers: flips and turns are deferred, not carried out, by the steps that run now.
        stages: where pictures after each step are kept, (label, {target: picture}); None: nowhere.
    """

    arrays: dict[str, np.ndarray | Undecoded | Moved]
    units: Mapping[str, int]
    region: Region | None
    defers: bool = False
    stages: list[tuple[str, dict[str, np.ndarray]]] | None = None

    def show(self, label: str, **more: np.ndarray) -> None:
        """Keep copies of the pictures as they are now; `more`: instead of those of the same name, or beside them."""
        if self.stages is not None:
            pictures = {**{name: self.pixels(name) for name in self.arrays}, **more}
            self.stages.append((label, {name: np.array(pictures[name]) for name in self.units if name in pictures}))

    def pixels(self, name: str) -> np.ndarray:
        """The picture of a target, with its pending moves carried out."""
        array = self.arrays[name]
        if isinstance(array, Moved) and array.symmetry != IDENTITY:
            array = array.array()
        elif isinstance(array, Moved | Undecoded):
            array = realised(array.base if isinstance(array, Moved) else array)
        self.arrays[name] = array
        return array

    def moved(self, name: str) -> np.ndarray | Moved:
        """The picture of a target, or one whose last moves are pending: what a sink takes."""
        array = self.arrays[name]
        return Moved(array) if isinstance(array, Undecoded) else array

    def present(self, names: tuple[str, ...]) -> list[str]:
        """The targets of `names` that are there, the coarsest first, and by name where they are of one scale."""
        return sorted((name for name in names if name in self.arrays), key=lambda name: (self.units[name], name))

    def shape(self) -> tuple[int, int]:
        """Rows and columns of common cells; DataError where the targets no longer fit together."""
        found = set()
        for name, array in self.arrays.items():
            k = self.units[name]
            height, width = array.shape[:2]
            found.add((height // k, width // k))
        size: tuple[int, int] = found.pop()
        if found or 0 in size:  # `cells` says what is wrong, and takes several times as long
            return cells({name: (array.shape[0], array.shape[1]) for name, array in self.arrays.items()}, self.units)
        return size

    def stand_in(self) -> np.ndarray:
        """A read-only array with one pixel a cell, and no memory: what windows and turns are drawn on."""
        array = next(iter(self.arrays.values()))
        return stand_in((*self.shape(), array.shape[2]), array.dtype)
