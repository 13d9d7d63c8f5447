"""The sizes that annotations record of their pictures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from augrecipes.errors import DataError
from augrecipes.sharing import Shared


@dataclass(frozen=True, eq=False)
class Recorded(Shared):
    """What annotations say of the sizes of their pictures.

    Attributes:
        sizes: int32 (n, 2), width and height in px; 0 where they do not say.
        file: the annotations.
    """

    sizes: npt.NDArray[np.int32]
    file: str

    def check(self, row: int, path: str, shape: tuple[int, ...], exif: str = "apply") -> None:
        """DataError where a picture, as it was read with `exif`, is not of the size that its annotations are for."""
        width, height = self.sizes[row].tolist()
        if not width or (height, width) == tuple(shape[:2]):
            return
        what = f"is {shape[0]}×{shape[1]} px, but {self.file} has annotations for {height}×{width} px"
        if (width, height) == tuple(shape[:2]):
            seen, other = ("is stored", "ignore") if exif == "apply" else ("is seen, turned by its EXIF", "apply")
            what += f"; was it annotated as it {seen}? Then give exif={other!r}"
        raise DataError(what, path)
