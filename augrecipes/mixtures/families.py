"""The steps of `batch:`: their records, and functions that apply them to a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from augrecipes.mixtures.batch import BatchArrays

Schema = Mapping[str, Any]
ANNOTATIONS = ("mask", "boxes", "keypoints")

ALPHA: Schema = {
    "type": "number", "exclusiveMinimum": 0, "default": 1.0,
    "description": "Shares are drawn from Beta(alpha, alpha); 1: uniformly.",
}  # fmt: skip
PARTNERS: Schema = {
    "enum": ["permutation", "roll"], "default": "permutation",
    "description": "The partner of a sample: any of the batch, or the one before it (for the first, the last).",
}  # fmt: skip
CLASSES: Schema = {
    "anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "default": None,
    "description": "Number of classes; null: that of the dataset.",
}  # fmt: skip
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
SHARES: Schema = {
    "type": "array", "prefixItems": [SHARE, SHARE], "minItems": 2, "maxItems": 2, "x-nondecreasing": True,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mixture:
    """The record of a step of `batch:`.

    Attributes:
        about: what the step does, for editors.
        mix: applies it: `mix(batch, rng, **arguments)`, or with `each` `mix(batch, rng, k, **arguments)` for sample k.
        arguments: JSON Schema of each argument, with its default.
        each: whether `p` decides for each sample, not for the whole batch.
        labels: whether it mixes class labels, which become shares of classes.
        needs: keys of samples of which it needs at least one; pairs are exempt.
        bars: keys of samples that it cannot mix.
        scales: True: for pairs only; False: for images only; None: for both.
        refusal: returns why it cannot act on a recipe with its arguments, and what to do; "" where it can.
    """

    about: str
    mix: Callable[..., None]
    arguments: Mapping[str, Schema]
    each: bool = False
    labels: bool = False
    needs: tuple[str, ...] = ()
    bars: tuple[str, ...] = ()
    scales: bool | None = None
    refusal: Callable[[Any, Mapping[str, Any]], str] | None = None

    def effective(self, written: Mapping[str, Any]) -> dict[str, Any]:
        """The written arguments, completed by defaults."""
        return {key: written.get(key, schema["default"]) for key, schema in self.arguments.items()}

    def refused(self, recipe: Any, written: Mapping[str, Any]) -> str:
        """Why the step cannot act on a recipe's samples, and what to do; "" where it can."""
        if self.scales is not None and self.scales != recipe.facts.scales:
            return f"is {'' if self.scales else 'not '}for recipes of pairs; CutMix is for all"
        inputs = recipe.inputs
        sure = {"mask": inputs.mask == "required", "boxes": inputs.boxes, "keypoints": inputs.keypoints}
        if barred := next((key for key in self.bars if sure[key]), None):
            return f"cannot blend {barred}, which `inputs:` has; use CutMix or Mosaic, which cut {barred}, too"
        if self.needs == ("mask",) and inputs.mask == "absent":
            return "takes objects by their masks, and `inputs:` says that there is none; write `mask: required`"
        return "" if self.refusal is None else self.refusal(recipe, self.effective(written))


def mix_up(batch: BatchArrays, rng: np.random.Generator, alpha: float, partners: str) -> None:
    """Blend each sample with its partner, share · sample + (1 - share) · partner, with one share for the batch.

    Drawn: the share from Beta(alpha, alpha), then the partners. Zhang et al., "mixup: beyond empirical risk
    minimization", ICLR 2018.
    """
    share = float(rng.beta(alpha, alpha))
    batch.blend(batch.order(rng, partners), share)


