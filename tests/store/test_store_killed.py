"""Whatever ends a writer: there is no store or a whole one, and the next run goes on to the same bytes."""

import os
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import Programs
from support import stores
from support.killing import killed

from augrecipes import paths
from augrecipes.errors import StoreError
from augrecipes.store import disk, staging, verify
from augrecipes.store.verify import Fault

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forks")


@needs_fork
@pytest.mark.parametrize(
    ("format", "step", "seeds"),
    [("raw-300", 12, 1), *(pytest.param(form, 1, 3, marks=pytest.mark.soak) for form in stores.FORMS)],
)
def test_killed_at_any_call(programs: Programs, format: str, step: int, seeds: int) -> None:
    for seed in range(seeds):
        found = killed(programs, format, str(step), str(seed))
        assert found["wrong"] == []
        assert found["points"] == found["none"] + found["whole"] >= 50 // step
        assert step > 1 or min(found["none"], found["whole"]) > 0


@needs_fork
def test_a_rename_before_the_index_is_caught(programs: Programs) -> None:
    found = killed(programs, "raw", "9", "1", "early")
    assert any("cannot be opened" in wrong for wrong in found["wrong"])


class Power:
    """Knows what a power failure would lose: what was written since a file's last sync, names since a folder's."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lost: set[int] = set()
        self.at_rename: set[int] | None = None
        write_all, fsync, mkstemp = disk.write_all, os.fsync, tempfile.mkstemp

        def write(file: Any, data: Any, path: Path) -> None:
            write_all(file, data, path)
            self.lost |= {path.stat().st_ino, path.parent.stat().st_ino}

        def staged(*given: Any) -> tuple[int, str]:
            handle, name = mkstemp(*given)
            self.lost |= {os.fstat(handle).st_ino, Path(name).parent.stat().st_ino}
            return handle, name

        def sync(handle: int) -> None:
            fsync(handle)
            self.lost.discard(os.fstat(handle).st_ino)

        rename = Path.rename

        def renamed(path: Path, target: Path) -> Path:
            self.at_rename = self.lost & {path.stat().st_ino, *(entry.stat().st_ino for entry in path.iterdir())}
            done = rename(path, target)
            self.lost.add(target.parent.stat().st_ino)
            return done

        monkeypatch.setattr(staging, "write_all", write)
        monkeypatch.setattr(tempfile, "mkstemp", staged)
        monkeypatch.setattr(os, "fsync", sync)
        monkeypatch.setattr(Path, "rename", renamed)


@pytest.mark.skipif(os.name == "nt", reason="folders are not synced there")
@pytest.mark.parametrize("format", stores.FORMS)
def test_everything_outlives_a_power_failure_before_it_is_published(
    format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    power = Power(monkeypatch)
    stores.write(tmp_path / "s", format)
    assert power.at_rename == set()
    assert tmp_path.stat().st_ino not in power.lost


@pytest.mark.skipif(os.name == "nt", reason="folders are not synced there")
@pytest.mark.parametrize("part", ["file", "folder"])
def test_a_missing_sync_is_caught(part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    power = Power(monkeypatch)
    if part == "file":
        monkeypatch.setattr(staging, "sync", lambda file, path: None)
    else:
        for module in (paths, staging):
            monkeypatch.setattr(module, "sync_folder", lambda folder: None)
    stores.write(tmp_path / "s", "raw")
    assert power.at_rename != set()


def test_notes_that_were_changed_are_not_believed(tmp_path: Path) -> None:
    content = stores.rows()
    with stores.opened(tmp_path / "s", "raw-300", content) as begun:
        for row in range(3):
            begun.add(row, content[row], note=f"row {row}")
    table = tmp_path / ".s.partial" / "00001.npz"
    data = table.read_bytes()
    table.chmod(0o644)
    table.write_bytes(data.replace(b"row 1", b"row 7"))
    with stores.opened(tmp_path / "s", "raw-300", content) as begun:
        assert begun.notes == ["row 0"]


# verify finds every byte that is not as it was written, and says whose it is.


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
