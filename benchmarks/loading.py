"""The loader's backends side by side: samples a second, how evenly batches come, and what workers keep in memory.

python benchmarks/loading.py            prints
python benchmarks/loading.py --write    prints, and writes the section `loading` of benchmarks/RESULTS.md
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from multiprocessing import active_children
from pathlib import Path
from statistics import median
from typing import Any

import cv2
import numpy as np
import torch
from options import Part, parser, run
from results import Row, met, times
from torch.utils.data import DataLoader

import augrecipes as ar
from augrecipes.data.collate import Collate

_WORKERS = 2
_PICTURES = 400
_METHOD = """\
Every backend reads the same samples in the same batches; passes of the backends take turns, and figures are medians
over the turns. Gaps: how long the consumer waits for a batch, p50 / p95 / p99 over all turns, without the first three
batches of a pass; the consumer sleeps between batches, always for the time that two threads need for a batch. torch:
its own DataLoader with two workers over the same dataset, with the loader's collate. JPEG: 500×375 px,
`imagenet-train`, batches of 32. Light: 128² px in memory, gathered as uint8, batches of 256. Memory: 100,000 samples of
24² px from JPEG files through two forked workers, resident memory at the end less that after 10,000 samples; and
private memory of a worker with 1,000,000 files less that with 1,000."""

Passes = dict[str, Callable[[], Iterable[Any]]]


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--soak", nargs=3, metavar=("FILE", "COUNT", "SAMPLES"), help=argparse.SUPPRESS)
    options = options.parse_args()
    if options.soak:
        print(*_soak(Path(options.soak[0]), int(options.soak[1]), int(options.soak[2])))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts: dict[str, Part] = {
            "jpeg": lambda: _jpeg(folder, options.quick),
            "light": lambda: _light(folder, options.quick),
            "memory": lambda: _memory(folder, options.quick),
        }
        run(__file__, "Loading", _METHOD, parts, options)


def _jpeg(folder: Path, quick: bool) -> Iterator[Row]:
    ds = ar.ImageFolder(write_pictures(folder / "jpeg", (375, 500), _PICTURES), "imagenet-train", cache=False)
    yield from _side_by_side("JPEG", ds, 32, 640 if quick else 1920, 2 if quick else 5, goal=1.7)


def _light(folder: Path, quick: bool) -> Iterator[Row]:
    ds = InMemory(write_pictures(folder / "light", (128, 128), _PICTURES), "folder-128", cache=False)
    yield from _side_by_side("light", ds, 256, 25_600 if quick else 102_400, 2 if quick else 5)


class InMemory(ar.ImageFolder):
    """Pictures in memory, gathered into batches: what reading a packed store comes down to."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        read = [cv2.imread(self.path(i)) for i in range(len(self))]
        self._pictures = np.ascontiguousarray(np.stack(read).transpose(0, 3, 1, 2))

    def _batch(self, rows: np.ndarray, epoch: int, virtual: np.ndarray, take: Any) -> dict[str, Any]:
        image = take("image", self._pictures.shape[1:], self._pictures.dtype)
        np.take(self._pictures, rows, axis=0, out=image)
        return {"image": image}


def _side_by_side(
    name: str, ds: Any, batch_size: int, samples: int, turns: int, goal: float | None = None
) -> Iterator[Row]:
    size = {"batch_size": batch_size, "samples_per_epoch": samples}
    made: Passes = {
        "batches": partial(ar.loader, ds, **size, num_workers=0),
        "threads:1": partial(ar.loader, ds, **size, backend="threads", num_workers=1),
        "threads:2": partial(ar.loader, ds, **size, backend="threads", num_workers=_WORKERS),
        "processes:2": partial(ar.loader, ds, **size, num_workers=_WORKERS, multiprocessing_context="fork"),
        "torch": partial(_of_torch, ds, batch_size, samples),
    }
    whole = {which: [_rate(make(), 0.0) for make in made.values()] for which in range(turns)}
    rates = {which: [whole[turn][k][0] for turn in whole] for k, which in enumerate(made)}
    step = batch_size / median(rates["threads:2"])
    gaps: dict[str, list[float]] = {which: [] for which in made}
    for _ in range(turns):
        for which, make in made.items():
            gaps[which] += _rate(make(), step)[1]
    for which in made:
        middle = median(rates[which])
        p50, p95, p99 = np.percentile(gaps[which], (50, 95, 99)) * 1e3
        beside = f"gaps {p50:.1f} / {p95:.1f} / {p99:.1f} ms, step {step * 1e3:.1f} ms"
        yield Row(
            f"{name}, {which}", f"{middle:,.0f} samples/s", beside, f"×{middle / median(rates['torch']):.2f} of torch"
        )
    ratio = median(two / one for two, one in zip(rates["threads:2"], rates["threads:1"], strict=True))
    yield Row(f"{name}, two threads", "", "one thread", times(ratio, goal))


