"""A folder of DICOM files: as many slides as series, whatever the files say besides."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from dicom_slides import EXPLICIT, IMPLICIT, WHOLE_SLIDE, begin, element, sequence, write_dicom
from hypothesis import given
from hypothesis import strategies as st
from support.budgets import tries
from support.slides import tissue

import augrecipes as ar
from augrecipes.sources.slides import listing
from augrecipes.sources.slides.listing import series_of, slides_in

RECIPE = (
    "{version: 1, recipe: d, kind: bag, bag: {min_tiles: 1}, steps: [], eval: [], output: {dtype: uint8, layout: hwc}}"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("dicom")
    for k, name in enumerate("ab"):
        write_dicom(made, name, tissue(256, 320, k), k + 1)
    (made / "c.dcm").write_bytes(b"no DICOM")
    return made


def test_a_series_is_one_slide(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "d.yaml").write_text(RECIPE)
    for given_so in (
        folder / "[ab]*.dcm",
        [folder / "a-0.dcm", folder / "a-1.dcm", folder / "b-1.dcm", folder / "b-0.dcm"],
    ):
        bags = ar.SlideBags(str(given_so) if isinstance(given_so, Path) else given_so, tmp_path / "d.yaml",
                            tile=64, mpp=0.5, tissue=None, max_white=1)  # fmt: skip
        assert len(bags) == 2
        assert bags.tiles.tolist() == [20, 20]
    for k in range(2):
        x, y = bags[k]["coords"][0].tolist()
        off = np.abs(bags[k]["image"][0].numpy().astype(int) - tissue(256, 320, k)[y : y + 64, x : x + 64])
        assert off.mean() < 8  # what JPEG changes; another slide is 60 away
    assert [Path(path).name for path in slides_in(folder)] == ["a-0.dcm", "b-0.dcm", "c.dcm"]


def test_listing_every_file_is_caught(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "series_of", lambda path: None)
    with pytest.raises(AssertionError):
        test_a_series_is_one_slide(folder, tmp_path)


def test_series_of_other_folders_are_other_slides(folder: Path, tmp_path: Path) -> None:
    """OpenSlide looks for the files of a series in one folder."""
    for name in ("one", "two"):
        write_dicom(tmp_path, name, tissue(64, 64), 1)
        (tmp_path / name).mkdir()
        for file in tmp_path.glob(f"{name}-*.dcm"):
            file.rename(tmp_path / name / file.name)
    assert [Path(path).name for path in slides_in(str(tmp_path / "*" / "*.dcm"))] == ["one-0.dcm", "two-0.dcm"]


nested = st.recursive(
    st.just(b""),
    lambda inner: st.builds(
        lambda items, ends: sequence(8, 0x1115, *items, open_end=ends), st.lists(inner, max_size=3), st.booleans()
    ),
    max_leaves=8,
)


@tries(30)
@given(inside=nested, wrong=st.booleans(), implicit=st.booleans(), private=st.binary(max_size=9))
def test_the_series_is_that_of_the_file_itself(
    tmp_path_factory: pytest.TempPathFactory, inside: bytes, wrong: bool, implicit: bool, private: bytes
) -> None:
    """Not one of those that its sequences name."""
    named = element(0x20, 0xD, "UI", "1.2") + element(0x20, 0xE, "UI", "1.2.3") if wrong else b""
    path = tmp_path_factory.mktemp("one") / "a.dcm"
    body = element(8, 0x16, "UI", WHOLE_SLIDE, implicit=implicit) + element(9, 0x1001, "UN", private, implicit=implicit)
    if not implicit:
        body += sequence(8, 0x1140, inside + named, inside, open_end=wrong)
    path.write_bytes(begin(IMPLICIT if implicit else EXPLICIT, 1) + body + own(implicit))
    assert series_of(str(path)) == "4.5.67"


def own(implicit: bool = False) -> bytes:
    """The study and the series of a file, and what stands behind them."""
    numbers = ((0xD, "UI", "4.5"), (0xE, "UI", "4.5.67"), (0x10, "SH", "7"))
    return b"".join(element(0x20, tag, kind, value, implicit=implicit) for tag, kind, value in numbers)


def test_a_part_of_a_number_is_none(tmp_path: Path) -> None:
    path, raw = tmp_path / "a.dcm", begin(EXPLICIT, 1) + own()
    path.write_bytes(raw)
    assert series_of(str(path)) == "4.5.67"
    for end in range(raw.index(b"4.5.67") + 7):
        path.write_bytes(raw[:end])
        assert series_of(str(path)) is None


@tries(60)
@given(data=st.data())
def test_damaged_files_have_a_series_or_none(folder: Path, data: st.DataObject) -> None:
    raw = bytearray((folder / "a-1.dcm").read_bytes()[:2000])
    for _ in range(data.draw(st.integers(0, 6))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path = folder.parent / "damaged.dcm"
    path.write_bytes(raw[: data.draw(st.integers(0, len(raw)))])
    assert series_of(str(path)) is None or isinstance(series_of(str(path)), str)
    assert series_of(str(folder / "nowhere.dcm")) is None
