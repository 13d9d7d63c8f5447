"""CutMix, Stitch and CutBlur: a piece of each image is replaced by what another image has in the same place."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import TYPE_CHECKING, Any

from augrecipes.mixtures.record import ALPHA, ANNOTATIONS, CLASSES, PARTNERS, SHARE, SHARES, Mixture

if TYPE_CHECKING:
    import numpy as np

    from augrecipes.mixtures.batch import BatchArrays


def cut_mix(batch: BatchArrays, rng: np.random.Generator, alpha: float, partners: str) -> None:
    """Give each sample its partner's rectangle, one place a batch; labels are mixed by the areas.

    Drawn: the share that stays from Beta(alpha, alpha), the rectangle's middle, the partners. The rectangle has the
    image's shape and (1 - share) of its area, and is cut off at the image's edges: the area that is left counts. Yun
    et al., "CutMix: regularization strategy to train strong classifiers with localizable features", ICCV 2019.
    """
    height, width = batch.cells
    half = 0.5 * sqrt(1 - float(rng.beta(alpha, alpha)))
    y, x = int(rng.integers(height)), int(rng.integers(width))
    high, wide = int(half * height), int(half * width)
    rows, columns = (max(y - high, 0), min(y + high, height)), (max(x - wide, 0), min(x + wide, width))
    batch.paste(batch.order(rng, partners), rows, columns)


def stitch(batch: BatchArrays, rng: np.random.Generator, seam: tuple[float, float], partners: str) -> None:
    """Give each scene what its partner has beyond a straight seam, on all grids; one seam a batch.

    Drawn: whether the seam runs across or down, where, which side is replaced, the partners.
    """
    height, width = batch.cells
    across, low = rng.random(2) < 0.5
    length = height if across else width
    at = round(rng.uniform(*seam) * length)
    side, whole = (0, at) if low else (at, length), (0, width if across else height)
    batch.paste(batch.order(rng, partners), *((side, whole) if across else (whole, side)))


def cut_blur(batch: BatchArrays, rng: np.random.Generator, alpha: float, source: str, target: str) -> None:
    """Put a rectangle of the source into the target, or all of the source but a rectangle; one place a batch.

    Drawn: the rectangle's sides, as shares of the image's, from a normal distribution around alpha (deviation 0.01);
    its place; which of both. The source stays as it is. Yoo, Ahn and Sohn, "Rethinking data augmentation for image
    super-resolution", CVPR 2020.
    """
    height, width = batch.cells
    share = min(max(float(rng.normal(alpha, 0.01)), 0.0), 1.0)
    high, wide = int(height * share), int(width * share)
    top, left = int(rng.integers(height - high + 1)), int(rng.integers(width - wide + 1))
    planes, (rows, columns) = batch.planes(batch.values), batch.window(target, (top, top + high), (left, left + wide))
    sharp, blurred = planes[source], planes[target]
    if rng.random() > 0.5:
        blurred[:, rows, columns] = sharp[:, rows, columns]
    else:
        kept = blurred[:, rows, columns].copy()
        blurred[...] = sharp
        blurred[:, rows, columns] = kept


def on_one_grid(recipe: Any, arguments: Mapping[str, Any]) -> str:
    """Why two targets cannot share pixels; empty where they can."""
    names = [arguments["source"], arguments["target"]]
    for name in names:
        if name not in recipe.scales:
            return (
                f"{name!r} is no target of `scales:`, which has {', '.join(recipe.scales)}; name `source` and `target`"
            )
    if names[0] == names[1]:
        return "source and target are the same"
    if recipe.scales[names[0]] != recipe.scales[names[1]]:
        return (
            f"{names[0]} and {names[1]} lie on different grids; give both one scale, with the smaller image enlarged "
            "to the larger one's grid before training, or leave it out"
        )
    if len({recipe.outputs.get(name, recipe.output) for name in names}) > 1:
        return f"{names[0]} and {names[1]} leave with different outputs; write one `output:` for both"
    return ""


_SEAM = {**SHARES, "default": [0.25, 0.75], "description": "Where the seam may lie, as shares of the image's side."}
_TARGET = {"type": "string", "description": "A target of the pair."}
MIXTURES = {
    "CutMix": Mixture(
        "A rectangle of each sample is another sample's; labels by the areas, masks and boxes cut alike.",
        cut_mix,
        {"alpha": ALPHA, "partners": PARTNERS, "classes": CLASSES},
        labels=True,
        needs=("label", *ANNOTATIONS),
    ),
    "Stitch": Mixture(
        "Each scene goes on as another one beyond a seam, in the same place on every grid.",
        stitch,
        {"seam": _SEAM, "partners": PARTNERS},
        scales=True,
    ),
    "CutBlur": Mixture(
        "A rectangle of one target is another target's, or all but a rectangle; both lie on one grid.",
        cut_blur,
        {
            "alpha": {**SHARE, "default": 0.7, "description": "Side of the rectangle, as a share of the image's."},
            "source": {**_TARGET, "default": "hr"},
            "target": {**_TARGET, "default": "lr"},
        },
        scales=True,
        refusal=on_one_grid,
    ),
}  # fmt: skip
