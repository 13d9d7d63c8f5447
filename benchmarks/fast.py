"""What the optimiser gains on the gallery, beside stock albumentations; what it loses; and where its time goes.

python benchmarks/fast.py            prints
python benchmarks/fast.py --write    prints, and writes the section `fast` of benchmarks/RESULTS.md
python benchmarks/fast.py --tissue FOLDER    measures the loss on real tissue, tiles of 1024 px and more
"""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from breakdown import breakdown
from likeness import kind_of, same_kind
from measure import Pair, in_turns
from options import Part, parser, run
from peers.albumentations import stock
from results import Row, met, table, times
from sides import BATCH, Side, counted, in_batches, ours
from truth import losses
from workloads import photos, stained, stained_geometry, tissue

import augrecipes as ar
from augrecipes.recipe import gallery
from augrecipes.sources.files import read_image

_TURN = 16  # samples in a turn
_OPTIMIZE = ("none", "exact", "fast")
_LEAST = 0.98  # of stock's speed: no slower than it, but for what a clock can tell
_GOALS = {"detection": 2.5, "segmentation": 1.8, "folder-128": 4.0, "imagenet-train": 2.2}  # of `fast`
_METHOD = f"""\
One thread (`cv2.setNumThreads(0)`, `torch.set_num_threads(1)`), glibc's allocator tuned alike for both sides, both in
one process, in turns A B A B of {_TURN} samples each, as a worker meets them one after another; medians ± median
distance, a ratio is the median over the turns, and above 1 augrecipes is the quicker. uint8 images in memory, more of
them than the caches hold, so that each is read cold: drawn tissue and photographs of the demo. Both sides write float32
C×H×W into the same batch of {BATCH}. Stock is `A.Compose` of the same steps with `A.Normalize` (or `A.ToFloat`) and a
transposing copy into the batch. Before anything is timed, samples of all sides are compared: shape, dtype, means,
spread and sharpness."""
_LOSS = """\
Loss: root mean square distance from the truth, each output pixel the mean of 64 points of what it covers, sampled
through the geometry of W1b without its colours; drawn tissue, or that of `--tissue`. Bytes: the highest of
tracemalloc during one call with `out=`, above what was allocated before it, the scratch included."""


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--tissue", type=Path, metavar="FOLDER", help="of real tiles, for the loss")
    options = options.parse_args()
    turns = 20 if options.quick else 400
    parts: dict[str, Part] = {
        "gallery": lambda: _gallery(turns),
        "loss": lambda: _loss(4 if options.quick else 16, options.tissue),
        "bytes": _bytes,
        "breakdown": lambda: _breakdown(100 if options.quick else 1000),
    }
    run(__file__, "The optimiser", f"{_METHOD}\n\n{_LOSS}", parts, options)


