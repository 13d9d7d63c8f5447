"""TIFFs whose directories say what cannot be: an error, and not the end of the process."""

from __future__ import annotations

import re
import struct
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from programs import Programs

pytest.importorskip("openslide")
tifffile = pytest.importorskip("tifffile")

from whole_slides import KINDS, tissue, write_slide  # noqa: E402

from augrecipes.errors import DataError  # noqa: E402
from augrecipes.sources.slides.opened import open_slide  # noqa: E402
from augrecipes.sources.slides.pyramid import Part  # noqa: E402

TAGS = ("ImageWidth", "ImageLength", "TileWidth", "TileLength", "TileOffsets", "TileByteCounts")
TILED = [kind for kind in KINDS if "strips" not in kind]
END = """
import sys
from augrecipes.sources.slides import opened
from augrecipes.sources.slides.pyramid import Part
opened.check_tiff = lambda path, falling: None
opened.open_slide(sys.argv[1]).read(0, Part(0, 0, 80, 80))
"""


def with_tag(slide: Path, to: Path, picture: int, tag: str, value: int, *, count: bool = False) -> Path:
    """A copy of a slide whose picture says something else; its value, or how many values there are."""
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
@settings(max_examples=40)
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
    below = kind == "below" and picture  # sub-pictures, which OpenSlide does not look at
    path = with_tag(slide, folder / f"damaged{slide.suffix}", 0 if below else picture, tag, value, count=count)
    try:
        reader = open_slide(str(path))
        for k, level in enumerate(reader.levels):
            for x in (0, level.width - 80):
                assert reader.read(k, Part(x, 0, 80, 80)).shape == (80, 80, 3)
    except DataError as error:
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
    with pytest.raises(DataError, match=f"^{re.escape(str(path))}: is damaged: image 0 cannot have .* {said}$"):
        open_slide(str(path))


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize("tile", [64, 1 << 21])
def test_directories_of_any_order_and_length_are_read(tmp_path: Path, order: str, big: bool, tile: int) -> None:
    from augrecipes.sources.slides.opened import check_tiff

    path = tmp_path / "a.tif"
    with tifffile.TiffWriter(path, byteorder=order, bigtiff=big) as file:
        for _ in range(2):
            file.write(tissue(100, 120), tile=(64, 64), photometric="rgb")
    with tifffile.TiffFile(path, mode="r+b") as file:
        tag = file.pages[1].tags["TileWidth"]
        if tile != 64:
            tag.overwrite(tile, dtype="I")
    if tile == 64:
        check_tiff(str(path), falling=True)
    else:
        with pytest.raises(DataError, match="is damaged: image 1 "):
            check_tiff(str(path), falling=True)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_without_the_check_the_process_would_end(folder: Path, tmp_path: Path, programs: Programs) -> None:
    """What the law above is for: were it not so any more, the check could go."""
    path = with_tag(slide_in(folder, "raw"), tmp_path / "a.tif", 0, "TileLength", 1 << 30)
    assert programs(END, str(path)).returncode < 0
