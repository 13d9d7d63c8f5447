"""Degradations by cameras and compression, as papers on super-resolution define them: blur kernels, photons, JPEG."""

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
# The probabilities of Real-ESRGAN's options: a sinc filter for a tenth of all images, the other shapes for the rest.
_SHARES: dict[Shape, float] = {
    "iso": 0.405, "aniso": 0.225, "generalized_iso": 0.108, "generalized_aniso": 0.027, "plateau_iso": 0.108,
    "plateau_aniso": 0.027, "sinc": 0.1,
}  # fmt: skip
_LARGE = 13  # px of a side, from which on the default cutoff of sinc filters is lower
_LEAST_SIGMA, _LEAST_FAR = 0.01, 1e-9  # px: in place of a sigma, and of a distance, of 0
_FINEST, _EXACT = (
    1 << 16,
    1 << 24,
)  # weights are multiples of 1 / _FINEST; float32 is exact for integers up to _EXACT
_Range = tuple[float, float]
_ORDERED = AfterValidator(nondecreasing)
_NotNegative = Annotated[_Range, AfterValidator(check_range_bounds(0, 100)), _ORDERED]
_Angle = Annotated[_Range, AfterValidator(check_range_bounds(-360, 360)), _ORDERED]
_Side = Annotated[tuple[int, int], AfterValidator(check_range_bounds(3, LIMITS.WIDEST_KERNEL)), _ORDERED]
_Cutoff = Annotated[_Range, AfterValidator(check_range_bounds(0, pi)), _ORDERED]


class KernelBlur(A.ImageOnlyTransform):  # type: ignore[misc]
    """Blurs by a kernel of a drawn shape, as Real-ESRGAN and BSRGAN define them.

    With r² = (x, y) Σ⁻¹ (x, y)ᵀ about the kernel's centre, where Σ has the squares of two sigmas along its axes and is
    rotated by an angle, the weights are exp(−r² / 2) for `iso` and `aniso`, exp(−r²ᵝ / 2) for `generalized_...`, and
    1 / (1 + r²ᵝ) for `plateau_...`. `iso` shapes have one sigma and no angle. `sinc` is the circular low-pass filter,
    c J₁(c d) / (2π d) at d px. Weights sum to 1. The image is mirrored at its borders (`reflect_101`).

    Args:
        shapes: shapes and their weights; one shape is drawn.
        blur_limit: the smallest and the largest side of kernels, odd numbers of px; a side is drawn from the odd
            numbers between.
        sigma_limit: range of each sigma, px.
        rotate_limit: range of the angle, degrees.
        betag_range: range of β of generalized shapes: half of the draws are below 1, half above.
        betap_range: range of β of plateau shapes, drawn likewise.
        cutoff: range of c, radians per px, up to π; null: π/3 to π for kernels below 13 px, π/5 to π for others.
        spread: which is uniform: `sigma`, or its square, the `variance`, as in BSRGAN's anisotropic kernels.
        p: probability.

    Image: H×W or H×W×C, uint8 (0..255) or float32 (0..1); the same shape, dtype and range come out, clipped. On uint8
    weights are rounded to multiples of 2⁻¹⁶, or as coarsely as exact float32 sums need.
    Draws: `side`, `shape`, and what the shape needs, from `py_random`; these give `kernel`, side×side float64.
    Source: Wang et al., "Real-ESRGAN: Training Real-World Blind Super-Resolution with Pure Synthetic Data", ICCV
    Workshops 2021, with the definitions of BasicSR.

    >>> image = np.full((32, 32, 3), 90, np.uint8)
    >>> bool((KernelBlur(p=1.0)(image=image)["image"] == image).all())
    True
    """

    class InitSchema(BaseTransformInitSchema):  # type: ignore[misc]
        """Validation of the arguments."""

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
        """Draw the shape and its parameters; compute the kernel."""
        random, is_rotated = self.py_random, False
        side = random.randrange(self.blur_limit[0], self.blur_limit[1] + 1, 2)
        shape = random.choices([*self.shapes], [*self.shapes.values()])[0]
        drawn: dict[str, Any] = {"side": side, "shape": shape}
        if shape == "sinc":
            drawn["cutoff"] = random.uniform(*self.cutoff or (pi / (3 if side < _LARGE else 5), pi))
        else:
            power, is_rotated = 2 if self.spread == "variance" else 1, shape.endswith("aniso")
            low, high = (end**power for end in self.sigma_limit)
            drawn["sigma"] = [random.uniform(low, high) ** (1 / power) for _ in range(1 + is_rotated)]
        if is_rotated:
            drawn["angle"] = random.uniform(*self.rotate_limit)
        if "_" in shape:
            least, most = self.betap_range if shape.startswith("plateau") else self.betag_range
            middle = min(max(least, 1.0), most)
            drawn["beta"] = random.uniform(*((least, middle) if random.random() < 0.5 else (middle, most)))
        # The key `shape` of saved parameters is the image's, so the kernel's is `kind`.
        return {"kind": shape, **drawn, "kernel": blur_kernel(**drawn)}

    def apply(self, img: np.ndarray, kernel: np.ndarray, **_: Any) -> np.ndarray:
        """Blur the image."""
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
    """The weights of a shape: by one sigma, or two along axes rotated by `angle` in degrees; or by a cutoff.

    >>> blur_kernel("plateau_iso", 3).round(3).tolist()
    [[0.077, 0.115, 0.077], [0.115, 0.231, 0.115], [0.077, 0.115, 0.077]]
    >>> blur_kernel("sinc", 3, cutoff=3.0).round(3).tolist()
    [[-0.045, 0.14, -0.045], [0.14, 0.619, 0.14], [-0.045, 0.14, -0.045]]
    """
    x = np.arange(side) - side // 2
    y, weights = x[:, None], np.empty(0)
    if shape == "sinc":
        from scipy.special import j1  # late: it takes longer to import than all else here

        far = np.maximum(np.hypot(x, y), _LEAST_FAR)
        weights = cutoff * j1(cutoff * far) / (2 * pi * far)
    else:
        across, down = cos(radians(angle)), sin(radians(angle))
        wide, high = (max(value, _LEAST_SIGMA) for value in (sigma[0], sigma[-1]))
        powers = (((across * x + down * y) / wide) ** 2 + ((across * y - down * x) / high) ** 2) ** beta
        weights = 1 / (1 + powers) if shape.startswith("plateau") else np.exp(-0.5 * powers)
    return weights / weights.sum()


