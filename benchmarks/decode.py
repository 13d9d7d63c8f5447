"""What it saves to decode only what is used: windows of JPEGs, thumbnails, and training crops, beside whole decodes.

python benchmarks/decode.py                    prints
python benchmarks/decode.py --write            prints, and writes the section `decode` of benchmarks/RESULTS.md
python benchmarks/decode.py --photos FOLDER    takes photographs from there instead of drawn ones
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import albumentations as A
import numpy as np
import torch
from albumentations.pytorch import ToTensorV2
from jpegs import QUALITY, as_file, jpegs
from measure import Pair, alone, in_turns, settle, timing
from options import Part, parser, run
from peers.albumentations import by_opencv
from results import Row, times
from sides import BATCH, Each, Sample, at_once, counted, ours

import augrecipes as ar
from augrecipes.images.encoded import encoded
from augrecipes.ops.registry import construct
from augrecipes.recipe.parse import parse_text

_CROP = "jpeg-crop-256"
_TRAIN = "imagenet-train"
_THUMBNAILS = """
version: 1
recipe: thumbnails
steps:
  - SmallestMaxSize: {max_size: 256}
  - CenterCrop: {height: 224, width: 224}
eval: []
output: {dtype: float32, layout: chw, normalize: imagenet}
"""
_METHOD = f"""\
JPEGs in memory, quality {QUALITY}, 4:2:0, baseline, without restart markers (but for the rows that say so); drawn
photographs of the demo, or those of `--photos`, scaled. One thread (`cv2.setNumThreads(0)`,
`torch.set_num_threads(1)`), glibc's allocator tuned alike for both sides, both in one process, in turns A B A B, a
sample at a time, written into the same batch of {BATCH} as float32 C×H×W; medians ± median distance, a ratio is the
median over the turns, and above 1 augrecipes is the quicker. `whole` is the same compiled recipe on the whole decode of
the same library; W2 and W5 beside other libraries have scripts of their own. As a user runs it: `A.Compose` of the same
steps in a process of its own, with `ToTensorV2` and `torch.stack`, glibc's allocator and OpenCV's threads as they come;
augrecipes in another, a batch at once, with what `ar.loader` sets."""


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--photos", type=Path, metavar="FOLDER", help="of photographs")
    options.add_argument("--alone", choices=("ours", "stock"), help=argparse.SUPPRESS)
    options = options.parse_args()
    if options.alone:
        print(_alone(options.alone, options.photos, 4 if options.quick else 30))
        return
    turns = 20 if options.quick else 400
    parts: dict[str, Part] = {
        "windows": lambda: _windows(options.photos, turns),
        "large": lambda: _large(options.photos, turns // 10),
        "user": lambda: _as_a_user(options.photos, 2 if options.quick else 7, quick=options.quick),
    }
    run(__file__, "Decoding", _METHOD, parts, options)


def _windows(folder: Path | None, turns: int) -> Iterator[Row]:
    recipe = ar.load(_CROP)
    for what, restart in (("W5: 800×533 → window 256, `exact`", False), ("the same with restart markers", True)):
        pool = jpegs(folder, 533, 800, restart=restart)
        pair = _in_turns(_reading(recipe, "exact", pool), _whole(recipe, "exact", pool), 256, turns)
        yield _row(what, pair, "whole", None if restart else 1.35)
    recipe, pool = ar.load(_TRAIN), jpegs(folder, 375, 500)
    pair = _in_turns(_reading(recipe, "fast", pool), _whole(recipe, "fast", pool), 224, turns)
    yield _row("W2: 500×375 → random resized crop 224, `fast`", pair, "whole", None)


def _large(folder: Path | None, turns: int) -> Iterator[Row]:
    pool = jpegs(folder, 3000, 4000)
    recipe = ar.load(_CROP)
    pair = _in_turns(_reading(recipe, "exact", pool), _whole(recipe, "exact", pool), 256, turns)
    yield _row("12 MP → window 256, `exact`", pair, "whole", 1.5, "ms")
    recipe = parse_text(_THUMBNAILS, root=None)
    fast, whole = _reading(recipe, "fast", pool), _whole(recipe, "fast", pool)
    pair = _in_turns(fast, whole, 224, turns)
    yield _row("12 MP → thumbnail 224, `fast`", pair, "whole", 1.5, "ms")
    marked = jpegs(folder, 3000, 4000, restart=True)
    recipe = ar.load(_CROP)
    pair = _in_turns(_reading(recipe, "exact", marked), _whole(recipe, "exact", marked), 256, turns)
    yield _row("12 MP with restart markers → window 256, `exact`", pair, "whole", None, "ms")


def _as_a_user(folder: Path | None, rounds: int, *, quick: bool) -> Iterator[Row]:
    options = [*(["--quick"] if quick else []), *(["--photos", str(folder)] if folder else [])]
    found: dict[str, list[float]] = {"ours": [], "stock": []}
    for _ in range(rounds):
        for side, seconds in found.items():
            command = [sys.executable, __file__, "--alone", side, *options]
            seconds.append(float(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    both = list(zip(*found.values(), strict=True))
    extra = timing([mine - plain for mine, plain in both])
    pair = Pair(*map(timing, found.values()), median(plain / mine for mine, plain in both), extra)
    yield _row("W2 as a user runs it, `fast`", pair, "stock on cv2", 2.2)


def _alone(side: str, folder: Path | None, batches: int) -> float:
    """Seconds a sample of W2, collated, in a process of its own."""
    recipe, pool = ar.load(_TRAIN), jpegs(folder, 375, 500)
    counter = itertools.count()
    if side == "ours":
        settle()
        made = at_once(recipe, "fast", Each(pool, as_file), (3, 224, 224))

        def work() -> object:
            return [*made()]
    else:
        normal = recipe.output.normalize
        steps = [construct(step) for step in recipe.steps]
        plain = A.Compose([*steps, A.Normalize(mean=normal.mean, std=normal.std), ToTensorV2()])

        def work() -> object:
            return torch.stack([plain(image=by_opencv(pool[next(counter) % len(pool)]))["image"] for _ in range(BATCH)])

    return alone(work, batches).median / BATCH


def _reading(recipe: ar.Recipe, optimize: str, pool: list[bytes]) -> Sample:
    """A compiled recipe that is given pictures that are not decoded."""
    return ours(recipe, optimize, Each(pool, as_file))


def _whole(recipe: ar.Recipe, optimize: str, pool: list[bytes]) -> Sample:
    """The same recipe, given arrays."""
    return ours(recipe, optimize, Each(pool, lambda data: encoded(data, name="photo.jpg").array()))


def _in_turns(a: Sample, b: Sample, size: int, turns: int) -> Pair:
    """Both in turns, sample by sample."""
    batch = np.zeros((BATCH, 3, size, size), np.float32)
    return in_turns(counted(a, batch), counted(b, batch), turns)


def _row(what: str, pair: Pair, peer: str, goal: float | None, unit: str = "µs") -> Row:
    return Row(what, pair.ours.in_units(unit), f"{peer} {pair.peer.in_units(unit)}", times(pair.ratio, goal))


if __name__ == "__main__":
    main()
