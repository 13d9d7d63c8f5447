"""What cameras and compression leave of an image, as papers on super-resolution define it: kernels, photons, JPEG."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, radians, sin
from typing import Annotated, Any, Literal

import cv2
import numpy as np
from pydantic import AfterValidator, Field

from augrecipes.compat.albumentations import (
    A,
    BaseTransformInitSchema,
    SymmetricRangeType,
    check_range_bounds,
    nondecreasing,
)
from augrecipes.compat.albumentations import pixel as fpixel  # under the name by which its functions are replaced
from augrecipes.native.kernels import address_of, library
from augrecipes.native.op_numbers import LIMITS

Shape = Literal["iso", "aniso", "generalized_iso", "generalized_aniso", "plateau_iso", "plateau_aniso", "sinc"]
Spread = Literal["sigma", "variance"]
Subsampling = Literal["4:2:0", "4:2:2", "4:4:4"]
# Real-ESRGAN's options: a sinc filter in a tenth of all, and these shares of the others.
_SHARES: dict[Shape, float] = {
    "iso": 0.405, "aniso": 0.225, "generalized_iso": 0.108, "generalized_aniso": 0.027, "plateau_iso": 0.108,
    "plateau_aniso": 0.027, "sinc": 0.1,
}  # fmt: skip
_LARGE = 13  # px of a side, from which on a sinc filter may cut off more
_LEAST_SIGMA = 0.01  # px: the kernel is a single pixel, as that of 0 is
_FINEST, _EXACT = 1 << 16, 1 << 24  # parts of 1 that weights count; whole numbers of float32 below that are exact
_FACTORS: dict[Subsampling, int] = {"4:2:0": 0x221111, "4:2:2": 0x211111, "4:4:4": 0x111111}
_RGB = 3
_Range = tuple[float, float]
_ORDERED = AfterValidator(nondecreasing)
_NotNegative = Annotated[_Range, AfterValidator(check_range_bounds(0, 100)), _ORDERED]
_Side = Annotated[tuple[int, int], AfterValidator(check_range_bounds(3, LIMITS.WIDEST_KERNEL)), _ORDERED]
_Cutoff = Annotated[_Range, AfterValidator(check_range_bounds(0, pi)), _ORDERED]


class KernelBlur(A.ImageOnlyTransform):  # type: ignore[misc]
    """Blurs by a kernel of a drawn shape, as Real-ESRGAN and BSRGAN define them.

    With r² = (x, y) Σ⁻¹ (x, y)ᵀ about the kernel's middle, where Σ has the squares of two sigmas along its axes and is
    turned by an angle, weights are exp(−r² / 2) of `iso` and `aniso`, exp(−r²ᵝ / 2) of `generalized_...`, and
    1 / (1 + r²ᵝ) of `plateau_...`. `iso` shapes have one sigma and no angle. `sinc` is the circular low-pass filter,
    c J₁(c d) / (2π d) at d px. Weights sum to 1. The image is mirrored at its borders (`reflect_101`).

    Args:
        shapes: shapes with their weights, of which one is drawn.
        blur_limit: the least and the greatest side of kernels, odd numbers of px; every odd number between is drawn.
        sigma_limit: range of each sigma, px.
        rotate_limit: range of the angle, degrees.
        betag_range: range of β of generalized shapes: half of the draws are below 1, half above.
        betap_range: range of β of plateau shapes, drawn likewise.
        cutoff: range of c, radians a px, up to π; null: π/3 to π of kernels below 13 px, and π/5 to π of others.
        spread: what is uniform: `sigma`, or its square, the `variance`, as in BSRGAN's turned kernels.
        p: probability.

    Image: H×W or H×W×C, uint8 (0..255) or float32 (0..1); the same shape, dtype and range come out, clipped. On uint8
    weights are rounded to multiples of 2⁻¹⁶, or as fine as sums of float32 are exact.
    Draws: `side`, `shape`, and what the shape needs, from `py_random`; `kernel`, side×side float64, comes of them.
    Source: Wang et al., "Real-ESRGAN: Training Real-World Blind Super-Resolution with Pure Synthetic Data", ICCV
    Workshops 2021, with the definitions of BasicSR.

    >>> image = np.full((32, 32, 3), 90, np.uint8)
    >>> bool((KernelBlur(p=1.0)(image=image)["image"] == image).all())
    True
    """

    class InitSchema(BaseTransformInitSchema):  # type: ignore[misc]
        """Weights by name, and ordered ranges."""

        shapes: Annotated[dict[Shape, Annotated[float, Field(ge=0)]], Field(min_length=1)]
        blur_limit: _Side
        sigma_limit: _NotNegative
        rotate_limit: SymmetricRangeType
        betag_range: _NotNegative
        betap_range: _NotNegative
        cutoff: _Cutoff | None
        spread: Spread

    def __init__(
        self, shapes: dict[Shape, float] = _SHARES, blur_limit: tuple[int, int] = (7, 21),
        sigma_limit: _Range = (0.2, 3.0), rotate_limit: _Range | float = (-180.0, 180.0),
        betag_range: _Range = (0.5, 4.0), betap_range: _Range = (1.0, 2.0), cutoff: _Range | None = None,
        spread: Spread = "sigma", p: float = 0.5,
    ) -> None:  # fmt: skip
        super().__init__(p=p)
        self.shapes, self.blur_limit, self.sigma_limit, self.spread = shapes, blur_limit, sigma_limit, spread
        self.rotate_limit: _Range = rotate_limit  # type: ignore[assignment]  # a pair, once the schema has run
        self.betag_range, self.betap_range, self.cutoff = betag_range, betap_range, cutoff

    def get_params(self) -> dict[str, Any]:
        """Draw a kernel."""
        random = self.py_random
        side = random.randrange(self.blur_limit[0], self.blur_limit[1] + 1, 2)
        shape = random.choices([*self.shapes], [*self.shapes.values()])[0]
        drawn: dict[str, Any] = {"side": side, "shape": shape}
        if shape == "sinc":
            drawn["cutoff"] = random.uniform(*self.cutoff or (pi / (3 if side < _LARGE else 5), pi))
            return {**drawn, "kernel": sinc_kernel(side, drawn["cutoff"])}
        power = 2 if self.spread == "variance" else 1
        low, high = (end**power for end in self.sigma_limit)
        drawn["sigma"] = [random.uniform(low, high) ** (1 / power) for _ in range(1 + shape.endswith("aniso"))]
        drawn["angle"] = random.uniform(*self.rotate_limit) if shape.endswith("aniso") else 0.0
        if shape not in ("iso", "aniso"):
            least, most = self.betap_range if shape.startswith("plateau") else self.betag_range
            middle = min(max(least, 1.0), most)
            drawn["beta"] = random.uniform(*((least, middle) if random.random() < 0.5 else (middle, most)))
        return {**drawn, "kernel": blur_kernel(**drawn)}

    def apply(self, img: np.ndarray, kernel: np.ndarray, **_: Any) -> np.ndarray:
        """The image, blurred."""
        channels = img.shape[2] if img.ndim > 2 else 1
        if img.dtype != np.uint8 or channels > LIMITS.MOST_CHANNELS:
            return fpixel.convolve(img, kernel.astype(np.float32))
        weights, parts = whole_weights(kernel)
        if (kernels := library()) is not None:
            source, shares = np.ascontiguousarray(img), (weights / parts).astype(np.float32)
            out, sizes = np.empty_like(source), (*img.shape[:2], channels)
            convolve = kernels.kernel("filter", "plllplip")
            if not convolve(address_of(source), *sizes, address_of(shares), len(kernel), 1, address_of(out)):
                return out
        sums = np.rint(cv2.filter2D(img, cv2.CV_64F, weights)) / parts
        return np.clip(np.rint(sums), 0, 255).astype(np.uint8).reshape(img.shape)


def blur_kernel(shape: Shape, side: int, sigma: Sequence[float], angle: float = 0.0, beta: float = 1.0) -> np.ndarray:
    """The weights of any shape but a sinc filter; one sigma, or two along axes turned by an angle in degrees.

    >>> blur_kernel("plateau_iso", 3, [1.0]).round(3).tolist()
    [[0.077, 0.115, 0.077], [0.115, 0.231, 0.115], [0.077, 0.115, 0.077]]
    """
    x = np.arange(side) - side // 2
    y = x[:, None]
    across, down = cos(radians(angle)), sin(radians(angle))
    wide, high = (max(each, _LEAST_SIGMA) for each in (sigma[0], sigma[-1]))
    squares = ((across * x + down * y) / wide) ** 2 + ((across * y - down * x) / high) ** 2
    weights: np.ndarray = 1 / (1 + squares**beta) if shape.startswith("plateau") else np.exp(-0.5 * squares**beta)
    return weights / weights.sum()


def sinc_kernel(side: int, cutoff: float) -> np.ndarray:
    """The weights of the circular low-pass filter with a cutoff in radians a px.

    >>> sinc_kernel(3, 3.0).round(3).tolist()
    [[-0.021, 0.114, -0.021], [0.114, 0.627, 0.114], [-0.021, 0.114, -0.021]]
    """
    from scipy.special import j1  # of which importing takes longer than all else here

    x = np.arange(side) - side // 2
    far = np.hypot(x, x[:, None])
    far[side // 2, side // 2] = 1.0
    weights: np.ndarray = cutoff * j1(cutoff * far) / (2 * pi * far)
    weights[side // 2, side // 2] = cutoff**2 / (4 * pi)
    return weights / weights.sum()


def whole_weights(kernel: np.ndarray) -> tuple[np.ndarray, int]:
    """A kernel in whole numbers, and the number that is 1: any order of sums in float32 over uint8 gives the same bits.

    >>> whole_weights(np.array([[0.25, 0.5, 0.25]]))
    (array([[16384., 32768., 16384.]]), 65536)
    """
    parts = _FINEST
    while True:
        weights = np.floor(kernel * parts)
        order = np.argsort(weights - kernel * parts, axis=None, kind="stable")
        weights.flat[order[: int(parts - weights.sum())]] += 1  # where most was cut off
        if np.abs(weights).sum() * 255 <= _EXACT:
            return weights, parts
        parts //= 2


class PoissonNoise(A.ImageOnlyTransform):  # type: ignore[misc]
    """Adds the noise of counted photons in the image's own values, as BasicSR defines it.

    The image has n of the 256 levels; v is n rounded up to a power of two. Of a pixel of value x (0..1) the noise is
    Poisson(x v) / v − x, times a drawn scale: photons are counted in gamma-corrected values, as the published networks
    were trained, and not in linear light as in ShotNoise.

    Args:
        scale_range: range of the scale; 1 is the noise of v photons at white.
        per_channel: each channel has its own noise; false: all have that of the grey image.
        p: probability.

    Image: H×W or H×W×C, uint8 (0..255) or float32 (0..1); the same shape, dtype and range come out, clipped.
    Draws: `scale`, from `py_random`, and the seed of the photons, from `random_generator`.
    Source: `random_add_poisson_noise` of BasicSR, by which Real-ESRGAN (Wang et al., 2021) defines its noise.

    >>> image = np.full((8, 8, 3), 90, np.uint8)
    >>> bool((PoissonNoise(scale_range=(0.0, 0.0), p=1.0)(image=image)["image"] == image).all())
    True
    """

    class InitSchema(BaseTransformInitSchema):  # type: ignore[misc]
        """An ordered range, and a switch."""

        scale_range: _NotNegative
        per_channel: bool

    def __init__(self, scale_range: _Range = (0.05, 3.0), per_channel: bool = True, p: float = 0.5) -> None:
        super().__init__(p=p)
        self.scale_range, self.per_channel = scale_range, per_channel

    def get_params(self) -> dict[str, Any]:
        """Draw the scale, and a seed."""
        return {
            "scale": self.py_random.uniform(*self.scale_range),
            "random_seed": int(self.random_generator.integers(0, 1 << 32)),
        }

    def apply(self, img: np.ndarray, scale: float, random_seed: int, **_: Any) -> np.ndarray:
        """The image with noise."""
        top = 255.0 if img.dtype == np.uint8 else 1.0
        counted = img if self.per_channel or img.ndim < 3 else _gray(img)
        levels = counted if img.dtype == np.uint8 else np.rint(np.clip(counted, 0, 1) * 255).astype(np.uint8)
        photons = 2.0 ** np.ceil(np.log2(np.count_nonzero(np.bincount(levels.ravel()))))
        counts = np.random.default_rng(random_seed).poisson(levels * (photons / 255))
        noise = counts * np.float32(scale * top / photons) - levels * np.float32(scale * top / 255)
        noisy = np.clip(img + (noise if noise.ndim == img.ndim else noise[..., None]), 0, top)
        return (np.rint(noisy) if img.dtype == np.uint8 else noisy).astype(img.dtype)


def _gray(img: np.ndarray) -> np.ndarray:
    """H×W of H×W×C: the luma of RGB, and the mean of other channels."""
    if img.shape[2] == _RGB:
        return cv2.cvtColor(img, cv2.COLOR_RGB2GRAY)
    mean: np.ndarray = img.mean(axis=2)
    return (np.rint(mean) if img.dtype == np.uint8 else mean).astype(img.dtype)


class ImageCompression(A.ImageCompression):  # type: ignore[misc]
    """Compresses an image as JPEG or WebP, and reads it again.

    albumentations' class with one argument more. As there, the coder takes the first of three channels for blue.

    Args:
        compression_type: `jpeg` or `webp`.
        quality_range: range of the quality, 1 to 100.
        subsampling: of a JPEG's colours: `"4:2:0"` halves them both ways, `"4:2:2"` across, `"4:4:4"` keeps them; or
            a list that one is drawn from.
        p: probability.

    Image: H×W or H×W×C, uint8 (0..255) or float32 (0..1); the same shape, dtype and range come out.
    Draws: `quality`, and of a list also `subsampling`, from `py_random`.

    >>> image = np.full((8, 8, 3), (90, 200, 40), np.uint8)
    >>> ImageCompression(quality_range=(90, 90), subsampling="4:4:4", p=1.0)(image=image)["image"][0, 0].tolist()
    [90, 200, 41]
    """

    class InitSchema(A.ImageCompression.InitSchema):  # type: ignore[misc]
        """albumentations' arguments, and ours."""

        subsampling: Subsampling | Annotated[list[Subsampling], Field(min_length=1)]

    def __init__(
        self, compression_type: Literal["jpeg", "webp"] = "jpeg", quality_range: tuple[int, int] = (99, 100),
        subsampling: Subsampling | list[Subsampling] = "4:2:0", p: float = 0.5,
    ) -> None:  # fmt: skip
        super().__init__(compression_type, quality_range, p)
        self.subsampling = subsampling

    def get_params(self) -> dict[str, Any]:
        """Draw the quality, then how colours are sampled."""
        drawn: dict[str, Any] = super().get_params()
        several = isinstance(self.subsampling, list)
        return drawn | {"subsampling": self.py_random.choice(self.subsampling) if several else self.subsampling}

    def apply(self, img: np.ndarray, subsampling: Subsampling, **drawn: Any) -> np.ndarray:
        """The image, compressed."""
        if subsampling == "4:2:0" or img.ndim < 3 or img.shape[2] < _RGB:  # what OpenCV does by itself; grey
            return super().apply(img, **drawn)
        colours = img[..., :_RGB]
        levels = colours if img.dtype == np.uint8 else np.rint(colours * np.float32(255)).astype(np.uint8)
        how = [cv2.IMWRITE_JPEG_QUALITY, drawn["quality"], cv2.IMWRITE_JPEG_SAMPLING_FACTOR, _FACTORS[subsampling]]
        decoded: Any = cv2.imdecode(cv2.imencode(".jpg", levels, how)[1], cv2.IMREAD_UNCHANGED)
        decoded = decoded if img.dtype == np.uint8 else decoded.astype(np.float32) / np.float32(255)
        others = [super(ImageCompression, self).apply(img[..., k : k + 1], **drawn) for k in range(_RGB, img.shape[2])]
        return np.dstack([decoded, *others]) if others else decoded
