"""Stains varied as laboratories and scanners vary them, in optical density; glass between the tissue stays white."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

import cv2
import numpy as np
from pydantic import AfterValidator, Field

from augrecipes.compat.albumentations import A, BaseTransformInitSchema, SymmetricRangeType, nondecreasing
from augrecipes.compat.albumentations import pixel as fpixel  # under the name by which its functions are replaced

# Optical density of haematoxylin, eosin and DAB in R, G, B (Ruifrok and Johnston 2001, table 1), to unit length below.
_STAINS = np.array([[0.65, 0.70, 0.29], [0.07, 0.99, 0.11], [0.27, 0.57, 0.78]])
_STAINS /= np.linalg.norm(_STAINS, axis=1, keepdims=True)
_UNMIX = np.linalg.inv(_STAINS)
# Intensities count from 1 to 256 inside, so that black has a density and every level survives a jitter of nothing.
_WHITE = 256.0
_ONES: Any = (1.0, 1.0, 1.0, 0.0)  # a scalar for each channel
LOG = np.log(np.arange(256) + 1.0).astype(np.float32)  # of each level, and 1
WHITE = 0.85  # of full scale: what albumentations takes for background, and scanned glass is seldom darker
_LEAST_DETERMINANT = 1e-3  # stains apart by less than 2 degrees: their amounts cannot be told
_Range = tuple[float, float] | float
_Share = Annotated[float, Field(ge=0, le=1)] | None


class StainJitter(A.ImageOnlyTransform):  # type: ignore[misc]
    """Scales and shifts the amount of haematoxylin, eosin and DAB in a stained-tissue image.

    The image is taken to optical density, OD = −log10((I + 1) / 256), and unmixed into the three stains' amounts c
    (Ruifrok and Johnston 2001). Each becomes a·c + b with a drawn from 1 + `sigma` and b from `bias`, and the image
    is mixed again. Unmixing, jitter and mixing are one 3×4 matrix between a logarithm (a table) and an exponential.

    Args:
        sigma: each amount is multiplied by 1 + a number drawn from this range. A number s ≥ 0 means (−s, s).
        bias: to each amount a number drawn from this range is added, in optical density. A number s ≥ 0 means (−s, s).
        white_threshold: pixels of which every channel is at least this share of full scale are glass, and stay as they
            are; null: no pixel is.
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
        white_threshold: _Share

    def __init__(
        self, sigma: _Range = 0.05, bias: _Range = 0.05, white_threshold: float | None = WHITE, p: float = 0.5
    ) -> None:
        super().__init__(p=p)
        self.white_threshold = white_threshold
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
        return through_density(img, density_matrix(factors, shifts), self.white_threshold)


class HEStain(A.HEStain):  # type: ignore[misc]
    """Scales and shifts the amounts of haematoxylin and eosin in a stained-tissue image; glass stays as it is.

    albumentations' class with one argument more. Images whose stains cannot be told stay as they are: those without
    tissue, and of `vahadane` and `macenko` those whose tissue has one colour.

    Args:
        method: where the two stains' colours come from: a preset, one drawn at random, or the image.
        preset: which one, with method preset.
        intensity_scale_range: each stain's amount is multiplied by a number drawn from this range.
        intensity_shift_range: to each stain's amount a number drawn from this range is added.
        augment_background: changes pixels of a lightness of 0.85 and more as well.
        white_threshold: pixels of which every channel is at least this share of full scale are glass, and stay as they
            are; null: no pixel is.
        p: probability.

    Image: H×W×3, uint8 (0..255) or float32 (0..1), RGB; the same shape, dtype and range come out.
    """

    class InitSchema(A.HEStain.InitSchema):  # type: ignore[misc]
        """albumentations' arguments, and ours."""

        white_threshold: _Share

    def __init__(
        self, method: str = "random_preset", preset: str | None = None,
        intensity_scale_range: tuple[float, float] = (0.7, 1.3),
        intensity_shift_range: tuple[float, float] = (-0.2, 0.2),
        augment_background: bool = False, white_threshold: float | None = WHITE, p: float = 0.5,
    ) -> None:  # fmt: skip
        super().__init__(method, preset, intensity_scale_range, intensity_shift_range, augment_background, p)
        self.white_threshold = white_threshold

    def get_params_dependent_on_data(self, params: dict[str, Any], data: dict[str, Any]) -> Any:
        """Draw the factors and shifts, and find the stains: of several images in the first that has tissue."""
        images = () if "image" in data else data["images"]
        stained = [image for image in images if not _white(image, self.white_threshold).all()]
        return super().get_params_dependent_on_data(params, {**data, "images": stained or images})

    def _get_stain_matrix(self, img: np.ndarray) -> np.ndarray | None:
        """The two stains' colours; None where the image does not tell them."""
        try:
            with np.errstate(invalid="ignore"):  # stains of nothing are 0 / 0
                stains: np.ndarray = super()._get_stain_matrix(img)
                return stains if np.linalg.det(stains @ stains.T) > _LEAST_DETERMINANT else None
        except ValueError:  # no tissue
            return None

    def apply(self, img: np.ndarray, stain_matrix: np.ndarray | None, **drawn: Any) -> np.ndarray:
        """The image, or images, with more or less of the two stains."""
        if img.shape[-1] != 3:
            raise TypeError(f"HEStain needs an RGB image, H×W×3, got shape {img.shape}")
        if stain_matrix is None:
            return img
        amounts = drawn["scale_factors"], drawn["shift_values"]
        result = fpixel.apply_he_stain_augmentation(img, stain_matrix, *amounts, self.augment_background)
        return with_white(img, result, self.white_threshold)