def whole_weights(kernel: np.ndarray) -> tuple[np.ndarray, int]:
    """A kernel in integers, and the integer that stands for 1, so that float32 sums over uint8 are exact in any order.

    >>> whole_weights(np.array([[0.25, 0.5, 0.25]]))
    (array([[16384., 32768., 16384.]]), 65536)
    """
    parts = _FINEST
    while True:
        weights = np.floor(kernel * parts)
        order = np.argsort(weights - kernel * parts, axis=None, kind="stable")
        weights.flat[order[: int(parts - weights.sum())]] += 1  # the largest remainders are rounded up
        if np.abs(weights).sum() * 255 <= _EXACT:
            return weights, parts
        parts //= 2


class PoissonNoise(A.ImageOnlyTransform):  # type: ignore[misc]
    """Adds photon noise in the image's own values, as BasicSR defines it.

    The image has n distinct levels of 256, and v is n rounded up to a power of two. The noise of a pixel of value x
    (0..1) is Poisson(x v) / v − x, times a drawn scale. Photons are counted in gamma-corrected values, as for the
    published networks, not in linear light as in ShotNoise.

    Args:
        scale_range: range of the scale; 1 is the noise of v photons at white.
        per_channel: each channel has its own noise; false: all channels share that of the grey image.
        p: probability.

    Image: H×W or H×W×C, uint8 (0..255) or float32 (0..1); the same shape, dtype and range come out, clipped.
    Draws: `scale`, from `py_random`, and the seed of the photons, from `random_generator`.
    Source: `random_add_poisson_noise` of BasicSR, by which Real-ESRGAN (Wang et al., 2021) defines its noise.

    >>> image = np.full((8, 8, 3), 90, np.uint8)
    >>> bool((PoissonNoise(scale_range=(0.0, 0.0), p=1.0)(image=image)["image"] == image).all())
    True
    """

    class InitSchema(BaseTransformInitSchema):  # type: ignore[misc]
        """Validation of the arguments."""

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
        """Add the noise."""
        top, image = 255.0 if img.dtype == np.uint8 else 1.0, img.reshape(*img.shape[:2], -1)
        source = image
        if not self.per_channel:
            grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY) if image.shape[2] == 3 else image.mean(axis=2)
            source = grey[..., None]
        levels = np.rint(np.clip(source * (255 / top), 0, 255)).astype(np.uint8)
        photons = 2.0 ** np.ceil(np.log2(np.count_nonzero(np.bincount(levels.ravel()))))
        counts = np.random.default_rng(random_seed).poisson(levels * (photons / 255))
        noise = (counts / photons - levels / 255) * (scale * top)
        noisy = np.clip(image + noise, 0, top).reshape(img.shape)
        return (np.rint(noisy) if img.dtype == np.uint8 else noisy).astype(img.dtype)


