"""Law: whatever becomes of the cache folder, samples are those of without one; what needs it ends in a typed error.

And afterwards, the fault gone, whatever was left in the folder changes nothing.
"""

import errno
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from support import shop
from support.folders import write
from support.kinds import BAG, IMAGE, PAIR, Files, Kind, packed, pixels, recipe_of
from support.slides import write_slide

import augrecipes as ar
from augrecipes import cache as caches
from augrecipes import paths, remote
from augrecipes.recipe.parse import parse_text
from augrecipes.sources.slides.opened import OPENED as SLIDES
from augrecipes.sources.tar.archives import OPENED as ARCHIVES
from augrecipes.store.cache import FileCache

# A folder in which files cannot be written, or which goes away, from the n-th time on that something is done in it:
# Python tells of what it is about to do with files, and an error that is raised then is that of the system.


WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.utime", "os.truncate")
_LOOKS = ("os.scandir", "os.listdir")


@dataclass
class Fault:
    """What happens to a folder.

    Attributes:
        folder: which.
        what: `read-only`, `full` (nothing new, but files can go), `unreadable`, `vanished`, or `a file`: in its place.
        after: so many times something was done in it without a fault.
        times: it happens so often, and then no more.
    """

    folder: Path
    what: str
    after: int = 0
    times: int = 1 << 30

    def meets(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Raises what the system would say."""
        writes = event in _CHANGES or (event == "open" and bool((arguments[2] or 0) & WRITING))
        if self.what == "full" and event in ("os.remove", "os.rmdir", "os.chmod", "os.utime"):
            return
        if not writes and self.what in ("read-only", "full"):
            return
        self.after -= 1
        if self.after >= 0 or self.times <= 0:
            return
        self.times -= 1
        code = {"read-only": errno.EROFS, "full": errno.ENOSPC, "unreadable": errno.EIO}.get(self.what)
        if code is not None:
            raise OSError(code, os.strerror(code), arguments[0])
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.what == "a file" and not self.folder.exists():
            self.folder.touch()


_now: Fault | None = None
_busy, _lock = threading.local(), threading.Lock()


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    fault = _now  # which another thread may take away meanwhile
    if fault is None or (event != "open" and event not in _CHANGES + _LOOKS) or getattr(_busy, "yes", False):
        return
    path = arguments[0]
    if not isinstance(path, str | bytes | os.PathLike) or not os.fsdecode(path).startswith(str(fault.folder)):
        return
    with _lock:
        _busy.yes = True
        try:
            if fault is _now:
                fault.meets(event, arguments)
        finally:
            _busy.yes = False


@contextmanager
def failing(fault: Fault | None) -> Iterator[None]:
    """Inside the block the fault happens."""
    global _now  # noqa: PLW0603
    if fault is not None and not getattr(_hook, "set", False):
        sys.addaudithook(_hook)  # for good: there is no way back
        _hook.set = True  # type: ignore[attr-defined]
    _now = fault
    try:
        yield
    finally:
        _now = None


@contextmanager
def files_end_at(size: int) -> Iterator[None]:
    """Inside the block no file grows beyond so many bytes: writing ends in the middle."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


# The caches.


Open = Callable[[], list[int]]
NEED_ONE = ("store elsewhere", "sent elsewhere")
KINDS = ("read-only", "full", "unreadable", "vanished", "a file")


def of(dataset: Any) -> list[int]:
    """Every third sample, in a number."""
    return [crc32(pixels(dataset[i])) for i in range(0, len(dataset), 3)]


def archive(kind: Kind, root: Path, path: Path) -> str:
    files = Files(kind, root, "bytes")
    return str(write(path, {f"{k:04}.{name}.png": data for k in range(len(files)) for name, data in files[k].items()}))


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Open]]:
    """By name: how the samples of a source are had that keeps something in the cache folder."""
    root = tmp_path_factory.mktemp("sources")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHOP", "")
        patch.setattr(remote, "PAUSE", 0.0)
        away = shop.opened(root / "elsewhere")
        for kind in (IMAGE, PAIR, BAG):
            kind.fill(root / kind.name)
        archive(IMAGE, root / "image", root / "a.tar")
        for k in range(2):
            write_slide(root, "420", height=128, width=160, factors=(2,), name=f"{k}", seed=k)
        shutil.copytree(packed(IMAGE, root / "image", shard_size=3_000), away / "store")
        shutil.copytree(root / "image", away / "photos")
        image, baked, bags = (parse_text(text) for text in (IMAGE.recipe, recipe_of(IMAGE), BAG.recipe))

        def sent() -> list[int]:
            shutil.rmtree(away / "sent", ignore_errors=True)
            ar.pack(baked, str(root / "image"), "shop://sent", workers=0, shard_size=3_000)
            return of(ar.Packed("shop://sent", baked, seed=3))

        yield {
            "image": lambda: of(IMAGE.open(root / "image", seed=3)),
            "pair": lambda: of(PAIR.open(root / "pair", seed=3)),
            "bag": lambda: of(BAG.open(root / "bag", seed=3)),
            "tar": lambda: of(ar.Samples(str(root / "a.tar"), image, seed=3)),
            "slides": lambda: of(ar.SlideBags(str(root / "*.tif"), bags, tile=64, level=0, max_white=1.0, seed=3)),
            "photos elsewhere": lambda: of(ar.ImageFolder("shop://photos", image, seed=3)),
            "store elsewhere": lambda: of(ar.Packed("shop://store", baked, seed=3)),
            "sent elsewhere": sent,
        }


