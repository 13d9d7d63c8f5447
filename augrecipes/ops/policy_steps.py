"""CornerAffine, Sharpness, SolarizeAdd and AugMix, as Pillow and augmentation policies define them."""

from functools import cached_property
from typing import Annotated, Any, Literal

import cv2
import numpy as np
from pydantic import AfterValidator, Field

from augrecipes.compat.albumentations import A, BaseTransformInitSchema, check_range_bounds, nondecreasing, sampler_of
from augrecipes.ops import registry
from augrecipes.ops.constants import LINEAR
from augrecipes.ops.matrices import translation
from augrecipes.ops.policies import TABLES, operation
from augrecipes.ops.step import Arguments, Step

_ORDERED = AfterValidator(nondecreasing)


class CornerAffine(A.Affine):  # type: ignore[misc]
    """Affine about the upper left corner of the image instead of its centre, as policies shear.

    Arguments, targets and draws are those of Affine.

    >>> step = CornerAffine(scale=2.0, interpolation=0, p=1.0)
    >>> step(image=np.arange(16, dtype=np.uint8).reshape(4, 4))["image"].tolist()
    [[0, 0, 1, 1], [0, 0, 1, 1], [4, 4, 5, 5], [4, 4, 5, 5]]
    """

    def get_params_dependent_on_data(self, params: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
        """Draw a matrix about the outer corner of the first pixel; with `fit_output` the centre does not matter."""
        draws: dict[str, Any] = super().get_params_dependent_on_data(params, data)
        if not self.fit_output:
            height, width = params["shape"][:2]
            to_corner, to_centre = translation(-width / 2, -height / 2), translation(width / 2, height / 2)
            draws |= {name: to_corner @ draws[name] @ to_centre for name in ("matrix", "bbox_matrix")}
        return draws


class Sharpness(A.ImageOnlyTransform):  # type: ignore[misc]
    """Blurs or sharpens an image by a factor: 0 is smooth, 1 unchanged, 2 as much sharper as 0 is smoother.

    The result is factor · image + (1 − factor) · smooth, clipped, where smooth has the 3×3 weights 1 1 1, 1 5 1, 1 1 1,
    over 13. Both are one convolution. The outermost pixels stay as they are.

    Args:
        factor: range from which the factor is drawn.
        p: probability.

    Image: H×W or H×W×C, uint8 (0..255) or float32 (0..1); the same shape, dtype and range come out.
    Draws: `weights`, 3×3, of a factor that is uniform in its range, from `py_random`.
    Source: Pillow's `ImageEnhance.Sharpness`, by which AutoAugment (Cubuk et al., CVPR 2019) defines its operation.

    >>> image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    >>> bool((Sharpness(factor=(1.0, 1.0), p=1.0)(image=image)["image"] == image).all())
    True
    """

    class InitSchema(BaseTransformInitSchema):  # type: ignore[misc]
        """Validation of the argument."""

        factor: Annotated[tuple[float, float], AfterValidator(check_range_bounds(0, 10)), _ORDERED]

    def __init__(self, factor: tuple[float, float] = (0.1, 1.9), p: float = 0.5) -> None:
        super().__init__(p=p)
        self.factor = factor

    def get_params(self) -> dict[str, Any]:
        """Draw the factor; compute the weights."""
        factor = self.py_random.uniform(*self.factor)
        share = (1 - factor) / 13
        weights = np.full((3, 3), share, np.float32)
        weights[1, 1] = factor + 5 * share
        return {"weights": weights}

    def apply(self, img: np.ndarray, weights: np.ndarray, **_: Any) -> np.ndarray:
        """Blur or sharpen the image."""
        out = img.copy()
        inner = cv2.filter2D(img, -1, weights).reshape(img.shape)[1:-1, 1:-1]
        out[1:-1, 1:-1] = np.clip(inner, 0, 1) if img.dtype == np.float32 else inner
        return out


class SolarizeAdd(A.ImageOnlyTransform):  # type: ignore[misc]
    """Adds a constant to all levels below half of full scale.

    Args:
        addition: range from which the constant is drawn, as a share of full scale.
        p: probability.

    Image: H×W or H×W×C, uint8 (0..255) or float32 (0..1); the same shape, dtype and range come out.
    Draws: `addition`, uniform in its range, from `py_random`; on uint8 it is truncated to whole levels.
    Source: the operation of this name in Google's AutoAugment policy `v0` for EfficientNet (Tan and Le, ICML 2019).

    >>> SolarizeAdd(addition=(0.2, 0.2), p=1.0)(image=np.array([[[7, 90, 200]]], np.uint8))["image"].tolist()
    [[[58, 141, 200]]]
    """

    class InitSchema(BaseTransformInitSchema):  # type: ignore[misc]
        """Validation of the argument."""

        addition: Annotated[tuple[float, float], AfterValidator(check_range_bounds(0, 1)), _ORDERED]

    def __init__(self, addition: tuple[float, float] = (0.0, 0.43), p: float = 0.5) -> None:
        super().__init__(p=p)
        self.addition = addition

    def get_params(self) -> dict[str, Any]:
        """Draw the constant."""
        return {"addition": self.py_random.uniform(*self.addition)}

    def apply(self, img: np.ndarray, addition: float, **_: Any) -> np.ndarray:
        """Lighten the darker levels of the image."""
        if img.dtype == np.uint8:
            levels = np.arange(256)
            levels[:128] = np.minimum(levels[:128] + int(addition * 255 + 1e-6), 255)
            return cv2.LUT(img, levels.astype(np.uint8)).reshape(img.shape)
        return np.where(img < 0.5, np.minimum(img + np.float32(addition), 1), img).astype(img.dtype)


_TABLE = TABLES["augmix"]
_CORRUPTING = (
    "Brightness",
    "Color",
    "Contrast",
    "Sharpness",
)  # not in the paper: its test images have them
_LEVELS = 10
_DEEPEST = 3  # the largest depth that is drawn


class AugMix(A.ImageOnlyTransform):  # type: ignore[misc]
    """Mixes an image with `width` variants, each of which went through its own chain of operations.

    The result is (1 − m) · image + m · Σ wᵢ · chainᵢ, with m from Beta(alpha, alpha) and w from Dirichlet(alpha, ...),
    rounded. Each operation of a chain is drawn from shears, translations, rotation, posterize, solarize, autocontrast
    and equalize, with `all_ops` also brightness, colour, contrast and sharpness; its level is drawn from the lowest
    `severity` of ten, and its sign with equal probability. Masks, boxes and keypoints stay as they are.

    Args:
        severity: number of levels of strength, of ten, from which levels are drawn, the weakest first.
        width: number of chains.
        depth: operations per chain; 0: one to three, drawn for each chain.
        alpha: parameter of the distributions of the weights of image and chains; small values let one chain prevail.
        all_ops: include brightness, colour, contrast and sharpness, which the paper left out because they corrupt its
            test data.
        interpolation: interpolation of operations that move pixels.
        fill: level of pixels from outside the image.
        p: probability.

    Image: H×W×C of one or three channels, uint8 (0..255) or float32 (0..1), which is rounded to levels; the same shape,
        dtype and range come out.
    Draws: `weights` (of the image and of each chain) from `random_generator`, then `chains`, lists of operations as
        (name, level, way), from `py_random`.
    Source: Hendrycks et al., "AugMix: A Simple Data Processing Method to Improve Robustness and Uncertainty",
    ICLR 2020; the magnitudes are torchvision's.

    >>> image = np.full((8, 8, 3), 200, np.uint8)
    >>> AugMix(severity=3)(image=image)["image"].shape
    (8, 8, 3)
    """

    class InitSchema(BaseTransformInitSchema):  # type: ignore[misc]
        """Validation of the arguments."""

        severity: Annotated[int, Field(ge=1, le=_LEVELS)]
        width: Annotated[int, Field(ge=1, le=16)]
        depth: Annotated[int, Field(ge=0, le=16)]
        alpha: Annotated[float, Field(gt=0, le=100)]
        all_ops: bool
        interpolation: Literal[0, 1]
        fill: Annotated[int, Field(ge=0, le=255)]

    def __init__(
        self,
        severity: int = 3,
        width: int = 3,
        depth: int = 0,
        alpha: float = 1.0,
        all_ops: bool = True,
        interpolation: int = LINEAR,
        fill: int = 0,
        p: float = 1.0,
    ) -> None:
        super().__init__(p=p)
        self.severity, self.width, self.depth, self.alpha, self.all_ops = severity, width, depth, alpha, all_ops
        self.interpolation, self.fill = interpolation, fill

    @cached_property
    def steps(self) -> dict[tuple[str, int, int], Any]:
        """The transforms by operation, level and direction."""
        warp, steps = {"interpolation": self.interpolation, "fill": self.fill}, {}
        for op, ends in _TABLE.items():
            for level in range(_LEVELS if ends else 1):
                share = level / (_LEVELS - 1)
                for way, (_, step) in enumerate(operation(op, ends, (share, share), warp)):
                    ((name, args),) = step.items()
                    steps[op, level, way] = registry.construct(Step(name, Arguments(args), p=1.0))
        return steps

    def get_params(self) -> dict[str, Any]:
        """Draw the weights and the chains."""
        draw = self.py_random
        mix = self.random_generator.beta(self.alpha, self.alpha)
        weights = self.random_generator.dirichlet([self.alpha] * self.width) * mix
        ops = [op for op in _TABLE if self.all_ops or op not in _CORRUPTING]
        chains = []
        for _ in range(self.width):
            depth = self.depth or draw.randint(1, _DEEPEST)
            chains.append([(draw.choice(ops), draw.randrange(self.severity), draw.randrange(2)) for _ in range(depth)])
        return {"weights": (1 - mix, *weights), "chains": chains}

    def apply(self, img: np.ndarray, weights: tuple[float, ...], chains: list[list[Any]], **_: Any) -> np.ndarray:
        """Mix the image with the results of its chains."""
        if img.dtype != np.uint8:
            levels = np.rint(np.clip(img, 0, 1) * 255).astype(np.uint8)
            return self.apply(levels, weights, chains).astype(np.float32) / np.float32(255)
        mixture = img * np.float32(weights[0])
        for weight, chain in zip(weights[1:], chains, strict=True):
            result = img
            for op, level, way in chain:
                key = op, level if _TABLE[op] else 0
                step = self.steps.get((*key, way)) or self.steps[*key, 0]
                result = step.apply(result, **sampler_of(step)({"image": result}))
            mixture += result * np.float32(weight)
        return np.clip(np.rint(mixture), 0, 255).astype(np.uint8)
