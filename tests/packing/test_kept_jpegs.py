"""A jpeg store of JPEGs that no step changes has their very pixels; of others, and of an asked quality, not."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.damage import read_or_none
from support.encoded_images import FRACTIONS, JPEGS, Jpeg, corners_in, cut

import augrecipes as ar
from augrecipes.images.encoded import encoded
from augrecipes.native.kernels import codec
from augrecipes.packing import bake
from augrecipes.packing.bake import EXIF_MARKER, canonical_jpeg
from augrecipes.store import decodes_to, open_store

CROP = {"version": 1, "recipe": "crop", "steps": [{"RandomCrop": {"height": 24, "width": 20}}], "eval": []}
SMALLER: dict[str, Any] = CROP | {"steps": [{"Resize": {"height": 30, "width": 40}}, *CROP["steps"]]}  # type: ignore[misc]
FILES = {
    "plain": Jpeg(60, 70),
    "turned": Jpeg(60, 70, turn=6),
    "progressive": Jpeg(60, 70, progressive=True),
    "grey": Jpeg(60, 70, components=1),
    "cmyk": Jpeg(60, 70, components=4),
    "wide": Jpeg(60, 70, sampling="4:1:1", restart=3),
}


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photos") / "photos"
    (folder / "one").mkdir(parents=True)
    for name, jpeg in FILES.items():
        (folder / "one" / f"{name}.jpg").write_bytes(jpeg.data)
    return folder


def differences(recipe: dict[str, Any], photos: Path, store: Path, **options: Any) -> list[bool]:
    """Of each image, whether its sample from a jpeg store is another than that of its file."""
    ar.pack(recipe, photos, store, format="jpeg", **options)
    packed, files = ar.Packed(store, recipe, seed=1), ar.ImageFolder(photos, recipe, seed=1)
    return [not bool((packed[i]["image"] == files[i]["image"]).all()) for i in range(len(files))]


@pytest.mark.parametrize("library", [True, False])
@pytest.mark.parametrize("optimize", ["none", "exact"])
def test_samples_are_those_of_the_files(
    library: bool, optimize: str, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not library:
        monkeypatch.setattr(bake, "codec", lambda: None)
    assert not any(differences(CROP | {"optimize": optimize}, photos, tmp_path / "store"))
    store = open_store(tmp_path / "store")
    for name, item in zip(sorted(FILES), range(len(FILES)), strict=True):
        whole = ar.read_image(photos / "one" / f"{name}.jpg")
        np.testing.assert_array_equal(store.array("image", item), whole)
        np.testing.assert_array_equal(store.encoded("image", item).region(5, 7, 30, 40), whole[5:30, 7:40])


def test_a_progressive_file_that_lacks_a_scan_is_kept_as_it_is(tmp_path: Path) -> None:
    """Decoders smooth what is left of it."""
    whole = FILES["progressive"].data
    (tmp_path / "one").mkdir()
    scans = list(re.finditer(rb"\xff\xda.*?(?=\xff[\xc4\xda\xd9])", whole, re.DOTALL))
    found = [whole[: scan.start()] + whole[scan.end() :] for scan in scans]
    found = [data for data in found if read_or_none(data) is not None]
    assert len(found) > 4
    for number, data in enumerate(found):
        (tmp_path / "one" / f"{number}.jpg").write_bytes(data)
    if (library := codec()) is not None:
        assert library.transcoded(whole)
        for data in found:
            with pytest.raises(ValueError, match=r"state|progression"):
                library.transcoded(data)
    assert differences(CROP, tmp_path, tmp_path.with_name("store")) == [False] * len(found)


def test_pixels_that_a_step_made_and_qualities_asked_for_are_encoded(photos: Path, tmp_path: Path) -> None:
    assert any(differences(SMALLER, photos, tmp_path / "smaller", mode="train"))
    assert all(differences(CROP, photos, tmp_path / "worse", quality=30))


def test_a_library_that_writes_another_image_is_not_believed(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Jpeg(60, 70, seed=5).data

    class Wrong:
        def transcoded(self, data: bytes) -> bytes:
            return other

    monkeypatch.setattr(bake, "codec", Wrong)
    ar.pack(CROP, photos, tmp_path / "store", format="jpeg")
    store = open_store(tmp_path / "store")
    for name, item in zip(sorted(FILES), range(len(FILES)), strict=True):
        whole = ar.read_image(photos / "one" / f"{name}.jpg").astype(int)
        assert 0 < np.abs(store.array("image", item) - whole).mean() < 6  # encoded anew


# A JPEG as stores keep it decodes to the very pixels of the file, whole and in part, whatever kind it is of.


@pytest.fixture(scope="module", params=["libjpeg-turbo", "none"])
def writer_of_jpegs(request: pytest.FixtureRequest) -> Iterator[Any]:
    """What writes the coefficients anew: everything here holds without it, too."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "none":
            patch.setattr(bake, "codec", lambda: None)
        elif codec() is None:
            pytest.skip("built without libjpeg-turbo")
        yield request.param


@pytest.mark.usefixtures("writer_of_jpegs")
@given(JPEGS, st.sampled_from((1, 3)), st.sampled_from(("apply", "ignore")), FRACTIONS)
def test_what_is_kept_is_the_image(jpeg: Jpeg, channels: int, exif: Any, fractions: tuple[float, ...]) -> None:
    image = encoded(jpeg.data, name="it", channels=channels, exif=exif)
    data = canonical_jpeg(image.data, image.header, image.turn)
    assert decodes_to(image.array(), data)
    assert (data[2:4] == EXIF_MARKER) == (image.turn != 1)
    again, corners = encoded(data, name="kept", channels=channels), corners_in(image, fractions)
    assert again.shape == image.shape
    np.testing.assert_array_equal(again.region(*corners), cut(image.array(), corners))


@pytest.mark.usefixtures("writer_of_jpegs")
def test_places_on_earth_and_thumbnails_are_not_kept() -> None:
    plain = Jpeg(40, 50).data
    secret = b"59.3293N" * 900
    data = plain[:2] + b"\xff\xe1" + (len(secret) + 2).to_bytes(2, "big") + secret + plain[2:]
    data = data[:2] + b"\xff\xfe\x00\x0ahusband.." + data[2:]
    image = encoded(data, name="it")
    found = canonical_jpeg(data, image.header, 1)
    assert found is not None
    assert b"59.3293N" not in found
    assert b"husband" not in found
    assert decodes_to(image.array(), found)


def test_other_files_are_not_kept() -> None:
    ramp = b"P5 4 4 255\n" + bytes(range(16))
    assert canonical_jpeg(ramp, encoded(ramp, name="ramp").header, 1) is None
