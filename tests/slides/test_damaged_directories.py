"""TIFFs whose directories say what cannot be: an error, and not the end of the process."""

import re
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
import tifffile
from dicom_slides import write_dicom, write_mirax
from hypothesis import example, given
from hypothesis import strategies as st
from programs import Programs
from support.checks import tries
from support.slides import KINDS, tissue, write_slide

import augrecipes as ar
from augrecipes.sources.slides import listing
from augrecipes.sources.slides.listing import dicom_series, slides_in
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


# A folder of DICOM files: as many slides as series, whatever the files say besides.


RECIPE = (
    "{version: 1, recipe: d, kind: bag, bag: {min_tiles: 1}, steps: [], eval: [], output: {dtype: uint8, layout: hwc}}"
)


@pytest.fixture(scope="module")
def folder_series(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("dicom")
    for k, name in enumerate("ab"):
        write_dicom(made, name, tissue(256, 320, k), k + 1)
    (made / "c.dcm").write_bytes(b"no DICOM")
    return made


def test_a_series_is_one_slide(folder_series: Path, tmp_path: Path) -> None:
    (tmp_path / "d.yaml").write_text(RECIPE)
    for given_so in (
        folder_series / "[ab]*.dcm",
        [folder_series / "a-0.dcm", folder_series / "a-1.dcm", folder_series / "b-1.dcm", folder_series / "b-0.dcm"],
    ):
        bags = ar.SlideBags(str(given_so) if isinstance(given_so, Path) else given_so, tmp_path / "d.yaml",
                            tile=64, mpp=0.5, tissue=None, max_white=1)  # fmt: skip
        assert len(bags) == 2
        assert bags.tiles.tolist() == [20, 20]
    for k in range(2):
        x, y = bags[k]["coords"][0].tolist()
        off = np.abs(bags[k]["image"][0].numpy().astype(int) - tissue(256, 320, k)[y : y + 64, x : x + 64])
        assert off.mean() < 8  # what JPEG changes; another slide is 60 away
    assert [Path(path).name for path in slides_in(folder_series)] == ["a-0.dcm", "b-0.dcm", "c.dcm"]


def test_listing_every_file_is_caught(folder_series: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "dicom_series", lambda path: None)
    with pytest.raises(AssertionError):
        test_a_series_is_one_slide(folder_series, tmp_path)


@tries(60)
@given(data=st.data())
def test_damaged_files_have_a_series_or_none(folder_series: Path, data: st.DataObject) -> None:
    raw = bytearray((folder_series / "a-1.dcm").read_bytes()[:2000])
    for _ in range(data.draw(st.integers(0, 6))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path = folder_series.parent / "damaged.dcm"
    path.write_bytes(raw[: data.draw(st.integers(0, len(raw)))])
    assert dicom_series(str(path)) is None or isinstance(dicom_series(str(path)), str)
    assert dicom_series(str(folder_series / "nowhere.dcm")) is None