def cut_mix(batch: BatchArrays, rng: np.random.Generator, alpha: float, partners: str) -> None:
    """Paste a rectangle of its partner into each sample, at one place for the batch; labels are mixed by area.

    Drawn: the share that stays from Beta(alpha, alpha), the rectangle's centre, the partners. The rectangle has the
    image's aspect ratio and (1 - share) of its area, and is clipped to the image, which the mixing of labels counts.
    Yun et al., "CutMix: regularization strategy to train strong classifiers with localizable features", ICCV 2019.
    """
    height, width = batch.cells
    half = 0.5 * sqrt(1 - float(rng.beta(alpha, alpha)))
    y, x = int(rng.integers(height)), int(rng.integers(width))
    high, wide = int(half * height), int(half * width)
    rows, columns = (max(y - high, 0), min(y + high, height)), (max(x - wide, 0), min(x + wide, width))
    batch.paste(batch.order(rng, partners), rows, columns)


def stitch(batch: BatchArrays, rng: np.random.Generator, seam: tuple[float, float], partners: str) -> None:
    """Replace each scene beyond a straight seam by its partner, on all grids, with one seam for the batch.

    Drawn: the seam's direction, its place, the side that is replaced, the partners.
    """
    height, width = batch.cells
    across, low = rng.random(2) < 0.5
    length = height if across else width
    at = round(rng.uniform(*seam) * length)
    side, whole = (0, at) if low else (at, length), (0, width if across else height)
    batch.paste(batch.order(rng, partners), *((side, whole) if across else (whole, side)))


