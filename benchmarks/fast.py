"""What the optimiser gains on the gallery, compared with stock albumentations.

python benchmarks/fast.py            prints
python benchmarks/fast.py --write    prints, and writes the section `fast` of benchmarks/RESULTS.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from comparison import BATCH, Side, counted, in_batches, kind_of, ours, same_kind
from harness import Row, in_turns, run
from peers.albumentations import stock
from workloads import photos, stained, tissue

import augrecipes as ar

_TURN = 16  # samples in a turn
_OUT = {"detection": (512, 512), "folder-128": (128, 128), "segmentation": (256, 256), "jpeg-crop-256": (256, 256)}
_GOALS = {"detection": 2.5, "segmentation": 1.8, "folder-128": 4.0, "imagenet-train": 2.2}  # of `fast`
_METHOD = f"""\
One thread (`cv2.setNumThreads(0)`, `torch.set_num_threads(1)`), glibc's allocator tuned alike for both sides, both in
one process, in turns of {_TURN} samples each, as a worker meets them one after another; medians ± median distance, a
ratio is the median over the turns, and above 1 augrecipes is the faster. uint8 images in memory, more of them than the
caches hold: drawn tissue and photographs of the demo. Both sides write float32 C×H×W into the same batch of {BATCH}.
Stock is `A.Compose` of the same steps with `A.Normalize` (or `A.ToFloat`) and a transposing copy into the batch. Before
anything is timed, samples of all sides are compared: shape, dtype, means, spread and sharpness."""


def _gallery(options: Any) -> Iterator[Row]:
    pool, tiles, rng = photos(375, 500), tissue(512), np.random.default_rng(3)
    corners = np.sort(rng.uniform(0, 1, (6, 2, 2)), axis=1) * (496, 371)
    more: dict[str, dict[str, Any]] = {
        "detection": {"boxes": corners.reshape(6, 4) + np.array((0, 0, 4, 4)), "box_labels": list(range(6))},
        "segmentation": {"mask": rng.integers(0, 20, (375, 500), np.uint8)},
    }
    cases = [
        (name, recipe, tiles if "tissue" in name else pool, _OUT.get(name, (224, 224)), more.get(name, {}))
        for name in ar.gallery_names()
        if (recipe := ar.load(name)).kind == "image"
    ]
    cases += [
        ("W1", stained(512, 224), tiles, (224, 224), {}),
        ("W1b", stained(1024, 256), tissue(1024), (256, 256), {}),
    ]
    for name, recipe, images, size, given in cases:
        yield from _compared(name, recipe, images, size, 20 if options.quick else 400, given)


def _compared(
    name: str, recipe: ar.Recipe, pool: Any, size: tuple[int, int], turns: int, more: dict[str, Any]
) -> Iterator[Row]:
    plain, batch = stock(recipe, pool, **more), np.zeros((BATCH, 3, *size), np.float32)
    like = kind_of(Side("stock", "", in_batches(plain, (3, *size))), 64)
    for optimize in ("none", "exact", "fast"):
        sample = ours(recipe, optimize, pool, **more)
        same_kind(kind_of(Side("augrecipes", optimize, in_batches(sample, (3, *size))), 64), like)
        pair = in_turns(counted(sample, batch), counted(plain, batch), -(-turns // _TURN), _TURN)
        yield pair.row(f"{name}, `{optimize}`", "stock", _GOALS.get(name) if optimize == "fast" else None, "µs")


if __name__ == "__main__":
    run(__file__, __doc__, "The optimiser", _METHOD, {"gallery": _gallery})
