"""A million files, and ten: what listing, shuffling and handing them to workers takes.

python benchmarks/scale.py            prints
python benchmarks/scale.py --write    prints, and writes the section `scale` of benchmarks/RESULTS.md
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing import active_children
from pathlib import Path
from statistics import median

import cv2
import numpy as np
from options import Part, parser, run
from results import Row

import augrecipes as ar
from augrecipes.data.dataset import RecipeDataset
from augrecipes.data.order import epoch_order
from augrecipes.sources.columns import Columns
from augrecipes.sources.paths import PathTable

_A_FOLDER = 1000
_FEW = 2 * _A_FOLDER
_COMMON = "/memfd:augrecipes"  # what the memory that all workers map is called
_RECIPE = "{version: 1, recipe: s, steps: [RandomCrop: {height: 24, width: 24}, HorizontalFlip], eval: []}"
_METHOD = """\
Class folders of a thousand small JPEGs each (hard links to one a folder). Every figure is of a process of its own.
Listed anew: with an empty cache, the kernel's own memory of the folders warm. Memory of a worker is what is private to
it after it has read two batches; what all workers of a loader map is there once. Ten million: the table of the million,
ten times over, as ten listings would make it; its order, its pickle for a worker and its workers are real, the files
behind it are not ten million."""


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--child", nargs=4, metavar=("WHAT", "FOLDER", "TIMES", "METHOD"), help=argparse.SUPPRESS)
    options = options.parse_args()
    if options.child:
        what, folder, repeats, method = options.child
        print(*(_listed(Path(folder)) if what == "list" else _worked(Path(folder), int(repeats), method)))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        count = 20_000 if options.quick else 1_000_000
        parts: dict[str, Part] = {
            "files": lambda: _files(_written(folder, count), count),
            "orders": lambda: _orders(count),
            "workers": lambda: _workers(_written(folder, count), count),
        }
        run(__file__, "A million files", _METHOD, parts, options)


def _files(folder: Path, count: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as cache:
        first, again = (_child("list", folder, cache=Path(cache)) for _ in range(2))
    for what, (wall, processor, most, kept) in (("listed anew", first), ("listed again, from the cache", again)):
        memory = f"{most:.0f} MB at most, {kept:.0f} MB stay"
        yield Row(f"{count:,} files, {what}", f"{wall:.2f} s", f"{processor:.2f} s of a processor; {memory}", "")


def _orders(count: int) -> Iterator[Row]:
    for n in (count, 10 * count):
        took = []
        for epoch in range(3):
            begun = time.perf_counter()
            order = epoch_order(n, epoch, shuffle=True)
            took.append(time.perf_counter() - begun)
        yield Row(f"a new order of {n:,}", f"{median(took):.2f} s", f"{order.nbytes / 1e6:.0f} MB", "")


def _workers(folder: Path, count: int) -> Iterator[Row]:
    few = _written(folder.parent, _FEW)
    for method in ("fork", "spawn", "forkserver"):
        least, begun, _ = _child("work", few, method=method)
        for repeats in (1, 10):
            memory, started, common = _child("work", folder, repeats, method)
            beside = f"{memory:.0f} MB a worker, {common:.0f} MB once; with {_FEW:,}: {begun:.1f} s, {least:.0f} MB"
            yield Row(
                f"{repeats * count:,} files, {method}",
                f"first batch {started:.1f} s",
                beside,
                f"{memory - least:+.0f} MB",
            )


def _child(
    what: str, folder: Path, repeats: int = 1, method: str = "-", cache: Path | None = None
) -> tuple[float, ...]:
    command = [sys.executable, __file__, "--child", what, os.fspath(folder), str(repeats), method]
    env = os.environ | ({} if cache is None else {"AUGRECIPES_CACHE": os.fspath(cache)})
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
    return tuple(map(float, done.stdout.split()))


def _listed(folder: Path) -> tuple[float, float, float, float]:
    """Seconds, seconds of a processor, MB more at most, and MB that stay."""
    recipe = folder.parent / "s.yaml"
    ar.ImageFolder(_written(folder.parent, _FEW), recipe)  # what is imported and compiled but once
    before, wall, processor = _resident(), time.perf_counter(), time.process_time()
    ds = ar.ImageFolder(folder, recipe)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    return wall, processor, most - before, _resident() - before if len(ds) else 0.0


def _worked(folder: Path, repeats: int, method: str) -> tuple[float, float, float]:
    """MB that are a worker's own, seconds until the first batch was there, and MB that all workers map."""
    ds: RecipeDataset = ar.ImageFolder(folder, folder.parent / "s.yaml")
    if repeats > 1:
        images, labels = ds.table.images, ds.table.labels
        more = Columns(files={"image": PathTable.concat([images] * repeats)}, labels=np.tile(labels, repeats))
        ds = RecipeDataset(more, folder.parent / "s.yaml")
    begun, own, common = time.perf_counter(), 0.0, 0.0
    options = {"backend": "processes", "num_workers": 1, "multiprocessing_context": method, "shuffle": True}
    for number, _ in enumerate(ar.loader(ds, 50, samples_per_epoch=600, **options)):
        if number == 0:
            begun = time.perf_counter() - begun
        if number == 1:
            own, common = max(_memory(child.pid or 0) for child in active_children())
    return own, begun, common


def _resident() -> float:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize() / 1e6


def _memory(process: int) -> tuple[float, float]:
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
    """A folder with so many pictures, in class folders, and a recipe beside it."""
    folder = parent / str(count)
    if folder.exists():
        return folder
    (parent / "s.yaml").write_text(_RECIPE, encoding="utf-8")
    picture = np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8)
    data = cv2.imencode(".jpg", picture)[1].tobytes()
    for number in range(count // _A_FOLDER):
        place = folder / f"class-{number:05}"
        place.mkdir(parents=True)
        first = place / "00000.jpg"
        first.write_bytes(data)
        for k in range(1, _A_FOLDER):
            os.link(first, place / f"{k:05}.jpg")
    return folder


if __name__ == "__main__":
    main()