@fpixel.uint8_io  # type: ignore[untyped-decorator]
def _through_jpeg(img: np.ndarray, quality: int, subsampling: Subsampling) -> Any:
    """Encode an image H×W×3 as JPEG with a chroma subsampling, and decode it."""
    factor = getattr(cv2, f"IMWRITE_JPEG_SAMPLING_FACTOR_{subsampling.replace(':', '')}")
    options = [cv2.IMWRITE_JPEG_QUALITY, quality, cv2.IMWRITE_JPEG_SAMPLING_FACTOR, factor]
    return cv2.imdecode(cv2.imencode(".jpg", img, options)[1], cv2.IMREAD_UNCHANGED)


class ImageCompression(A.ImageCompression):  # type: ignore[misc]
    """Compresses an image as JPEG or WebP and decodes it.

    albumentations' class with one more argument. As there, the coder takes the first of three channels for blue.

    Args:
        compression_type: `jpeg` or `webp`.
        quality_range: range of the quality, 1 to 100.
        subsampling: chroma subsampling of JPEG: `"4:2:0"` halves it both ways, `"4:2:2"` horizontally, `"4:4:4"` not at
            all; or a list from which one is drawn.
        p: probability.

    Image: H×W or H×W×C, uint8 (0..255) or float32 (0..1); the same shape, dtype and range come out.
    Draws: `quality`, and `subsampling` where that is a list, from `py_random`.

    >>> image = np.full((8, 8, 3), (90, 200, 40), np.uint8)
    >>> ImageCompression(quality_range=(90, 90), subsampling="4:4:4", p=1.0)(image=image)["image"][0, 0].tolist()
    [90, 200, 40]
    """

    class InitSchema(A.ImageCompression.InitSchema):  # type: ignore[misc]
        """albumentations' arguments and one more."""

        subsampling: Subsampling | Annotated[list[Subsampling], Field(min_length=1)]

    def __init__(
        self, compression_type: Literal["jpeg", "webp"] = "jpeg", quality_range: tuple[int, int] = (99, 100),
        subsampling: Subsampling | list[Subsampling] = "4:2:0", p: float = 0.5,
    ) -> None:  # fmt: skip
        super().__init__(compression_type, quality_range, p)
        self.subsampling = subsampling

    def get_params(self) -> dict[str, Any]:
        """Draw the quality, then the subsampling."""
        drawn, choice = super().get_params(), self.subsampling
        return {**drawn, "subsampling": self.py_random.choice(choice) if isinstance(choice, list) else choice}

    def apply(self, img: np.ndarray, subsampling: Subsampling, **drawn: Any) -> np.ndarray:
        """Compress the image; channels beyond three each as a grey image."""
        if subsampling == "4:2:0" or img.ndim < 3 or img.shape[2] < 3:  # OpenCV's default; grey images
            return super().apply(img, **drawn)
        others = [super(ImageCompression, self).apply(img[..., k : k + 1], **drawn) for k in range(3, img.shape[2])]
        return np.dstack([_through_jpeg(img[..., :3], drawn["quality"], subsampling), *others])
