"""What a second thread gains on batches: W1 and small images in memory, W2 and W5 as JPEGs.

python benchmarks/batches.py            prints
python benchmarks/batches.py --write    prints, and writes the section `batches` of benchmarks/RESULTS.md
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import cv2
from comparison import BATCH, Each, whole_batches
from harness import Row, in_turns, run
from workloads import Small, as_file, jpegs, photos, stained, tissue

import augrecipes as ar

_METHOD = f"""\
`pipeline.batch` of {BATCH} or 128 images into memory that is there, with two threads and with one in turns, in the
same process; medians ± median distance of a batch, and the ratio is the median over the turns."""


def _batches(options: Any) -> Iterator[Row]:
    for (name, recipe, optimize, pool, out), size in product(_workloads(), (BATCH, 128)):
        one, two = (whole_batches(recipe, optimize, pool, out, threads=k, batch=size) for k in (1, 2))
        pair = in_turns(lambda: [*two()], lambda: [*one()], 7 if options.quick else 41)  # noqa: B023
        goal = 1.8 if name in ("W2", "W5") else None
        yield pair.row(f"{name}, `{optimize}`, {size} by two threads", "one thread", goal)


def _workloads() -> Iterator[tuple[str, ar.Recipe, str, Sequence[Any], int]]:
    yield "W2", ar.load("imagenet-train"), "fast", Each(jpegs(None, 375, 500), as_file), 224
    yield "W5", ar.load("jpeg-crop-256"), "exact", Each(jpegs(None, 533, 800), as_file), 256
    yield "W1", stained(512, 224), "fast", tissue(512), 224
    small = [cv2.resize(photo, (128, 128), interpolation=cv2.INTER_AREA) for photo in photos(256, 256)]
    yield "128²", Small(small, 128, 16).recipe, "exact", small, 128


if __name__ == "__main__":
    run(__file__, __doc__, "Batches in threads", _METHOD, {"batches": _batches})
