"""The grids of a pair: one scene, sampled by every target at its own scale.

The coarsest common grid has cells that are a whole number of pixels on every target. Windows are drawn in cells, and a
cell is cut from every target or from none: that is what keeps crops aligned, for any number of scales.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd

from augrecipes.errors import DataError
from augrecipes.ops.dihedral import IDENTITY, Symmetry


def unit(scales: Mapping[str, int]) -> dict[str, int]:
    """Pixels along the side of one common cell, by target.

    >>> unit({"lr": 1, "hr": 4}), unit({"a": 2, "b": 3}), unit({"lr": 2, "hr": 4})
    ({'lr': 1, 'hr': 4}, {'a': 2, 'b': 3}, {'lr': 1, 'hr': 2})
    """
    common = gcd(*scales.values())
    return {name: scale // common for name, scale in scales.items()}


def cells(sizes: Mapping[str, tuple[int, int]], units: Mapping[str, int]) -> tuple[int, int]:
    """Rows and columns of common cells that all targets cover.

    Args:
        sizes: (height, width) of each target, px.
        units: of every target in `sizes`, see `unit`.

    Raises:
        DataError: the targets are not one scene. What is left of a target beyond its last whole cell is less than a
            cell (the field's mod-crop: it is cut off at the bottom and at the right).

    >>> cells({"lr": (75, 112), "hr": (300, 451)}, {"lr": 1, "hr": 4})
    (75, 112)
    """
    found = {name: (height // units[name], width // units[name]) for name, (height, width) in sizes.items()}
    first = next(iter(found))
    for name, size in found.items():
        if size != found[first]:
            raise DataError(_misfit(first, name, sizes, units))
    if 0 in found[first]:
        raise DataError(f"{first} is {_px(sizes[first])}, less than one common cell of {units[first]} px")
    return found[first]


def _misfit(first: str, name: str, sizes: Mapping[str, tuple[int, int]], units: Mapping[str, int]) -> str:
    fine, coarse = (name, first) if units[name] >= units[first] else (first, name)
    least = [n // units[coarse] * units[fine] for n in sizes[coarse]]
    wanted = " × ".join(f"{n}..{n + units[fine] - 1}" if units[fine] > 1 else f"{n}" for n in least)
    return (
        f"{fine} is {_px(sizes[fine])} and {coarse} is {_px(sizes[coarse])}: "
        f"at scales {units[coarse]}:{units[fine]}, {fine} must be {wanted} px (height × width)"
    )


def _px(size: tuple[int, int]) -> str:
    return f"{size[0]}×{size[1]} px"


@dataclass(frozen=True, slots=True)
class Region:
    """Which cells of the scene are still there, and how they are turned.

    Attributes:
        y0, x0, y1, x1: cells of the scene as it arrived, ends exclusive.
        symmetry: applied to them.
    """

    y0: int
    x0: int
    y1: int
    x1: int
    symmetry: Symmetry = IDENTITY

    def cut(self, x_min: int, y_min: int, x_max: int, y_max: int) -> Region:
        """Cut to a window of the turned region, ends exclusive."""
        height, width = self.y1 - self.y0, self.x1 - self.x0
        if self.symmetry.transpose:
            height, width = width, height
        x_min, y_min, x_max, y_max = self.symmetry.before((x_min, y_min, x_max, y_max), height, width)
        return Region(self.y0 + y_min, self.x0 + x_min, self.y0 + y_max, self.x0 + x_max, self.symmetry)

    def turned(self, symmetry: Symmetry) -> Region:
        """Turned once more."""
        return Region(self.y0, self.x0, self.y1, self.x1, self.symmetry.then(symmetry))

    def pixels(self, unit: int) -> tuple[int, int, int, int]:
        """(y0, x0, y1, x1) in pixels of a target with cells of `unit` px."""
        return self.y0 * unit, self.x0 * unit, self.y1 * unit, self.x1 * unit
