"""verify finds every byte that is not as it was written, and says whose it is."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support import stores

from augrecipes.errors import StoreError
from augrecipes.store import open_store, verify
from augrecipes.store.verify import Fault


def flipped(path: Path, step: int, found: Callable[[Path, int, list[Fault]], None]) -> None:
    """The law, for every `step`-th byte of every file: something is found."""
    rng = random.Random(step)
    for file in sorted(path.iterdir()):
        file.chmod(0o644)
        with file.open("r+b", buffering=0) as handle:
            data = handle.read()
            for at in range(rng.randrange(min(step, len(data) or 1)), len(data), step):
                handle.seek(at)
                handle.write(bytes([data[at] ^ (1 << rng.randrange(8))]))
                faults = verify.verify_store(path)
                assert faults, f"{file.name} at {at}"
                found(file, at, faults)
                handle.seek(at)
                handle.write(data[at : at + 1])


@pytest.mark.parametrize("many", [200, pytest.param(15_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("format", stores.FORMS)
def test_every_flipped_byte_is_found(format: str, many: int) -> None:
    with stores.quick_folder() as folder:
        store = stores.write(folder / "s", format)
        items = {target: store.tables[target] for target in store.targets}

        def named(file: Path, at: int, faults: list[Fault]) -> None:
            assert faults[0].path == str(file)
            for target, table in items.items():
                in_file = np.array([table.file_of(item) == str(file) for item in range(len(table))])
                inside = in_file & (table.start <= at) & (at < table.start + table.size)
                if inside.any():
                    (fault,) = faults
                    item = int(inside.argmax())
                    row = next(row for row in range(store.rows) if item in store.items(target, row))
                    assert (fault.target, fault.item, fault.row) == (target, item, row)
                    assert fault.source == stores.SOURCES[row]

        sizes = sum(file.stat().st_size for file in Path(store.path).iterdir())
        flipped(store.path, max(1, sizes // many) | 1, named)
        assert verify.verify_store(store.path) == []


def test_bytes_between_items_that_are_not_read_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "_faults", lambda *_: ())
    with stores.quick_folder() as folder:
        path = stores.write(folder / "s", "raw").path
        with pytest.raises(AssertionError, match=r"(image|mask)-00000\.bin at"):
            flipped(path, 5, lambda file, at, faults: None)


def test_all_that_is_wrong_is_listed(tmp_path: Path) -> None:
    store = stores.write(tmp_path / "s", "raw")
    path = Path(store.path) / "image-00000.bin"
    path.chmod(0o644)
    data = bytearray(path.read_bytes())
    for item in (0, 2, 4):
        data[store.tables["image"].start[item]] ^= 255
    path.write_bytes(data)
    told: list[tuple[int, int]] = []
    faults = verify.verify_store(store.path, lambda done, total: told.append((done, total)))
    assert [(fault.row, fault.item) for fault in faults] == [(0, 0), (2, 2), (2, 4)]
    sizes = [(Path(store.path) / name).stat().st_size for name in ("image-00000.bin", "mask-00000.bin")]
    assert told[-1][0] == told[-1][1] == sum(sizes)


def test_sources_by_target_and_by_item(tmp_path: Path) -> None:
    from augrecipes.store import StoreWriter

    rows = stores.rows()
    with StoreWriter(tmp_path / "s", format="raw", kind="bag", targets=stores.TARGETS, rows=len(rows)) as writer:
        for row, items in enumerate(rows):
            writer.add(row, items)
        writer.finish({"source/image": [f"tile {item}" for item in range(6)], "source/mask": list("abcde")})
    store = open_store(tmp_path / "s")
    for target, item, source in (("image", 3, "tile 3"), ("mask", 2, "e")):
        path = Path(store.path) / f"{target}-00000.bin"
        path.chmod(0o644)
        data = bytearray(path.read_bytes())
        data[store.tables[target].start[item] + 1] ^= 1
        path.write_bytes(data)
        assert source in [fault.source for fault in verify.verify_store(store.path)]


def test_a_damaged_jpeg_is_never_decoded(tmp_path: Path) -> None:
    store = stores.write(tmp_path / "s", "jpeg")
    path = Path(store.path) / "image-00000.jpgs"
    path.chmod(0o644)
    data = bytearray(path.read_bytes())
    data[store.tables["image"].start[2] + 300] ^= 1
    path.write_bytes(data)
    with pytest.raises(StoreError, match=r"item 2 \(row 2\) is damaged") as caught:
        store.array("image", 2)
    assert caught.value.path == str(path)
    store.array("image", 1)
