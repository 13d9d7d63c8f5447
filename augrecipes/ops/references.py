"""Steps that adapt images to a reference image, which is drawn for each sample."""

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Any

import cv2
import numpy as np
from pydantic import AfterValidator

from augrecipes.compat.albumentations import (
    A,
    BaseTransformInitSchema,
    ZeroOneRangeType,
    adaptation,
    check_range_bounds,
    nondecreasing,
)
from augrecipes.images.encoded import open_encoded
from augrecipes.lru import LruCache
from augrecipes.paths import images_in

_LONGEST = 1024  # px of a reference's longer side; larger references are shrunk to it
_cache = LruCache[np.ndarray](256 << 20, lambda image: image.nbytes)


def read_reference(path: str, channels: int, limit: int | None = _LONGEST) -> np.ndarray:
    """Read a reference image, uint8 H×W×C, at most `limit` px long, through a cache; DataError if that fails."""

    def read() -> np.ndarray:
        image = open_encoded(path, channels=channels, depth="8bit").array()
        longest = max(image.shape[:2])
        if limit is not None and longest > limit:
            height, width = (max(1, round(side * limit / longest)) for side in image.shape[:2])
            image = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA).reshape(height, width, channels)
        return image

    return _cache.get((path, channels, limit), read)


class Referenced(A.ImageOnlyTransform):  # type: ignore[misc]
    """Draws a reference image for each sample.

    Args:
        references: a folder of images, or a list of files and folders; subfolders count too.
        p: probability.

    Subclasses set `amounts`, the range of the reference's strength.
    """

    amounts: tuple[float, float]

    class InitSchema(BaseTransformInitSchema):  # type: ignore[misc]
        """Validation of the common argument."""

        references: str | Sequence[str]

    def __init__(self, references: str | Sequence[str], p: float) -> None:
        super().__init__(p=p)
        self.references = [references] if isinstance(references, str) else list(references)

    @cached_property
    def files(self) -> list[str]:
        """The reference images, sorted in each folder."""
        if files := images_in("", self.references):
            return files
        raise ValueError(f"there is no image in {', '.join(self.references)}")

    def get_params(self) -> dict[str, Any]:
        """Draw a reference's file, then its strength."""
        return {"reference": self.py_random.choice(self.files), "amount": self.py_random.uniform(*self.amounts)}

    def matching(self, reference: str, img: np.ndarray) -> np.ndarray:
        """A reference with the size, channels, dtype and range of an image."""
        height, width, channels = img.shape
        image = read_reference(reference, channels)
        image = image if img.dtype == np.uint8 else image.astype(np.float32) / np.float32(255)
        return cv2.resize(image, (width, height)).reshape(img.shape)


class FDA(Referenced):
    """Replaces an image's low frequencies by those of a reference image: its light and colours, not its contents.

    albumentations' class with the reference images as files (Fourier Domain Adaptation).

    Args:
        references: a folder of images, or a list of files and folders.
        beta_limit: range of the share of the spectrum, by the shorter side, that is replaced.
        p: probability.

    Image: H×W×C, uint8 (0..255) or float32 (0..1); the same shape, dtype and range come out.
    Draws: `reference`, the file, and `amount`, the share of the spectrum, from `py_random`.
    Errors: DataError for a reference that cannot be read.
    Source: Yang and Soatto, "FDA: Fourier Domain Adaptation for Semantic Segmentation", CVPR 2020.
    """

    class InitSchema(Referenced.InitSchema):
        """Validation of the arguments."""

        beta_limit: Annotated[ZeroOneRangeType, AfterValidator(check_range_bounds(0, 0.5))]

    def __init__(
        self, references: str | Sequence[str], beta_limit: tuple[float, float] | float = (0, 0.1), p: float = 0.5
    ) -> None:
        super().__init__(references, p)
        self.beta_limit = self.amounts = beta_limit  # type: ignore[assignment]  # a pair, once the schema has run

    def apply(self, img: np.ndarray, reference: str, amount: float, **_: Any) -> np.ndarray:
        """Replace the image's low frequencies."""
        return np.asarray(adaptation.fourier_domain_adaptation(img, self.matching(reference, img), amount))


class HistogramMatching(Referenced):
    """Matches the histogram of each channel of an image to a reference image.

    albumentations' class with the reference images as files.

    Args:
        references: a folder of images, or a list of files and folders.
        blend_ratio: range of the share of the matched image in the result.
        p: probability.

    Image: H×W×C, uint8 (0..255) or float32 (0..1), which is matched in 256 levels; the same shape and dtype come out.
    Draws: `reference`, the file, and `amount`, the share of the matched image, from `py_random`.
    Errors: DataError for a reference that cannot be read.
    """

    class InitSchema(Referenced.InitSchema):
        """Validation of the arguments."""

        blend_ratio: Annotated[
            tuple[float, float], AfterValidator(nondecreasing), AfterValidator(check_range_bounds(0, 1))
        ]

    def __init__(
        self, references: str | Sequence[str], blend_ratio: tuple[float, float] = (0.5, 1.0), p: float = 0.5
    ) -> None:
        super().__init__(references, p)
        self.blend_ratio = self.amounts = blend_ratio

    def apply(self, img: np.ndarray, reference: str, amount: float, **_: Any) -> np.ndarray:
        """Match the image's histograms, and blend the result with the image."""
        matched = adaptation.match_histograms(img, self.matching(reference, img))  # images one pixel high, too
        return np.asarray(adaptation.add_weighted(matched, amount, img, 1 - amount)).reshape(img.shape)
