"""What cameras and compression leave of an image, as papers on super-resolution define it: kernels, photons, JPEG."""

from collections.abc import Sequence
from math import cos, pi, radians, sin
from typing import Annotated, Any, Literal

import cv2
import numpy as np
from pydantic import AfterValidator, Field

from augrecipes.compat.albumentations import A, BaseTransformInitSchema, check_range_bounds, nondecreasing
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
_LEAST_SIGMA, _LEAST_FAR = 0.01, 1e-9  # px: of what has the kernel of 0; in place of a distance of 0
_FINEST, _EXACT = 1 << 16, 1 << 24  # parts of 1 that weights count; whole numbers of float32 below that are exact
_Range = tuple[float, float]
_ORDERED = AfterValidator(nondecreasing)
_NotNegative = Annotated[_Range, AfterValidator(check_range_bounds(0, 100)), _ORDERED]
_Angle = Annotated[_Range, AfterValidator(check_range_bounds(-360, 360)), _ORDERED]
_Side = Annotated[tuple[int, int], AfterValidator(check_range_bounds(3, LIMITS.WIDEST_KERNEL)), _ORDERED]
_Cutoff = Annotated[_Range, AfterValidator(check_range_bounds(0, pi)), _ORDERED]


class KernelBlur(A.ImageOnlyTransform):  # type: ignore[misc]
    """Blurs by a kernel of a drawn shape, as Real-ESRGAN and BSRGAN define them.

    With r² = (x, y) Σ⁻¹ (x, y)ᵀ about the kernel's middle, where Σ has the squares of two sigmas along its axes and is
    turned by an angle, weights are exp(−r² / 2) of `iso` and `aniso`, exp(−r²ᵝ / 2) of `generalized_...`, and
    1 / (1 + r²ᵝ) of `plateau_...`. `iso` shapes have one sigma and no angle. `sinc` is the circular low-pass filter,
    c J₁(c d) / (2π d) at d px. Weights sum to 1. The image is mirrored at its borders (`reflect_101`).

    Args:
        shapes: shapes and their weights; one shape is drawn.
        blur_limit: range of the kernel's side, px; odd numbers are drawn.
        sigma_limit: range of each sigma, px.
        rotate_limit: range of the angle, degrees.
        betag_range: range of β of generalized shapes: half of the draws are below 1, half above.
        betap_range: range of β of plateau shapes, drawn in the same way.
        cutoff: range of c, radians per px, up to π; null: π/3 to π for kernels below 13 px, else π/5 to π.
        spread: what is drawn uniformly: `sigma`, or its square, the `variance`, as for BSRGAN's rotated kernels.
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
        rotate_limit: _Angle
        betag_range: _NotNegative
        betap_range: _NotNegative
        cutoff: _Cutoff | None
        spread: Spread

    def __init__(
        self, shapes: dict[Shape, float] = _SHARES, blur_limit: tuple[int, int] = (7, 21),
        sigma_limit: _Range = (0.2, 3.0), rotate_limit: _Range = (-180.0, 180.0),
        betag_range: _Range = (0.5, 4.0), betap_range: _Range = (1.0, 2.0), cutoff: _Range | None = None,
        spread: Spread = "sigma", p: float = 0.5,
    ) -> None:  # fmt: skip
        super().__init__(p=p)
        self.shapes, self.blur_limit, self.sigma_limit, self.spread = shapes, blur_limit, sigma_limit, spread
        self.rotate_limit, self.betag_range, self.betap_range = rotate_limit, betag_range, betap_range
        self.cutoff = cutoff

    def get_params(self) -> dict[str, Any]:
        """Draw a kernel."""
        random, turned = self.py_random, False
        side = random.randrange(self.blur_limit[0], self.blur_limit[1] + 1, 2)
        shape = random.choices([*self.shapes], [*self.shapes.values()])[0]
        drawn: dict[str, Any] = {"side": side, "shape": shape}
        if shape == "sinc":
            drawn["cutoff"] = random.uniform(*self.cutoff or (pi / (3 if side < _LARGE else 5), pi))
        else:
            power, turned = 2 if self.spread == "variance" else 1, shape.endswith("aniso")
            low, high = (end**power for end in self.sigma_limit)
            drawn["sigma"] = [random.uniform(low, high) ** (1 / power) for _ in range(1 + turned)]
        if turned:
            drawn["angle"] = random.uniform(*self.rotate_limit)
        if "_" in shape:
            least, most = self.betap_range if shape.startswith("plateau") else self.betag_range
            middle = min(max(least, 1.0), most)
            drawn["beta"] = random.uniform(*((least, middle) if random.random() < 0.5 else (middle, most)))
        # `shape` is that of the image among the draws that are kept.
        return {"kind": shape, **drawn, "kernel": blur_kernel(**drawn)}

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


def blur_kernel(
    shape: Shape, side: int, sigma: Sequence[float] = (1.0,), angle: float = 0.0, beta: float = 1.0, cutoff: float = pi
) -> np.ndarray:
    """The weights of a shape: of one sigma, or of two along axes turned by an angle in degrees; or of a cutoff.

    >>> blur_kernel("plateau_iso", 3).round(3).tolist()
    [[0.077, 0.115, 0.077], [0.115, 0.231, 0.115], [0.077, 0.115, 0.077]]
    >>> blur_kernel("sinc", 3, cutoff=3.0).round(3).tolist()
    [[-0.045, 0.14, -0.045], [0.14, 0.619, 0.14], [-0.045, 0.14, -0.045]]
    """
    x = np.arange(side) - side // 2
    y, weights = x[:, None], np.empty(0)
    if shape == "sinc":
        from scipy.special import j1  # which takes longer to import than all else here

        far = np.maximum(np.hypot(x, y), _LEAST_FAR)
        weights = cutoff * j1(cutoff * far) / (2 * pi * far)
    else:
        across, down = cos(radians(angle)), sin(radians(angle))
        wide, high = (max(each, _LEAST_SIGMA) for each in (sigma[0], sigma[-1]))
        powers = (((across * x + down * y) / wide) ** 2 + ((across * y - down * x) / high) ** 2) ** beta
        weights = 1 / (1 + powers) if shape.startswith("plateau") else np.exp(-0.5 * powers)
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
    """Adds Poisson (photon) noise that depends on the image's own values, as BasicSR defines it.

    The image has n of the 256 levels; v is n rounded up to a power of two. Of a pixel of value x (0..1) the noise is
    Poisson(x v) / v − x, times a drawn scale: photons are counted in gamma-corrected values, as the published networks
    were trained, and not in linear light as in ShotNoise.

    Args:
        scale_range: range of the scale; at 1, a white pixel has the noise of v photons.
        per_channel: each channel has its own noise; false: all channels have the noise of the grey image.
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
        seed = self.random_generator.integers(0, 1 << 32)
        return {"scale": self.py_random.uniform(*self.scale_range), "random_seed": int(seed)}

    def apply(self, img: np.ndarray, scale: float, random_seed: int, **_: Any) -> np.ndarray:
        """The image with noise."""
        top, image = 255.0 if img.dtype == np.uint8 else 1.0, img.reshape(*img.shape[:2], -1)
        counted = image
        if not self.per_channel:
            grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY) if image.shape[2] == 3 else image.mean(axis=2)
            counted = grey[..., None]
        levels = np.rint(np.clip(counted * (255 / top), 0, 255)).astype(np.uint8)
        photons = 2.0 ** np.ceil(np.log2(np.count_nonzero(np.bincount(levels.ravel()))))
        counts = np.random.default_rng(random_seed).poisson(levels * (photons / 255))
        noise = (counts / photons - levels / 255) * (scale * top)
        noisy = np.clip(image + noise, 0, top).reshape(img.shape)
        return (np.rint(noisy) if img.dtype == np.uint8 else noisy).astype(img.dtype)


