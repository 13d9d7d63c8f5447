"""What a packed store costs: single reads at random, writing, opening a million items, verifying.

python benchmarks/stores.py            prints
python benchmarks/stores.py --write    prints, and writes the section `stores` of benchmarks/RESULTS.md
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

import h5py
import numpy as np
from measure import Pair, alone, in_turns
from options import Part, parser, run
from results import Row, met, times

from augrecipes.data.loader import loader
from augrecipes.data.packed import Packed
from augrecipes.packing.run import pack
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import parse_text
from augrecipes.store import StoreWriter, Verify, open_store
from augrecipes.store.verify import verify_store

_SHAPE = (128, 128, 3)
_COUNT = 20_000
_ITEMS = 1_000_000
_EPOCHS = {
    "a crop and a flip": "[RandomCrop: {height: 112, width: 112}, HorizontalFlip]",
    "colours too": "[RandomCrop: {height: 112, width: 112}, HorizontalFlip, ColorJitter: {p: 1.0}]",
    "and a rotation": "[Rotate: {p: 1.0}, RandomCrop: {height: 112, width: 112}, ColorJitter: {p: 1.0}]",
}
_METHOD = f"""\
{_COUNT:,} pictures of {_SHAPE[0]}×{_SHAPE[1]}×{_SHAPE[2]} uint8 (983 MB), warm cache, one thread. A read is one picture
at random, copied into the caller's memory. Each format takes turns with its peer in the same process (A B A B); medians
± median distance, and a ratio is the median over the turns. Writing ends when the disk has everything. The million
items are tiny, with a label and a file name each; memory is what a process has beside the mapped files."""


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--open", metavar="STORE", help=argparse.SUPPRESS)
    options = options.parse_args()
    if options.open:
        print(*_opened(options.open))
        return
    count, items, turns = (2_000, 20_000, 3) if options.quick else (_COUNT, _ITEMS, 9)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts: dict[str, Part] = {
            "reading": lambda: _reading(folder, count, turns),
            "writing": lambda: _writing(folder, count, turns),
            "opening": lambda: _many(folder, items),
            "checking": lambda: _checking(folder, count // 5, turns),
        }
        run(__file__, "Packed stores", _METHOD, parts, options)


def _reading(folder: Path, count: int, turns: int) -> Iterator[Row]:
    pictures = _pictures(64)
    np.save(folder / "all.npy", np.concatenate([pictures] * (count // 64 + 1))[:count])
    mapped = np.load(folder / "all.npy", mmap_mode="r")
    order = np.random.default_rng(1).permutation(count).tolist()
    out = np.empty(_SHAPE, np.uint8)

    def all_of(read: Callable[[int], np.ndarray]) -> Callable[[], None]:
        def work() -> None:
            for item in order:
                np.copyto(out, read(item))

        return work

    for format in ("raw", "hdf5"):
        _write(folder / format, format, pictures, count)
    raw, hdf5 = (open_store(folder / format) for format in ("raw", "hdf5"))
    pair = in_turns(all_of(lambda item: raw.array("image", item)), all_of(lambda item: mapped[item]), turns)
    yield _rate("raw, single reads", pair, "memory-mapped .npy", count)
    with h5py.File(folder / "hdf5" / "image-00000.h5") as file:
        data = file["data"]
        pair = in_turns(all_of(lambda item: hdf5.array("image", item)), all_of(lambda item: data[item]), turns)
        yield _rate("hdf5, single reads", pair, "the same file by h5py", count)
    size = (folder / "raw" / "image-00000.bin").stat().st_size
    seconds = alone(lambda: verify_store(folder / "raw"), 1).median
    yield Row("verify", f"{size / seconds / 1e6:,.0f} MB/s", "", "")
    for name in ("raw", "hdf5"):
        shutil.rmtree(folder / name)
    (folder / "all.npy").unlink()


def _writing(folder: Path, count: int, turns: int) -> Iterator[Row]:
    pictures = _pictures(64)

    def ours() -> None:
        _write(folder / "s", "raw", pictures, count)
        shutil.rmtree(folder / "s")

    def plain() -> None:
        with (folder / "plain").open("wb", buffering=0) as file:
            for item in range(count):
                file.write(pictures[item % 64].data)
            os.fsync(file.fileno())
        (folder / "plain").unlink()

    yield _rate("raw, writing", in_turns(ours, plain, min(turns, 3)), "a plain file, synced once", count)


def _checking(folder: Path, count: int, turns: int) -> Iterator[Row]:
    """What it adds to the first epoch that each picture is compared with its checksum when it is first read."""
    pictures = _pictures(64)
    source = [{"image": pictures[item % 64]} for item in range(count)]
    pack(_recipe("[]"), source, folder / "checked")
    for name, steps in _EPOCHS.items():

        def epoch(verify: Verify | None, steps: str = steps) -> None:
            for _ in loader(Packed(folder / "checked", _recipe(steps), verify=verify), 64, shuffle=True):
                pass

        pair = in_turns(lambda: epoch("first"), lambda: epoch(None), turns)
        extra = pair.extra.median / pair.peer.median
        yield Row(f"checked at the first read: {name}", f"{extra:+.1%} of an epoch", "goal ≤ 2 %", met(extra <= 0.02))


def _recipe(steps: str) -> Recipe:
    return parse_text(f"{{version: 1, recipe: checked, steps: {steps}, eval: []}}")


def _many(folder: Path, items: int) -> Iterator[Row]:
    tiny, rows = np.zeros((1, 2, 3), np.uint8), items // 1000
    with StoreWriter(folder / "many", format="raw", kind="bag", targets={"image": "image"}, rows=rows) as writer:
        for row in range(rows):
            writer.add(row, {"image": [tiny] * 1000})
        names = [f"class/{item:07}.jpg" for item in range(items)]
        writer.finish({"label": np.arange(items), "source": names})
    command = [sys.executable, __file__, "--open", str(folder / "many")]
    seconds, mebibytes = map(float, subprocess.run(command, check=True, capture_output=True).stdout.split())
    yield Row(f"opening {items:,} items", f"{seconds:.2f} s", "goal < 1 s", met(seconds < 1))
    yield Row("memory of its own for it", f"{mebibytes:.1f} MiB", "goal ≤ 5 MB", met(mebibytes < 4.8))


def _opened(path: str) -> tuple[float, float]:
    """Seconds that opening takes, and MiB of memory that is not of mapped files."""
    before, start = _anonymous(), perf_counter()
    store = open_store(path)
    seconds = perf_counter() - start
    for item in range(0, store.count("image"), 7):
        store.array("image", item)
    return seconds, _anonymous() - before


def _anonymous() -> float:
    text = Path("/proc/self/smaps_rollup").read_text(encoding="ascii")
    return int(re.search(r"Anonymous:\s+(\d+)", text)[1]) / 1024


def _pictures(count: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (count, *_SHAPE), np.uint8)


def _write(path: Path, format: str, pictures: np.ndarray, count: int) -> None:
    with StoreWriter(path, format=format, kind="image", targets={"image": "image"}, rows=count) as writer:
        for row in range(count):
            writer.add(row, {"image": [pictures[row % len(pictures)]]})
        writer.finish()


def _rate(what: str, pair: Pair, beside: str, count: int) -> Row:
    ours, peer = (f"{count / timing.median:,.0f}/s" for timing in (pair.ours, pair.peer))
    return Row(what, ours, f"{beside} {peer}", times(pair.ratio))


if __name__ == "__main__":
    main()
