"""Whatever ends a writer: there is no store or a whole one, and the next run goes on to the same bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import stores

from augrecipes.store import disk, open_store, staging, writer

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forks")


def killed(format: str, step: int, seed: int, *planted: str) -> dict[str, Any]:
    """What `killing.py` says."""
    command = [sys.executable, "-m", "store.killing", format, str(step), str(seed), *planted]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@needs_fork
@pytest.mark.parametrize(
    ("format", "step", "seeds"),
    [
        ("raw-300", 8, 1),
        ("hdf5", 12, 1),
        *(pytest.param(form, 1, 3, marks=pytest.mark.soak) for form in stores.FORMS),
    ],
)
def test_killed_at_any_call(format: str, step: int, seeds: int) -> None:
    for seed in range(seeds):
        found = killed(format, step, seed)
        assert found["wrong"] == []
        assert found["points"] == found["none"] + found["whole"] >= 50 // step
        assert step > 1 or min(found["none"], found["whole"]) > 0


@needs_fork
def test_a_rename_before_the_index_is_caught() -> None:
    found = killed("raw", 9, 1, "early")
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
        for module in (disk, staging, writer):
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


def test_resuming_keeps_whole_shards(tmp_path: Path) -> None:
    content = stores.rows()
    with stores.opened(tmp_path / "s", "raw-300", content) as begun:
        for row in range(3):
            begun.add(row, content[row])
    with stores.opened(tmp_path / "s", "raw-300", content) as begun:
        assert begun.done == 2


def test_a_row_that_fails_leaves_nothing(tmp_path: Path) -> None:
    """A tile in the middle of a bag cannot be read: the caller may write the row as one without items."""
    content = stores.rows()

    def tiles() -> Iterator[Any]:
        yield from content[2]["image"]
        raise OSError("cannot be read")

    wanted = [*content[:2], {}, *content[3:]]
    stores.write(tmp_path / "wanted", "raw", wanted)
    with stores.opened(tmp_path / "s", "raw", content) as begun:
        for row in (0, 1):
            begun.add(row, content[row])
        with pytest.raises(OSError, match="cannot be read"):
            begun.add(2, {**content[2], "image": tiles()})
        begun.add(2, {}, note="cannot be read")
        for row in (3, 4):
            begun.add(row, content[row])
        assert begun.notes == ["", "", "cannot be read", "", ""]
        begun.finish(stores.COLUMNS)
    assert stores.digest(tmp_path / "s") == stores.digest(tmp_path / "wanted")
    assert open_store(tmp_path / "s").items("image", 2) == range(2, 2)
