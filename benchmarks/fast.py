"""What the optimiser gains, beside stock albumentations and Pillow; what it loses; and where its time goes.

python benchmarks/fast.py            prints
python benchmarks/fast.py --write    prints, and writes the section `fast` of benchmarks/RESULTS.md
python benchmarks/fast.py --tissue FOLDER    measures the loss on real tissue, tiles of 1024 px and more
"""

from __future__ import annotations

import argparse
import itertools
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import albumentations as A
import numpy as np
from breakdown import breakdown
from measure import Pair, conditions, in_turns, settle
from results import Row, put_section, table
from truth import losses
from workloads import Sample, ours, photos, same_kind, stained, stained_geometry, stock, tissue, torchvision_or_pillow

import augrecipes as ar
from augrecipes.recipe import gallery
from augrecipes.recipe.parse import parse_text
from augrecipes.sources.files import read_image

_BATCH = 32
_TURN = 16  # samples in a turn
_OPTIMIZE = ("none", "exact", "fast")
_METHOD = f"""\
One thread (`cv2.setNumThreads(0)`, `torch.set_num_threads(1)`), glibc's allocator tuned alike for both sides, both in
one process, in turns A B A B of {_TURN} samples each, as a worker meets them one after another; medians ± median
distance, a ratio is the median over the turns, and above 1 augrecipes is the quicker. uint8 images in memory, more of
them than the caches hold, so that each is read cold: drawn tissue and photographs of the demo. Both sides write float32
C×H×W into the same batch of {_BATCH}. Stock is `A.Compose` of the same steps with `A.Normalize` (or `A.ToFloat`) and a
transposing copy into the batch. Before anything is timed, samples of all sides are compared: shape, dtype, means,
spread and sharpness (of the stain jitters, which are different transformations, shape and dtype alone)."""
_LOSS = """\
Loss: root mean square distance from the truth, each output pixel the mean of 64 points of what it covers, sampled
through the geometry of W1b without its colours; drawn tissue, or that of `--tissue`. Bytes: the highest of
tracemalloc during one call with `out=`, above what was allocated before it, the scratch included."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the section of RESULTS.md")
    parser.add_argument("--quick", action="store_true", help="a tenth of the turns: is everything still there?")
    parser.add_argument("--tissue", type=Path, metavar="FOLDER", help="of real tiles, for the loss")
    parser.add_argument("--only", metavar="WORD", help="only the parts whose name holds it", default="")
    options = parser.parse_args()
    where = conditions()
    settle()
    turns = 20 if options.quick else 400
    parts: dict[str, Callable[[], Iterator[Row]]] = {
        "stained": lambda: _stained(turns),
        "stain jitter": lambda: _stain(turns),
        "gallery": lambda: _gallery(turns),
        "loss": lambda: _loss(4 if options.quick else 16, options.tissue),
        "bytes": _bytes,
    }
    rows = []
    for row in itertools.chain.from_iterable(part() for name, part in parts.items() if options.only in name):
        print(row, flush=True)
        rows.append(row)
    steps = _breakdown(100 if options.quick else 1000) if options.only in "breakdown" else []
    print(table(_STEPS, steps) if steps else "")
    if options.write and not (options.quick or options.only):
        body = table(Row.HEAD, rows)
        inside = f"### Where the time of `fast` goes\n\n{_INSIDE}\n\n{table(_STEPS, steps)}"
        title = "## The optimiser (`python benchmarks/fast.py --write`)"
        put_section("fast", "\n\n".join((title, where, _METHOD, _LOSS, body, inside)))


def _stained(turns: int) -> Iterator[Row]:
    for name, size, out, goal in (("W1", 512, 224, 6.5), ("W1b", 1024, 256, 10.0)):
        recipe, pool = stained(size, out), tissue(size)
        what = f"{name}: tissue {size} → {out}, colours"
        yield from _against_stock(what, recipe, pool, (out, out), turns * 224 // out // (size // 512), {"fast": goal})
        if name == "W1":
            label, peer = torchvision_or_pillow(pool, size, out)
            fast = ours(recipe, "fast", pool)
            same_kind({"fast": fast, label: peer}, (3, out, out), len(pool), loose=2)
            pair = _in_batch(fast, peer, (3, out, out), turns // 3)
            yield _row(f"{what}, `fast`", pair, label, 25.0)


def _stain(turns: int) -> Iterator[Row]:
    text = "version: 1\nrecipe: stain\nsteps: [StainJitter: {p: 1.0}]\neval: []\noutput: {dtype: uint8, layout: hwc}\n"
    recipe, pool = parse_text(text, root=None), [np.ascontiguousarray(tile[:224, :224]) for tile in tissue(512)]
    peer = A.Compose([A.HEStain(method="random_preset", p=1.0)], seed=0)

    def plain(k: int, out: np.ndarray) -> None:
        np.copyto(out, peer(image=pool[k % len(pool)])["image"])

    for optimize in _OPTIMIZE:
        pair = _in_batch(ours(recipe, optimize, pool), plain, (224, 224, 3), turns // 2, np.uint8)
        goal = 20.0 if optimize == "fast" else None
        yield _row(f"W1s: StainJitter, 224², `{optimize}`", pair, "A.HEStain, random preset", goal)


def _gallery(turns: int) -> Iterator[Row]:
    outs = {"detection": (512, 512), "folder-128": (128, 128), "segmentation": (256, 256), "jpeg-crop-256": (256, 256)}
    pool, tiles, draw = photos(375, 500), tissue(512), np.random.default_rng(3)
    corners = np.sort(draw.uniform(0, 1, (6, 2, 2)), axis=1) * (496, 371)
    boxes = corners.reshape(6, 4) + np.array((0, 0, 4, 4))
    more: dict[str, dict[str, Any]] = {
        "detection": {"boxes": boxes, "box_labels": list(range(6))},
        "segmentation": {"mask": draw.integers(0, 20, (375, 500), np.uint8)},
    }
    for name in sorted(gallery.names()):
        recipe = ar.load(name)
        if recipe.kind != "image":
            continue
        images = tiles if "tissue" in name else pool
        size = f"{images[0].shape[1]}×{images[0].shape[0]}"
        goals = {"exact": 0.98, "fast": 2.0 if name == "imagenet-train" else 0.98}
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
    plain = stock(recipe, pool, **more)
    sides = {optimize: ours(recipe, optimize, pool, **more) for optimize in _OPTIMIZE}
    same_kind({"stock": plain, **sides}, (3, *size), 64)
    for optimize, sample in sides.items():
        pair = _in_batch(sample, plain, (3, *size), turns)
        yield _row(f"{what}, `{optimize}`", pair, "stock", goals.get(optimize))


def _in_batch(a: Sample, b: Sample, shape: tuple[int, ...], turns: int, dtype: Any = np.float32) -> Pair:
    """Both in turns, each going through the pool and the batch by itself."""
    batch = np.zeros((_BATCH, *shape), dtype)

    def counted(sample: Sample) -> Callable[[], None]:
        turn = itertools.count()

        def work() -> None:
            k = next(turn)
            sample(k, batch[k % _BATCH])

        return work

    return in_turns(counted(a), counted(b), -(-turns // _TURN), _TURN)


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
            f"{median(ratios):.2f} of it, goal ≤ 2: {_met(median(ratios) <= 2)}",
        )


def _bytes() -> Iterator[Row]:
    recipe, pool = stained(512, 224), tissue(512)
    batch = np.zeros((_BATCH, 3, 224, 224), np.float32)
    for what, sample in (("stock", stock(recipe, pool)), *((o, ours(recipe, o, pool)) for o in _OPTIMIZE)):
        highest = []
        for k in range(2 * _BATCH):
            if k == _BATCH:
                tracemalloc.start()  # the same samples once more: the scratch has grown to what they need
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            sample(k % _BATCH, batch[k % _BATCH])
            highest.append(tracemalloc.get_traced_memory()[1] - before)
        tracemalloc.stop()
        kept = highest[_BATCH + 1 :]
        verdict = f"goal < 10 kB: {_met(max(kept) < 10_000)}" if what == "fast" else ""
        yield Row(
            f"W1: bytes a sample, `{what}`",
            f"{median(kept) / 1000:.1f} kB",
            f"at most {max(kept) / 1000:.1f} kB",
            verdict,
        )


_STEPS = ("part", "W1, µs", "W1b, µs", "ImageNet crop, µs")
_INSIDE = """\
Mean µs a sample, each call of OpenCV and each draw clocked by itself; the clocks take a few µs of each part. `Python`
is whatever that part does besides: numpy, too."""


def _breakdown(count: int) -> list[tuple[str, ...]]:
    found = [
        dict(breakdown(recipe, pool, count))
        for recipe, pool in (
            (stained(512, 224), tissue(512)),
            (stained(1024, 256), tissue(1024)),
            (ar.load("imagenet-train"), photos(375, 500)),
        )
    ]
    parts = sorted({part for each in found for part in each})
    rows = [(part, *(f"{each[part]:.0f}" if part in each else "" for each in found)) for part in parts]
    return [*rows, ("together", *(f"{sum(each.values()):.0f}" for each in found))]


def _row(what: str, pair: Pair, peer: str, goal: float | None) -> Row:
    verdict = f"×{pair.ratio:.2f}"
    if goal is not None:
        # Within the spread of both counts as met: 0.98 of a noisy 1 is 1.
        spread = pair.ours.spread / pair.ours.median + pair.peer.spread / pair.peer.median if goal < 1 else 0.0
        verdict += f", goal ×{goal:g}: {_met(pair.ratio * (1 + spread) >= goal)}"
    return Row(what, pair.ours.in_units("µs"), f"{peer} {pair.peer.in_units('µs')}", verdict)


def _met(met: bool) -> str:
    return "met" if met else "missed"


if __name__ == "__main__":
    main()
