"""What a packed dataset costs: single reads at random, writing, opening a million items, verifying.

python benchmarks/stores.py            prints
python benchmarks/stores.py --write    prints, and writes the section `stores` of benchmarks/RESULTS.md
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from harness import Row, alone, child, in_turns, memory, met, run

from augrecipes.data.loader import loader
from augrecipes.data.packed import Packed
from augrecipes.packing.run import pack
from augrecipes.recipe.parse import parse_text
from augrecipes.store import StoreWriter, Verify, open_store
from augrecipes.store.verify import verify_store

_SHAPE = (128, 128, 3)
_EPOCHS = {
    "a crop and a flip": "RandomCrop: {height: 112, width: 112}, HorizontalFlip",
    "colours too": "RandomCrop: {height: 112, width: 112}, HorizontalFlip, ColorJitter: {p: 1.0}",
    "and a rotation": "Rotate: {p: 1.0}, RandomCrop: {height: 112, width: 112}, ColorJitter: {p: 1.0}",
}
_METHOD = """\
20,000 images of 128×128×3 uint8 (983 MB), warm cache, one thread. A read is one image at random, copied into the
caller's memory. It takes turns with its peer in the same process; medians ± median distance, and a ratio is
the median over the turns. Writing ends when everything is on the disk. The million items are tiny, with a label and a
file name each; memory is that of a process without the mapped files."""
_IMAGES = np.random.default_rng(0).integers(0, 256, (64, *_SHAPE), np.uint8)


def _reading(options: Any) -> Iterator[Row]:
    folder, count, turns = options.folder, 2_000 if options.quick else 20_000, 3 if options.quick else 9
    np.save(folder / "all.npy", np.concatenate([_IMAGES] * (count // 64 + 1))[:count])
    mapped = np.load(folder / "all.npy", mmap_mode="r")
    order, out = np.random.default_rng(1).permutation(count).tolist(), np.empty(_SHAPE, np.uint8)

    def all_of(read: Callable[[int], np.ndarray]) -> Callable[[], None]:
        def work() -> None:
            for item in order:
                np.copyto(out, read(item))

        return work

    _write(folder / "raw", "raw", count)
    raw = open_store(folder / "raw")
    pair = in_turns(all_of(lambda item: raw.array("image", item)), all_of(mapped.__getitem__), turns)
    yield pair.rates("raw, single reads", "memory-mapped .npy", count)
    size = sum(path.stat().st_size for path in (folder / "raw").glob("*.bin"))
    seconds = alone(lambda: verify_store(folder / "raw"), 1).median
    yield Row("verify", f"{size / seconds / 1e6:,.0f} MB/s", "", "")


def _writing(options: Any) -> Iterator[Row]:
    folder, count = options.folder, 2_000 if options.quick else 20_000

    def ours() -> None:
        _write(folder / "s", "raw", count)
        shutil.rmtree(folder / "s")

    def plain() -> None:
        with (folder / "plain").open("wb", buffering=0) as file:
            for item in range(count):
                file.write(_IMAGES[item % 64].data)
            os.fsync(file.fileno())
        (folder / "plain").unlink()

    yield in_turns(ours, plain, 3).rates("raw, writing", "a plain file, synced once", count)


def _checking(options: Any) -> Iterator[Row]:
    """What it adds to the first epoch that each image is compared with its checksum when it is first read."""

    def recipe(steps: str) -> Any:
        return parse_text(f"{{version: 1, recipe: checked, steps: [{steps}], eval: []}}")

    count = 400 if options.quick else 4_000
    pack(recipe(""), [{"image": _IMAGES[item % 64]} for item in range(count)], options.folder / "checked")
    for name, steps in _EPOCHS.items():

        def epoch(verify: Verify | None, steps: str = steps) -> None:
            for _ in loader(Packed(options.folder / "checked", recipe(steps), verify=verify), 64, shuffle=True):
                pass

        pair = in_turns(lambda: epoch("first"), lambda: epoch(None), 3 if options.quick else 9)
        extra = pair.extra.median / pair.peer.median
        yield Row(f"checked at the first read: {name}", f"{extra:+.1%} of an epoch", "goal ≤ 2 %", met(extra <= 0.02))


def _many(options: Any) -> Iterator[Row]:
    rows = 20 if options.quick else 1000
    items, tiny = 1000 * rows, np.zeros((1, 2, 3), np.uint8)
    with StoreWriter(
        options.folder / "many", format="raw", kind="bag", targets={"image": "image"}, rows=rows
    ) as writer:
        for row in range(rows):
            writer.add(row, {"image": [tiny] * 1000})
        writer.finish({"label": np.arange(items), "source": [f"class/{item:07}.jpg" for item in range(items)]})
    seconds, own = child(__file__, "open", options.folder / "many")
    yield Row(f"opening {items:,} items", f"{seconds:.2f} s", "goal < 1 s", met(seconds < 1))
    yield Row("memory of its own for it", f"{own:.1f} MB", "goal ≤ 5 MB", met(own <= 5))


def _opened(path: str) -> tuple[float, float]:
    """Seconds that opening takes, and MB of memory that is not of mapped files."""
    before, start = memory("RssAnon"), perf_counter()
    store = open_store(path)
    seconds = perf_counter() - start
    for item in range(0, store.count("image"), 7):
        store.array("image", item)
    return seconds, memory("RssAnon") - before


def _write(path: Path, format: str, count: int) -> None:
    with StoreWriter(path, format=format, kind="image", targets={"image": "image"}, rows=count) as writer:
        for row in range(count):
            writer.add(row, {"image": [_IMAGES[row % 64]]})
        writer.finish()


if __name__ == "__main__":
    parts = {"reading": _reading, "writing": _writing, "opening": _many, "checking": _checking}
    run(__file__, __doc__, "Packed datasets", _METHOD, parts, children={"open": _opened})
