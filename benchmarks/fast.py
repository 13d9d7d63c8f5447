"""What the optimiser gains on the gallery, compared with stock; what decoding less saves, and a second thread.

python benchmarks/fast.py                    prints
python benchmarks/fast.py --write            prints, and writes the section `fast` of benchmarks/RESULTS.md
python benchmarks/fast.py --photos FOLDER    takes photographs for decoding from there instead of drawn ones
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from comparison import BATCH, Each, Side, counted, in_batches, kind_of, ours, same_kind, whole_batches
from harness import Row, in_turns, run
from peers.composed import stock
from workloads import QUALITY, Small, as_file, jpegs, photos, small, stained, tissue

import augrecipes as ar
from augrecipes.recipe.parse import parse_text

_TURN = 16  # samples in a turn
_OUT = {
    "detection": (512, 512), "detection-mosaic": (512, 512), "folder-128": (128, 128), "jpeg-crop-256": (256, 256),
    "letterbox": (640, 640), "segmentation": (256, 256),
}  # fmt: skip
_GOALS = {"detection": 2.5, "segmentation": 1.8, "folder-128": 4.0, "imagenet-train": 2.2}  # of `fast`
_METHOD = f"""\
One thread (`cv2.setNumThreads(0)`, `torch.set_num_threads(1)`), glibc's allocator tuned alike for both sides, both in
one process, in turns of {_TURN} samples each, as a worker meets them one after another; medians ± median distance, a
ratio is the median over the turns, and above 1 augrecipes is the faster. uint8 images in memory, more of them than the
caches hold: drawn tissue and photographs of the demo. Both sides write float32 C×H×W into the same batch of {BATCH}.
Stock is `A.Compose` of the same steps with `A.Normalize` (or `A.ToFloat`) and a transposing copy into the batch. Before
anything is timed, samples of all sides are compared: shape, dtype, means, spread and sharpness."""
_CROP, _TRAIN = ar.load("jpeg-crop-256"), ar.load("imagenet-train")
_THUMBNAILS = parse_text(
    "{version: 1, recipe: thumbnails, steps: [SmallestMaxSize: {max_size: 256}, "
    "CenterCrop: {height: 224, width: 224}], eval: [], output: {normalize: imagenet}}",
    root=None,
)
_COLOURS_FIRST = parse_text(
    "{version: 1, recipe: colours-first, steps: [{ShiftScaleRotate: {p: 1.0}}, RandomBrightnessContrast, "
    "HueSaturationValue, HorizontalFlip, {Resize: {height: 224, width: 224}}], eval: [], "
    "output: {normalize: imagenet}}",
    root=None,
)
_DECODING = f"""\
### Decoding only the part that is used

JPEGs in memory, quality {QUALITY}, 4:2:0, baseline, without restart markers (except in rows that say so); drawn
photographs of the demo, or those of `--photos`, scaled. One thread, glibc's allocator tuned alike for both sides, both
in one process, in turns, a sample at a time, written into the same batch of {BATCH} as float32 C×H×W; medians ± median
distance, a ratio is the median over the turns, and above 1 augrecipes is the faster. `whole` is the same compiled
recipe on the whole decode of the same library."""
# What, recipe, setting of the optimiser, size of the photographs, of a sample, restart markers, goal.
_CASES = [
    ("W5: 800×533 → window 256", _CROP, "exact", (533, 800), 256, False, 1.35),
    ("the same with restart markers", _CROP, "exact", (533, 800), 256, True, None),
    ("W2: 500×375 → random resized crop 224", _TRAIN, "fast", (375, 500), 224, False, None),
    ("12 MP → window 256", _CROP, "exact", (3000, 4000), 256, False, 1.5),
    ("12 MP → thumbnail 224", _THUMBNAILS, "fast", (3000, 4000), 224, False, 1.5),
    ("12 MP with restart markers → window 256", _CROP, "exact", (3000, 4000), 256, True, None),
]
_BATCHES = f"""\
### Batches in threads

`pipeline.batch` of {BATCH} or 128 images into allocated memory, with two threads and with one in turns, in the same
process; medians ± median distance of a batch, and the ratio is the median over the turns."""


def _gallery(options: Any) -> Iterator[Row]:
    pool, tiles, rng = photos(375, 500), tissue(512), np.random.default_rng(3)
    corners = np.sort(rng.uniform(0, 1, (6, 2, 2)), axis=1) * (496, 371)
    boxes = {"boxes": corners.reshape(6, 4) + np.array((0, 0, 4, 4)), "box_labels": list(range(6))}
    mask = {"mask": rng.integers(0, 20, (375, 500), np.uint8)}
    cases = [
        (
            name,
            recipe,
            tiles if "tissue" in name else pool,
            _OUT.get(name, (224, 224)),
            boxes if recipe.inputs.boxes else mask if recipe.inputs.mask == "required" else {},
        )
        for name in ar.gallery_names()
        if (recipe := ar.load(name)).kind == "image"
    ]
    cases += [
        ("W1", stained(512, 224), tiles, (224, 224), {}),
        ("W1b", stained(1024, 256), tissue(1024), (256, 256), {}),
        ("colours before the resize", _COLOURS_FIRST, tissue(512), (224, 224), {}),
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


def _decoding(options: Any) -> Iterator[Row | str]:
    yield _DECODING
    for what, recipe, optimize, size, out, restart, goal in _CASES:
        pool = jpegs(options.photos, *size, restart=restart)[:8]
        batch = np.zeros((BATCH, 3, out, out), np.float32)
        part = ours(recipe, optimize, Each(pool, as_file))
        whole = ours(recipe, optimize, Each(pool, lambda data: as_file(data).array()))
        turns = (20 if options.quick else 400) // (10 if size[0] == 3000 else 1)
        yield in_turns(counted(part, batch), counted(whole, batch), turns).row(f"{what}, `{optimize}`", "whole", goal)


def _batches(options: Any) -> Iterator[Row | str]:
    yield _BATCHES
    for (name, recipe, optimize, pool, out), size in product(_workloads(), (BATCH, 128)):
        one, two = (whole_batches(recipe, optimize, pool, out, threads=k, batch=size) for k in (1, 2))
        pair = in_turns(lambda: [*two()], lambda: [*one()], 7 if options.quick else 41)  # noqa: B023
        goal = 1.8 if name in ("W2", "W5") else None
        yield pair.row(f"{name}, `{optimize}`, {size} by two threads", "one thread", goal)


def _workloads() -> Iterator[tuple[str, ar.Recipe, str, Sequence[Any], int]]:
    yield "W2", ar.load("imagenet-train"), "fast", Each(jpegs(None, 375, 500), as_file), 224
    yield "W5", ar.load("jpeg-crop-256"), "exact", Each(jpegs(None, 533, 800), as_file), 256
    yield "W1", stained(512, 224), "fast", tissue(512), 224
    yield "128²", Small(small(128), 128, 16).recipe, "exact", small(128), 128


if __name__ == "__main__":
    photographs = {"type": Path, "metavar": "FOLDER", "help": "of photographs, for decoding"}
    parts = {"gallery": _gallery, "decoding": _decoding, "batches": _batches}
    run(__file__, __doc__, "The optimiser", _METHOD, parts, more={"photos": photographs})
