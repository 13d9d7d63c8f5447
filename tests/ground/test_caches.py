"""One cache folder, which AUGRECIPES_CACHE moves, and without which nothing but time is lost.

Law: what is read from a cache is what was written last, whole, or nothing; it keeps its bounds, and deletes nothing
else.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from augrecipes import cache as caches
from augrecipes import paths
from augrecipes.sources import listing


def test_all_that_is_kept_lies_where_the_variable_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(caches.CACHE, str(tmp_path / "mine"))
    assert caches.SLIDES.write("a", b"x")
    listing._remember(bytes(tmp_path), {})
    assert {path.parts[len(tmp_path.parts)] for path in tmp_path.rglob("*")} == {"mine"}
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 2


def test_nobody_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> Path:
        raise RuntimeError("no home")

    monkeypatch.delenv(caches.CACHE)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", nobody)
    listing._remember(bytes(tmp_path), {})
    assert listing._recall(bytes(tmp_path)) == {}


NAMES = st.sampled_from(["a", "b", "1-2"])
FOREIGN = ("photo.jpg", "notes.txt", "memo", ".kept.new.jpg", "a.memo.bak")
SMALL = replace(caches.FOLDERS, most_bytes=100, most_seconds=50 * caches.DAY)


class Kept(RuleBasedStateMachine):
    """A cache beside a dictionary: what is read is what was written last, or nothing; what is not its own stays."""

    clear = staticmethod(lambda cache: cache.clear())

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp())
        self.before = os.environ[caches.CACHE]
        self.often, caches.SWEEP_EVERY = caches.SWEEP_EVERY, 1
        os.environ[caches.CACHE] = str(self.place)
        self.cache, self.model = SMALL, dict[str, bytes]()
        self.foreign = set[Path]()

    @rule(name=NAMES, size=st.integers(0, SMALL.most_bytes))
    def write(self, name: str, size: int) -> None:
        data = os.urandom(size)
        assert self.cache.write(name, data)
        self.model[name] = data
        assert self.cache.read(name) == data
        assert sum(file.size for file in self.cache.files()) <= SMALL.most_bytes

    @rule(name=NAMES)
    def read(self, name: str) -> None:
        assert self.cache.read(name) in (None, self.model.get(name))

    @rule(name=NAMES, days=st.sampled_from([1, 49, 51]))
    def ages(self, name: str, days: int) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.utime(self.cache.path(name), (time.time() - days * caches.DAY,) * 2)
            self.cache.sweep()
            assert self.cache.path(name).exists() == (days < 50)

    @rule(name=st.sampled_from(FOREIGN))
    def somebody_keeps(self, name: str) -> None:
        file = self.cache.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"mine")
        os.utime(file, (0, 0))
        self.foreign.add(file)

    @rule(stale=st.booleans())
    def a_writer_is_killed(self, stale: bool) -> None:
        staged = self.cache.folder / f".x{self.cache.suffix}.{os.urandom(4).hex()}{paths.STAGED}"
        staged.parent.mkdir(parents=True, exist_ok=True)
        staged.write_bytes(b"half")
        if stale:
            os.utime(staged, (0, 0))
        self.cache.sweep()
        assert staged.exists() != stale

    @rule()
    def cleared(self) -> None:
        there = list(self.cache.files())
        assert self.clear(self.cache) == (len(there), sum(file.size for file in there))
        assert not list(self.cache.files())
        self.model.clear()

    @invariant()
    def what_is_not_its_own_stays(self) -> None:
        assert all(file.read_bytes() == b"mine" for file in self.foreign)

    def teardown(self) -> None:
        os.environ[caches.CACHE], caches.SWEEP_EVERY = self.before, self.often
        shutil.rmtree(self.place)


TestKept = Kept.TestCase
TestKept.settings = settings(max_examples=15, stateful_step_count=20)


def test_a_planted_clearing_of_whole_folders_is_caught() -> None:
    def all_of_it(cache: caches.Cache) -> tuple[int, int]:
        told = len(list(cache.files())), sum(file.size for file in cache.files())
        shutil.rmtree(cache.folder, ignore_errors=True)
        return told

    class Planted(Kept):
        clear = staticmethod(all_of_it)

    with pytest.raises(FileNotFoundError):
        run_state_machine_as_test(Planted, settings=settings(max_examples=100, print_blob=False, derandomize=True))


def test_a_cache_that_cannot_be_written_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(caches, "_said", set())
    (tmp_path / "file").touch()
    monkeypatch.setenv(caches.CACHE, str(tmp_path / "file"))
    for cache in caches.CACHES:
        assert not cache.write("a", b"x")
        assert cache.read("a") is None
    (told,) = caplog.messages
    assert told.startswith(f"the cache folder cannot be written ({tmp_path / 'file'}")
    assert "AUGRECIPES_CACHE" in told


WRITER = """
import sys
from augrecipes.cache import FOLDERS
k = 0
while True:
    k += 1
    assert FOLDERS.write("shared", f"{k:08}".encode() * 20_000)
    if k % 7 == 0:
        FOLDERS.clear()
"""


def killed(times: int) -> None:
    """Processes that write one file and clear the cache are killed: what is read is whole."""
    seen, end = 0, time.monotonic() + 60 * times
    for _ in range(times):
        writers = [subprocess.Popen([sys.executable, "-c", WRITER]) for _ in range(2)]
        try:
            fresh = 0
            while fresh < 20:
                assert [one.poll() for one in writers] == [None, None], "a writer gave up"
                assert time.monotonic() < end
                data = caches.FOLDERS.read("shared")
                if data is not None:
                    assert len(data) == 160_000
                    assert data == data[:8] * 20_000
                    fresh += 1
                    seen += 1
        finally:
            for one in writers:
                one.kill()
                one.wait()
    assert seen == 20 * times
    for staged in caches.FOLDERS.folder.glob(f"*{paths.STAGED}"):
        os.utime(staged, (0, 0))
    caches.FOLDERS.clear()
    assert list(caches.FOLDERS.folder.iterdir()) == []


@pytest.mark.parametrize("times", [2, pytest.param(100, marks=pytest.mark.soak)])
def test_what_is_read_is_whole_however_writers_end(times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUGRECIPES_CACHE", str(tmp_path / "mine"))
    killed(times)
