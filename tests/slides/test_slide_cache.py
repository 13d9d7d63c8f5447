"""What listings of slides keep from run to run changes none of them, whatever became of slides, masks and the cache."""

import functools
import itertools
import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest
import tifffile
from hypothesis import given
from hypothesis import strategies as st
from support.checks import planted_faults, tries
from support.slides import KINDS, Slide, tissue, write_slide

from augrecipes import DataError, cache
from augrecipes.cache import SLIDES
from augrecipes.kinds.bag.slides import SlideFiles, SlideTable
from augrecipes.lru import LruCache
from augrecipes.sources.slides import jpeg_tiles, listing
from augrecipes.sources.slides.listing import Windows
from augrecipes.sources.slides.pyramid import Part

TISSUE: list[Any] = ["otsu", 0.08, "masks", "regions/{stem}.geojson", None]
real_state: Any = listing.slide_state
Change = Callable[[Path, int], None]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Slides to be copied: two of each of two sizes."""
    folder = tmp_path_factory.mktemp("drawn")
    for k in range(4):
        image = tissue(160 + 32 * (k % 2), 224, k)
        image[: 40 + 16 * k, : 60 + 20 * k] = 243
        write_slide(folder, ("420", "jp2")[k % 2], image=image, tile=64, factors=(2,), name=f"{k}")
    return folder


@pytest.fixture
def at_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if nothing had been changed for a while."""
    monkeypatch.setattr("augrecipes.cache.now_ns", lambda: time.time_ns() + 10**10)


def windows(tissue: Any = "otsu", tile: int = 32) -> Windows:
    return Windows(tile=tile, level=0, tissue=tissue, max_white=0.9, max_pixels=10**8)


def fill(drawn: Path, root: Path) -> Path:
    for name in ("slides", "masks", "regions"):
        (root / name).mkdir(parents=True)
    for k in range(2):
        _slide(drawn, root, k, k)
        _mask(root, k, k)
        _regions(root, k, k)
    return root


def _slide(drawn: Path, root: Path, k: int, which: int) -> None:
    (file,) = drawn.glob(f"{which}.*")
    for old in (root / "slides").glob(f"{k}.*"):
        if old.suffix != file.suffix:
            old.unlink()
    shutil.copy(file, root / "slides" / f"{k}{file.suffix}")


