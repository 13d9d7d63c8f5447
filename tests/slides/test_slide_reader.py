"""Parts of slides: the pixels of OpenSlide and Pillow, of every kind of pyramid, and words for what is broken."""

import functools
import os
import re
import shutil
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import openslide
import pytest
import tifffile
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from support.checks import planted_faults, tries
from support.slides import KINDS, Slide, tissue, write_slide

from augrecipes.cache import stamp_of_file
from augrecipes.errors import DataError
from augrecipes.lru import OpenFiles
from augrecipes.sources.slides import jpeg_tiles, opened
from augrecipes.sources.slides.opened import listed_slide, open_slide
from augrecipes.sources.slides.pyramid import Part, Pyramid, level_for, source_part, thumbnail, window_of

LIMIT = 10**8
TOUCHED: Any = jpeg_tiles._tile_pieces
DIRECT = [kind for kind, (_, _, direct, _) in KINDS.items() if direct]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("slides")


@functools.cache
def slide_of(folder: Path, kind: str, tile: int = 64, seed: int = 0) -> Slide:
    return write_slide(folder, kind, tile=tile, seed=seed, name=f"{kind.replace(' ', '-')}-{tile}-{seed}")


@functools.lru_cache(40)
def whole_level(path: Path, known: bool, level: int) -> np.ndarray:
    """A level as another library has it: OpenSlide, or Pillow for what OpenSlide does not open."""
    if known and level < (opened := openslide.OpenSlide(path)).level_count:
        # Below level 0 OpenSlide moves by parts of a pixel where it is not asked for whole ones.
        return np.asarray(opened.read_region((0, 0), level, opened.level_dimensions[level]))[:, :, :3]
    with Image.open(path) as file:
        file.seek(level)
        return np.asarray(file.convert("RGB"))


def referee(slide: Slide, level: int, part: Part) -> np.ndarray:
    """A part as another library has it; white outside."""
    out = np.full((part.height, part.width, 3), 255, np.uint8)
    whole = whole_level(slide.path, slide.known, level)
    there = part.inside(whole.shape[1], whole.shape[0])
    y, x = there.y - part.y, there.x - part.x
    out[y : y + there.height, x : x + there.width] = whole[
        there.y : there.y + there.height, there.x : there.x + there.width
    ]
    return out


def law_of_parts(slide: Slide, reader: Pyramid, level: int, part: Part) -> None:
    """A part has the pixels that others read, each of them."""
    assert np.array_equal(reader.read(level, part), referee(slide, level, part))


parts = st.builds(Part, st.integers(-90, 450), st.integers(-90, 330), st.integers(1, 200), st.integers(1, 150))


@pytest.mark.parametrize("kind", KINDS)
@tries(5)
@given(tile=st.sampled_from([48, 64, 128]), level=st.integers(0, 2), part=parts)
def test_parts_are_those_of_other_libraries(folder: Path, kind: str, tile: int, level: int, part: Part) -> None:
    slide = slide_of(folder, kind, tile if kind in DIRECT else max(tile, 64))  # OpenSlide refuses raw tiles of 48 px
    reader = open_slide(str(slide.path))
    assert isinstance(reader, jpeg_tiles.JpegTiles) == slide.direct
    if kind != "below" or level == 0:  # neither referee finds the others
        law_of_parts(slide, reader, level, part)
    if slide.lossless:
        there = part.inside(*slide.levels[level].shape[1::-1])
        inner = Part(there.x - part.x, there.y - part.y, there.width, there.height)
        read = reader.read(level, part)[inner.y : inner.y + inner.height, inner.x : inner.x + inner.width]
        source = slide.levels[level][there.y : there.y + there.height, there.x : there.x + there.width]
        assert np.array_equal(read, source)


def corner_of(kind: str) -> Callable[[Callable[[str], Any]], None]:
    def check(fixture: Callable[[str], Any]) -> None:
        slide = slide_of(fixture("folder"), kind)
        law_of_parts(slide, open_slide(str(slide.path)), 0, Part(380, 250, 100, 100))

    return check


@pytest.mark.parametrize("kind", ["rgb", "420"])
def test_a_part_that_reaches_outside(folder: Path, kind: str) -> None:
    corner_of(kind)(lambda _: folder)


UNSAID = (jpeg_tiles, "_CODED", dict.fromkeys((1, 2, 6), b""))
test_planted_faults_are_caught = planted_faults({
    "decoders guess YCbCr": (corner_of("rgb"), UNSAID),
    "Adobe's mark is missing": (corner_of("rgb"), (jpeg_tiles, "_ADOBE", b""), UNSAID),
    "black outside": (corner_of("420"), (jpeg_tiles, "WHITE", 0)),
    "the last tile is left out": (
        corner_of("420"), (jpeg_tiles, "_tile_pieces", lambda index, part: list(TOUCHED(index, part))[:-1])
    ),
})  # fmt: skip


