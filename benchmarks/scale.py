"""A million files, and ten: what listing, shuffling and handing them to workers takes.

python benchmarks/scale.py            prints
python benchmarks/scale.py --write    prints, and writes the section `scale` of benchmarks/RESULTS.md
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from multiprocessing import active_children
from pathlib import Path
from statistics import median
from typing import Any

import cv2
import numpy as np
from harness import Row, child, memory, run

import augrecipes as ar
from augrecipes.data.dataset import RecipeDataset
from augrecipes.data.order import BatchSchedule
from augrecipes.sources.columns import Columns
from augrecipes.sources.paths import PathTable

_FEW = 2000
_COMMON = "/memfd:augrecipes"  # what the memory that all workers map is called
_RECIPE = "{version: 1, recipe: s, steps: [RandomCrop: {height: 24, width: 24}, HorizontalFlip], eval: []}"
_METHOD = """\
Class folders of a thousand small JPEGs each (hard links to one a folder). Every figure is measured in its own
process. Listed anew: with an empty cache, while the kernel's directory cache is warm. The memory of a worker is its
private memory after two batches; memory that all workers of a loader map exists once. Ten million: the table of the
million files, repeated ten times; its order, its pickle for a worker and its workers are real, but there are not ten
million files."""


def _count(options: Any) -> int:
    return 20_000 if options.quick else 1_000_000


def _files(options: Any) -> Iterator[Row]:
    count, folder = _count(options), _written(options.folder, _count(options))
    for what in ("listed anew", "listed again, from the cache"):
        wall, busy, most, kept = child(__file__, "list", folder, AUGRECIPES_CACHE=str(options.folder / "cache"))
        peer = f"{busy:.2f} s of CPU time; {most:.0f} MB at most, {kept:.0f} MB stay"
        yield Row(f"{count:,} files, {what}", f"{wall:.2f} s", peer, "")


def _orders(options: Any) -> Iterator[Row]:
    for n in (_count(options), 10 * _count(options)):
        took = []
        for epoch in range(3):
            begun = time.perf_counter()
            order = BatchSchedule(n, shuffle=True).whole(epoch)
            took.append(time.perf_counter() - begun)
        yield Row(f"a new order of {n:,}", f"{median(took):.2f} s", f"{order.nbytes / 1e6:.0f} MB", "")


def _workers(options: Any) -> Iterator[Row]:
    count, few = _count(options), _written(options.folder, _FEW)
    folder = _written(options.folder, count)
    for method in ("fork", "spawn", "forkserver"):
        least, begun, _ = child(__file__, "work", few, 1, method)
        for repeats in (1, 10):
            own, started, common = child(__file__, "work", folder, repeats, method)
            peer = f"{own:.0f} MB a worker, {common:.0f} MB once; with {_FEW:,}: {begun:.1f} s, {least:.0f} MB"
            ours = f"first batch {started:.1f} s"
            yield Row(f"{repeats * count:,} files, {method}", ours, peer, f"{own - least:+.0f} MB")


def _listed(folder: str) -> tuple[float, ...]:
    """Seconds, CPU seconds, MB more at most, and MB that stay."""
    recipe = Path(folder).parent / "s.yaml"
    ar.ImageFolder(_written(Path(folder).parent, _FEW), recipe)  # what is imported and compiled but once
    before, wall, busy = memory("VmRSS"), time.perf_counter(), time.process_time()
    ds = ar.ImageFolder(folder, recipe)
    wall, busy = time.perf_counter() - wall, time.process_time() - busy
    return wall, busy, memory("VmHWM") - before, memory("VmRSS") - before if len(ds) else 0.0


def _worked(folder: str, repeats: str, method: str) -> tuple[float, ...]:
    """MB that are a worker's own, seconds until the first batch was there, and MB that all workers map."""
    ds: RecipeDataset = ar.ImageFolder(folder, Path(folder).parent / "s.yaml")
    if int(repeats) > 1:
        images, labels = ds.table.images, ds.table.labels
        files = {"image": PathTable.concat([images] * int(repeats))}
        ds = RecipeDataset(Columns(files=files, labels=np.tile(labels, int(repeats))), Path(folder).parent / "s.yaml")
    begun, own, common = time.perf_counter(), 0.0, 0.0
    how: dict[str, Any] = {"backend": "processes", "num_workers": 1, "multiprocessing_context": method, "shuffle": True}
    for number, _ in enumerate(ar.loader(ds, 50, samples_per_epoch=600, **how)):
        if number == 0:
            begun = time.perf_counter() - begun
        if number == 1:
            own, common = max(_private(one.pid or 0) for one in active_children())
    return own, begun, common


def _private(process: int) -> tuple[float, float]:
    """MB that are a process's own, and MB that it maps of what all workers map.

    Of the latter the kernel calls private what one worker alone has touched so far.
    """
    own = common = 0
    shared = False
    for line in Path(f"/proc/{process}/smaps").read_text(encoding="utf-8").splitlines():
        name, *rest = line.split()
        if not name.endswith(":"):
            shared = _COMMON in line
        elif name == "Size:" and shared:
            common += int(rest[0])
        elif name.startswith("Private_") and not shared:
            own += int(rest[0])
    return own * 1024 / 1e6, common * 1024 / 1e6


def _written(parent: Path, count: int) -> Path:
    """A folder with so many images, in class folders of a thousand, and a recipe next to it."""
    folder = parent / str(count)
    if folder.exists():
        return folder
    (parent / "s.yaml").write_text(_RECIPE, encoding="utf-8")
    data = cv2.imencode(".jpg", np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8))[1].tobytes()
    for number in range(count // 1000):
        place = folder / f"class-{number:05}"
        place.mkdir(parents=True)
        (place / "00000.jpg").write_bytes(data)
        for k in range(1, 1000):
            os.link(place / "00000.jpg", place / f"{k:05}.jpg")
    return folder


if __name__ == "__main__":
    parts = {"files": _files, "orders": _orders, "workers": _workers}
    run(__file__, __doc__, "A million files", _METHOD, parts, children={"list": _listed, "work": _worked})