def cut_blur(batch: BatchArrays, rng: np.random.Generator, alpha: float, source: str, target: str) -> None:
    """Paste a rectangle of the source into the target, or all except a rectangle, at one place for the batch.

    Drawn: the rectangle's sides, as a share of the image's, from a normal distribution around alpha (deviation 0.01);
    its place; inside or outside. The source does not change. Yoo, Ahn and Sohn, "Rethinking data augmentation for image
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
            return f"{name!r} is not in `scales:`, which has {', '.join(recipe.scales)}; name `source` and `target`"
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


Range = tuple[float, float]


def mosaic(batch: BatchArrays, rng: np.random.Generator, k: int, center_range: Range, scale: Range | None) -> None:
    """Compose sample k and three samples of the data set around a point.

    Each keeps its corner at the point: the upper left one its lower right part, and so on. Masks, boxes and keypoints
    move along and are clipped to their quarter; class labels are mixed by area. Drawn: the point, the three samples,
    the quarter of each. Bochkovskiy et al., "YOLOv4", 2020, https://arxiv.org/abs/2004.10934.

    Without `scale` samples keep their size and bars. With it bars are removed, the longer side of the rest is resized
    to the image's side times a factor, drawn from `scale` once for the four, and its corner is at the point.
    """
    height, width = batch.cells
    y, x = (round(rng.uniform(*center_range) * size) for size in (height, width))
    samples = [batch.sample(k), *(batch.drawn(rng) for _ in range(3))]
    quarters = [
        ((0, y), (0, x), (y - height, x - width)), ((0, y), (x, width), (y - height, x)),
        ((y, height), (0, x), (y, x - width)), ((y, height), (x, width), (y, x)),
    ]  # fmt: skip
    placed = [samples[number] for number in rng.permutation(4)]
    if scale is not None:
        factor = rng.uniform(*scale)
        placed = [batch.fit(sample, factor, *quarter) for sample, quarter in zip(placed, quarters, strict=True)]
    batch.lay(k, [(sample, *quarter) for sample, quarter in zip(placed, quarters, strict=True)])


_CENTER = {**SHARES, "default": [0.3, 0.7], "description": "Where the four meet, as shares of height and width."}
_PAIRS = "resizes by `scale`, and targets of a pair must stay aligned; leave `scale` out"
_SCALE = {
    "anyOf": [{**SHARES, "prefixItems": [{"type": "number", "minimum": 1}] * 2}, {"type": "null"}], "default": None,
    "description": "Cut letterbox bars off, and resize the longer side to the image's times this; null: do neither.",
}  # fmt: skip


def copy_paste(batch: BatchArrays, rng: np.random.Generator, k: int, share: float, background: Sequence[int]) -> None:
    """Paste objects of a sample of the data set over sample k: pixels, mask, boxes and keypoints.

    An object is the area in a box of the mask's commonest value there; in samples without boxes, a connected area of
    one mask value. Boxes and keypoints of sample k beneath it are clipped or left out. Drawn: the other sample, and for
    each of its objects whether it is taken. Ghiasi et al., "Simple copy-paste is a strong data
    augmentation method for instance segmentation", CVPR 2021.
    """
    import numpy as np

    other = batch.drawn(rng)
    areas = [*_objects(batch, other, background)]
    taken = [number for number in range(len(areas)) if rng.random() < share]
    if taken:
        rows = {key: np.asarray(other[key])[taken] for key in batch.box_keys}
        batch.cover(k, {**other, **rows}, np.any([areas[number] for number in taken], axis=0))


def _objects(
    batch: BatchArrays, sample: Mapping[str, Any], background: Sequence[int]
) -> Iterator[npt.NDArray[np.bool_]]:
    """The pixels of each object, bool H×W; with boxes, in their order."""
    import cv2
    import numpy as np

    mask = sample["mask"]
    objects = ~np.isin(mask, background)
    if "boxes" not in batch.values:
        for value in np.unique(mask[objects]):
            count, areas = cv2.connectedComponents((mask == value).astype(np.uint8))
            yield from (areas == number for number in range(1, count))
        return
    for x0, y0, x1, y1 in np.rint(batch.corners(sample)).astype(int).tolist():
        inside = np.zeros_like(objects)
        inside[max(y0, 0) : max(y1, 0), max(x0, 0) : max(x1, 0)] = True
        values, times = np.unique(mask[inside & objects], return_counts=True)
        yield inside & (mask == values[times.argmax()]) if len(values) else np.zeros_like(objects)


_BACKGROUND = {
    "type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 0, "default": [0, 255],
    "description": "Mask values that are not objects.",
}  # fmt: skip


# The record of each step, sorted by name.
MIXTURES: dict[str, Mixture] = {
    "CopyPaste": Mixture(
        "Pastes objects of another sample of the dataset onto each sample, by their masks; boxes and keypoints follow.",
        copy_paste,
        {
            "share": {**SHARE, "default": 0.5, "description": "The share of the objects that are pasted."},
            "background": _BACKGROUND,
        },
        each=True,
        needs=("mask",),
        scales=False,
    ),
    "CutBlur": Mixture(
        "Replaces a rectangle of one target, or all but a rectangle, by another target on the same grid.",
        cut_blur,
        {
            "alpha": {**SHARE, "default": 0.7, "description": "Side of the rectangle, as a share of the image's."},
            "source": {**_TARGET, "default": "hr"},
            "target": {**_TARGET, "default": "lr"},
        },
        scales=True,
        refusal=on_one_grid,
    ),
    "CutMix": Mixture(
        "Replaces a rectangle of each sample by another sample's; mixes labels by area, cuts masks and boxes alike.",
        cut_mix,
        {"alpha": ALPHA, "partners": PARTNERS, "classes": CLASSES},
        labels=True,
        needs=("label", *ANNOTATIONS),
    ),
    "MixUp": Mixture(
        "Blends each sample with another of the batch, and their labels in the same proportion.",
        mix_up,
        {"alpha": ALPHA, "partners": PARTNERS, "classes": CLASSES},
        labels=True,
        needs=("label",),
        bars=ANNOTATIONS,
    ),
    "Mosaic": Mixture(
        "Joins each sample and three others of the dataset at a point; masks, boxes and keypoints follow.",
        mosaic,
        {"center_range": _CENTER, "scale": _SCALE, "classes": CLASSES},
        each=True,
        labels=True,
        refusal=lambda recipe, arguments: _PAIRS if arguments["scale"] and recipe.facts.scales else "",
    ),
    "Stitch": Mixture(
        "Joins each scene to another at a seam, in the same place on every grid.",
        stitch,
        {"seam": _SEAM, "partners": PARTNERS},
        scales=True,
    ),
}
