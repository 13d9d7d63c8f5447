"""What it saves to decode only what is used: windows of JPEGs, thumbnails and training crops, and whole decodes.

python benchmarks/decode.py                    prints
python benchmarks/decode.py --write            prints, and writes the section `decode` of benchmarks/RESULTS.md
python benchmarks/decode.py --photos FOLDER    takes photographs from there instead of drawn ones
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from comparison import BATCH, Each, counted, ours
from harness import Row, in_turns, run
from workloads import QUALITY, as_file, jpegs

import augrecipes as ar
from augrecipes.recipe.parse import parse_text

_CROP, _TRAIN = ar.load("jpeg-crop-256"), ar.load("imagenet-train")
_THUMBNAILS = parse_text(
    "{version: 1, recipe: thumbnails, steps: [SmallestMaxSize: {max_size: 256}, "
    "CenterCrop: {height: 224, width: 224}], eval: [], output: {normalize: imagenet}}",
    root=None,
)
_METHOD = f"""\
JPEGs in memory, quality {QUALITY}, 4:2:0, baseline, without restart markers (but for the rows that say so); drawn
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


def _decoding(options: Any) -> Iterator[Row]:
    for what, recipe, optimize, size, out, restart, goal in _CASES:
        pool = jpegs(options.photos, *size, restart=restart)[:8]
        batch = np.zeros((BATCH, 3, out, out), np.float32)
        part = ours(recipe, optimize, Each(pool, as_file))
        whole = ours(recipe, optimize, Each(pool, lambda data: as_file(data).array()))
        turns = (20 if options.quick else 400) // (10 if size[0] == 3000 else 1)
        yield in_turns(counted(part, batch), counted(whole, batch), turns).row(f"{what}, `{optimize}`", "whole", goal)


if __name__ == "__main__":
    photographs = {"type": Path, "metavar": "FOLDER", "help": "of photographs"}
    run(__file__, __doc__, "Decoding", _METHOD, {"decoding": _decoding}, more={"photos": photographs})
