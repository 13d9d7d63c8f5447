"""CornerAffine, Sharpness and SolarizeAdd, as Pillow and the tables of augmentation policies mean them."""

from __future__ import annotations

from typing import Annotated, Any

import cv2
import numpy as np
from pydantic import AfterValidator

from augrecipes.compat.albumentations import A, BaseTransformInitSchema, check_range_bounds, nondecreasing
from augrecipes.ops.matrices import translation

_ORDERED = AfterValidator(nondecreasing)


class CornerAffine(A.Affine):  # type: ignore[misc]
    """Affine about the upper left corner of the image, which stays, instead of about its middle: as policies shear.

    Arguments, targets and draws are those of Affine.

    >>> step = CornerAffine(scale=2.0, interpolation=0, p=1.0)
    >>> step(image=np.arange(16, dtype=np.uint8).reshape(4, 4))["image"].tolist()
    [[0, 0, 1, 1], [0, 0, 1, 1], [4, 4, 5, 5], [4, 4, 5, 5]]
    """

    def get_params_dependent_on_data(self, params: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
        """Draw a matrix about the outer corner of the first pixel; with `fit_output` both are the same."""
        draws: dict[str, Any] = super().get_params_dependent_on_data(params, data)
        if not self.fit_output:
            height, width = params["shape"][:2]
            back, there = translation(-width / 2, -height / 2), translation(width / 2, height / 2)
            draws |= {name: back @ draws[name] @ there for name in ("matrix", "bbox_matrix")}
        return draws


class Sharpness(A.ImageOnlyTransform):  # type: ignore[misc]
    """Blurs or sharpens an image by a factor: 0 smooth, 1 as it is, 2 as much sharper as 0 is smoother.

    The result is factor · image + (1 − factor) · smooth, clipped, with the image smoothed by the 3×3 weights 1 1 1,
    1 5 1, 1 1 1, over 13: both are one sum of nine weights. The outermost pixels stay as they are.

    Args:
        factor: range that the factor is drawn from.
        p: probability.

    Image: H×W or H×W×C, uint8 (0..255) or float32 (0..1); the same shape, dtype and range come out.
    Draws: `weights`, 3×3, by a factor that is uniform in its range, from `py_random`.
    Source: Pillow's `ImageEnhance.Sharpness`, by which AutoAugment (Cubuk et al., CVPR 2019) defines its operation.

    >>> image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    >>> bool((Sharpness(factor=(1.0, 1.0), p=1.0)(image=image)["image"] == image).all())
    True
    """

    class InitSchema(BaseTransformInitSchema):  # type: ignore[misc]
        """An ordered range."""

        factor: Annotated[tuple[float, float], AfterValidator(check_range_bounds(0, 10)), _ORDERED]

    def __init__(self, factor: tuple[float, float] = (0.1, 1.9), p: float = 0.5) -> None:
        super().__init__(p=p)
        self.factor = factor

    def get_params(self) -> dict[str, Any]:
        """Draw the factor, as the weights that it makes."""
        factor = self.py_random.uniform(*self.factor)
        share = (1 - factor) / 13
        weights = np.full((3, 3), share, np.float32)
        weights[1, 1] = factor + 5 * share
        return {"weights": weights}

    def apply(self, img: np.ndarray, weights: np.ndarray, **_: Any) -> np.ndarray:
        """The image, sharper or smoother."""
        out = img.copy()
        inner = cv2.filter2D(img, -1, weights).reshape(img.shape)[1:-1, 1:-1]
        out[1:-1, 1:-1] = np.clip(inner, 0, 1) if img.dtype == np.float32 else inner
        return out


class SolarizeAdd(A.ImageOnlyTransform):  # type: ignore[misc]
    """Makes the darker half of the levels lighter: what is below half of full scale gets a constant added.

    Args:
        addition: range that what is added is drawn from, as a share of full scale.
        p: probability.

    Image: H×W or H×W×C, uint8 (0..255) or float32 (0..1); the same shape, dtype and range come out.
    Draws: `addition`, uniform in its range, from `py_random`; on uint8 it is cut to whole levels.
    Source: the operation of this name in Google's AutoAugment policy `v0` for EfficientNet (Tan and Le, ICML 2019).

    >>> SolarizeAdd(addition=(0.2, 0.2), p=1.0)(image=np.array([[[7, 90, 200]]], np.uint8))["image"].tolist()
    [[[58, 141, 200]]]
    """

    class InitSchema(BaseTransformInitSchema):  # type: ignore[misc]
        """An ordered range."""

        addition: Annotated[tuple[float, float], AfterValidator(check_range_bounds(0, 1)), _ORDERED]

    def __init__(self, addition: tuple[float, float] = (0.0, 0.43), p: float = 0.5) -> None:
        super().__init__(p=p)
        self.addition = addition

    def get_params(self) -> dict[str, Any]:
        """Draw what is added."""
        return {"addition": self.py_random.uniform(*self.addition)}

    def apply(self, img: np.ndarray, addition: float, **_: Any) -> np.ndarray:
        """The image with its darker levels lighter."""
        if img.dtype == np.uint8:
            levels = np.arange(256)
            levels[:128] = np.minimum(levels[:128] + int(addition * 255 + 1e-6), 255)
            return cv2.LUT(img, levels.astype(np.uint8)).reshape(img.shape)
        return np.where(img < 0.5, np.minimum(img + np.float32(addition), 1), img).astype(img.dtype)
