"""One rank and two: how many samples a second they deliver together, each on a core of its own.

python benchmarks/ranks.py            prints
python benchmarks/ranks.py --write    prints, and writes the section `ranks` of benchmarks/RESULTS.md
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import cv2
import torch.distributed
from loading import write_pictures
from options import Part, parser, run
from results import Row, times

import augrecipes as ar

_PICTURES, _BATCH_SIZE = 400, 32
_METHOD = """\
Processes with gloo, one a core, each of which makes its loader with nothing said of ranks, and reads its share of the
same epoch in its own thread. They begin together, and the slowest says how long it took, after an epoch to warm up.
One rank and two take turns; the ratio is the median over the turns. JPEG: 500×375 px,
`imagenet-train`, batches of 32."""


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--rank", nargs=2, metavar=("FOLDER", "SAMPLES"), help=argparse.SUPPRESS)
    options = options.parse_args()
    if options.rank:
        _read(Path(options.rank[0]), int(options.rank[1]))
        return
    with tempfile.TemporaryDirectory() as name:
        parts: dict[str, Part] = {"jpeg": lambda: _side_by_side(Path(name), options.quick)}
        run(__file__, "Ranks", _METHOD, parts, options)


def _side_by_side(folder: Path, quick: bool) -> Iterator[Row]:
    write_pictures(folder / "jpeg", (375, 500), _PICTURES)
    samples = 640 if quick else 3200
    one, two = [], []
    for _ in range(2 if quick else 5):
        one.append(_rate(folder, 1, samples))
        two.append(_rate(folder, 2, samples))
    ratio = median(b / a for a, b in zip(one, two, strict=True))
    beside = f"one rank {median(one):,.0f} samples/s"
    yield Row("JPEG, two ranks", f"{median(two):,.0f} samples/s", beside, times(ratio, 1.9))


def _rate(folder: Path, ranks: int, samples: int) -> float:
    """Samples a second that so many ranks deliver together."""
    (folder / "meet").unlink(missing_ok=True)
    command = [sys.executable, __file__, "--rank", os.fspath(folder), str(samples)]
    running = [
        subprocess.Popen(
            command, env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(ranks)}, stdout=subprocess.PIPE, text=True
        )
        for rank in range(ranks)
    ]
    told = [one.communicate()[0] for one in running]
    if any(one.returncode for one in running):
        raise SystemExit("a rank failed")
    return samples / max(map(float, told))


def _read(folder: Path, samples: int) -> None:
    """Print how many seconds this rank took for its share of an epoch."""
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[rank % len(cores)]})
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    torch.distributed.init_process_group("gloo", f"file://{folder}/meet", rank=rank, world_size=ranks)
    ds = ar.ImageFolder(folder / "jpeg", "imagenet-train", cache=False)
    made = ar.loader(ds, _BATCH_SIZE, shuffle=True, samples_per_epoch=samples)
    for _ in made:
        pass
    torch.distributed.barrier()
    start = time.perf_counter()
    for _ in made:
        pass
    print(time.perf_counter() - start)
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
