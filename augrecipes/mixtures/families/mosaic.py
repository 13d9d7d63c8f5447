"""Mosaic: four images meet in one point, and the window of one image's size around it is the new one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from augrecipes.mixtures.record import CLASSES, SHARES, Mixture

if TYPE_CHECKING:
    import numpy as np

    from augrecipes.mixtures.batch import BatchArrays

Range = tuple[float, float]


def mosaic(batch: BatchArrays, rng: np.random.Generator, k: int, center_range: Range, scale: Range | None) -> None:
    """Lay sample k and three samples of the data set around a point.

    Each keeps the corner that lies at the point: the upper left one its lower right part, and so on. Masks, boxes and
    keypoints move along and are clipped to their quarter; class labels are mixed by the areas. Drawn: the point, the
    three samples, which quarter each has. Bochkovskiy et al., "YOLOv4", 2020, https://arxiv.org/abs/2004.10934.

    Without `scale` samples stay as they are, bars and all. With it their bars go: the longer side of what is left is
    resized to the image's times `scale`, drawn once for the four, and its corner lies at the point.
    """
    height, width = batch.cells
    y, x = (round(rng.uniform(*center_range) * size) for size in (height, width))
    samples = [batch.sample(k), *(batch.drawn(rng) for _ in range(3))]
    quarters = [
        ((0, y), (0, x), (y - height, x - width)), ((0, y), (x, width), (y - height, x)),
        ((y, height), (0, x), (y, x - width)), ((y, height), (x, width), (y, x)),
    ]  # fmt: skip
    placed = [samples[one] for one in rng.permutation(4)]
    if scale is not None:
        factor = rng.uniform(*scale)
        placed = [batch.fit(sample, factor, *quarter) for sample, quarter in zip(placed, quarters, strict=True)]
    batch.lay(k, [(sample, *quarter) for sample, quarter in zip(placed, quarters, strict=True)])


_CENTER = {**SHARES, "default": [0.3, 0.7], "description": "Where the four meet, as shares of height and width."}
_PAIRS = "resizes by `scale`, and targets of a pair must stay aligned; leave `scale` out"
_SCALE = {
    "anyOf": [{**SHARES, "prefixItems": [{"type": "number", "minimum": 1}] * 2}, {"type": "null"}], "default": None,
    "description": "Bars go, and the longer side becomes the image's times this; null: nothing is resized.",
}  # fmt: skip
MIXTURES = {
    "Mosaic": Mixture(
        "Each sample and three of the data set around a point; masks, boxes and keypoints follow.",
        mosaic,
        {"center_range": _CENTER, "scale": _SCALE, "classes": CLASSES},
        each=True,
        labels=True,
        refusal=lambda recipe, arguments: _PAIRS if arguments["scale"] and recipe.facts.scales else "",
    )
}