def _of_torch(ds: Any, batch_size: int, samples: int) -> Iterable[Any]:
    longer = torch.utils.data.Subset(ds, np.arange(samples) % len(ds))
    return DataLoader(longer, batch_size, num_workers=_WORKERS, multiprocessing_context="fork", collate_fn=Collate())


def _rate(passing: Iterable[Any], step: float) -> tuple[float, list[float]]:
    """Samples a second after the first batch, and how long each batch was waited for."""
    gaps, count, batches = [], 0, iter(passing)
    next(batches)
    start = asked = time.perf_counter()
    for batch in batches:
        gaps.append(time.perf_counter() - asked)
        count += len(batch["index"])
        if step:
            time.sleep(step)
        asked = time.perf_counter()
    return count / (time.perf_counter() - start), gaps[2:]


def _memory(folder: Path, quick: bool) -> Iterator[Row]:
    if not sys.platform.startswith("linux"):
        return
    real = write_pictures(folder / "soak", (32, 40), 1000)
    names = []
    for k in range(1000):
        (folder / f"part-{k:03}").symlink_to(real)
        names += [f"part-{k:03}/{i}.jpg" for i in range(1000)]
    private, growth = {}, 0.0
    for count, samples in ((1000, 20_000 if quick else 100_000), (1_000_000, 20_000)):
        csv = folder / f"{count}.csv"
        csv.write_text("image\n" + "\n".join(names[:count]) + "\n", encoding="utf-8")
        command = [sys.executable, __file__, "--soak", os.fspath(csv), str(count), str(samples)]
        done = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        private[count] = float(done[1])
        growth = max(growth, float(done[0]))
    yield Row("growth of a worker, 100,000 samples", f"{growth:.1f} MB", "goal ≤ 20 MB", met(growth <= 20))
    more = private[1_000_000] - private[1000]
    yield Row("a worker's share of 1,000,000 paths", f"{more:.1f} MB", "goal ≤ 5 MB", met(more <= 5))


def _soak(csv: Path, count: int, samples: int) -> tuple[float, float]:
    """MB by which a worker grew after a tenth of the samples, and MB that are private to it."""
    text = "{version: 1, recipe: s, steps: [RandomCrop: {height: 24, width: 24}, HorizontalFlip], eval: []}"
    recipe = csv.with_suffix(".yaml")
    recipe.write_text(text, encoding="utf-8")
    ds = ar.ImageFolder(files=csv, recipe=recipe, outside=True)
    options: dict[str, Any] = {"num_workers": _WORKERS, "multiprocessing_context": "fork", "shuffle": True}
    before: dict[int, float] = {}
    growth = private = 0.0
    for k, _ in enumerate(ar.loader(ds, 50, samples_per_epoch=samples, **options)):
        if k == samples // 500:
            before = _megabytes("status", "VmRSS")
        if k == samples // 50 - 20:
            growth = max(now - before[pid] for pid, now in _megabytes("status", "VmRSS").items())
            private = max(_megabytes("smaps_rollup", "Private_").values())
    return growth, private


def _megabytes(file: str, which: str) -> dict[int, float]:
    """Lines of a file in /proc that begin with `which`, summed, by worker."""
    found = {}
    for child in active_children():
        lines = Path(f"/proc/{child.pid}/{file}").read_text(encoding="ascii").splitlines()
        found[child.pid or 0] = sum(int(line.split()[1]) for line in lines if line.startswith(which)) * 1024 / 1e6
    return found


def write_pictures(folder: Path, size: tuple[int, int], count: int) -> Path:
    """Pictures with as much in them as photographs have."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    for k in range(count):
        coarse = rng.integers(0, 256, (max(2, size[0] // 16), max(2, size[1] // 16), 3), np.uint8)
        smooth = cv2.resize(coarse, size[::-1], interpolation=cv2.INTER_CUBIC)
        noisy = cv2.add(smooth, rng.integers(0, 25, (*size, 3), np.uint8))
        cv2.imwrite(os.fspath(folder / f"{k}.jpg"), noisy, [cv2.IMWRITE_JPEG_QUALITY, 90])
    return folder


if __name__ == "__main__":
    main()
