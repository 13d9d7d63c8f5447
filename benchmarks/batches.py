"""What a second thread gains on batches: W1 and small pictures in memory, W2 and W5 as JPEGs.

python benchmarks/batches.py            prints
python benchmarks/batches.py --write    prints, and writes the section `batches` of benchmarks/RESULTS.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import cv2
from jpegs import as_file, jpegs
from measure import in_turns
from options import parser, run
from results import Row, times
from sides import BATCH, Batches, Each, at_once
from workloads import Small, photos, stained, tissue

import augrecipes as ar

_LARGE = 128
_TWO_THREADS = 1.8  # times as fast as one
_METHOD = f"""\
`pipeline.batch` of {BATCH} or {_LARGE} pictures into memory that is there, with two threads and with one in turns
(A B A B), in the same process; medians ± median distance of a batch, and the ratio is the median over the turns."""


def main() -> None:
    options = parser(__doc__).parse_args()
    turns = 7 if options.quick else 41

    def measure() -> Iterator[Row]:
        for (name, recipe, optimize, pool, out), size in product(_workloads(), (BATCH, _LARGE)):
            shape = 3, out, out
            one, two = (_pass(at_once(recipe, optimize, pool, shape, threads=k, batch=size)) for k in (1, 2))
            pair = in_turns(two, one, turns)
            goal = _TWO_THREADS if name in ("W2", "W5") else None
            beside = f"one thread {pair.peer.in_units('ms')}"
            what = f"{name}, `{optimize}`, {size} by two threads"
            yield Row(what, pair.ours.in_units("ms"), beside, times(pair.ratio, goal))

    run(__file__, "Batches in threads", _METHOD, {"batches": measure}, options)


def _workloads() -> Iterator[tuple[str, ar.Recipe, str, Sequence[Any], int]]:
    yield "W2", ar.load("imagenet-train"), "fast", Each(jpegs(None, 375, 500), as_file), 224
    yield "W5", ar.load("jpeg-crop-256"), "exact", Each(jpegs(None, 533, 800), as_file), 256
    yield "W1", stained(512, 224), "fast", tissue(512), 224
    small = [cv2.resize(photo, (128, 128), interpolation=cv2.INTER_AREA) for photo in photos(256, 256)]
    yield "128²", Small(small, 128, 16).recipe, "exact", small, 128


def _pass(batches: Batches) -> Callable[[], object]:
    return lambda: [*batches()]


if __name__ == "__main__":
    main()
