"""What a second thread gains on a bag of tiles, from memory and from files, and what a bag costs beyond its result.

python benchmarks/bags.py            prints
python benchmarks/bags.py --write    prints, and writes the section `bags` of benchmarks/RESULTS.md
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import numpy as np
from harness import Row, child, in_turns, memory, met, run
from workloads import write_noise

import augrecipes as ar
from augrecipes.bench.sides import compose
from augrecipes.sources.files import read_image

_RECIPE, _TILES, _MANY = "stained-tissue-bag", 256, 1000
_TWO_THREADS = 1.8  # times as fast as one
_METHOD = f"""\
A bag of {_TILES} tiles of 512² px, uint8, through `{_RECIPE}` to {_TILES} × 3 × 224 × 224 float32. Two threads and
one take turns in the same process, with the allocator tuned and OpenCV's and torch's own threads off; medians ± median
distance, and a ratio is the median over the turns. Plain albumentations is a loop over the tiles with a `Compose` of
the same steps and `A.Normalize`, then `np.stack` and a contiguous transposition. Memory: a bag of {_MANY} tiles from
JPEG files, with two threads, in its own process: the highest resident memory, less the resident memory before the bag
and less the result."""


def _in_memory(options: Any) -> Iterator[Row]:
    recipe, turns = ar.load(_RECIPE), 3 if options.quick else 15
    tiles = [read_image(path) for path in sorted(write_noise(options.folder / "tiles", (512, 512), _TILES).iterdir())]
    for optimize in ("none", "exact", "fast"):
        pipeline = recipe.compile(optimize=optimize)
        turn = itertools.count()

        def bag(threads: int) -> np.ndarray:
            return pipeline.bag(next(turn), 0, range(_TILES), tiles.__getitem__, threads=threads).image  # noqa: B023

        pair = in_turns(lambda: bag(2), lambda: bag(1), turns)
        yield pair.row(f"`{optimize}`, tiles in memory, two threads", "one thread", _TWO_THREADS)
    plain = compose(recipe)

    def peer() -> np.ndarray:
        return np.ascontiguousarray(np.stack([plain(image=tile)["image"] for tile in tiles]).transpose(0, 3, 1, 2))

    yield in_turns(lambda: bag(2), peer, turns).row(
        "`fast`, tiles in memory, two threads", "plain albumentations, one thread"
    )


def _from_files(options: Any) -> Iterator[Row]:
    for suffix in (".jpg", ".png"):
        write_noise(options.folder / suffix / "slide", (512, 512), _TILES, suffix)
        one, two = (ar.TileBags(options.folder / suffix, _RECIPE, threads=k, cache=False) for k in (1, 2))
        pair = in_turns(lambda: two[0], lambda: one[0], 3 if options.quick else 15)  # noqa: B023
        yield pair.row(f"TileBags from {suffix} files, two threads", "one thread", _TWO_THREADS)


def _memory(options: Any) -> Iterator[Row]:
    write_noise(options.folder / "small", (512, 512), 4)
    write_noise(options.folder / "large", (512, 512), _MANY)
    for workers, where in ((0, "in process"), (1, "in a worker")):
        (above,) = child(__file__, "memory", workers, options.folder)
        yield Row(f"{_MANY} tiles, {where}, above the result", f"{above:.0f} MB", "goal < 100 MB", met(above < 100))


def _above_result(workers: str, root: str) -> tuple[float]:
    """MB beyond the result, in the process that makes the bag."""
    ds = _Watched(Path(root), _RECIPE, threads=2, cache=False)
    small, large = ds.bags.index("small"), ds.bags.index("large")
    how: dict[str, Any] = {"multiprocessing_context": "fork", "prefetch_factor": 1} if int(workers) else {}
    passing = iter(ar.loader(ds.subset([small, large, small, small]), num_workers=int(workers), **how))
    next(passing)  # brings in the libraries' code
    batch = next(passing)
    process = active_children()[0].pid if int(workers) else "self"
    return (memory("VmHWM", process or 0) - float(batch["before"]) - batch["image"].nbytes / 1e6,)


class _Watched(ar.TileBags):
    """Reports what was resident before a bag was begun."""

    def _sample(self, row: int, epoch: int, virtual: int) -> dict[str, object]:
        before = memory("VmRSS")
        return {**super()._sample(row, epoch, virtual), "before": before}


if __name__ == "__main__":
    parts = {"in memory": _in_memory, "from files": _from_files, "memory taken": _memory}
    run(__file__, __doc__, "Bags", _METHOD, parts, children={"memory": _above_result})
