"""Tiles that are kept for a while: the pixels, and the errors, are those of a slide that was never read before."""

from __future__ import annotations

import functools
import itertools
import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.budgets import tries
from support.slides import KINDS, Slide, write_slide

from augrecipes.errors import DataError
from augrecipes.sources.slides import jpeg_tiles
from augrecipes.sources.slides.jpeg_tiles import RecentTiles
from augrecipes.sources.slides.pyramid import Part

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
    found = jpeg_tiles.index_of(str(path))
    assert found is not None
    return found


def reader_of(path: Path) -> jpeg_tiles.JpegTiles:
    return jpeg_tiles.JpegTiles(str(path), *index_of(path))


def outcome(reader: jpeg_tiles.JpegTiles, level: int, part: Part) -> np.ndarray | str:
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
        kept = RecentTiles(most)
        patch.setattr(jpeg_tiles, "RECENT", kept)
        for which, level_number, part in wanted:
            found = outcome(readers[which], level_number, part)
            with pytest.MonkeyPatch.context() as never:
                never.setattr(jpeg_tiles, "RECENT", RecentTiles(0))
                expected = outcome(readers[which], level_number, part)
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
ONE_TILE = [(0, 0, Part(64, 64, 64, 64))] * 4
UPPER_ROWS = [(0, 0, Part(0, 0, 64, 10))] * 3  # of a tile that is damaged below them
KEPT: Any = jpeg_tiles.JpegTiles._kept


def damaged_for_all(self: Any, level: int, column: int, row: int, piece: Part) -> Any:
    if (found := KEPT(self, level, column, row, piece)) is None:
        raise DataError("damaged", self.path)
    return found


def handed_out(self: Any, level: int, part: Part, reduce: int = 1) -> Any:
    name = self._number, level, part.x // 64, part.y // 64
    jpeg_tiles.RECENT.ask([name], TILE)
    return self._kept(level, *name[2:], part) if reduce == 1 else None


@pytest.mark.parametrize(
    ("wanted", "damage", "where", "name", "fault"),
    [
        (AGAIN, [], jpeg_tiles, "_NUMBERS", itertools.repeat(0)),  # one name for all slides
        (ONE_TILE, [], jpeg_tiles.JpegTiles, "read", handed_out),  # what is kept is handed out, and written to
        (UPPER_ROWS, [96 + 97 * 0xFF], jpeg_tiles.JpegTiles, "_kept", damaged_for_all),
    ],
    ids=["names", "views", "damage"],
)
def test_planted_faults_break_the_law_of_memory(
    folder: Path, monkeypatch: pytest.MonkeyPatch, wanted: Any, damage: list[int], where: Any, name: str, fault: Any
) -> None:
    law_of_memory(folder, "420", wanted, 100 * TILE, damage)
    monkeypatch.setattr(where, name, fault)
    with pytest.raises(AssertionError):
        law_of_memory(folder, "420", wanted, 100 * TILE, damage)


def whole_decodes(folder: Path, most: int, x: int, y: int, step: int) -> Counter[tuple[int, int]]:
    """How often each tile is decoded, in part or whole, for windows of 64² in rows, one after another."""
    reader, kept = reader_of(slide_of(folder, "420").path), RecentTiles(most)
    found: Counter[tuple[int, int]] = Counter()
    real = jpeg_tiles.JpegTiles._tile

    def counted(self: Any, level: int, column: int, row: int) -> Any:
        found[column, row] += 1
        return real(self, level, column, row)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jpeg_tiles, "RECENT", kept)
        patch.setattr(jpeg_tiles.JpegTiles, "_tile", counted)
        for top in range(y, 200 - 64, step):
            for left in range(x, 300 - 64, step):
                reader.read(0, Part(left, top, 64, 64))
    return found


@tries(5)
@given(x=st.integers(1, 63), y=st.integers(1, 63), step=st.sampled_from([16, 32, 64]))
def test_windows_side_by_side_decode_a_tile_once(folder: Path, x: int, y: int, step: int) -> None:
    """The first window's are decoded again: nobody knew then."""
    found = whole_decodes(folder, 40 * TILE, x, y, step)
    assert sum(found.values()) <= len(found) + 4
    assert sum(whole_decodes(folder, 0, x, y, step).values()) > 1.7 * len(found)


@given(
    asked=st.lists(st.tuples(st.lists(st.integers(0, 9), max_size=5, unique=True), st.integers(1, 300)), max_size=30)
)
def test_no_more_is_kept_than_said(asked: list[tuple[list[int], int]]) -> None:
    kept = RecentTiles(1000)
    for names, size in asked:
        kept.ask(names, size)
        for name in names:
            if kept.pixels(name) is None:
                kept.keep(name, np.zeros((1, size, 1), np.uint8))
        held = [pixels.nbytes for name in range(10) if (pixels := kept.pixels(name)) is not None]
        assert sum(held) <= 1000
    assert not kept.ask([], 1)


def test_threads_share_what_is_kept(folder: Path) -> None:
    reader, kept = reader_of(slide_of(folder, "420").path), RecentTiles(5 * TILE)
    wanted = [Part(17 * k % 200, 11 * k % 120, 70, 64) for k in range(200)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jpeg_tiles, "RECENT", RecentTiles(0))
        expected = [reader.read(0, part) for part in wanted]
        patch.setattr(jpeg_tiles, "RECENT", kept)
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda part: reader.read(0, part), wanted))
    assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_process_has_tiles_of_its_own() -> None:
    jpeg_tiles.RECENT.ask(["a"], 1)
    if (child := os.fork()) == 0:
        os._exit(int(jpeg_tiles.RECENT.ask(["a"], 1)))
    assert os.waitpid(child, 0)[1] == 0
    assert jpeg_tiles.RECENT.ask(["a"], 1)
