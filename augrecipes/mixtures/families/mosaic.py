"""Mosaic: four images meet in one point, and the window of one image's size around it is the new one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from augrecipes.mixtures.record import CLASSES, SHARES, Mixture

if TYPE_CHECKING:
    import numpy as np

    from augrecipes.mixtures.batch import BatchArrays


def mosaic(batch: BatchArrays, rng: np.random.Generator, k: int, center_range: tuple[float, float]) -> None:
    """Lay sample k and three samples of the data set around a point; nothing is resized.

    Each keeps the corner that lies at the point: the upper left one its lower right part, and so on. Masks, boxes and
    keypoints move along and are clipped to their quarter; class labels are mixed by the areas. Drawn: the point, the
    three samples, which quarter each has. Bochkovskiy et al., "YOLOv4", 2020, https://arxiv.org/abs/2004.10934.
    """
    height, width = batch.cells
    y, x = (round(rng.uniform(*center_range) * size) for size in (height, width))
    samples = [batch.sample(k), *(batch.drawn(rng) for _ in range(3))]
    quarters = [
        ((0, y), (0, x), (y - height, x - width)), ((0, y), (x, width), (y - height, x)),
        ((y, height), (0, x), (y, x - width)), ((y, height), (x, width), (y, x)),
    ]  # fmt: skip
    batch.lay(k, [(samples[one], *quarter) for one, quarter in zip(rng.permutation(4), quarters, strict=True)])


_CENTER = {**SHARES, "default": [0.3, 0.7], "description": "Where the four meet, as shares of height and width."}
MIXTURES = {
    "Mosaic": Mixture(
        "Each sample and three of the data set around a point, without resizing; masks, boxes and keypoints follow.",
        mosaic,
        {"center_range": _CENTER, "classes": CLASSES},
        each=True,
        labels=True,
    )
}
