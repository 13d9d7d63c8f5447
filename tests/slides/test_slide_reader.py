"""Parts of slides: the pixels of OpenSlide and Pillow, of every kind of pyramid, and words for what is broken."""

from __future__ import annotations

import functools
import gc
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import openslide
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from support.budgets import tries
from support.faults import planted_faults
from support.slides import KINDS, Slide, tissue, write_slide

from augrecipes.cache import stamp_of_file
from augrecipes.errors import DataError
from augrecipes.sources.open_files import OpenFiles
from augrecipes.sources.slides import jpeg_tiles, opened
from augrecipes.sources.slides.opened import listed_slide, open_slide
from augrecipes.sources.slides.pyramid import (
    Part,
    Pyramid,
    downsample_of,
    finer,
    source_of,
    thumbnail,
    window_of,
)  # fmt: skip

LIMIT = 10**8
TOUCHED: Any = jpeg_tiles._touched
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


def test_levels_below_the_first_are_those_behind_it(folder: Path) -> None:
    below, behind = (open_slide(str(slide_of(folder, kind).path)) for kind in ("below", "420"))
    assert below.levels == behind.levels
    for k, level in enumerate(below.levels):
        whole = Part(0, 0, level.width, level.height)
        assert np.array_equal(below.read(k, whole), behind.read(k, whole))


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
        corner_of("420"), (jpeg_tiles, "_touched", lambda index, part: list(TOUCHED(index, part))[:-1])
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
    number = finer(reader.levels, downsample)
    level = reader.levels[number]
    assert level.downsample <= downsample * 1.01
    assert not any(level.downsample < other.downsample <= downsample for other in reader.levels)
    part = source_of(level, x, y, side, downsample)
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
    one = reader.levels[finer(reader.levels, downsample)]  # as large as a level that is nearly so coarse
    ratio = max(downsample / one.downsample, 1.0)
    assert small.shape[:2] == (int(one.height / ratio) or 1, int(one.width / ratio) or 1)
    covered = whole[: round(small.shape[0] * downsample), : round(small.shape[1] * downsample)]
    truth = cv2.resize(covered, small.shape[1::-1], interpolation=cv2.INTER_AREA).reshape(small.shape)
    # JPEG changes levels by 5 on average here, bands begin at whole rows: up to 7 were seen, 15 where places are wrong.
    assert np.abs(small.astype(int) - truth).mean() < 9


# -- what is asked for ------------------------------------------------------------------------------------------------


def test_scales_are_found_or_told(folder: Path) -> None:
    reader, path = open_slide(str(slide_of(folder, "420").path)), "a.svs"
    assert reader.mpp == pytest.approx((0.5, 0.5))
    assert downsample_of(reader, path, None, 1) == reader.levels[1].downsample
    assert downsample_of(reader, path, 0.5, None) == downsample_of(reader, path, 0.502, None) == 1.0
    assert downsample_of(reader, path, 1.5, None) == pytest.approx(3)
    assert downsample_of(reader, path, 1.0, None, 0.25) == pytest.approx(4)
    with pytest.raises(DataError, match=r"^a\.svs: has no level 3; there are 0 \(420×300 px\), 1 \(210×150 px\)"):
        downsample_of(reader, path, None, 3)
    with pytest.raises(DataError, match=r"has 0\.5 micrometres a pixel at its finest, so none at mpp=0\.25"):
        downsample_of(reader, path, 0.25, None)
    with pytest.raises(DataError, match="limit of 100;"):
        window_of(reader, path, 0, 0, 64, 1.0, 3, 100)


def test_a_slide_that_does_not_say_its_resolution(tmp_path: Path) -> None:
    reader = open_slide(str(write_slide(tmp_path, "420", mpp=None).path))
    assert reader.mpp is None
    with pytest.raises(DataError, match="give slide_mpp=, or level= instead"):
        downsample_of(reader, "a.svs", 1.0, None)
    assert downsample_of(reader, "a.svs", 1.0, None, 0.5) == 2


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
    index = jpeg_tiles.index_of(str(slide.path))
    assert index is not None
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


def test_a_tile_of_another_size_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slide = slide_of(folder, "420")
    index = jpeg_tiles.index_of(str(slide.path))
    assert index is not None
    level = index[0][0]
    other = jpeg_tiles.TileIndex(level.width, level.height, 64, 32, False, level.offsets, level.counts, level.head)
    with pytest.raises(DataError, match="64×64 px where 64×32 are expected"):
        jpeg_tiles.JpegTiles(str(slide.path), [other], None).read(0, Part(0, 0, 9, 9))


@pytest.mark.parametrize("content", [b"", b"II*\0", b"MM\0*" + bytes(40), b"no slide", b"\x89PNG\r\n\x1a\n"])
def test_what_is_no_slide_is_told(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.svs"
    path.write_bytes(content)
    with pytest.raises(DataError, match=f"^{re.escape(str(path))}: is no slide"):
        open_slide(str(path))
    with pytest.raises(DataError, match="is no slide"):
        open_slide(str(tmp_path))


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is no slide: not a regular file"):
        open_slide(str(tmp_path))
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "a.svs")
        with pytest.raises(DataError, match="is no slide: not a regular file"):
            open_slide(str(tmp_path / "a.svs"))


