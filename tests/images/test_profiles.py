"""Colour profiles: told of where they are left alone, and applied where a recipe asks, as Pillow's ImageCms does."""

import io
import logging
import struct
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import augrecipes as ar
from augrecipes.images import losses
from augrecipes.images.encoded import encoded

ImageCms = pytest.importorskip("PIL.ImageCms")
# Display P3: primaries adapted to D50, as its ICC profile has them; here with a plain power of 2.2.
P3 = np.array([[0.51512, 0.24120, -0.00105], [0.29198, 0.69225, 0.04189], [0.15710, 0.06657, 0.78407]])
SRGB = np.array([[0.43607, 0.22249, 0.01392], [0.38515, 0.71687, 0.09708], [0.14307, 0.06061, 0.71410]])
RAMP = np.array([*product(range(0, 256, 17), repeat=3)], np.uint8).reshape(64, 64, 3)
GREY = np.arange(256, dtype=np.uint8).reshape(16, 16)


def icc(space: bytes, name: str, tags: dict[bytes, bytes]) -> bytes:
    """A display profile, version 2."""
    text = name.encode()
    tags = {b"desc": b"desc\0\0\0\0" + struct.pack(">I", len(text) + 1) + text + bytes(80), **tags,
            b"wtpt": _xyz(0.9642, 1, 0.8249), b"cprt": b"text\0\0\0\0none\0"}  # fmt: skip
    at, table, body = 132 + 12 * len(tags), b"", b""
    for tag, unpadded in tags.items():
        value = unpadded + bytes(-len(unpadded) % 4)
        table += struct.pack(">4sII", tag, at + len(body), len(value))
        body += value
    head = struct.pack(">I4sI4s4s4s12x4s28xiii48x", at + len(body), b"lcms", 0x02400000, b"mntr", space, b"XYZ ",
                       b"acsp", 63190, 65536, 54061)  # fmt: skip
    return head + struct.pack(">I", len(tags)) + table + body


def _xyz(*values: float) -> bytes:
    return b"XYZ \0\0\0\0" + struct.pack(">iii", *(round(value * 65536) for value in values))


def _power(value: float) -> bytes:
    return b"curv\0\0\0\0" + struct.pack(">IH", 1, round(value * 256))


WIDE = icc(b"RGB ", "A wide display", {b"rXYZ": _xyz(*P3[0]), b"gXYZ": _xyz(*P3[1]), b"bXYZ": _xyz(*P3[2]),
                                       **dict.fromkeys((b"rTRC", b"gTRC", b"bTRC"), _power(2.2))})  # fmt: skip
DARK = icc(b"GRAY", "Grey of 1.8", {b"kTRC": _power(1.8)})
OWN = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
FILES = {"png": {}, "tiff": {}, "webp": {"lossless": True}, "jpeg": {"quality": 95}}


def file_of(image: np.ndarray, kind: str, profile: bytes | None) -> bytes:
    data = io.BytesIO()
    Image.fromarray(image).save(data, kind, icc_profile=profile, **FILES[kind])
    return data.getvalue()


def by_pillow(data: bytes, profile: bytes) -> np.ndarray:
    image, given = Image.open(io.BytesIO(data)), ImageCms.ImageCmsProfile(io.BytesIO(profile))
    return np.asarray(ImageCms.profileToProfile(image, given, ImageCms.createProfile("sRGB"), outputMode="RGB"))


def by_formula(image: np.ndarray) -> np.ndarray:
    """From the wide display to sRGB, clipped."""
    linear = np.clip((image / 255) ** 2.2 @ P3 @ np.linalg.inv(SRGB), 0, 1)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055) * 255


@pytest.fixture(autouse=True)
def notices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(losses, "_notices", set())


def profile_law(kind: str, image: np.ndarray = RAMP, profile: bytes = WIDE) -> None:
    data = file_of(image, kind, profile)
    plain, converted = (encoded(data, name="a", icc=icc) for icc in (None, "srgb"))
    whole = converted.array()
    np.testing.assert_array_equal(whole, by_pillow(data, profile))
    assert not np.array_equal(whole, plain.array())
    np.testing.assert_array_equal(converted.region(3, 5, 14, 12), whole[3:14, 5:12])
    assert converted.coded(3, 5, 14, 12) is None


@pytest.mark.parametrize("kind", FILES)
def test_values_are_those_of_imagecms_in_windows_too(kind: str) -> None:
    profile_law(kind)
    profile_law(kind, np.repeat(GREY[..., None], 3, 2) if kind == "webp" else GREY, WIDE if kind == "webp" else DARK)


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_grey_is_made_of_converted_colours(channels: int) -> None:
    data = file_of(RAMP, "png", WIDE)
    rgb, other = (encoded(data, name="a", icc="srgb", channels=count).array() for count in (3, channels))
    expected = {1: np.asarray(encoded(file_of(rgb, "png", None), name="b", channels=1).array()), 3: rgb,
                4: np.dstack([rgb, np.full((64, 64), 255, np.uint8)])}  # fmt: skip
    np.testing.assert_array_equal(other, expected[channels])


