"""PSNR and SSIM of enlarged low against high resolution, as BasicSR computes them: how strong a degradation is.

Bicubic interpolation is the baseline of super-resolution networks, so it compares recipes that degrade the same scenes.
Images are measured after the steps and before `output`, which may normalise them or keep one channel.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf, nan
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.bench.timing import FEWEST_ROUNDS, student
from augrecipes.bench.verdicts import interval
from augrecipes.ops.matlab_bicubic import imresize

Likeness = dict[tuple[str, str], tuple[float, float]]
"""Of one sample PSNR and SSIM, by target and reference."""

_LUMA = np.array([65.481, 128.553, 24.966]) / 255  # BT.601: from levels of 0..255 to 16..235
_KERNEL = cv2.getGaussianKernel(11, 1.5)  # SSIM's window
_LEAST = (0.01 * 255) ** 2, (0.03 * 255) ** 2  # SSIM's constants, which avoid 0 / 0


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over samples.

    Attributes:
        mean: the mean of the finite values; NaN if there are none.
        low: lower end of the confidence interval of the mean at level `CONFIDENCE`; NaN for fewer than two values.
        high: its upper end.
        samples: the value of each sample; NaN if it is missing or not finite.
    """

    mean: float
    low: float
    high: float
    samples: tuple[float, ...]


def estimate(samples: NDArray[np.float64]) -> Estimate:
    """The mean of samples with Student's confidence interval.

    >>> found = estimate(np.array([1.0, 2.0, 3.0, np.inf]))
    >>> found.mean, found.low < 1 < 3 < found.high
    (2.0, True)
    """
    samples = np.where(np.isfinite(samples), samples, nan)
    finite = samples[~np.isnan(samples)]
    mean = float(finite.mean()) if len(finite) else nan
    error = student(len(finite)) * float(finite.std(ddof=1)) / len(finite) ** 0.5 if len(finite) > 1 else nan
    return Estimate(mean, mean - error, mean + error, tuple(samples.tolist()))


@dataclass(frozen=True, slots=True)
class Fidelity:
    """How near a target comes to the finest one by MATLAB's bicubic interpolation.

    Attributes:
        target: the target that is enlarged.
        reference: the finest target.
        psnr: PSNR of luma, dB.
        ssim: SSIM of luma; missing if the image is smaller than the window of 11 px.
        identical: number of samples that equal the reference; their infinite PSNR is left out of the mean.
    """

    target: str
    reference: str
    psnr: Estimate
    ssim: Estimate
    identical: int


@dataclass(frozen=True, slots=True)
class FidelityVerdict:
    """The comparison of a target of two recipes, sample by sample.

    Attributes:
        one: name of a recipe.
        other: name of the other.
        target: the compared target.
        psnr: PSNR of `one` minus PSNR of `other`, dB.
        ssim: the difference of SSIM, likewise.
        differs: whether the whole interval of the PSNR's difference lies on one side of 0.
        text: for people.
    """

    one: str
    other: str
    target: str
    psnr: Estimate
    ssim: Estimate
    differs: bool
    text: str


