"""An archive is listed once: what is kept of it is what its headers say, for as long as it is the same archive."""

from __future__ import annotations

import io
import os
import random
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import tars as made_tars
from support.checks import planted_faults

from augrecipes import cache
from augrecipes.cache import ARCHIVES, CACHE
from augrecipes.errors import DataError
from augrecipes.sources.tar import shards
from augrecipes.sources.tar.archives import OPENED
from augrecipes.sources.tar.shards import TarShards


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own, in which the archive of a moment ago is kept."""
    monkeypatch.setenv(CACHE, str(tmp_path / "own"))
    monkeypatch.setattr(cache, "SETTLED_NS", -(10**18))


def listed(path: str) -> TarShards:
    return TarShards([path])


def alike(a: TarShards, b: TarShards) -> bool:
    labels = (a.targets is None) == (b.targets is None) and (a.targets is None or bool((a.targets == b.targets).all()))
    arrays = all(getattr(a, name).dtype == getattr(b, name).dtype for name in ("extension", "starts", "firsts"))
    arrays = arrays and all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ("starts", "sizes"))
    said = all(getattr(a, name) == getattr(b, name) for name in ("archives", "stamps", "extensions"))
    return labels and arrays and said and list(a.paths) == list(b.paths) and a.digest == b.digest


def test_what_is_kept_is_what_the_headers_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [made_tars.random_archive(tmp_path / f"{seed}.tar", random.Random(seed)) for seed in range(30)]
    good: dict[str, TarShards] = {}
    for path in map(str, paths):
        try:
            good[path] = listed(path)
        except DataError:  # of archives without a sample
            with pytest.raises(DataError):
                listed(path)
    assert len(good) > 10

    def never(*_: Any) -> Any:
        raise AssertionError("headers are read again")

    monkeypatch.setattr(shards, "members_of", never)
    assert all(alike(listed(path), found) for path, found in good.items())
    assert len(TarShards(list(good)).paths) == sum(len(one.paths) for one in good.values())


def archive(path: Path, *names: str) -> Path:
    return made_tars.write(path, {f"{name}.txt": name.encode() for name in names})


def rewritten(path: Path) -> None:
    """In place, to the same size and time."""
    before = path.stat()
    data = bytearray(path.read_bytes().replace(b"bbb.txt", b"ccc.txt"))
    for at in range(0, len(data), 512):
        if data[at : at + 3] == b"ccc" and data[at + 257 : at + 262] == b"ustar":
            block = data[at : at + 148] + b" " * 8 + data[at + 156 : at + 512]
            data[at + 148 : at + 156] = b"%06o\0 " % sum(block)
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replaced(path: Path) -> None:
    """By another one of the same size and time."""
    before = path.stat()
    other = archive(path.with_suffix(".new"), "aaa", "ccc")
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)


def grown(path: Path) -> None:
    with tarfile.open(path, "a") as file:
        info = tarfile.TarInfo("ccc.txt")
        info.size = 3
        file.addfile(info, io.BytesIO(b"ccc"))


CHANGES = (rewritten, replaced, grown)


def told_of(change: Callable[[Path], None], folder: Path) -> None:
    """In the process that has the one before open, and in another."""
    path = archive(folder / "a.tar", "aaa", "bbb")
    assert [listed(str(path)).paths.name(k) for k in range(2)] == ["aaa", "bbb"]
    change(path)
    for _ in range(2):
        found = listed(str(path))
        assert "ccc" in [found.paths.name(k) for k in range(len(found.paths))]
        OPENED._open.clear()


@pytest.mark.parametrize("change", CHANGES)
def test_another_archive_is_listed_anew(change: Callable[[Path], None], tmp_path: Path) -> None:
    told_of(change, tmp_path)


def damaged(folder: Path, seeds: range) -> None:
    path = archive(folder / "a.tar", *(f"{k:03}" for k in range(40)))
    wanted = listed(str(path))
    (file,) = ARCHIVES.files()
    whole = file.path.read_bytes()
    for seed in seeds:
        rng, data = random.Random(seed), bytearray(whole)
        at = rng.randrange(len(data))
        if seed % 3:
            data[at] ^= 1 << rng.randrange(8)
        else:
            data[at:] = bytes(len(data) - at) if seed % 2 else b""
        file.path.write_bytes(data)
        assert alike(listed(str(path)), wanted)


def test_whatever_the_cache_holds(tmp_path: Path) -> None:
    damaged(tmp_path, range(120))


def test_what_was_written_just_before_a_long_reading_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who wrote once more while it was read, in the same tick of the clock, left its times."""
    real = shards.members_of

    def slowly(*given: Any) -> Any:
        clock[0] += 10**10
        return real(*given)

    path = archive(tmp_path / "a.tar", "aaa")
    clock = [path.stat().st_ctime_ns + 10**9]
    monkeypatch.setattr(cache, "SETTLED_NS", 2 * 10**9)
    monkeypatch.setattr(shards, "members_of", slowly)
    monkeypatch.setattr(cache, "now_ns", lambda: clock[0])
    listed(str(path))
    assert not list(ARCHIVES.files())
    listed(str(path))
    assert list(ARCHIVES.files())


test_planted_faults_are_caught = planted_faults(
    {
        "size and time alone, as programs that set times leave them": (
            lambda fixture: told_of(rewritten, fixture("tmp_path")),
            (cache, "stamp_of", lambda about: f"{about.st_size} {about.st_mtime_ns}"),
        ),
        "the one before is read, whatever lies at its path": (
            lambda fixture: told_of(replaced, fixture("tmp_path")), (OPENED, "forget", lambda *_: None),
        ),
        "the digest is not compared": (
            lambda fixture: damaged(fixture("tmp_path"), range(120)), (cache, "_digest", lambda *_: bytes(32)),
        ),
    },
    Exception,
)  # fmt: skip
