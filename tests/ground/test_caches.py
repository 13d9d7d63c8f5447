"""One cache folder, which AUGRECIPES_CACHE moves, and without which nothing but time is lost.

Law: what is read from a cache is what was written last, whole, or nothing; it keeps its bounds, and deletes nothing
else.
"""

import ast
import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from augrecipes import cache, errors, paths, progress
from augrecipes import cache as caches
from augrecipes.cli.terminal import say
from augrecipes.images import arrays
from augrecipes.sources import listing
from augrecipes.sources.tar.shards import decode_file


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


# Headers of arrays are read again where Python's parser fails because another thread is at it, too.


ARRAY = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)


def saved() -> bytes:
    file = io.BytesIO()
    np.save(file, ARRAY)
    return file.getvalue()


def recalled() -> Any:
    cache.keep(cache.SLIDES, "key", "stamp", {"a": ARRAY})
    found = cache.recall(cache.SLIDES, "key", "stamp")
    return found and found["a"].shape


READERS = {
    "an image": lambda: arrays.header(saved()).layout.shape,
    "a part of a tar archive": lambda: decode_file("npy", saved()).shape,
    "a cache": recalled,
}


@pytest.fixture
def busy_parser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A parser that fails twice before it reads a text."""
    parse, calls = ast.parse, [0]

    def fails(*args: Any, **named: Any) -> Any:
        calls[0] += 1
        if calls[0] % 3:
            raise SystemError("AST constructor recursion depth mismatch (before=42, after=41)")
        return parse(*args, **named)

    monkeypatch.setattr(ast, "parse", fails)
    monkeypatch.setenv("AUGRECIPES_CACHE", str(tmp_path))


@pytest.mark.usefixtures("busy_parser")
@pytest.mark.parametrize("name", READERS)
def test_it_is_read_again(name: str) -> None:
    assert READERS[name]() == ARRAY.shape


@pytest.mark.usefixtures("busy_parser")
@pytest.mark.parametrize("name", READERS)
def test_one_try_is_not_enough(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "_TRIES", 0)
    with pytest.raises(Exception, match="recursion depth mismatch"):
        READERS[name]()


# How far work is: nothing within a second, then one line that moves, or lines seconds apart where piped.


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def told(monkeypatch, stream, seconds, step=0.25):
    """What standard error gets of work that long, which tells of itself at every step."""
    now = [0.0]
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.parts(lambda line: say(line, err=True), lambda: now[0]) as advance:
        total = int(seconds / step)
        for k in range(total):
            now[0] += step
            advance("reading\x1b[31m", k + 1, total)
    return stream.getvalue()


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_short_work_says_nothing(monkeypatch, stream):
    assert told(monkeypatch, stream(), 0.9) == ""


def moments(text):
    return [int(line.rpartition(", ")[2].removesuffix(" s")) for line in text.splitlines()]


def test_piped_it_is_a_line_every_few_seconds(monkeypatch):
    text = told(monkeypatch, io.StringIO(), 21)
    assert "\r" not in text
    assert "\x1b" not in text
    assert text.splitlines()[0] == "reading\\x1b[31m: 4 of 84, 1 s"
    assert moments(text) == [1, 6, 11, 16, 21]


def test_on_a_terminal_it_is_one_line_that_goes(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    text = told(monkeypatch, Terminal(), 21)
    assert "\x1b[31m" not in text  # of the name: spelt out
    frames = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", frame) for frame in text.split("\r")]
    assert sum("reading\\x1b[31m ━━" in frame for frame in frames) > 20
    assert max(map(len, frames)) <= 80
    assert text.count("\n") <= 1
    assert text.endswith("\x1b[1A\x1b[2K")  # the line is gone
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1  # the cursor is back


def test_a_library_says_nothing_where_it_is_piped(monkeypatch):
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    monkeypatch.setattr(progress, "QUIET", -1.0)
    with progress.progress("reading") as advance:
        advance(1, 2)
    assert written.getvalue() == ""


def test_frames_in_a_pipe_are_found(monkeypatch):
    """A planted fault: as many lines as steps."""
    monkeypatch.setitem(progress.EVERY, False, 0.0)
    assert moments(told(monkeypatch, io.StringIO(), 21)) != [1, 6, 11, 16, 21]
