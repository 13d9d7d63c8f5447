"""What listings of slides keep from run to run changes none of them, whatever became of slides, masks and the cache."""

from __future__ import annotations

import functools
import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import tifffile
from hypothesis import given
from hypothesis import strategies as st
from support.budgets import tries
from support.faults import planted_faults
from support.slides import tissue, write_slide

from augrecipes import cache
from augrecipes.cache import SLIDES
from augrecipes.errors import DataError
from augrecipes.sources.slide_bags import SlideFiles, SlideTable
from augrecipes.sources.slides import listing
from augrecipes.sources.slides.listing import Windows

TISSUE: list[Any] = ["otsu", 0.08, "masks", "regions/{stem}.geojson", None]
real_state: Any = listing.state_of
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


@pytest.fixture(autouse=True)
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
        counting: Any = type(
            "Counting",
            (),
            {
                "at": lambda _, path, stamp: (asked.append(path), real.at(path, stamp))[1],
                "forget": lambda _, path, stamp: real.forget(path, stamp),
            },
        )
        patch.setattr(listing, "OPENED", counting())
        return call(), len(set(asked))


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
            listing.OPENED._open.clear()  # as another process, which has not the one before open
            assert outcome(root, tissue) == with_cache


def outcome(root: Path, tissue: Any) -> tuple[Any, ...]:
    try:
        table = listed(root, tissue)
    except DataError as error:
        return ("error", str(error))
    return table.digest(), table.coords.tolist(), table.offsets.tolist(), table.downsamples.tolist()


steps = st.lists(st.tuples(st.sampled_from(sorted(changes(Path()))), st.integers(0, 50)), max_size=4)


@tries(15)
@given(how=st.sampled_from(TISSUE), done=steps)
def test_whatever_changes_is_noticed(
    drawn: Path, tmp_path_factory: pytest.TempPathFactory, how: Any, done: list[tuple[str, int]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        law(drawn, tmp_path_factory.mktemp("one"), patch, how, done)


def law_of(how: Any, *done: tuple[str, int]) -> Callable[[Callable[[str], Any]], None]:
    return lambda fixture: law(fixture("drawn"), fixture("tmp_path"), fixture("monkeypatch"), how, list(done))


test_planted_faults_are_caught = planted_faults({
    "a mask is not looked at": (
        law_of("masks", ("mask", 1)),
        (listing, "state_of", lambda path, mask, folders: real_state(path, None, folders)),
    ),
    "regions are not looked at": (
        law_of(TISSUE[3], ("exchanged", 0)),
        (listing, "state_of", lambda path, mask, folders: real_state(path, None, folders)),
    ),
    "a slide is not looked at": (
        law_of("otsu", ("slide", 2)), (listing, "state_of", lambda path, mask, folders: "as before"),
    ),
    "times alone": (
        law_of("otsu", ("same times", 0)),
        (listing, "state_of", lambda path, mask, folders: str(os.stat(path).st_mtime_ns)),  # noqa: PTH116
    ),
    "a slide that is open is looked at for the one that has taken its place": (
        law_of("otsu", ("replaced", 0)), (listing.OPENED, "forget", lambda *_: None),
    ),
})  # fmt: skip


def test_what_was_changed_just_now_is_not_kept(drawn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written again within the same tick of the clock, a file may keep its times."""
    root = fill(drawn, tmp_path / "data")
    monkeypatch.setenv("AUGRECIPES_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("augrecipes.cache.now_ns", time.time_ns)
    for _ in range(2):
        assert opened_by(lambda: listed(root, "otsu"))[1] == 2
    assert list(SLIDES.files()) == []


@pytest.mark.parametrize(("name", "inside"), [("a.mrxs", "a/Data0000.dat"), ("a.dcm", "b.dcm")])
def test_files_that_belong_to_a_slide_are_looked_at(tmp_path: Path, name: str, inside: str) -> None:
    for one in (tmp_path / name, tmp_path / inside):
        one.parent.mkdir(exist_ok=True)
        one.write_bytes(b"1")
    before = listing.state_of(str(tmp_path / name), None, listing._state_of_folder)
    (tmp_path / inside).write_bytes(b"22")
    assert listing.state_of(str(tmp_path / name), None, listing._state_of_folder) not in (before, None)


def test_a_folder_is_looked_at_once_for_all_slides_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file of a DICOM slide belongs to every slide of its folder."""
    paths = [tmp_path / f"{k}.dcm" for k in range(20)]
    for path in paths:
        path.write_bytes(b"1")
    asked: list[str] = []
    real = os.stat
    monkeypatch.setattr(listing.os, "stat", lambda path, **how: (asked.append(str(path)), real(path, **how))[1])
    folders = functools.cache(listing._state_of_folder)
    states = {listing.state_of(str(path), None, folders) for path in paths}
    assert len(states) == len(paths)
    assert None not in states
    assert sum(name.endswith(".dcm") for name in asked) <= 4 * len(paths)
