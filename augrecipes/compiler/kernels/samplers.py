"""Faster samplers with a class's own draws: crops around a mask."""

from typing import Any

import numpy as np

from augrecipes.compat import Mixin
from augrecipes.compat.albumentations import preprocessed_mask


class FastMaskCrop(Mixin):  # type: ignore[misc]
    """CropNonEmptyMaskIfExists without albumentations' list of all nonzero pixels: only the drawn one is looked up."""

    def get_params_dependent_on_data(self, params: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
        """Draw the class's window."""
        mask = preprocessed_mask(self, data["mask"]) if "mask" in data else np.zeros(0)
        if mask.ndim != 2 or not mask.any():
            return dict(super().get_params_dependent_on_data(params, data))
        counts = np.add.reduce(mask != 0, axis=1, dtype=np.min_scalar_type(mask.shape[1]))  # intp is slower
        row_ends = np.cumsum(counts)
        number = self.py_random.choice(range(int(row_ends[-1])))
        y = int(np.searchsorted(row_ends, number, side="right"))
        columns = np.flatnonzero(mask[y])
        x = int(columns[number - int(row_ends[y])])  # from the end of the row
        left, top = (at - self.py_random.randint(0, side - 1) for at, side in ((x, self.width), (y, self.height)))
        left, top = np.clip(left, 0, mask.shape[1] - self.width), np.clip(top, 0, mask.shape[0] - self.height)
        return {"crop_coords": (left, top, left + self.width, top + self.height)}