def read_window(reader: Pyramid, x: int, y: int, side: int, downsample: float, channels: int = 3) -> np.ndarray:
    """A window, whole; and the same where it is read in parts."""
    window = window_of(reader, "slide", x, y, side, downsample, channels, LIMIT)
    whole, half = window.array(), side // 2
    assert whole.shape == window.shape
    assert np.array_equal(window.view(half, 0, side, side), whole[half:])
    assert np.array_equal(window.view(0, half, side - half, side), whole[: side - half, half:])
    return whole


@tries(25)
@given(
    kind=st.sampled_from(["420", "deflate", "rgb strips"]),
    x=st.integers(-100, 450),
    y=st.integers(-100, 330),
    side=st.integers(1, 90),
    downsample=st.floats(1, 9),
)
def test_windows_are_reduced_from_the_next_finer_level(
    folder: Path, kind: str, x: int, y: int, side: int, downsample: float
) -> None:
    slide = slide_of(folder, kind)
    reader = open_slide(str(slide.path))
    window = read_window(reader, x, y, side, downsample)
    assert window.shape == (side, side, 3)
    number = level_for(reader.levels, downsample)
    level = reader.levels[number]
    assert level.downsample <= downsample * 1.01
    assert not any(level.downsample < other.downsample <= downsample for other in reader.levels)
    part = source_part(level, x, y, side, downsample)
    # Where it lies: half a pixel of that level, and no more, from where it was asked for.
    assert abs(part.x * level.downsample - x) <= level.downsample / 2 + 1e-9
    assert abs(part.y * level.downsample - y) <= level.downsample / 2 + 1e-9
    if abs(downsample / level.downsample - 1) <= 0.01:
        assert part.width == part.height == side
    else:
        assert abs(part.width - side * downsample / level.downsample) <= 0.5
    source = referee(slide, number, part)
    assert np.array_equal(window, cv2.resize(source, (side, side), interpolation=cv2.INTER_AREA).reshape(window.shape))


@tries(12)
@given(
    kind=st.sampled_from(["420", "deflate", "strips"]), downsample=st.floats(1, 40), band=st.sampled_from([3000, 9000])
)
def test_thumbnails_are_the_slide_made_small(folder: Path, kind: str, downsample: float, band: int) -> None:
    """In bands or at once, and close to the mean of the pixels that a pixel stands for."""
    reader = open_slide(str(slide_of(folder, kind).path))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("augrecipes.sources.slides.pyramid._BAND", band)
        small = thumbnail(reader, downsample)
    level = reader.levels[0]
    whole = reader.read(0, Part(0, 0, level.width, level.height))
    one = reader.levels[level_for(reader.levels, downsample)]  # as large as a level that is nearly so coarse
    ratio = max(downsample / one.downsample, 1.0)
    assert small.shape[:2] == (int(one.height / ratio) or 1, int(one.width / ratio) or 1)
    covered = whole[: round(small.shape[0] * downsample), : round(small.shape[1] * downsample)]
    truth = cv2.resize(covered, small.shape[1::-1], interpolation=cv2.INTER_AREA).reshape(small.shape)
    # JPEG changes levels by 5 on average here, bands begin at whole rows: up to 7 were seen, 15 where places are wrong.
    assert np.abs(small.astype(int) - truth).mean() < 9


# -- what is asked for ------------------------------------------------------------------------------------------------


# -- what is broken ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@tries(10)
@given(data=st.data())
def test_damage_is_told_or_changes_nothing_else(folder: Path, kind: str, data: st.DataObject) -> None:
    """Any bytes of any slide changed, or its end cut off: an error that names the file, or pixels."""
    slide = slide_of(folder, kind)
    raw = bytearray(slide.path.read_bytes())
    if data.draw(st.booleans(), label="cut"):
        del raw[data.draw(st.integers(0, len(raw) - 1), label="at") :]
    else:
        for _ in range(data.draw(st.integers(1, 8), label="bytes")):
            raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path = folder / f"damaged{slide.path.suffix}"
    path.write_bytes(raw)
    try:
        reader = open_slide(str(path))
        for k, level in enumerate(reader.levels[:3]):
            assert reader.read(k, Part(0, 0, 80, 80)).shape == (80, 80, 3)
            reader.read(k, Part(max(level.width - 80, 0), max(level.height - 80, 0), 80, 80))
    except DataError as error:
        assert error.path == str(path)
        assert str(error).startswith(str(path))


