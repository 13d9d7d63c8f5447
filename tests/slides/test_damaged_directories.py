"""TIFFs whose directories say what cannot be: an error, and not the end of the process."""

import re
import struct
import sys
from pathlib import Path

import pytest
import tifffile
from hypothesis import example, given
from hypothesis import strategies as st
from mirax_slides import write_mirax
from programs import Programs
from support.checks import tries
from support.slides import KINDS, write_slide

import augrecipes as ar
from augrecipes.sources.slides.opened import open_slide
from augrecipes.sources.slides.pyramid import Part

TAGS = ("ImageWidth", "ImageLength", "TileWidth", "TileLength", "TileOffsets", "TileByteCounts")
TILED = [kind for kind in KINDS if "strips" not in kind]
END = """
import sys
from augrecipes.sources.slides import opened
from augrecipes.sources.slides.pyramid import Part
opened.check_tiff = lambda *_, **__: None
opened.open_slide(sys.argv[1]).read(0, Part(0, 0, 80, 80))
"""


def with_tag(slide: Path, to: Path, picture: int, tag: str, value: int, *, count: bool = False) -> Path:
    """A copy of a slide whose image says something else; its value, or how many values there are."""
    raw = bytearray(slide.read_bytes())
    with tifffile.TiffFile(slide) as file:
        at = file.pages[picture].aspage().tags[tag].offset
    struct.pack_into("<I", raw, at + (4 if count else 8), value)
    to.write_bytes(raw)
    return to


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("directories")
    for kind in TILED:
        write_slide(folder, kind, name=kind.replace(" ", "-"))
    return folder


def slide_in(folder: Path, kind: str) -> Path:
    (found,) = folder.glob(f"{kind.replace(' ', '-')}.*")
    return found


@pytest.mark.parametrize("kind", TILED)
@tries(15)
@given(
    picture=st.integers(0, 2),
    tag=st.sampled_from(TAGS),
    count=st.booleans(),
    value=st.sampled_from(
        [0, 1, 2, 3, 63, 65, 1 << 15, 1 << 18, 1 << 21, 1 << 24, (1 << 31) - 1, 1 << 31, (1 << 32) - 1]
    ),
)
@example(picture=1, tag="TileLength", count=False, value=0x11000040)
@example(picture=2, tag="ImageWidth", count=False, value=0x200069)
def test_no_number_in_a_directory_ends_the_process(
    folder: Path, kind: str, picture: int, tag: str, count: bool, value: int
) -> None:
    """As libraries in C do that take sizes on trust: by no memory for a tile, or a division by 0."""
    slide = slide_in(folder, kind)
    below = kind == "below" and picture  # sub-images, which OpenSlide does not look at
    path = with_tag(slide, folder / f"damaged{slide.suffix}", 0 if below else picture, tag, value, count=count)
    try:
        read(path)
    except ar.DataError as error:
        assert error.path == str(path)


@pytest.mark.parametrize(
    ("tag", "value", "said"),
    [
        ("TileLength", 1 << 30, "420 · 300 · 64 · 1073741824"),
        ("TileWidth", 0, "420 · 300 · 0 · 64"),
        ("ImageWidth", 1 << 22, "4194304 · 300 · 64 · 64"),
        ("ImageLength", 0, "420 · 0 · 64 · 64"),
        ("ImageWidth", 4000, "4000 · 300 · 64 · 64"),  # more than there are tiles for
    ],
)
def test_it_is_told_what_the_directory_says(folder: Path, tmp_path: Path, tag: str, value: int, said: str) -> None:
    path = with_tag(slide_in(folder, "jp2"), tmp_path / "a.svs", 0, tag, value)
    with pytest.raises(ar.DataError, match=f"^{re.escape(str(path))}: is damaged: image 0 cannot have .* {said}$"):
        open_slide(str(path))


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_without_the_check_the_process_would_end(folder: Path, tmp_path: Path, programs: Programs) -> None:
    """What the law above is for: were it not so any more, the check could go."""
    path = with_tag(slide_in(folder, "raw"), tmp_path / "a.tif", 0, "TileLength", 1 << 30)
    assert programs(END, str(path)).returncode < 0


# Slides that are described in text: whatever stands there is read, or an error, and not the end of the process.


END_OF_TEXT = """
import sys
from augrecipes.sources.slides import opened
from augrecipes.sources.slides.pyramid import Part
opened.check_mirax = lambda path: None
opened.open_slide(sys.argv[1]).read(0, Part(0, 0, 80, 80))
"""
SAID = st.sampled_from(["", "x", "0", "-1", "1", "3", "7", "65", "36.5", "1000000000", "4294967297", "9" * 30, "nan"])


def read(slide: Path) -> None:
    """Opens a slide, and reads corners of its levels."""
    reader = open_slide(str(slide))
    for k, level in enumerate(reader.levels):
        for x in (0, max(level.width - 80, 0)):
            assert reader.read(k, Part(x, 0, 80, 80)).shape == (80, 80, 3)


def changed(told: Path, line: int, value: str | None) -> None:
    """Has a line that names a value name another; None: it goes."""
    lines = told.read_text().splitlines()
    named = [k for k, text in enumerate(lines) if "=" in text]
    k = named[line % len(named)]
    lines[k : k + 1] = [] if value is None else [f"{lines[k].partition('=')[0]}={value}"]
    told.write_text("\n".join(lines))


@tries(25)
@given(changes=st.lists(st.tuples(st.integers(0, 40), st.none() | SAID), min_size=1, max_size=3))
@example(changes=[(4, "7")])
@example(changes=[(5, None)])
def test_nothing_said_ends_the_process(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, str | None]]
) -> None:
    slide, told = write_mirax(tmp_path_factory.mktemp("told"))
    for line, value in changes:
        changed(told, line, value)
    try:
        read(slide)
    except ar.DataError as error:
        assert error.path in (str(slide), str(told))


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_without_the_check_of_text_the_process_would_end(tmp_path: Path, programs: Programs) -> None:
    """What the law above is for: were it not so any more, the check could go."""
    slide, told = write_mirax(tmp_path)
    name = "CameraImageDivisionsPerSide"
    told.write_text(re.sub(f"{name}=.*", f"{name}=65", told.read_text()))
    assert programs(END_OF_TEXT, str(slide)).returncode < 0
