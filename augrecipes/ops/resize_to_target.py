"""The step inside Degrade that reaches the size of the target being made."""

from __future__ import annotations

from typing import Any, Literal

import cv2
import numpy as np

from augrecipes.compat.albumentations import A, BaseTransformInitSchema
from augrecipes.compat.albumentations import geometric as fgeometric  # as other transforms call it: see `instead.py`
from augrecipes.ops.matlab_bicubic import imresize

_Method = Literal["matlab_bicubic", "area", "linear", "cubic"]
_OPENCV = {"area": cv2.INTER_AREA, "linear": cv2.INTER_LINEAR, "cubic": cv2.INTER_CUBIC}


class ResizeToTarget(A.ImageOnlyTransform):  # type: ignore[misc]
    """Resizes to the size that the target of the Degrade around it has on its own grid.

    Args:
        method: `matlab_bicubic` (antialiased, as published LR files were made), or OpenCV's `area`, `linear`, `cubic`.
        round_between: with `matlab_bicubic` on whole numbers, round between the two passes, as MATLAB does.
        p: probability.

    Image: H×W or H×W×C, uint8 (0..255), uint16, or float32 (0..1, or of `full_range`); `size` × C, same dtype and
    range, clipped.
    Draws: none. The pipeline sets `size`, (height, width) in px, before each sample.
    Errors: ValueError where `size` was not set; TypeError for another dtype.

    >>> step = ResizeToTarget(method="area")
    >>> step.size = (2, 3)
    >>> step(image=np.full((8, 12, 3), 7, np.uint8))["image"].shape
    (2, 3, 3)
    """

    class InitSchema(BaseTransformInitSchema):  # type: ignore[misc]
        """The arguments that a recipe gives."""

        method: _Method
        round_between: bool

    def __init__(self, method: _Method = "matlab_bicubic", round_between: bool = True, p: float = 1.0) -> None:
        super().__init__(p=p)
        self.method, self.round_between = method, round_between
        self.interpolation = _OPENCV.get(method)
        self.size: tuple[int, int] | None = None
        self.full_range = (0.0, 1.0)

    def apply(self, img: np.ndarray, **_: Any) -> np.ndarray:
        """The image at `size`; a copy where it has that size already."""
        if self.size is None:
            raise ValueError(
                "ResizeToTarget knows its size only inside Degrade, in a pipeline; elsewhere set `step.size` first, "
                "or use Resize"
            )
        height, width = self.size
        if img.shape[:2] == (height, width):
            return img.copy()
        if self.interpolation is None:
            return imresize(img, height, width, round_between=self.round_between, full_range=self.full_range)
        out = fgeometric.resize(img, (height, width), self.interpolation)
        return np.clip(out, *self.full_range) if out.dtype == np.float32 else out