@fpixel.uint8_io  # type: ignore[untyped-decorator]
def _through_jpeg(img: np.ndarray, quality: int, subsampling: Subsampling) -> Any:
    """H×W×3 behind a JPEG whose colours are sampled like this."""
    factor = getattr(cv2, f"IMWRITE_JPEG_SAMPLING_FACTOR_{subsampling.replace(':', '')}")
    how = [cv2.IMWRITE_JPEG_QUALITY, quality, cv2.IMWRITE_JPEG_SAMPLING_FACTOR, factor]
    return cv2.imdecode(cv2.imencode(".jpg", img, how)[1], cv2.IMREAD_UNCHANGED)


class ImageCompression(A.ImageCompression):  # type: ignore[misc]
    """Compresses an image as JPEG or WebP, and decodes it.

    albumentations' class with one argument more. As there, the coder takes the first of three channels for blue.

    Args:
        compression_type: `jpeg` or `webp`.
        quality_range: range of the quality, 1 to 100.
        subsampling: chroma subsampling of a JPEG: `"4:2:0"` halves both ways, `"4:2:2"` across, `"4:4:4"` keeps them;
            or a list that one is drawn from.
        p: probability.

    Image: H×W or H×W×C, uint8 (0..255) or float32 (0..1); the same shape, dtype and range come out.
    Draws: `quality`, and of a list also `subsampling`, from `py_random`.

    >>> image = np.full((8, 8, 3), (90, 200, 40), np.uint8)
    >>> ImageCompression(quality_range=(90, 90), subsampling="4:4:4", p=1.0)(image=image)["image"][0, 0].tolist()
    [90, 200, 40]
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
        drawn, how = super().get_params(), self.subsampling
        return {**drawn, "subsampling": self.py_random.choice(how) if isinstance(how, list) else how}

    def apply(self, img: np.ndarray, subsampling: Subsampling, **drawn: Any) -> np.ndarray:
        """The image, compressed; channels beyond three each as a grey image."""
        if subsampling == "4:2:0" or img.ndim < 3 or img.shape[2] < 3:  # what OpenCV does by itself; grey
            return super().apply(img, **drawn)
        others = [super(ImageCompression, self).apply(img[..., k : k + 1], **drawn) for k in range(3, img.shape[2])]
        return np.dstack([_through_jpeg(img[..., :3], drawn["quality"], subsampling), *others])
