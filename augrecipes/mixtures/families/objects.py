"""CopyPaste: objects of another image, by its mask, put over each image in the same place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from augrecipes.mixtures.record import SHARE, Mixture

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from augrecipes.mixtures.batch import BatchArrays


def copy_paste(batch: BatchArrays, rng: np.random.Generator, k: int, share: float, background: Sequence[int]) -> None:
    """Put objects of a sample of the data set over sample k: pixels, mask, boxes and keypoints.

    An object is a box with what the mask holds in it of the value that is commonest there; of samples without boxes a
    connected area of one value. Sample k's own boxes and keypoints under it are clipped, or left out. Drawn: the other
    sample, and of each of its objects whether it is taken. Ghiasi et al., "Simple copy-paste is a strong data
    augmentation method for instance segmentation", CVPR 2021.
    """
    import numpy as np

    other = batch.drawn(rng)
    found = [*_objects(batch, other, background)]
    taken = [one for one in range(len(found)) if rng.random() < share]
    if taken:
        rows = {key: np.asarray(other[key])[taken] for key in batch.box_keys}
        batch.cover(k, {**other, **rows}, np.any([found[one] for one in taken], axis=0))


def _objects(
    batch: BatchArrays, sample: Mapping[str, Any], background: Sequence[int]
) -> Iterator[npt.NDArray[np.bool_]]:
    """The pixels of each object, of samples with boxes in their order."""
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
    "description": "Values of masks that are no objects.",
}  # fmt: skip
MIXTURES = {
    "CopyPaste": Mixture(
        "Objects of a sample of the data set put over each sample, by their masks; boxes and keypoints follow.",
        copy_paste,
        {
            "share": {**SHARE, "default": 0.5, "description": "Of the objects, how many are taken."},
            "background": _BACKGROUND,
        },
        each=True,
        needs=("mask",),
        scales=False,
    )
}