def test_the_profile_is_the_published_formula() -> None:
    found = encoded(file_of(RAMP, "png", WIDE), name="a", icc="srgb").array()
    inside = (by_formula(RAMP) > 1).all(-1) & (by_formula(RAMP) < 254).all(-1)
    assert np.abs(found[inside] - by_formula(RAMP)[inside]).max() <= 2


def test_values_left_alone_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("augrecipes.images.encoded.to_srgb", lambda image, header: image)
    with pytest.raises(AssertionError):
        profile_law("png")


def test_alpha_stays() -> None:
    data = file_of(np.dstack([RAMP, RAMP[..., 0]]), "png", WIDE)
    found = encoded(data, name="a", icc="srgb", channels=4).array()
    np.testing.assert_array_equal(found[..., 3], RAMP[..., 0])
    np.testing.assert_array_equal(found[..., :3], encoded(file_of(RAMP, "png", WIDE), name="b", icc="srgb").array())


@pytest.mark.parametrize("kind", FILES)
def test_srgb_and_none_stay_as_they_are(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    for profile in (OWN, None):
        data = file_of(RAMP, kind, profile)
        with caplog.at_level(logging.WARNING):
            plain, asked = (encoded(data, name="a", icc=icc).array() for icc in (None, "srgb"))
        np.testing.assert_array_equal(plain, asked)
    assert not caplog.records


def test_a_profile_of_many_segments_is_read_whole() -> None:
    big = icc(b"RGB ", "Wide" + "!" * 150_000, {b"rXYZ": _xyz(*P3[0]), b"gXYZ": _xyz(*P3[1]), b"bXYZ": _xyz(*P3[2]),
              **dict.fromkeys((b"rTRC", b"gTRC", b"bTRC"), _power(2.2))})  # fmt: skip
    profile_law("jpeg", profile=big)


def test_what_cannot_be_converted_is_an_error(tmp_path: Path) -> None:
    damaged = file_of(RAMP, "png", b"no profile at all")
    with pytest.raises(ar.DataError, match="its colour profile cannot be applied to RGB"):
        encoded(damaged, name="a", icc="srgb").array()
    Image.fromarray(RAMP).convert("CMYK").save(tmp_path / "a.jpg", icc_profile=WIDE)
    with pytest.raises(
        ar.DataError, match="CMYK, with a colour profile, which is applied to 8 bits of grey and of RGB"
    ):
        ar.read_image(tmp_path / "a.jpg", icc="srgb")
    assert ar.read_image(tmp_path / "a.jpg").shape == RAMP.shape


RECIPE = "version: 1\nrecipe: icc\n{}steps: [RandomCrop: {{height: 8, width: 8}}]\neval: []\n"


def test_datasets_say_it_once_or_convert(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for k in range(3):
        (tmp_path / f"{k}.jpg").write_bytes(file_of(RAMP, "jpeg", WIDE if k else OWN))
    plain, asked = ar.load(RECIPE.format("")), ar.load(RECIPE.format("inputs: {icc: srgb}\n"))
    assert "icc: srgb" in asked.to_yaml()
    assert ar.load(asked.to_yaml()) == asked
    with caplog.at_level(logging.WARNING):
        [*ar.ImageFolder(tmp_path, asked, mode="eval")]
        assert not caplog.records
        [*ar.ImageFolder(tmp_path, plain, mode="eval")]
    (message,) = [record.getMessage() for record in caplog.records]
    assert "1.jpg: has the colour profile 'A wide display', which is not applied" in message
    for mode in ("none", "exact"):
        ds = ar.ImageFolder(tmp_path, asked, mode="eval", optimize=mode)
        values = np.rint(ds[1]["image"].numpy().transpose(1, 2, 0) * 255)
        np.testing.assert_array_equal(values, by_pillow((tmp_path / "1.jpg").read_bytes(), WIDE))
    first, second = (ar.ImageFolder(tmp_path, asked, seed=1, optimize=mode)[2]["image"] for mode in ("none", "exact"))
    assert (first == second).all()
    ar.pack(asked, tmp_path, tmp_path / "store")
    packed = ar.Packed(tmp_path / "store", asked, seed=1)
    assert (packed[2]["image"] == first).all()
    with pytest.raises(ar.StoreError, match="was packed with `icc: srgb`, the recipe's inputs say None"):
        ar.Packed(tmp_path / "store", plain)
