"""Stain jitter: the variation between laboratories and scanners, imitated where it arises, in optical density."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

import cv2
import numpy as np
from pydantic import AfterValidator

from augrecipes.compat.albumentations import A, BaseTransformInitSchema, SymmetricRangeType, nondecreasing

# Optical density of haematoxylin, eosin and DAB in R, G, B (Ruifrok and Johnston 2001, table 1), to unit length below.
_STAINS = np.array([[0.65, 0.70, 0.29], [0.07, 0.99, 0.11], [0.27, 0.57, 0.78]])
_STAINS /= np.linalg.norm(_STAINS, axis=1, keepdims=True)
_UNMIX = np.linalg.inv(_STAINS)
# Intensities count from 1 to 256 inside, so that black has a density and every level survives a jitter of nothing.
_WHITE = 256.0
_ONES: Any = (1.0, 1.0, 1.0, 0.0)  # a scalar for each channel
LOG = np.log(np.arange(256) + 1.0).astype(np.float32)  # of each level, and 1


class StainJitter(A.ImageOnlyTransform):  # type: ignore[misc]
    """Scales and shifts the amount of haematoxylin, eosin and DAB in a stained-tissue image.

    The image is taken to optical density, OD = −log10((I + 1) / 256), and unmixed into the three stains' amounts c
    (Ruifrok and Johnston 2001). Each becomes a·c + b with a drawn from 1 + `sigma` and b from `bias`, and the image
    is mixed again. Unmixing, jitter and mixing are one 3×4 matrix between a logarithm (a table) and an exponential.

    Args:
        sigma: multiplicative range. A number s ≥ 0 means (−s, s); a is uniform in [1 + low, 1 + high].
        bias: additive range in optical density. A number s ≥ 0 means (−s, s); b is uniform in [low, high].
        p: probability.

    Image: H×W×3, uint8 (0..255) or float32 (0..1), RGB; the same shape, dtype and range come out, clipped.
    Draws: `factors` and `shifts`, three numbers each (haematoxylin, eosin, DAB), from `py_random`.
    Errors: TypeError for an image that does not have three channels.
    Source: Tellez et al., "Whole-Slide Mitosis Detection in H&E Breast Histology Using PHH3 as a Reference to Train
    Distilled Stain-Invariant Convolutional Networks", IEEE Transactions on Medical Imaging 37(9), 2018.

    >>> tile = np.full((4, 4, 3), (180, 120, 170), np.uint8)
    >>> out = StainJitter(sigma=0.2, p=1.0)(image=tile)["image"]
    >>> out.shape, out.dtype
    ((4, 4, 3), dtype('uint8'))
    >>> bool((StainJitter(sigma=0.0, bias=0.0, p=1.0)(image=tile)["image"] == tile).all())
    True
    """

    class InitSchema(BaseTransformInitSchema):  # type: ignore[misc]
        """Ranges as albumentations has them: a number, or an ordered pair."""

        sigma: Annotated[SymmetricRangeType, AfterValidator(nondecreasing)]
        bias: Annotated[SymmetricRangeType, AfterValidator(nondecreasing)]

    def __init__(
        self,
        sigma: tuple[float, float] | float = 0.05,
        bias: tuple[float, float] | float = 0.05,
        p: float = 0.5,
    ) -> None:
        super().__init__(p=p)
        self.sigma: tuple[float, float] = sigma  # type: ignore[assignment]  # a pair, once the schema has run
        self.bias: tuple[float, float] = bias  # type: ignore[assignment]

    def get_params(self) -> dict[str, Any]:
        """Draw the three factors, then the three shifts."""
        uniform = self.py_random.uniform
        return {
            "factors": tuple(1.0 + uniform(*self.sigma) for _ in range(3)),
            "shifts": tuple(uniform(*self.bias) for _ in range(3)),
        }

    def apply(self, img: np.ndarray, factors: tuple[float, ...], shifts: tuple[float, ...], **_: Any) -> np.ndarray:
        """The image with its stains jittered."""
        if img.ndim != 3 or img.shape[2] != 3:
            raise TypeError(f"StainJitter needs an RGB image, H×W×3, got shape {img.shape}")
        return through_density(img, density_matrix(factors, shifts))


def through_density(img: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """An H×W×3 image through a 3×4 matrix that acts on ln(I + 1)."""
    logs = cv2.LUT(img, LOG) if img.dtype == np.uint8 else np.log(img * np.float32(255) + np.float32(1))
    grown: Any = cv2.exp(cv2.transform(logs, matrix))
    if img.dtype == np.uint8:
        return cv2.subtract(grown, _ONES, dtype=cv2.CV_8U)  # rounds and saturates
    return np.clip((grown - np.float32(1)) * np.float32(1 / 255), 0, 1)


def density_matrix(factors: Sequence[float], shifts: Sequence[float]) -> np.ndarray:
    """The 3×4 matrix that takes ln(I + 1) of R, G, B to the same after the jitter.

    With the row vectors od = ln 256 − ln(I + 1) and amounts c = od · U, od' = (c · diag(a) + ln 10 · b) · S.

    >>> bool(np.allclose(density_matrix((1, 1, 1), (0, 0, 0)), np.eye(3, 4)))
    True
    """
    linear = _UNMIX @ np.diag(factors) @ _STAINS
    offset = math.log(10) * np.asarray(shifts) @ _STAINS
    white = math.log(_WHITE)
    return np.column_stack([linear.T, white - white * linear.sum(axis=0) - offset])
