"""A pair on its way through the steps: the arrays of one scene, which every step keeps aligned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from augrecipes.compiler.kernels.step_draws import stand_in
from augrecipes.kinds.pair.grid import Region, cells


@dataclass(slots=True)
class Scene:
    """What a pair's steps change in place.

    Attributes:
        arrays: by target, H×W×C; targets that a Degrade makes appear when it has run.
        units: pixels of each target along one common cell.
        region: the cells of the scene that are left, or None once a step has padded or resampled them.
        stages: where images after each step are kept, (label, {target: image}); None: nowhere.
    """

    arrays: dict[str, np.ndarray]
    units: Mapping[str, int]
    region: Region | None = None
    stages: list[tuple[str, dict[str, np.ndarray]]] | None = None

    def show(self, label: str, **more: np.ndarray) -> None:
        """Keep copies of the images as they are now; `more`: instead of those of the same name, or beside them."""
        if self.stages is not None:
            images = {**self.arrays, **more}
            self.stages.append((label, {name: np.array(images[name]) for name in self.units if name in images}))

    def present(self, names: tuple[str, ...]) -> list[str]:
        """The targets of `names` that are there, the coarsest first, and by name where they are of one scale."""
        return sorted((name for name in names if name in self.arrays), key=lambda name: (self.units[name], name))

    def shape(self) -> tuple[int, int]:
        """Rows and columns of common cells; DataError where the targets no longer fit together."""
        return common_cells(self.arrays, self.units)

    def stand_in(self) -> np.ndarray:
        """A read-only array with one pixel a cell, and no memory: what windows and turns are drawn on."""
        array = next(iter(self.arrays.values()))
        return stand_in((*self.shape(), array.shape[2]), array.dtype)


def common_cells(images: Mapping[str, Any], units: Mapping[str, int]) -> tuple[int, int]:
    """Rows and columns of common cells of images, which may not be decoded yet; DataError where they do not fit."""
    found = set()
    for name, image in images.items():
        k = units[name]
        height, width = image.shape[:2]
        found.add((height // k, width // k))
    size: tuple[int, int] = found.pop()
    if found or 0 in size:  # `cells` says what is wrong, and takes several times as long
        return cells({name: (one.shape[0], one.shape[1]) for name, one in images.items()}, units)
    return size
