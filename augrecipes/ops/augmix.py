"""AugMix: chains of operations, drawn from a policy's table, mixed with each other and with the image itself."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from augrecipes.compat.albumentations import A, BaseTransformInitSchema
from augrecipes.compat.steps import sampler_of
from augrecipes.ops import registry
from augrecipes.ops.constants import LINEAR
from augrecipes.ops.frozen import Arguments
from augrecipes.ops.policies import TABLES, operation
from augrecipes.ops.step import Step

_TABLE = TABLES["augmix"]
_CORRUPTING = (
    "Brightness",
    "Color",
    "Contrast",
    "Sharpness",
)  # not in the paper, whose test images are corrupted by them
_LEVELS = 10
_DEEPEST = 3  # of a chain whose depth is drawn


class AugMix(A.ImageOnlyTransform):  # type: ignore[misc]
    """Mixes an image with `width` changed ones, each of which went through a chain of operations of its own.

    The result is (1 − m) · image + m · Σ wᵢ · chainᵢ, with m from Beta(alpha, alpha) and w from Dirichlet(alpha, ...),
    rounded. Each operation of a chain is drawn from shears, translations, rotation, posterize, solarize, autocontrast
    and equalize, with `all_ops` also brightness, colour, contrast and sharpness; its level is drawn from the lowest
    `severity` of ten, and which way it goes by an even chance. Masks, boxes and keypoints stay as they are.

    Args:
        severity: how many of the ten levels of strength are drawn from, the weakest first.
        width: how many chains.
        depth: operations of a chain; 0: one to three, drawn for each.
        alpha: parameter of the distributions that weigh image and chains; small values make one chain prevail.
        all_ops: brightness, colour, contrast and sharpness, too, which the paper left out: they corrupt its test data.
        interpolation: of what moves pixels.
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
        """Numbers within bounds."""

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
        """What changes an image, by operation, level and way."""
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
        """The image, mixed with what its chains make of it."""
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
