"""What a writer refuses: a place that is taken, a second writer, another plan, a full disk."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import stores

from augrecipes.errors import StoreError

ROWS = stores.rows()


@pytest.mark.parametrize("what", ["store", "folder", "file", "link"])
def test_the_place_is_taken(what: str, tmp_path: Path) -> None:
    path = tmp_path / "s"
    match what:
        case "store":
            stores.write(path, "raw")
        case "folder":
            path.mkdir()
        case "file":
            path.touch()
        case _:
            path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(StoreError, match="never modified; remove it first") as caught:
        stores.opened(path, "raw", ROWS)
    assert caught.value.path == str(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["s"]


def test_the_place_is_taken_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with stores.opened(path, "raw", ROWS) as writer:
        for row, items in enumerate(ROWS):
            writer.add(row, items)
        path.mkdir()
        (path / "file").touch()
        with pytest.raises(StoreError) as caught:
            writer.finish()
    assert caught.value.path == str(path)
    shutil.rmtree(path)
    assert list(stores.differences(stores.write(path, "raw"))) == []


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with stores.opened(tmp_path / "s", "raw", ROWS), pytest.raises(StoreError, match="written by another process"):
        stores.opened(tmp_path / "s", "raw", ROWS)
    with stores.opened(tmp_path / "s", "raw", ROWS):
        pass


def test_one_process_at_a_time_and_no_lock_outlives_it(tmp_path: Path) -> None:
    program = (
        "import pathlib, sys, time\n"
        "from support import stores\n"
        "writer = stores.opened(pathlib.Path(sys.argv[1]), 'raw', stores.rows())\n"
        "print('holding', flush=True)\n"
        "time.sleep(60)"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "s")], cwd=Path(__file__).parents[1], stdout=subprocess.PIPE
    )
    try:
        assert other.stdout.readline() == b"holding\n"
        with pytest.raises(StoreError, match="written by another process; wait for it") as caught:
            stores.opened(tmp_path / "s", "raw", ROWS)
        assert caught.value.path == str(tmp_path / ".s.partial")
    finally:
        other.kill()
        other.communicate()
    assert list(stores.differences(stores.write(tmp_path / "s", "raw"))) == []


@pytest.mark.skipif(os.name == "nt", reason="has no fcntl")
def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    def flock(*_: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(StoreError, match="lock: the system says: No locks available"):
        stores.opened(tmp_path / "s", "raw", ROWS)


@pytest.mark.parametrize(
    "changed",
    [
        {"format": "jpeg-300"},
        {"format": "raw-301"},
        {"rows": 4},
        {"about": {}},
        {"kind": "bag"},
        {"targets": {"mask": "mask", "image": "image"}},
    ],
)
def test_a_run_with_other_arguments(changed: dict[str, Any], tmp_path: Path) -> None:
    other = {"content": ROWS, "format": "raw-300", **changed}
    for rows in range(3):  # nothing is refused before a shard is whole
        with stores.opened(tmp_path / "s", "raw-300", ROWS) as writer:
            for row in range(rows):
                writer.add(row, ROWS[row])
        if rows < 2:
            stores.opened(tmp_path / "s", **other).close()
    with pytest.raises(StoreError, match="same arguments, or discard") as caught:
        stores.opened(tmp_path / "s", **other)
    assert caught.value.path == str(tmp_path / ".s.partial")
    stores.opened(tmp_path / "s", "raw-300", ROWS).close()


def test_mistakes_of_callers(tmp_path: Path) -> None:
    for wrong in ({"format": "zip"}, {"format": "raw-0"}, {"quality": 0}):
        with pytest.raises(ValueError, match=r"zip|quality is 1 to 100"):
            stores.opened(tmp_path / "s", content=ROWS, **{"format": "raw", **wrong})
    with stores.opened(tmp_path / "s", "raw", ROWS) as writer:
        with pytest.raises(ValueError, match="row 1 of 5 was given where row 0"):
            writer.add(1, {})
        with pytest.raises(StoreError, match="only 0 of 5 rows"):
            writer.finish()


def test_room_is_looked_for_before_writing(tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free
    with pytest.raises(StoreError, match=r"needs [\d,]+ more bytes, and [\d,]+ are free"):
        stores.opened(tmp_path / "s", "raw", ROWS, expected_bytes=2 * free)
    stores.opened(tmp_path / "s", "raw", ROWS, expected_bytes=1000).close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Any:
    """A file system of 512 KiB, where one may be mounted."""
    path = tmp_path / "disk"
    path.mkdir()
    mount = shutil.which("mount")
    command = [mount or "mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(path)]
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    yield path
    subprocess.run(["umount", str(path)], check=True)


def test_a_full_disk(small_disk: Path) -> None:
    rng = np.random.default_rng(0)
    content = [{"image": [rng.integers(0, 256, (100, 100, 3), np.uint8)], "mask": []} for _ in range(5)]
    (small_disk / "ballast").write_bytes(bytes(410_000))
    with pytest.raises(StoreError, match=r"the disk is full.*are free"):
        stores.write(small_disk / "s", "raw", content)
    (small_disk / "ballast").unlink()
    assert list(stores.differences(stores.write(small_disk / "s", "raw", content), content)) == []