def psnr_and_ssim(
    image: NDArray[Any], reference: NDArray[Any], border: int = 0, full_range: tuple[float, float] = (0, 255)
) -> tuple[float, float]:
    """Return PSNR, dB, and SSIM of an image against a reference.

    Both are of luma (BT.601, 16..235, not rounded) for three channels, else of all channels; PSNR is infinite if the
    images are equal.

    Args:
        image: H×W×C, of any dtype.
        reference: the same.
        border: px left out at each edge; if nothing is left, both are NaN.
        full_range: the values of black and white, which are mapped to 0 and 255.

    Source: Wang et al., "Image quality assessment: from error visibility to structural similarity", IEEE Transactions
    on Image Processing 13(4), 2004: a Gaussian window inside the image; NaN if it does not fit.

    >>> image = np.arange(768.0).reshape(16, 16, 3) / 3
    >>> psnr_and_ssim(image, image), psnr_and_ssim(image[:8], image[:8])
    ((inf, 1.0), (inf, nan))
    """
    height, width = image.shape[:2]
    inner = slice(border, height - border), slice(border, width - border)
    low, high = full_range
    x, y = ((each[inner].astype(np.float64) - low) * (255 / (high - low)) for each in (image, reference))
    if x.shape[2] == len(_LUMA):
        x, y = x @ _LUMA + 16, y @ _LUMA + 16
    error = np.square(x - y).mean() if x.size else nan
    psnr = float(10 * np.log10(255**2 / error)) if error else inf
    if min(x.shape[:2]) < len(_KERNEL):
        return psnr, nan
    inside = slice(len(_KERNEL) // 2, -(len(_KERNEL) // 2))
    products = (x, y, x * x + y * y, x * y)
    mean_x, mean_y, squares, product = (cv2.sepFilter2D(p, -1, _KERNEL, _KERNEL)[inside, inside] for p in products)
    both, power = mean_x * mean_y, mean_x**2 + mean_y**2
    likeness = (2 * both + _LEAST[0]) * (2 * (product - both) + _LEAST[1])
    return psnr, float((likeness / ((power + _LEAST[0]) * (squares - power + _LEAST[1]))).mean())


def bicubic_likeness(
    images: Mapping[str, NDArray[Any]], scales: Mapping[str, int], full_range: tuple[float, float] = (0, 1)
) -> Likeness:
    """PSNR and SSIM of each target of a scene, enlarged by MATLAB's bicubic interpolation, against the finest.

    As BasicSR's `crop_border` the scale is cut off at each edge; nothing between targets of one scale.

    Args:
        images: by target, H×W×C, uint8, uint16 or float32.
        scales: of the recipe; of several finest targets the last is the reference.
        full_range: the values of black and white, for dtypes other than uint8.

    >>> grey = np.full((16, 16, 1), 7, np.uint8)
    >>> bicubic_likeness({"lr": grey[::2, ::2], "hr": grey}, {"lr": 1, "hr": 2})
    {('lr', 'hr'): (inf, 1.0)}
    """
    finest, likeness = max(reversed([*images]), key=scales.__getitem__), Likeness()
    full_range = (0, 255) if images[finest].dtype == np.uint8 else full_range
    for name in images.keys() - {finest}:
        border = -(-scales[finest] // scales[name]) if scales[finest] > scales[name] else 0
        enlarged = imresize(images[name], *images[finest].shape[:2], full_range=full_range)
        likeness[name, finest] = psnr_and_ssim(enlarged, images[finest], border, full_range)
    return likeness


def fidelities(likeness: Sequence[Likeness]) -> tuple[Fidelity, ...]:
    """The fidelity of each target over samples; a sample that is left out is empty."""
    results = []
    for names in sorted(set().union(*likeness)):
        psnr, ssim = np.array([one.get(names, (nan, nan)) for one in likeness]).T
        results.append(Fidelity(*names, estimate(psnr), estimate(ssim), int(np.isposinf(psnr).sum())))
    return tuple(results)


def fidelity_verdicts(fidelity: Mapping[str, Sequence[Fidelity]]) -> Iterator[FidelityVerdict]:
    """Compare every two recipes, target by target; `fidelity` is keyed by the recipe's name."""
    measured = [(name, one) for name, some in fidelity.items() for one in some]
    for (name, a), (other, b) in combinations(measured, 2):
        if a.target == b.target and len(a.psnr.samples) == len(b.psnr.samples):
            pairs = (a.psnr, b.psnr), (a.ssim, b.ssim)
            psnr, ssim = (estimate(np.subtract(mine.samples, others.samples)) for mine, others in pairs)
            enough = np.isfinite(psnr.samples).sum() >= FEWEST_ROUNDS
            differs = bool(enough and (psnr.low > 0 or psnr.high < 0))
            names = [f"{a.target} of {recipe}" for recipe in (name, other)]
            text = f"{' and '.join(names)}: no statistically significant difference in PSNR"
            if differs:
                near, far = names if psnr.low > 0 else names[::-1]
                decibels = interval(*sorted((abs(psnr.low), abs(psnr.high))))
                text = f"{near} is {decibels} dB closer to {a.reference} than {far}"
            yield FidelityVerdict(name, other, a.target, psnr, ssim, differs, text)


def mean_text(mean: Mapping[str, Any], digits: int, identical: int = 0) -> str:
    """A serialised `Estimate` as text; `identical`: number of samples whose value is infinite.

    >>> mean_text({"mean": 28.416, "low": 27.9, "high": 28.9}, 2), mean_text({"mean": None}, 2, identical=8)
    ('28.42 (27.90–28.90)', '∞')
    """
    if mean["mean"] is None:
        return "∞" if identical else "–"
    ends = "" if mean["low"] is None else f" ({mean['low']:.{digits}f}–{mean['high']:.{digits}f})"
    return f"{mean['mean']:.{digits}f}{ends}"