def white_level(share: float | None) -> int:
    """The least level of every channel of a pixel that is glass.

    >>> white_level(0.85), white_level(1.0), white_level(None)
    (217, 255, 256)
    """
    return LOG.size if share is None else math.ceil(share * 255 - 1e-3)


def _white(rows: np.ndarray, share: float | None) -> np.ndarray:
    """255 where a pixel is glass, H×W; of H×W×3, uint8 or float32."""
    least: Any = white_level(share) if share is None or rows.dtype == np.uint8 else share - 1e-6
    return cv2.inRange(rows, (least,) * 3, (LOG.size,) * 3)


def with_white(img: np.ndarray, result: np.ndarray, share: float | None) -> np.ndarray:
    """The result of an image, or of several, with the image's own glass."""
    if share is not None:
        rows = img.reshape(-1, *img.shape[-2:])
        cv2.copyTo(rows, _white(rows, share), result.reshape(rows.shape))
    return result


def through_density(img: np.ndarray, matrix: np.ndarray, white: float | None = None) -> np.ndarray:
    """An H×W×3 image through a 3×4 matrix that acts on ln(I + 1), except for what is `white`."""
    # A cubic resize of floats goes below 0.
    logs = cv2.LUT(img, LOG) if img.dtype == np.uint8 else np.log(np.maximum(img, 0) * np.float32(255) + np.float32(1))
    result: Any = cv2.exp(cv2.transform(logs, matrix))
    if img.dtype == np.uint8:
        result = cv2.subtract(result, _ONES, dtype=cv2.CV_8U)  # rounds and saturates
    else:
        result = np.clip((result - np.float32(1)) * np.float32(1 / 255), 0, 1)
    return with_white(img, result, white)


def density_matrix(factors: Sequence[float], shifts: Sequence[float]) -> np.ndarray:
    """The 3×4 matrix that takes ln(I + 1) of R, G, B to the same after the jitter.

    With the row vectors od = ln 256 − ln(I + 1) and amounts c = od · U, od' = (c · diag(a) + ln 10 · b) · S.

    >>> bool(np.allclose(density_matrix((1, 1, 1), (0, 0, 0)), np.eye(3, 4)))
    True
    """
    linear = _UNMIX * factors @ _STAINS
    offset = math.log(10) * np.asarray(shifts) @ _STAINS
    white = math.log(_WHITE)
    return np.column_stack([linear.T, white - white * linear.sum(axis=0) - offset])


@cache
def jitter_tables() -> tuple[np.ndarray, np.ndarray]:
    """What native/stain.c reckons with: 7×3×4, and the logarithms of levels.

    A matrix for three factors and three shifts is the first of the seven, and the others times these.
    """
    none, units = (0.0, 0.0, 0.0), np.eye(3).tolist()
    still = density_matrix(none, none)
    matrices = [*(density_matrix(unit, none) for unit in units), *(density_matrix(none, unit) for unit in units)]
    # Beyond 12 digits processors differ in what inverts a matrix.
    return np.round(np.stack([still, *(matrix - still for matrix in matrices)]), 12), LOG
