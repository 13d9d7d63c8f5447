"""CropNonEmptyMaskIfExists that looks up the place it has drawn; albumentations lists all to draw from."""

from __future__ import annotations

from typing import Any

import numpy as np

from augrecipes.compat.albumentations import preprocessed_mask


class FastMaskCrop:
    """CropNonEmptyMaskIfExists."""

    def get_params_dependent_on_data(self, params: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
        """Draw what the class draws."""
        step: Any = self
        draw: Any = super().get_params_dependent_on_data  # type: ignore[misc]
        mask = preprocessed_mask(step, data["mask"]) if "mask" in data else np.zeros(0)
        if mask.ndim != 2 or not mask.any():
            return dict(draw(params, data))
        rows = np.add.reduce(mask != 0, axis=1, dtype=np.min_scalar_type(mask.shape[1]))  # intp takes thrice as long
        ends = np.cumsum(rows)  # of each row, among all places
        number = step.py_random.choice(range(int(ends[-1])))
        y = int(np.searchsorted(ends, number, side="right"))
        columns = np.flatnonzero(mask[y])
        x = int(columns[number - int(ends[y])])  # from the end of the row
        left, top = (at - step.py_random.randint(0, side - 1) for at, side in ((x, step.width), (y, step.height)))
        left, top = np.clip(left, 0, mask.shape[1] - step.width), np.clip(top, 0, mask.shape[0] - step.height)
        return {"crop_coords": (left, top, left + step.width, top + step.height)}
