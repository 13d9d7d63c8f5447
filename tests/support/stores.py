"""Small, reproducible stores with rows of every kind, and the content to read back."""

import hashlib
import os
import pickle
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.packing.parts import part_in_folder
from augrecipes.packing.ray import write_part
from augrecipes.store import Store, StoreWriter, make_item, open_store
from augrecipes.store.formats import FORMATS

TARGETS = {"image": "image", "mask": "mask"}
ABOUT = {"recipe": "a1b2", "classes": ["cat", "dög"], "scale": 0.5}
SOURCES = ["cats/1.jpg", "cats/é.jpg", "dogs/\udcff.jpg", "gone.jpg", "dogs/2.jpg"]
COLUMNS: dict[str, Any] = {"label": np.array([0, 0, 1, -1, 1]), "source": SOURCES, "xy": np.ones((5, 2), np.float32)}

FORMS = (*FORMATS, "raw-300", "jpeg-900")
"""The formats, and some of them with shards of at most so many bytes."""

IN_SHARDS = ("raw-300", "jpeg-900", "lossless-500")

Rows = Sequence[dict[str, list[NDArray[Any]]]]


def rows(seed: int = 0) -> Rows:
    """Draw five rows: plain, wide with a 16-bit mask, a bag, an unreadable one, and one with a 32-bit mask."""
    rng = np.random.default_rng(seed)

    def image(*shape: int) -> NDArray[Any]:
        return rng.integers(0, 256, shape, np.uint8)

    def mask(dtype: str, *shape: int) -> NDArray[Any]:
        return rng.integers(0, 200, shape).astype(dtype)

    return [
        {"image": [image(7, 5, 3)], "mask": [mask("u1", 7, 5)]},
        {"image": [image(1, 90, 3)], "mask": [mask("<u2", 1, 90)]},
        {"image": [image(4, 4, 3), image(4, 4, 3), image(9, 2, 1)], "mask": []},
        {"image": []},
        {"image": [image(20, 20, 3)], "mask": [mask("<i4", 20, 20)]},
    ]


def said(form: str) -> dict[str, Any]:
    """Return the arguments of a writer for a form."""
    format, _, most = form.partition("-")
    return {"format": format, "shard_bytes": int(most) if most else None}


def opened(path: Path, format: str, content: Rows, **more: Any) -> StoreWriter:
    """Open a writer for `content`."""
    arguments = {"kind": "image", "targets": TARGETS, "rows": len(content), "about": ABOUT, **more}
    return StoreWriter(path, **said(format), **arguments)


def write(path: Path, format: str, content: Rows | None = None, **more: Any) -> Store:
    """Write a store, resuming an interrupted writer, and open it."""
    content = rows() if content is None else content
    with opened(path, format, content, **more) as writer:
        for row in range(writer.done, len(content)):
            writer.add(row, content[row], note=f"row {row}")
        writer.finish(COLUMNS)
    return open_store(path)


def kept(array: NDArray[Any], format: str) -> NDArray[Any]:
    """Return the array that a store of `format` must return for `array`."""
    decode = FORMATS[format].decode
    if decode is None or array.ndim == 2:
        return array
    data = make_item(array, format=format, role="image").data
    return decode(memoryview(data), array.shape[2])  # type: ignore[arg-type]


def differences(store: Store, content: Rows | None = None) -> Iterator[str]:
    """Yield the differences of a store from its written content."""
    content = rows() if content is None else content
    if store.rows != len(content) or store.targets != TARGETS or store.about != ABOUT:
        yield "the index"
    for target in TARGETS:
        for row, items in enumerate(content):
            numbers, arrays = store.items(target, row), items.get(target, [])
            if len(numbers) != len(arrays):
                yield f"row {row} has {len(numbers)} of {len(arrays)} items of {target}"
            for number, array in zip(numbers, arrays, strict=False):
                expected, found = kept(array, store.format), store.array(target, number)
                if store.shape(target, number) != array.shape or found.dtype != array.dtype:
                    yield f"{target} {number} has another shape or dtype"
                elif not np.array_equal(found, expected):
                    yield f"{target} {number} has other pixels"
    if list(store.columns["source"]) != SOURCES or store.columns["label"].tolist() != COLUMNS["label"].tolist():
        yield "the columns"


@contextmanager
def quick_folder() -> Iterator[Path]:
    """Yield a temporary folder, in memory if possible, since most laws need not wait for a disk."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


def digest(folder: Path) -> str:
    """Hash the names and bytes of all files in a folder."""
    found = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        found.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def all_of(path: Any) -> Any:
    """Return the whole content of the store at `path`, without file positions, to compare stores by."""
    store = open_store(path)
    columns = {name: list(column) if len(column) else [] for name, column in store.columns.items()}
    items = [[store.array(name, k).tobytes() for k in range(store.count(name))] for name in store.targets]
    rows = [[list(store.items(name, row)) for row in range(store.rows)] for name in store.targets]
    return store.about, store.format, store.kind, str(columns), items, rows


def files_in(folder: Path) -> dict[str, bytes]:
    """Read all files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# -- a part of a pack that fails on its way; workers import this ------------------------------------------------------


def dies(sent: tuple[bytes, str, str], number: int, of: int) -> Any:
    """Write a part; the second part is killed at its first try, and fails at its second, after another part is done."""
    mark = Path(os.environ["AUGRECIPES_TEST_MARKS"], f"{number}")
    tries = len(mark.read_text()) if mark.exists() else 0
    mark.write_text("x" * (tries + 1))
    if number == 2 and tries == 0:
        os._exit(1)
    if number == 2 and tries == 1:
        while not any(part_in_folder(path.name) for path in pickle.loads(sent[0])[0].out.glob("*")):
            time.sleep(0.02)
        raise OSError("the disk is away")
    return write_part(sent, number, of)