NAMES = ("image", "pair", "bag", "tar", "slides", "photos elsewhere", *NEED_ONE)


@pytest.fixture(scope="module")
def wanted(sources: dict[str, Open], tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(caches.CACHE, str(tmp_path_factory.mktemp("cache")))
        return {name: samples() for name, samples in sources.items()}


@contextmanager
def a_run(folder: Path) -> Iterator[None]:
    """As a process of its own would be, some time after all files were written."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(caches.CACHE, str(folder))
        patch.setattr(caches, "_warned", set())
        patch.setattr("augrecipes.cache.now_ns", lambda: time.time_ns() + 10**10)
        ARCHIVES.clear()
        SLIDES.clear()
        yield


def law(samples: Open, wanted: list[int], folder: Path, fault: Fault | None, needs: bool) -> None:
    """See the module.

    Args:
        samples: of a source.
        wanted: what they are.
        folder: of the cache.
        fault: what happens in it.
        needs: whether there may be none of them, and a typed error.
    """
    with a_run(folder), failing(fault):
        try:
            assert samples() == wanted
        except ar.StoreError as error:
            assert needs, error
            assert (fault is not None and fault.what == "unreadable") or caches.CACHE in str(error)
    if fault is None or fault.what not in ("read-only", "unreadable"):
        assert not list(folder.rglob(f"*{paths.STAGED}")), "something is left half written"
    if folder.is_file():
        folder.unlink()
    with a_run(folder):
        assert samples() == wanted, "what was left is believed"


@settings(
    max_examples=max(16, settings.default.max_examples // 10), phases=[Phase.generate]
)  # each fails for its own reason: shrinking takes minutes
@given(
    name=st.sampled_from(NAMES), what=st.sampled_from(KINDS), after=st.integers(0, 25), once=st.booleans(),
    warm=st.booleans(),
)  # fmt: skip
def test_whatever_becomes_of_the_folder(
    sources: dict[str, Open], wanted: dict[str, list[int]], tmp_path_factory: pytest.TempPathFactory, name: str,
    what: str, after: int, once: bool, warm: bool,
) -> None:  # fmt: skip
    folder = tmp_path_factory.mktemp("cache") / "mine"
    if warm:
        with a_run(folder):
            sources[name]()
    fault = Fault(folder, what, after, 1 if once else 1 << 30)
    law(sources[name], wanted[name], folder, fault, name in NEED_ONE)


@pytest.mark.parametrize("after", range(14))
def test_a_disk_that_is_full_while_a_store_is_fetched(
    sources: dict[str, Open], wanted: dict[str, list[int]], tmp_path: Path, after: int
) -> None:
    folder = tmp_path / "mine"
    law(sources["store elsewhere"], wanted["store elsewhere"], folder, Fault(folder, "full", after, 1), needs=True)


@pytest.mark.skipif(sys.platform == "win32", reason="limits of the size of files")
@pytest.mark.parametrize("size", [0, 10, 2_500])
def test_writing_that_ends_in_the_middle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setenv(caches.CACHE, str(tmp_path))
    with files_end_at(size):
        for cache in caches.CACHES:
            assert not cache.write("a", bytes(3_000))
            assert cache.read("a") is None
        with pytest.raises(ar.StoreError, match=f"{tmp_path}.* cannot be used .*too large; .*{caches.CACHE}"):
            FileCache(10_000).mapped("store", "a", 3_000, lambda staged: staged.write_bytes(bytes(3_000)) and None)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".lock"]


def test_planted_faults_are_caught(
    sources: dict[str, Open], wanted: dict[str, list[int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: a writer that leaves what it began with, one that writes in place, one that does not ask what fails."""

    def left(path: Path, data: bytes, **_: Any) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_name(f".{path.name}.x{paths.STAGED}").write_bytes(data)
        raise OSError(28, "full")

    def in_place(self: caches.Cache, key: str, data: bytes, **_: Any) -> bool:
        path = self.path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return True

    for attribute, planted, fault in (
        ("augrecipes.cache.write_file", left, None),
        ("augrecipes.cache.Cache.write", in_place, Fault(tmp_path / "mine", "full")),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(attribute, planted)
            with pytest.raises((AssertionError, OSError)):
                law(sources["image"], wanted["image"], tmp_path / "mine", fault, needs=False)