@pytest.mark.parametrize("kind", DIRECT)
def test_a_broken_tile_is_named_and_its_neighbours_are_read(folder: Path, kind: str) -> None:
    slide = slide_of(folder, kind)
    with tifffile.TiffFile(slide.path) as file:
        index = jpeg_tiles.index_of(file)
    first = index[0][0]
    number = first.across  # the first of the second row
    raw = bytearray(slide.path.read_bytes())
    start = int(first.offsets[number])
    raw[start : start + int(first.counts[number]) - 2] = bytes(int(first.counts[number]) - 2)
    path = folder / f"broken{slide.path.suffix}"
    path.write_bytes(raw)
    reader = open_slide(str(path))
    what = "strip" if "strips" in kind else "tile"
    with pytest.raises(DataError, match=re.escape(f"{path}: the {what} at x=0, y=64 of level 0: ")) as caught:
        reader.read(0, Part(10, 40, 30, 30))
    assert caught.value.path == str(path)
    law_of_parts(slide, reader, 0, Part(10, 10, 30, 30))
    law_of_parts(slide, reader, 0, Part(10, 140, 30, 30))


@pytest.mark.parametrize("content", [b"", b"II*\0", b"MM\0*" + bytes(40), b"no slide", b"\x89PNG\r\n\x1a\n"])
def test_what_is_no_slide_is_told(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.svs"
    path.write_bytes(content)
    with pytest.raises(DataError, match=f"^{re.escape(str(path))}: is not a slide"):
        open_slide(str(path))
    with pytest.raises(DataError, match="is not a slide"):
        open_slide(str(tmp_path))


@pytest.mark.parametrize("kind", ["420", "strips", "jp2"])
def test_a_slide_larger_than_any_is_refused(folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Places of tiles, and a thumbnail, are made for all of it."""
    path, width = str(slide_of(folder, kind).path), slide_of(folder, kind).levels[0].shape[1]
    monkeypatch.setattr(opened, "check_tiff", lambda *_, **__: None)
    monkeypatch.setattr(opened, "LONGEST", width)
    assert open_slide(path).levels[0].width == width
    monkeypatch.setattr(opened, "LONGEST", width - 1)
    with pytest.raises(DataError, match=f"is {width}×.* px by what it says"):
        open_slide(path)


# -- open handles -----------------------------------------------------------------------------------------------------


def _children_read(opened: OpenFiles[Any], path: str, stamp: str) -> Iterator[np.ndarray]:
    def child(pipe: Any) -> None:
        pipe.send(opened.at(path, stamp).read(0, Part(30, 30, 100, 100)))
        pipe.close()

    for _ in range(2):
        ours, theirs = get_context("fork").Pipe()
        process = get_context("fork").Process(target=child, args=(theirs,))
        process.start()
        assert ours.poll(30), "the child hangs"
        yield ours.recv()
        process.join(10)
        assert process.exitcode == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("kind", ["420", "jp2"])
def test_a_fork_reads_with_handles_of_its_own(folder: Path, kind: str) -> None:
    """Also where a thread of the parent holds the lock at that time, as it would for ever in the child."""
    slide = slide_of(folder, kind)
    path, stamp, opened = str(slide.path), stamp_of_file(str(slide.path), "slide"), OpenFiles(listed_slide, 32)
    mine = opened.at(path, stamp).read(0, Part(30, 30, 100, 100))
    with opened._lock, jpeg_tiles.RECENT._lock:
        for theirs in _children_read(opened, path, stamp):
            assert np.array_equal(theirs, mine)
    assert np.array_equal(opened.at(path, stamp).read(0, Part(30, 30, 100, 100)), mine)


@pytest.mark.soak
@settings(max_examples=300)
@given(
    kind=st.sampled_from(DIRECT), tile=st.sampled_from([16, 32, 48, 80, 112, 256]), seed=st.integers(0, 5),
    size=st.tuples(st.integers(17, 500), st.integers(17, 500)), part=parts, level=st.integers(0, 1),
)  # fmt: skip
def test_parts_of_random_pyramids(
    tmp_path_factory: pytest.TempPathFactory, kind: str, tile: int, seed: int, size: tuple[int, int], part: Part,
    level: int,
) -> None:  # fmt: skip
    if kind == "below":
        level = 0
    folder = tmp_path_factory.mktemp("one")
    slide = write_slide(folder, kind, tile=tile, factors=(2,), image=tissue(*size, seed))
    law_of_parts(slide, open_slide(str(slide.path)), level, part)
    shutil.rmtree(folder)
