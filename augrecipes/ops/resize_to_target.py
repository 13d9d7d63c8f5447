"""The step inside Degrade that resizes to the size of the Degrade's target."""

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator

from augrecipes.compat.albumentations import A, BaseTransformInitSchema, check_range_bounds, nondecreasing
from augrecipes.compat.albumentations import geometric as fgeometric  # as other transforms call it: see `instead.py`
from augrecipes.ops.constants import INTERPOLATION
from augrecipes.ops.matlab_bicubic import imresize

_Method = Literal["matlab_bicubic", "area", "linear", "cubic", "nearest", "nearest_exact", "lanczos4"]
_Range = tuple[float, float]


class ResizeToTarget(A.ImageOnlyTransform):  # type: ignore[misc]
    """Resizes to the size that the target of the surrounding Degrade has on its own grid.

    Args:
        method: `matlab_bicubic` (antialiased, as published LR files were made), or OpenCV's `area`, `linear`, `cubic`,
            `nearest`, `nearest_exact` and `lanczos4`.
        scale: range of a factor of that size, for an intermediate resize such as Real-ESRGAN's second; sizes are
            truncated to whole pixels.
        round_between: with `matlab_bicubic` on integers, round between the two passes, as MATLAB does.
        p: probability.

    Image: H×W or H×W×C, uint8 (0..255), uint16, or float32 (0..1, or in `full_range`); `size` × C comes out, in the
    same dtype and range, clipped.
    Draws: `scale`, from `py_random`, unless its range is [1, 1]. The pipeline sets `size`, (height, width) in px,
    before each sample.
    Errors: ValueError where `size` was not set; TypeError for another dtype.

    >>> step = ResizeToTarget(method="area")
    >>> step.size = (2, 3)
    >>> step(image=np.full((8, 12, 3), 7, np.uint8))["image"].shape
    (2, 3, 3)
    """

    class InitSchema(BaseTransformInitSchema):  # type: ignore[misc]
        """Validation of the arguments."""

        method: _Method
        round_between: bool
        scale: Annotated[_Range, AfterValidator(check_range_bounds(0.01, 16)), AfterValidator(nondecreasing)]

    def __init__(
        self, method: _Method = "matlab_bicubic", round_between: bool = True, scale: _Range = (1, 1), p: float = 1.0
    ) -> None:  # fmt: skip
        super().__init__(p=p)
        self.method, self.round_between, self.scale = method, round_between, (scale[0], scale[1])
        self.interpolation = INTERPOLATION.get(method)
        self.size: tuple[int, int] | None = None
        self.full_range = (0.0, 1.0)

    def get_params(self) -> dict[str, Any]:
        """Draw the factor."""
        return {} if self.scale == (1, 1) else {"scale": self.py_random.uniform(*self.scale)}

    def apply(self, img: np.ndarray, scale: float = 1.0, **_: Any) -> np.ndarray:
        """Resize the image to `size` times the factor; a copy where it has that size already."""
        if self.size is None:
            raise ValueError(
                "ResizeToTarget has a size only inside Degrade, in a pipeline; elsewhere set `step.size` first, "
                "or use Resize"
            )
        height, width = (max(1, int(side * scale)) for side in self.size)
        if img.shape[:2] == (height, width):
            return img.copy()
        if self.interpolation is None:
            return imresize(img, height, width, round_between=self.round_between, full_range=self.full_range)
        out = fgeometric.resize(img, (height, width), self.interpolation)
        return np.clip(out, *self.full_range) if out.dtype == np.float32 else out
