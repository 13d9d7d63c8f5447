"""What a second thread gains on a bag of tiles, from memory and from files, and what a bag costs beyond its result.

python benchmarks/bags.py            prints
python benchmarks/bags.py --write    prints, and writes the section `bags` of benchmarks/RESULTS.md
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from multiprocessing import active_children
from pathlib import Path

import albumentations as A
import cv2
import numpy as np
from measure import Pair, in_turns, settle
from options import Part, parser, run
from results import Row, met, times

import augrecipes as ar
from augrecipes.ops.registry import construct

RECIPE = "stained-tissue-bag"
_TILES = 256
_MANY = 1000
_SIZE = 512
_MIB = 2**20
_TWO_THREADS = 1.8  # times as fast as one
_METHOD = f"""\
A bag of {_TILES} tiles of {_SIZE}² px, uint8, through `{RECIPE}` to {_TILES} × 3 × 224 × 224 float32. Two threads and
one take turns in the same process (A B A B), with the allocator tuned and OpenCV's and torch's own threads off; medians
± median distance, and a ratio is the median over the turns. Plain albumentations is a loop over the tiles with a
`Compose` of the same steps and `A.Normalize`, then `np.stack` and a contiguous transposition. Memory: a bag of {_MANY}
tiles from JPEG files, two threads, in a process of its own: its highest resident memory, less what was resident before
the bag, less the result."""


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--memory", nargs=2, metavar=("WORKERS", "FOLDER"), help=argparse.SUPPRESS)
    options = options.parse_args()
    if options.memory:
        print(_above_result(int(options.memory[0]), Path(options.memory[1])))
        return
    turns = 3 if options.quick else 15
    parts: dict[str, Part] = {
        "in memory": lambda: _in_memory(turns),
        "from files": lambda: _from_files(turns),
        "memory taken": _memory,
    }
    run(__file__, "Bags", _METHOD, parts, options)


def _in_memory(turns: int) -> Iterator[Row]:
    recipe = ar.load(RECIPE)
    tiles = _draw(_TILES)
    for optimize in ("none", "exact", "fast"):
        pipeline = recipe.compile(optimize=optimize)
        turn = itertools.count()

        def bag(threads: int) -> np.ndarray:
            return pipeline.bag(next(turn), 0, range(_TILES), tiles.__getitem__, threads=threads).image  # noqa: B023

        pair = in_turns(lambda: bag(2), lambda: bag(1), turns)
        yield _row(f"`{optimize}`, tiles in memory, two threads", pair, "one thread", goal=_TWO_THREADS)
    normal = recipe.output.normalize
    plain = A.Compose(
        [*(construct(step) for step in recipe.steps), A.Normalize(mean=normal.mean, std=normal.std)], seed=0
    )

    def peer() -> np.ndarray:
        return np.ascontiguousarray(np.stack([plain(image=tile)["image"] for tile in tiles]).transpose(0, 3, 1, 2))

    pair = in_turns(lambda: bag(2), peer, turns)
    yield _row("`fast`, tiles in memory, two threads", pair, "plain albumentations, one thread")


def _from_files(turns: int) -> Iterator[Row]:
    for extension in ("jpg", "png"):
        with tempfile.TemporaryDirectory() as folder:
            _write(Path(folder) / "slide", _draw(_TILES), extension)
            one, two = (ar.TileBags(folder, RECIPE, threads=threads, cache=False) for threads in (1, 2))
            pair = in_turns(lambda: two[0], lambda: one[0], turns)  # noqa: B023
        yield _row(f"TileBags from {extension.upper()} files, two threads", pair, "one thread", goal=_TWO_THREADS)


def _memory() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        root, tiles = Path(folder), _draw(20)
        _write(root / "small", tiles[:4], "jpg")
        _write(root / "large", itertools.islice(itertools.cycle(tiles), _MANY), "jpg")
        for workers, where in ((0, "in process"), (1, "in a worker")):
            command = [sys.executable, __file__, "--memory", str(workers), os.fspath(root)]
            above = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            what = f"{_MANY} tiles, {where}, above the result"
            yield Row(what, f"{above:.0f} MiB", "goal < 100 MB", met(above < 95))


def _above_result(workers: int, root: Path) -> float:
    """MiB beyond the result, in the process that makes the bag."""
    settle()
    ds = _Watched(root, RECIPE, threads=2, cache=False)
    small, large = ds.bags.index("small"), ds.bags.index("large")
    options = {"multiprocessing_context": "fork", "prefetch_factor": 1} if workers else {}
    passing = iter(ar.loader(ds.subset([small, large, small, small]), num_workers=workers, **options))
    next(passing)  # brings in the libraries' code
    batch = next(passing)
    process = str(active_children()[0].pid) if workers else "self"
    return _resident(process, "VmHWM") - float(batch["before"]) - batch["image"].nbytes / _MIB


class _Watched(ar.TileBags):
    """Tells what was resident before a bag was begun."""

    def _sample(self, row: int, epoch: int, virtual: int) -> dict[str, object]:
        before = _resident("self", "VmRSS")
        return {**super()._sample(row, epoch, virtual), "before": before}


def _resident(process: str, which: str) -> float:
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith(which)).split()[1]) / 1024


def _draw(count: int) -> list[np.ndarray]:
    """Tissue-like tiles: smooth, coloured and a little noisy."""
    rng = np.random.default_rng(0)
    size = (_SIZE, _SIZE)
    coarse = cv2.resize(rng.integers(90, 230, (8, 8, 3), np.uint8), size, interpolation=cv2.INTER_CUBIC)
    return [cv2.add(coarse, rng.integers(0, 20, (*size, 3), np.uint8)) for _ in range(count)]


def _write(folder: Path, tiles: Iterator[np.ndarray] | list[np.ndarray], extension: str) -> None:
    folder.mkdir(parents=True)
    for k, tile in enumerate(tiles):
        cv2.imwrite(os.fspath(folder / f"x{k * _SIZE}_y0.{extension}"), tile)


def _row(what: str, pair: Pair, beside: str, goal: float | None = None) -> Row:
    return Row(what, pair.ours.in_units("ms"), f"{beside} {pair.peer.in_units('ms')}", times(pair.ratio, goal))


if __name__ == "__main__":
    main()
