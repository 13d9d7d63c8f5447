"""Vary stains in optical density, as laboratories and scanners do; glass between the tissue stays white."""

import math
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Annotated, Any, Literal

import cv2
import numpy as np
from pydantic import AfterValidator, Field

from augrecipes.compat.albumentations import A, BaseTransformInitSchema, SymmetricRangeType, nondecreasing
from augrecipes.compat.albumentations import pixel as fpixel  # under the name by which its functions are replaced
from augrecipes.ops.stain_basis import PRESETS, Rows, check_basis
from augrecipes.ops.stain_estimates import stains_of

# Intensities are 1 to 256 inside, so that black has a finite density and a neutral jitter keeps every level.
_WHITE = 256.0
_ONES: Any = (1.0, 1.0, 1.0, 0.0)  # a scalar for each channel
LOG = np.log(np.arange(256) + 1.0).astype(np.float32)  # ln(level + 1)
WHITE = 0.85  # share of full scale from which albumentations sees background; scanned glass is seldom darker
_LEAST_DETERMINANT = 1e-3  # stains less than 2 degrees apart cannot be separated
_Range = tuple[float, float] | float
Share = Annotated[float, Field(ge=0, le=1)] | None


class StainJitter(A.ImageOnlyTransform):  # type: ignore[misc]
    """Scales and shifts the amount of each stain, such as haematoxylin, eosin and DAB, in a stained-tissue image.

    The image is converted to optical density, OD = −log10((I + 1) / 256), and unmixed into the three stains' amounts c
    (Ruifrok and Johnston 2001). Each becomes a·c + b with a drawn from 1 + `sigma` and b from `bias`, and the stains
    are mixed again. Unmixing, jitter and mixing are one 3×4 matrix between a logarithm (a table) and an exponential.

    Args:
        sigma: each amount is multiplied by 1 + a number drawn from this range. A number s ≥ 0 means (−s, s).
        bias: to each amount a number drawn from this range is added, in optical density. A number s ≥ 0 means (−s, s).
        white_threshold: pixels whose channels are all at least this share of full scale are glass, and stay as they
            are; null: no pixel is glass.
        basis: the stains: `hed` or `he`, haematoxylin, eosin and DAB as Ruifrok and Johnston measured them; two or
            three rows of optical density in R, G, B, of any length; `macenko` or `vahadane`: haematoxylin and eosin as
            estimated from the tissue. With two stains the third is the residual orthogonal to both, which stays.
        source: the images from which stains are estimated: the `bag` or slide of a sample, if it has one, or each
            `tile` alone.
        p: probability.

    Image: H×W×3, uint8 (0..255) or float32 (0..1), RGB; the same shape, dtype and range come out, clipped.
    Draws: `factors` and `shifts`, three numbers each, from `py_random`, the same for every basis. `stains` has
    estimated stains; an image whose stains cannot be estimated stays as it is.
    Errors: TypeError for an image that does not have three channels; ValueError for stains of which one is zero or a
    mixture of the others.
    Source: Tellez et al., "Whole-Slide Mitosis Detection in H&E Breast Histology Using PHH3 as a Reference to Train
    Distilled Stain-Invariant Convolutional Networks", IEEE Transactions on Medical Imaging 37(9), 2018.

    >>> tile = np.full((4, 4, 3), (180, 120, 170), np.uint8)
    >>> out = StainJitter(sigma=0.2, p=1.0)(image=tile)["image"]
    >>> out.shape, out.dtype
    ((4, 4, 3), dtype('uint8'))
    >>> bool((StainJitter(sigma=0.0, bias=0.0, p=1.0)(image=tile)["image"] == tile).all())
    True
    >>> ours = [[0.55, 0.76, 0.34], [0.10, 0.95, 0.28]]  # measured on our own scanner
    >>> bool((StainJitter(basis=ours, sigma=0.2, p=1.0)(image=tile)["image"] == tile).all())
    False
    """

    class InitSchema(BaseTransformInitSchema):  # type: ignore[misc]
        """Validation of the arguments."""

        sigma: Annotated[SymmetricRangeType, AfterValidator(nondecreasing)]
        bias: Annotated[SymmetricRangeType, AfterValidator(nondecreasing)]
        white_threshold: Share
        basis: Literal["hed", "he", "macenko", "vahadane"] | tuple[tuple[float, ...], ...]
        source: Literal["bag", "tile"]

    def __init__(
        self, sigma: _Range = 0.05, bias: _Range = 0.05, white_threshold: float | None = WHITE,
        basis: Any = "hed", source: str = "bag", p: float = 0.5,
    ) -> None:  # fmt: skip
        super().__init__(p=p)
        if problem := check_basis({"basis": basis}):
            raise ValueError(": ".join(problem))
        self.rows = PRESETS.get(basis) if isinstance(basis, str) else basis  # None: estimate them
        self.source_method = basis if self.rows is None and source == "bag" else None
        self.basis, self.source, self.white_threshold = basis, source, white_threshold
        self.sigma: tuple[float, float] = sigma  # type: ignore[assignment]  # a pair, once the schema has run
        self.bias: tuple[float, float] = bias  # type: ignore[assignment]

    def get_params(self) -> dict[str, Any]:
        """Draw the three factors, then the three shifts."""
        uniform = self.py_random.uniform
        return {
            "factors": tuple(1.0 + uniform(*self.sigma) for _ in range(3)),
            "shifts": tuple(uniform(*self.bias) for _ in range(3)),
        }

    def get_params_dependent_on_data(self, params: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
        """Estimate the stains, if the basis asks for it, of the sample's bag or of its own images."""
        if self.rows:
            return {}
        estimate = stains_of(data, self.basis, self.source_method)
        return {"stains": estimate and tuple(map(tuple, estimate.stains.tolist()))}

    def apply(self, img: np.ndarray, factors: Any, shifts: Any, stains: Any = (), **_: Any) -> np.ndarray:
        """Jitter the image's stains."""
        if img.ndim != 3 or img.shape[2] != 3:
            raise TypeError(f"StainJitter needs an RGB image, H×W×3, got shape {img.shape}")
        if stains is None:
            return img
        return through_density(img, density_matrix(factors, shifts, self.rows or stains), self.white_threshold)


class HEStain(A.HEStain):  # type: ignore[misc]
    """Scales and shifts the amounts of haematoxylin and eosin in a stained-tissue image; glass stays as it is.

    albumentations' class with one more argument. Images whose stains cannot be estimated stay as they are: those
    without tissue, and for `vahadane` and `macenko` those whose tissue has one colour.

    Args:
        method: the source of the two stains' colours: a preset, a random preset, or the image.
        preset: the preset, with method preset.
        intensity_scale_range: range of the factor of each stain's amount.
        intensity_shift_range: range of the number added to each stain's amount.
        augment_background: change pixels with a lightness of 0.85 and more as well.
        white_threshold: pixels whose channels are all at least this share of full scale are glass, and stay as they
            are; null: no pixel is glass.
        p: probability.

    Image: H×W×3, uint8 (0..255) or float32 (0..1), RGB; the same shape, dtype and range come out.
    """

    class InitSchema(A.HEStain.InitSchema):  # type: ignore[misc]
        """albumentations' arguments and one more."""

        white_threshold: Share

    def __init__(
        self, method: str = "random_preset", preset: str | None = None,
        intensity_scale_range: tuple[float, float] = (0.7, 1.3),
        intensity_shift_range: tuple[float, float] = (-0.2, 0.2),
        augment_background: bool = False, white_threshold: float | None = WHITE, p: float = 0.5,
    ) -> None:  # fmt: skip
        super().__init__(method, preset, intensity_scale_range, intensity_shift_range, augment_background, p)
        self.white_threshold = white_threshold

    def get_params_dependent_on_data(self, params: dict[str, Any], data: dict[str, Any]) -> Any:
        """Draw factors and shifts, and estimate the stains, for several images from the first with tissue."""
        images = () if "image" in data else data["images"]
        stained = [image for image in images if not glass_mask(image, self.white_threshold).all()]
        return super().get_params_dependent_on_data(params, {**data, "images": stained or images})

    def _get_stain_matrix(self, img: np.ndarray) -> np.ndarray | None:
        """The two stains' colours; None where they cannot be estimated."""
        try:
            with np.errstate(invalid="ignore"):  # 0 / 0 without tissue
                stains: np.ndarray = super()._get_stain_matrix(img)
                return stains if np.linalg.det(stains @ stains.T) > _LEAST_DETERMINANT else None
        except ValueError:  # no tissue
            return None

    def apply(self, img: np.ndarray, stain_matrix: np.ndarray | None, **drawn: Any) -> np.ndarray:
        """Change the amounts of the two stains in one image or several."""
        if img.shape[-1] != 3:
            raise TypeError(f"HEStain needs an RGB image, H×W×3, got shape {img.shape}")
        if stain_matrix is None:
            return img
        amounts = drawn["scale_factors"], drawn["shift_values"]
        result = fpixel.apply_he_stain_augmentation(img, stain_matrix, *amounts, self.augment_background)
        return with_white(img, result, self.white_threshold)


def white_level(share: float | None) -> int:
    """The level that all channels of a pixel of glass reach.

    >>> white_level(0.85), white_level(1.0), white_level(None)
    (217, 255, 256)
    """
    return LOG.size if share is None else math.ceil(share * 255 - 1e-3)


def glass_mask(rows: np.ndarray, share: float | None) -> np.ndarray:
    """The mask of glass, 255 or 0, H×W, of an image H×W×3, uint8 or float32."""
    least: Any = white_level(share) if share is None or rows.dtype == np.uint8 else share - 1e-6
    return cv2.inRange(rows, (least,) * 3, (LOG.size,) * 3)


def with_white(img: np.ndarray, result: np.ndarray, share: float | None) -> np.ndarray:
    """Copy the glass of an image, or of several, into its result."""
    if share is not None:
        rows = img.reshape(-1, *img.shape[-2:])
        cv2.copyTo(rows, glass_mask(rows, share), result.reshape(rows.shape))
    return result


def through_density(img: np.ndarray, matrix: np.ndarray, white: float | None = None) -> np.ndarray:
    """Apply a 3×4 matrix to ln(I + 1) of an image H×W×3, except where it is glass."""
    # A cubic resize may leave floats below 0.
    logs = cv2.LUT(img, LOG) if img.dtype == np.uint8 else np.log(np.maximum(img, 0) * np.float32(255) + np.float32(1))
    result: Any = cv2.exp(cv2.transform(logs, matrix))
    if img.dtype == np.uint8:
        result = cv2.subtract(result, _ONES, dtype=cv2.CV_8U)  # rounds and saturates
    else:
        result = np.clip((result - np.float32(1)) * np.float32(1 / 255), 0, 1)
    return with_white(img, result, white)


@lru_cache(maxsize=1024)
def _mixing(stains: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Three stains of length 1 and their inverse; two stains are completed by the direction orthogonal to both."""
    rows = np.array(stains, np.float64)
    if len(rows) == 2:
        rows = np.vstack([rows, np.cross(*rows)])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows, np.linalg.inv(rows)


def density_matrix(factors: Sequence[float], shifts: Sequence[float], stains: Rows = PRESETS["hed"]) -> np.ndarray:
    """The 3×4 matrix from ln(I + 1) of R, G, B to the same after the jitter.

    With the row vectors od = ln 256 − ln(I + 1) and amounts c = od · U, od' = (c · diag(a) + ln 10 · b) · S.

    >>> bool(np.allclose(density_matrix((1, 1, 1), (0, 0, 0)), np.eye(3, 4)))
    True
    """
    mix, unmix = _mixing(stains)
    if len(stains) == 2:
        factors, shifts = (*factors[:2], 1.0), (*shifts[:2], 0.0)
    linear = unmix * factors @ mix
    offset = math.log(10) * np.asarray(shifts) @ mix
    white = math.log(_WHITE)
    return np.column_stack([linear.T, white - white * linear.sum(axis=0) - offset])


@cache
def jitter_tables(stains: Rows = PRESETS["hed"]) -> tuple[np.ndarray, np.ndarray]:
    """The tables of native/stain.c: seven matrices 3×4, and the logarithms of levels.

    The matrix for three factors and three shifts is the first plus the other six times these.
    """
    none, units = (0.0, 0.0, 0.0), np.eye(3).tolist()
    still = density_matrix(none, none, stains)
    pairs = [*((unit, none) for unit in units), *((none, unit) for unit in units)]
    matrices = [density_matrix(*pair, stains) - still for pair in pairs]
    # Beyond 12 digits processors invert matrices differently.
    return np.round(np.stack([still, *matrices]), 12), LOG