def _mask(root: Path, k: int, shift: int) -> None:
    (slide,) = (root / "slides").glob(f"{k}.*")
    from augrecipes.sources.slides.opened import open_slide

    level = open_slide(str(slide)).levels[0]
    mask = np.zeros((level.height // 4, level.width // 4), np.uint8)
    mask[:, 8 * shift : 8 * shift + 24] = 1
    cv2.imwrite(str(root / "masks" / f"{k}.png"), mask)


def _regions(root: Path, k: int, shift: int) -> None:
    x = 32 * shift
    ring = [[x, 0], [x + 96, 0], [x + 96, 128], [x, 128], [x, 0]]
    path = root / "regions" / f"{k}.geojson"
    path.write_text(json.dumps({"type": "Polygon", "coordinates": [ring]}))


def listed(root: Path, tissue: Any, **more: Any) -> SlideTable:
    said = tissue if tissue is None or tissue == "otsu" or isinstance(tissue, float) else str(root / tissue)
    return SlideFiles(root / "slides", windows(said, **more)).table()


def same(a: SlideTable, b: SlideTable) -> bool:
    return a.digest() == b.digest() and list(a.slides) == list(b.slides)


def opened_by(call: Callable[[], Any]) -> tuple[Any, int]:
    """What is returned, and how many slides were opened for it."""
    asked: list[str] = []
    real = listing.OPENED
    with pytest.MonkeyPatch.context() as patch:
        counted = SimpleNamespace(
            at=lambda path, stamp: (asked.append(path), real.at(path, stamp))[1], forget=real.forget
        )
        patch.setattr(listing, "OPENED", counted)
        return call(), len(set(asked))


@pytest.mark.usefixtures("at_rest")
@pytest.mark.parametrize("tissue", TISSUE, ids=str)
def test_a_second_start_opens_no_slide(
    drawn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tissue: Any
) -> None:
    root = fill(drawn, tmp_path / "data")
    monkeypatch.setenv("AUGRECIPES_CACHE", str(tmp_path / "cache"))
    first, opened = opened_by(lambda: listed(root, tissue))
    again, opened_again = opened_by(lambda: listed(root, tissue))
    assert (opened, opened_again) == (2, 0)
    assert same(first, again)
    assert len(again.coords) > 0
    _slide(drawn, root, 2, 2)
    _mask(root, 2, 0)
    _regions(root, 2, 0)
    assert opened_by(lambda: listed(root, tissue))[1] == 1
    assert opened_by(lambda: listed(root, tissue))[1] == 0
    assert opened_by(lambda: listed(root, tissue, tile=40))[1] == 3


def changes(drawn: Path) -> dict[str, Change]:
    def shift(root: Path, k: int) -> None:
        _mask(root, k % 2, 1 + k % 3)

    def regions(root: Path, k: int) -> None:
        _regions(root, k % 2, 1 + k % 3)

    def same_times(root: Path, k: int) -> None:
        """Other content of the same length, at the times of before: as a copy keeps them."""
        (slide,) = (root / "slides").glob(f"{k % 2}.*")
        about, raw = slide.stat(), bytearray(slide.read_bytes())
        with tifffile.TiffFile(slide) as file:
            page = file.pages[1].aspage()
            start, count = page.dataoffsets[0], page.databytecounts[0]
        raw[start : start + count] = bytes(count)
        slide.write_bytes(raw)
        os.utime(slide, ns=(about.st_atime_ns, about.st_mtime_ns))

    def replaced(root: Path, k: int) -> None:
        """By a file of the same length and times, while this process has the one before open."""
        (slide,) = (root / "slides").glob(f"{k % 2}.*")
        other = Path(shutil.copy2(slide, root / "other"))
        other.replace(slide)
        same_times(root, k)

    def exchanged(root: Path, k: int) -> None:
        del k
        for folder, suffix in (("masks", "png"), ("regions", "geojson")):
            here = root / folder
            (here / f"0.{suffix}").rename(here / "x")
            (here / f"1.{suffix}").rename(here / f"0.{suffix}")
            (here / "x").rename(here / f"1.{suffix}")

    def cache(root: Path, k: int) -> None:
        for file in list(SLIDES.files()):
            raw = bytearray(file.path.read_bytes())
            raw[(k * 7919) % len(raw)] ^= 1 << k % 8
            file.path.write_bytes(raw)

    return {
        "slide": lambda root, k: _slide(drawn, root, k % 2, k % 2 + 2 * (k // 2 % 2)),
        "one more": lambda root, k: _slide(drawn, root, 2 + k % 2, k % 4),
        "mask": shift,
        "regions": regions,
        "same times": same_times,
        "replaced": replaced,
        "exchanged": exchanged,
        "cache": cache,
    }


def law(drawn: Path, root: Path, monkeypatch: pytest.MonkeyPatch, tissue: Any, done: list[tuple[str, int]]) -> None:
    """Whatever happens between two listings, the second finds what one without a cache does."""
    fill(drawn, root)
    monkeypatch.setenv("AUGRECIPES_CACHE", str(root / "cache"))
    every = changes(drawn)
    for name, k in [("", 0), *done]:
        if name:
            every[name](root, k)
        if tissue in ("masks", TISSUE[3]) and any("one more" in step for step in done):
            for extra in (root / "slides").glob("[23].*"):
                _mask(root, int(extra.stem), 1)
                _regions(root, int(extra.stem), 1)
        with_cache = outcome(root, tissue)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("AUGRECIPES_CACHE", str(root / "none" / name / str(k)))
            patch.setattr(cache, "recall", lambda *_: None)
            listing.OPENED.clear()  # as another process, which has not the one before open
            assert outcome(root, tissue) == with_cache


def outcome(root: Path, tissue: Any) -> tuple[Any, ...]:
    try:
        table = listed(root, tissue)
    except DataError as error:
        return ("error", str(error))
    return table.digest(), table.coords.tolist(), table.offsets.tolist(), table.downsamples.tolist()


steps = st.lists(st.tuples(st.sampled_from(sorted(changes(Path()))), st.integers(0, 50)), max_size=4)


@pytest.mark.usefixtures("at_rest")
@tries(15)
@given(how=st.sampled_from(TISSUE), done=steps)
def test_whatever_changes_is_noticed(
    drawn: Path, tmp_path_factory: pytest.TempPathFactory, how: Any, done: list[tuple[str, int]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        law(drawn, tmp_path_factory.mktemp("one"), patch, how, done)


def law_of(how: Any, *done: tuple[str, int]) -> Callable[[Callable[[str], Any]], None]:
    def check(fixture: Callable[[str], Any]) -> None:
        fixture("at_rest")
        law(fixture("drawn"), fixture("tmp_path"), fixture("monkeypatch"), how, list(done))

    return check


test_planted_faults_are_caught = planted_faults({
    "a mask is not looked at": (
        law_of("masks", ("mask", 1)),
        (listing, "slide_state", lambda path, mask: real_state(path, None)),
    ),
    "regions are not looked at": (
        law_of(TISSUE[3], ("exchanged", 0)),
        (listing, "slide_state", lambda path, mask: real_state(path, None)),
    ),
    "a slide is not looked at": (
        law_of("otsu", ("slide", 2)), (listing, "slide_state", lambda path, mask: "as before"),
    ),
    "times alone": (
        law_of("otsu", ("same times", 0)),
        (listing, "slide_state", lambda path, mask: str(os.stat(path).st_mtime_ns)),  # noqa: PTH116
    ),
    "a slide that is open is looked at for the one that has taken its place": (
        law_of("otsu", ("replaced", 0)), (listing.OPENED, "forget", lambda *_: None),
    ),
})  # fmt: skip


@pytest.mark.usefixtures("at_rest")
def test_what_was_changed_just_now_is_not_kept(drawn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written again within the same tick of the clock, a file may keep its times."""
    root = fill(drawn, tmp_path / "data")
    monkeypatch.setenv("AUGRECIPES_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("augrecipes.cache.now_ns", time.time_ns)
    for _ in range(2):
        assert opened_by(lambda: listed(root, "otsu"))[1] == 2
    assert list(SLIDES.files()) == []


# Tiles that are kept for a while: the pixels, and the errors, are those of a slide that was never read before.


DIRECT = [kind for kind, (_, _, direct, _) in KINDS.items() if direct]
TILE = 64 * 64 * 3
parts = st.builds(Part, st.integers(-30, 230), st.integers(-30, 130), st.integers(1, 160), st.integers(1, 120))
asked = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), parts), min_size=2, max_size=12)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recent")


@functools.cache
def slide_of(folder: Path, kind: str, seed: int = 0) -> Slide:
    name = f"{kind.replace(' ', '-')}-{seed}"
    return write_slide(folder, kind, height=200, width=300, factors=(2,), seed=seed, name=name)


def index_of(path: Path) -> Any:
    with tifffile.TiffFile(path) as file:
        found = jpeg_tiles.index_of(file)
    assert found is not None
    return found


def reader_of(path: Path) -> jpeg_tiles.JpegTiles:
    return jpeg_tiles.JpegTiles(str(path), *index_of(path))


def outcome_recent(reader: jpeg_tiles.JpegTiles, level: int, part: Part) -> np.ndarray | str:
    try:
        return reader.read(level, part)
    except DataError as error:
        return str(error)


def law_of_memory(folder: Path, kind: str, wanted: list[tuple[int, int, Part]], most: int, damage: list[int]) -> None:
    """What comes of a part of any of two slides does not depend on what was read before."""
    readers = []
    for seed in (0, 1):
        slide = slide_of(folder, kind, seed)
        raw, level = bytearray(slide.path.read_bytes()), index_of(slide.path)[0][0]
        for k, byte in enumerate(damage):  # each in the pixels of another tile
            at = k % len(level.offsets)
            raw[int(level.offsets[at]) + int(level.counts[at]) * (1 + byte % 97) // 100] = byte // 97 % 256
        path = folder / f"read{seed}{slide.path.suffix}"
        path.write_bytes(raw)
        readers.append(reader_of(path))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jpeg_tiles, "RECENT", LruCache(most, attrgetter("nbytes")))
        for which, level_number, part in wanted:
            found = outcome_recent(readers[which], level_number, part)
            with pytest.MonkeyPatch.context() as never:
                never.setattr(jpeg_tiles.JpegTiles, "_cached", jpeg_tiles.JpegTiles._decoded)
                expected = outcome_recent(readers[which], level_number, part)
            assert type(found) is type(expected)
            assert np.array_equal(found, expected)
            if isinstance(found, np.ndarray):
                found[:] = 7  # a sample is its owner's


@pytest.mark.parametrize("kind", DIRECT)
@tries(8)
@given(
    wanted=asked,
    most=st.sampled_from([2 * TILE, 9 * TILE, 100 * TILE]),
    damage=st.lists(st.integers(0, 97 * 256), max_size=6),
)
def test_no_part_depends_on_what_was_read_before(
    folder: Path, kind: str, wanted: list[tuple[int, int, Part]], most: int, damage: list[int]
) -> None:
    law_of_memory(folder, kind, wanted, most, damage)


AGAIN = [(which, level, Part(30, 30, 64, 64)) for _ in range(3) for which, level in ((0, 0), (1, 0), (0, 1))]
KEPT: Any = jpeg_tiles.JpegTiles._cached


def upside_down(self: Any, level: int, column: int, row: int, piece: Part) -> Any:
    return KEPT(self, level, column, row, piece)[::-1]


@pytest.mark.parametrize(
    ("wanted", "damage", "where", "name", "fault"),
    [
        (AGAIN, [], jpeg_tiles, "_NUMBERS", itertools.repeat(0)),  # one name for all slides
        (AGAIN, [], jpeg_tiles.JpegTiles, "_cached", upside_down),
    ],
    ids=["names", "rows"],
)
def test_planted_faults_break_the_law_of_memory(
    folder: Path, monkeypatch: pytest.MonkeyPatch, wanted: Any, damage: list[int], where: Any, name: str, fault: Any
) -> None:
    law_of_memory(folder, "420", wanted, 100 * TILE, damage)
    monkeypatch.setattr(where, name, fault)
    with pytest.raises(AssertionError):
        law_of_memory(folder, "420", wanted, 100 * TILE, damage)


def decodes(folder: Path, most: int, x: int, y: int, step: int) -> Counter[tuple[int, int]]:
    """How often each tile is decoded, in part or whole, for windows of 64² in rows, one after another."""
    reader = reader_of(slide_of(folder, "420").path)
    found: Counter[tuple[int, int]] = Counter()
    real = jpeg_tiles.JpegTiles._tile

    def counted(self: Any, level: int, column: int, row: int) -> Any:
        found[column, row] += 1
        return real(self, level, column, row)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jpeg_tiles, "RECENT", LruCache(most, attrgetter("nbytes")))
        patch.setattr(jpeg_tiles.JpegTiles, "_tile", counted)
        for top in range(y, 200 - 64, step):
            for left in range(x, 300 - 64, step):
                reader.read(0, Part(left, top, 64, 64))
    return found


@tries(5)
@given(x=st.integers(1, 63), y=st.integers(1, 63), step=st.sampled_from([16, 32, 64]))
def test_windows_side_by_side_decode_a_tile_once(folder: Path, x: int, y: int, step: int) -> None:
    found = decodes(folder, 40 * TILE, x, y, step)
    assert sum(found.values()) == len(found)
    assert sum(decodes(folder, 0, x, y, step).values()) > 1.7 * len(found)