def _gallery(turns: int) -> Iterator[Row]:
    outs = {"detection": (512, 512), "folder-128": (128, 128), "segmentation": (256, 256), "jpeg-crop-256": (256, 256)}
    pool, tiles, rng = photos(375, 500), tissue(512), np.random.default_rng(3)
    corners = np.sort(rng.uniform(0, 1, (6, 2, 2)), axis=1) * (496, 371)
    boxes = corners.reshape(6, 4) + np.array((0, 0, 4, 4))
    more: dict[str, dict[str, Any]] = {
        "detection": {"boxes": boxes, "box_labels": list(range(6))},
        "segmentation": {"mask": rng.integers(0, 20, (375, 500), np.uint8)},
    }
    for name in sorted(gallery.gallery_names()):
        recipe = ar.load(name)
        if recipe.kind != "image":
            continue
        images = tiles if "tissue" in name else pool
        size = f"{images[0].shape[1]}×{images[0].shape[0]}"
        goals = {"exact": _LEAST, "fast": _GOALS.get(name, _LEAST)}
        out = outs.get(name, (224, 224))
        yield from _against_stock(f"{name}, {size}", recipe, images, out, turns // 2, goals, **more.get(name, {}))


def _against_stock(
    what: str,
    recipe: ar.Recipe,
    pool: Sequence[np.ndarray],
    size: tuple[int, int],
    turns: int,
    goals: dict[str, float],
    **more: Any,
) -> Iterator[Row]:
    samples = {o: ours(recipe, o, pool, **more) for o in _OPTIMIZE} | {"stock": stock(recipe, pool, **more)}
    kinds = {name: kind_of(Side(name, "", in_batches(sample, (3, *size))), 64) for name, sample in samples.items()}
    plain, batch = samples.pop("stock"), np.zeros((BATCH, 3, *size), np.float32)
    for optimize, sample in samples.items():
        same_kind(kinds[optimize], kinds["stock"])
        pair = in_turns(counted(sample, batch), counted(plain, batch), -(-turns // _TURN), _TURN)
        yield _row(f"{what}, `{optimize}`", pair, "stock", goals.get(optimize))


def _loss(count: int, folder: Path | None) -> Iterator[Row]:
    if folder is None:
        tiles = tissue(1024)[:3]
    else:
        found = (
            read_image(path) for path in sorted(folder.rglob("*")) if path.suffix.lower() in {".png", ".jpg", ".tif"}
        )
        large = (image for image in found if min(image.shape[:2]) >= 1024)
        tiles = [np.ascontiguousarray(image[:1024, :1024, :3]) for image in itertools.islice(large, 8)]
    for out in (448, 256, 160):
        found_losses = list(losses(stained_geometry(1024, out), tiles, count))
        none, fast = (median(getattr(loss, name) for loss in found_losses) for name in ("none", "fast"))
        ratios = [loss.fast / loss.none for loss in found_losses]
        shrinks = [loss.shrink for loss in found_losses]
        yield Row(
            f"loss, 1024 → {out}, {min(shrinks):.1f} to {max(shrinks):.1f} px to one",
            f"{fast:.2f} levels",
            f"`none` {none:.2f} levels; the worst sample {max(ratios):.2f}",
            f"{median(ratios):.2f} of it, goal ≤ 2: {met(median(ratios) <= 2)}",
        )


def _bytes() -> Iterator[Row]:
    recipe, pool = stained(512, 224), tissue(512)
    batch = np.zeros((BATCH, 3, 224, 224), np.float32)
    for what, sample in (("stock", stock(recipe, pool)), *((o, ours(recipe, o, pool)) for o in _OPTIMIZE)):
        highest = []
        for k in range(2 * BATCH):
            if k == BATCH:
                tracemalloc.start()  # the same samples once more: the scratch has grown to what they need
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            sample(k % BATCH, batch[k % BATCH])
            highest.append(tracemalloc.get_traced_memory()[1] - before)
        tracemalloc.stop()
        kept = highest[BATCH + 1 :]
        verdict = f"goal < 10 kB: {met(max(kept) < 10_000)}" if what == "fast" else ""
        yield Row(
            f"W1: bytes a sample, `{what}`",
            f"{median(kept) / 1000:.1f} kB",
            f"at most {max(kept) / 1000:.1f} kB",
            verdict,
        )


_STEPS = ("part", "W1, µs", "W1b, µs", "ImageNet crop, µs")
_INSIDE = """\
Mean µs a sample. Work belongs to what does it: of a crop nothing is done before a later step, or the sink, makes its
pixels. `rest`: keys, checks and the call of the program."""


def _breakdown(count: int) -> Iterator[str]:
    found = [
        breakdown(recipe, "fast", [{"image": image} for image in pool], count)
        for recipe, pool in (
            (stained(512, 224), tissue(512)),
            (stained(1024, 256), tissue(1024)),
            (ar.load("imagenet-train"), photos(375, 500)),
        )
    ]
    parts = sorted({part for each in found for part in each})
    rows = [(part, *(f"{1e6 * each[part]:.0f}" if part in each else "" for each in found)) for part in parts]
    rows.append(("together", *(f"{1e6 * sum(each.values()):.0f}" for each in found)))
    yield f"### Where the time of `fast` goes\n\n{_INSIDE}"
    yield table(_STEPS, rows)


def _row(what: str, pair: Pair, peer: str, goal: float | None) -> Row:
    # Within the spread of both counts as met: 0.98 of a noisy 1 is 1.
    spread = pair.ours.spread / pair.ours.median + pair.peer.spread / pair.peer.median
    near = goal is not None and pair.ratio < goal <= pair.ratio * (1 + spread) and goal < 1
    verdict = f"{times(pair.ratio)}, goal ×{goal:g}: met within the spread" if near else times(pair.ratio, goal)
    return Row(what, pair.ours.in_units("µs"), f"{peer} {pair.peer.in_units('µs')}", verdict)


if __name__ == "__main__":
    main()