@pytest.mark.parametrize("kind", ["420", "strips", "jp2"])
def test_a_slide_larger_than_any_is_refused(folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Places of tiles, and a thumbnail, are made for all of it."""
    path, width = str(slide_of(folder, kind).path), slide_of(folder, kind).levels[0].shape[1]
    monkeypatch.setattr(opened, "check_tiff", lambda path, falling: None)
    monkeypatch.setattr(opened, "LONGEST", width)
    assert open_slide(path).levels[0].width == width
    monkeypatch.setattr(opened, "LONGEST", width - 1)
    with pytest.raises(DataError, match=f"is {width}×.* px by what it says"):
        open_slide(path)


def test_without_the_extra_the_way_to_get_it_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(slide_of(folder, "420").path)
    monkeypatch.setitem(sys.modules, "openslide", None)
    with pytest.raises(DataError, match=r"reading slides needs openslide: pip install 'augrecipes\[slides\]'"):
        open_slide(path)


def test_openslide_reads_on_after_an_error(folder: Path, tmp_path: Path) -> None:
    """Its handles repeat their first error for ever; ours do not."""
    slide = slide_of(folder, "jp2")
    raw = bytearray(slide.path.read_bytes())
    import tifffile

    with tifffile.TiffFile(slide.path) as file:
        start, count = file.pages[0].dataoffsets[0], file.pages[0].databytecounts[0]
    raw[start : start + count] = bytes(count)
    path = tmp_path / "broken.svs"
    path.write_bytes(raw)
    reader = open_slide(str(path))
    for _ in range(2):
        with pytest.raises(DataError, match="OpenSlide cannot read 9×9 px at x=0, y=0 of level 0"):
            reader.read(0, Part(0, 0, 9, 9))
        law_of_parts(slide, reader, 0, Part(100, 100, 50, 50))


def test_a_slide_that_goes_while_it_is_read_is_told(folder: Path, tmp_path: Path) -> None:
    """After an error a slide is opened again: that may fail in other ways."""

    def fails(*_: Any) -> None:
        raise openslide.OpenSlideError("gone")

    for change in (Path.unlink, lambda path: path.write_bytes(b"no slide")):
        path = Path(shutil.copy(slide_of(folder, "jp2").path, tmp_path / "a.svs"))
        reader: Any = open_slide(str(path))
        reader._handle.read_region = fails
        change(path)
        for _ in range(2):
            with pytest.raises(DataError, match=r"a\.svs: is no slide that OpenSlide can open"):
                reader.read(0, Part(0, 0, 9, 9))


# -- open handles -----------------------------------------------------------------------------------------------------


def handles() -> int:
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files as Linux shows them")
def test_few_slides_stay_open(folder: Path, tmp_path: Path) -> None:
    paths = [shutil.copy(slide_of(folder, "420").path, tmp_path / f"{k}.tif") for k in range(12)]
    opened, before = OpenFiles(listed_slide, 3), handles()
    kept = [opened.at(str(path), stamp_of_file(str(path), "slide")) for path in paths]
    assert len(opened) == 3
    assert handles() - before == 12
    first = kept[0].read(0, Part(0, 0, 64, 64))  # one that was let go, and is still in use
    del kept
    assert handles() - before == 3
    again = opened.at(str(paths[0]), stamp_of_file(str(paths[0]), "slide"))
    assert np.array_equal(again.read(0, Part(0, 0, 64, 64)), first)
    assert opened.at(str(paths[0]), stamp_of_file(str(paths[0]), "slide")) is again


def test_a_slide_that_was_changed_is_told(folder: Path, tmp_path: Path) -> None:
    path = str(shutil.copy(slide_of(folder, "420").path, tmp_path / "a.tif"))
    stamp = stamp_of_file(path, "slide")
    opened = OpenFiles(listed_slide, 32)
    Path(path).write_bytes(Path(path).read_bytes() + b"\0")
    with pytest.raises(DataError, match=r"a\.tif: was changed since it was listed"):
        opened.at(path, stamp)


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


@pytest.mark.parametrize(("kind", "lacks"), [("420", ""), ("420", "pread"), ("jp2", "")])
def test_threads_read_at_once(folder: Path, kind: str, lacks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if lacks:  # as on Windows
        monkeypatch.delattr(os, lacks, raising=False)
    slide = slide_of(folder, kind)
    opened, stamp = OpenFiles(listed_slide, 1), stamp_of_file(str(slide.path), "slide")
    wanted = [Part(7 * k % 300, 5 * k % 200, 90, 70) for k in range(40)]
    expected = [referee(slide, 0, part) for part in wanted]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda part: opened.at(str(slide.path), stamp).read(0, part), wanted))
    assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


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
