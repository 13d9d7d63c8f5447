"""RandStainNA, which normalises tiles to colours drawn from a template, and the measurement of templates."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

import cv2
import numpy as np
from pydantic import Field

from augrecipes.compat.albumentations import A, BaseTransformInitSchema
from augrecipes.ops.stain import WHITE, Share, glass_mask, with_white
from augrecipes.ops.stain_basis import PRESETS

Space = Literal["lab", "hsv", "hed"]

_CODES = {"lab": (cv2.COLOR_RGB2LAB, cv2.COLOR_LAB2RGB), "hsv": (cv2.COLOR_RGB2HSV, cv2.COLOR_HSV2RGB)}
# HED in the units of the published templates, which are scikit-image's: logarithms begin at 1e-6.
_DARKEST = 1e-6
_MIX = np.array(PRESETS["hed"]).T * math.log(_DARKEST)
_LOG = np.log(np.maximum(np.arange(256) / 255, _DARKEST))
_DRAWS = {"norm": "normal", "normal": "normal", "laplace": "laplace", "uniform": "uniform"}
_LEAST_STD = 1e-4  # the least standard deviation of a channel, as published


class RandStainNA(A.ImageOnlyTransform):  # type: ignore[misc]
    """Normalises a stained-tissue image to a mean and spread of colours drawn from a template.

    Each channel of a colour space is shifted and scaled to a mean and a standard deviation, which are drawn for each
    sample from the template: their distributions over the images of a data set. So every sample is normalised, each to
    another stain (`ar.stain_template` measures a template). The image's own mean and standard deviation are those of
    its tissue; with `white_threshold: null` those of all pixels, as published.

    Args:
        template: `color_space`, and for each channel, such as `L`, the entries `avg` and `std`, each with a `mean`, a
            `std` and a `distribution`; or a YAML or JSON file with these, as the authors publish them.
        space: the colour space: lab, hsv (both 0..255, as in OpenCV) or hed; null: the template's.
        distribution: the distribution of draws: normal, laplace, or uniform within three standard deviations;
            template: the template's for each number.
        std_hyper: standard deviations of the template are multiplied by 1 + this.
        white_threshold: pixels whose channels are all at least this share of full scale are glass, and stay as they
            are; null: no pixel is glass.
        p: probability.

    Image: H×W×3, uint8 (0..255) or float32 (0..1), which is rounded to 256 levels; the same shape and dtype come out.
    A tile without tissue stays as it is.
    Draws: `averages` and `deviations`, three numbers each, from `random_generator`. A deviation is 0 or more.
    Errors: TypeError for an image that does not have three channels; ValueError for a template that lacks a channel.
    Source: Shen et al., "RandStainNA: Learning Stain-Agnostic Features from Histology Slides by Bridging Stain
    Augmentation and Normalization", MICCAI 2022. In HED the result is not stretched to black and white, as the authors'
    code does; its `uniform` has no width there.

    >>> tile = np.full((4, 4, 3), (180, 120, 170), np.uint8)
    >>> level = {"avg": {"mean": 150, "std": 0}, "std": {"mean": 10, "std": 0}}
    >>> step = RandStainNA(template=dict.fromkeys("LAB", level), space="lab", p=1.0)
    >>> cv2.cvtColor(step(image=tile)["image"], cv2.COLOR_RGB2LAB)[0, 0].tolist()
    [150, 150, 150]
    """

    class InitSchema(BaseTransformInitSchema):  # type: ignore[misc]
        """Validation of the arguments; the constructor checks the template."""

        template: str | dict[str, Any]
        space: Space | None
        distribution: Literal["normal", "laplace", "uniform", "template"]
        std_hyper: Annotated[float, Field(ge=-1, le=100)]
        white_threshold: Share

    def __init__(
        self, template: Mapping[str, Any], space: Space | None = None, distribution: str = "normal",
        std_hyper: float = 0.0, white_threshold: float | None = WHITE, p: float = 0.5,
    ) -> None:  # fmt: skip
        super().__init__(p=p)
        own_space: Any = space or str(template.get("color_space")).lower()
        if own_space not in (*_CODES, "hed"):
            raise ValueError("say the space, lab, hsv or hed: the template has no color_space that is one of them")
        try:
            numbers = [template[channel][part] for channel in own_space.upper() for part in ("avg", "std")]
            self.laws = [(float(n["mean"]), float(n["std"]), _DRAWS[n.get("distribution", "norm")]) for n in numbers]
        except (KeyError, TypeError, ValueError, AttributeError):
            self.laws = []
        if not self.laws or not all(math.isfinite(mean) and 0 <= std < math.inf for mean, std, _ in self.laws):
            wants = "avg and std, and of each a mean, a std of 0 or more and a distribution: norm, laplace or uniform"
            raise ValueError(f"the template needs, of each of {', '.join(own_space.upper())}, {wants}")
        self.template, self.space, self.distribution = template, own_space, distribution
        self.std_hyper, self.white_threshold = std_hyper, white_threshold

    def get_params(self) -> dict[str, Any]:
        """Draw a mean and a standard deviation for each channel."""
        drawn = [self._drawn(*law) for law in self.laws]
        return {"averages": tuple(drawn[::2]), "deviations": tuple(max(value, 0.0) for value in drawn[1::2])}

    def _drawn(self, mean: float, std: float, distribution: str) -> float:
        name = distribution if self.distribution == "template" else self.distribution
        std *= 1 + self.std_hyper
        bounds = (mean - 3 * std, mean + 3 * std) if name == "uniform" else (mean, std)
        return float(getattr(self.random_generator, name)(*bounds))

    def apply(self, img: np.ndarray, averages: Sequence[float], deviations: Sequence[float], **_: Any) -> np.ndarray:
        """Normalise the image to these colours."""
        if img.ndim != 3 or img.shape[2] != 3:
            raise TypeError(f"RandStainNA needs an RGB image, H×W×3, got shape {img.shape}")
        levels = img if img.dtype == np.uint8 else np.rint(np.clip(img, 0, 1) * 255).astype(np.uint8)
        if (measured := _measure(levels, self.space, self.white_threshold)) is None:
            return img
        rows, mean, std = measured
        values = rows if self.space == "hed" else np.arange(256.0)[None, :, None]
        values = (values - mean) * (deviations / np.maximum(std, _LEAST_STD)) + averages
        if self.space == "hed":
            result: Any = (np.clip(cv2.exp(cv2.transform(values, _MIX)), 0, 1) * 255).astype(np.uint8)
        else:
            result = cv2.cvtColor(cv2.LUT(rows, np.clip(values, 0, 255).astype(np.uint8)), _CODES[self.space][1])
        return with_white(img, result if img.dtype == np.uint8 else result / np.float32(255), self.white_threshold)


def stain_template(
    images: Iterable[Any], space: Space = "lab", white_threshold: float | None = WHITE
) -> dict[str, Any]:
    """Measure a template for RandStainNA: the distributions of the channels' means and standard deviations over images.

    Args:
        images: uint8 RGB images H×W×3; or a dataset, such as `ar.ImageFolder` or `ar.TileBags`, or its `source`: its
            images before the recipe. Images without tissue do not count.
        space: lab, hsv or hed.
        white_threshold: as in the step.

    Returns:
        The template, for a recipe, or a YAML or JSON file: numbers and text, rounded to three digits (hed: five).

    Raises:
        ValueError: no image shows tissue.

    >>> tiles = [np.full((4, 4, 3), (180, 120, 170 + k), np.uint8) for k in range(5)]
    >>> stain_template(tiles)["B"]["avg"]
    {'mean': 109.8, 'std': 0.748, 'distribution': 'norm'}
    """
    items = (item["image"] if isinstance(item, Mapping) else item for item in getattr(images, "source", images))
    results = (_measure(np.ascontiguousarray(image), space, white_threshold) for image in items)
    measured = [result[1:] for result in results if result is not None]
    if not measured:
        raise ValueError("no image shows tissue, so no template can be measured; give images of stained tissue")
    template: dict[str, Any] = {"color_space": space.upper(), "methods": "Reinhard"}
    for channel, numbers in zip(space.upper(), np.moveaxis(np.array(measured), 2, 0), strict=True):
        template[channel] = {
            part: _law(numbers[:, k], 5 if space == "hed" else 3) for k, part in enumerate(("avg", "std"))
        }
    return template


def _law(numbers: np.ndarray, digits: int) -> dict[str, Any]:
    """Mean, standard deviation, and the likelier distribution of some numbers: norm or laplace."""
    mean, std = float(numbers.mean()), float(numbers.std())
    spread = float(np.abs(numbers - np.median(numbers)).mean())
    likelier = "laplace" if 2 * spread * math.e < std * math.sqrt(2 * math.pi * math.e) else "norm"
    return {"mean": round(mean, digits), "std": round(std, digits), "distribution": likelier}


def _measure(levels: np.ndarray, space: Space, white: float | None) -> tuple[np.ndarray, ...] | None:
    """A uint8 RGB image in a space (uint8; HED float64), and mean and standard deviation of its tissue, if any."""
    tissue = cv2.bitwise_not(glass_mask(levels, white))
    if not tissue.any():
        return None
    if space == "hed":
        rows = np.maximum(cv2.transform(cv2.LUT(levels, _LOG), np.linalg.inv(_MIX)), 0)
    else:
        rows = cv2.cvtColor(levels, _CODES[space][0])
    mean, std = cv2.meanStdDev(rows, mask=tissue)
    return rows, mean[:, 0], std[:, 0]
