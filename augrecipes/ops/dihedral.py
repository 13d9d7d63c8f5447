"""The eight symmetries of the square, as views of arrays."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True)
class Symmetry:
    """A symmetry of the square: transpose first, then flip rows, then flip columns."""

    transpose: bool = False
    flip_y: bool = False
    flip_x: bool = False

    def view(self, array: "np.ndarray") -> "np.ndarray":
        """The transformed array as a view; axes 0 and 1 are rows and columns."""
        if self.transpose:
            array = array.swapaxes(0, 1)
        return array[:: -1 if self.flip_y else 1, :: -1 if self.flip_x else 1]


IDENTITY = Symmetry()
HALF_TURN = Symmetry(False, True, True)
QUARTERS = (IDENTITY, Symmetry(True, True, False), HALF_TURN, Symmetry(True, False, True))
# In the order in which albumentations draws from them.
D4 = {
    **dict(zip(("e", "r90", "r180", "r270"), QUARTERS, strict=True)),
    "v": Symmetry(False, True, False),
    "hvt": Symmetry(True, True, True),
    "h": Symmetry(False, False, True),
    "t": Symmetry(True, False, False),
}


def drawn_symmetry(params: Mapping[str, Any]) -> Symmetry:
    """The symmetry in a step's drawn parameters: a number of quarter turns, or a name."""
    return QUARTERS[params["factor"] % 4] if "factor" in params else D4[params["group_element"]]
