"""Every format × mode: the right pixels, the promised array, EXIF applied once."""

from __future__ import annotations

import io
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image, features
from support import encoded_pictures as pictures
from support.decoding import decode_image
from support.encoded_pictures import Picture

from augrecipes.errors import DataError
from augrecipes.images.reading import FORMATS, read_header, sniff
from augrecipes.sources.files import decode_mask, read_image

PICTURES = pictures.all_pictures()
TABLE = pytest.mark.parametrize("picture", PICTURES, ids=lambda p: p.name)


def same(found: np.ndarray, expected: np.ndarray, *, exact: bool) -> None:
    assert found.shape == expected.shape
    if exact:
        np.testing.assert_array_equal(found, expected)
    else:
        assert np.abs(found.astype(int) - expected).mean() < 10


@TABLE
def test_pixels_are_as_stored_in_any_number_of_channels(picture: Picture) -> None:
    rgb = np.ascontiguousarray(picture.rgb)
    alpha = picture.stored[:, :, 3] if picture.stored.shape[2] == 4 else np.full(rgb.shape[:2], 255, np.uint8)
    grey = cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY)[:, :, None]
    for channels, expected in {3: rgb, None: picture.stored, 4: np.dstack([rgb, alpha]), 1: grey}.items():
        image = decode_image(picture.data, name=picture.name, channels=channels)
        same(image, expected, exact=picture.exact)
        assert channels != 4 or np.array_equal(image[:, :, 3], alpha)
        assert image.dtype == np.uint8
        assert image.flags.c_contiguous
        assert image.flags.writeable
        assert image.flags.owndata


@TABLE
def test_masks_are_ids_or_refused(picture: Picture) -> None:
    if picture.mask is None and picture.stored.shape[2] > 1:
        with pytest.raises(DataError, match="mask"):
            decode_mask(picture.data, name=picture.name)
        return
    mask = decode_mask(picture.data, name=picture.name)
    expected = picture.stored[:, :, 0] if picture.mask is None else picture.mask
    same(mask, expected, exact=picture.exact)
    assert mask.dtype == expected.dtype
    assert mask.flags.owndata
    assert mask.flags.writeable


@TABLE
def test_header_says_the_size(picture: Picture) -> None:
    header = read_header(picture.data)
    assert (header.height, header.width) == picture.stored.shape[:2]
    assert header.alpha == (picture.stored.shape[2] == 4)
    assert (header.color == "grey") == (picture.stored.shape[2] == 1 or picture.name == "grey-alpha.png")


@TABLE
def test_the_limit_is_checked_first(picture: Picture) -> None:
    pixels = pictures.HEIGHT * pictures.WIDTH
    assert decode_image(picture.data, name="x", max_pixels=pixels).size
    for decode in (decode_image, decode_mask):
        with pytest.raises(DataError, match=r"limit of 285"):
            decode(picture.data, name="x", max_pixels=pixels - 1)


@TABLE
def test_names_do_not_matter(picture: Picture, tmp_path: Path) -> None:
    file = tmp_path / "photo.jpg.txt"
    file.write_bytes(picture.data)
    np.testing.assert_array_equal(read_image(file), decode_image(picture.data, name=""))


TURNED = ["JPEG", "PNG", "WEBP", "TIFF"]


@pytest.mark.parametrize("orientation", range(10))
@pytest.mark.parametrize("kind", TURNED)
def test_orientation_is_applied_once(kind: str, orientation: int) -> None:
    options = {"lossless": True} if kind == "WEBP" else {"quality": 100, "subsampling": 0} if kind == "JPEG" else {}
    data = pictures.encoded(Image.fromarray(pictures.RGB), kind, exif=pictures.exif(orientation), **options)
    stored = decode_image(data, name="x", exif="ignore")
    same(stored, pictures.RGB, exact=kind != "JPEG")
    expected = {
        2: stored[:, ::-1],
        3: stored[::-1, ::-1],
        4: stored[::-1],
        5: stored.transpose(1, 0, 2),
        6: np.rot90(stored, -1),
        7: np.rot90(stored, 2).transpose(1, 0, 2),
        8: np.rot90(stored),
    }.get(orientation, stored)
    np.testing.assert_array_equal(decode_image(data, name="x"), expected)
    assert read_header(data).orientation == (orientation if 1 <= orientation <= 8 else 1)


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_orientation_of_grey_and_masks(kind: str) -> None:
    data = pictures.encoded(Image.fromarray(pictures.DEEP), kind, exif=pictures.exif(6))
    np.testing.assert_array_equal(decode_mask(data, name="x"), np.rot90(pictures.DEEP, -1))
    np.testing.assert_array_equal(decode_mask(data, name="x", exif="ignore"), pictures.DEEP)
    assert decode_image(data, name="x", channels=1).shape == (pictures.WIDTH, pictures.HEIGHT, 1)


def test_cmyk_jpeg_is_as_pillow_and_opencv_see_it() -> None:
    cmyk = Image.fromarray(pictures.RGB).convert("CMYK")
    data = pictures.encoded(cmyk, "JPEG", quality=100, subsampling=0)
    found = decode_image(data, name="x").astype(int)
    theirs = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)[:, :, ::-1]
    assert np.abs(found - theirs).max() <= 1
    assert np.abs(found - np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))).max() <= 1
    assert read_header(data).color == "cmyk"
    assert decode_image(data, name="x", channels=4).shape == (*found.shape[:2], 4)
    assert decode_image(data, name="x", channels=1).shape == (*found.shape[:2], 1)


@pytest.mark.skipif(not features.check("avif"), reason="this Pillow writes no AVIF")
@pytest.mark.parametrize("orientation", range(1, 9))
def test_avif(orientation: int) -> None:
    data = pictures.encoded(
        Image.fromarray(pictures.RGB), "AVIF", quality=100, subsampling="4:4:4", exif=pictures.exif(orientation)
    )
    header = read_header(data)
    assert (header.format, header.width, header.height) == ("avif", pictures.WIDTH, pictures.HEIGHT)
    assert header.orientation == orientation
    try:
        stored = decode_image(data, name="x", exif="ignore")
    except DataError:
        pytest.skip("this OpenCV reads no AVIF")
    same(stored, pictures.RGB, exact=False)
    assert decode_image(data, name="x").shape == (stored.shape if orientation < 5 else (*stored.shape[1::-1], 3))


def test_sixteen_bits_keep_their_high_byte() -> None:
    values = np.array([[0, 255, 256, 257, 32767, 32768, 65279, 65280, 65535]], np.uint16)
    for kind in ("PNG", "TIFF", "PPM"):
        found = decode_image(pictures.encoded(Image.fromarray(values), kind), name="x", channels=1)
        np.testing.assert_array_equal(found[:, :, 0], values >> 8)


def test_transparent_grey_png_has_alpha_on_request() -> None:
    data = pictures.encoded(Image.fromarray(pictures.GREY), "PNG", transparency=45)
    assert decode_image(data, name="x").shape[2] == 3
    found = decode_image(data, name="x", channels=4)
    np.testing.assert_array_equal(found[:, :, 3] == 0, pictures.GREY == 45)


def test_int32_tiff_masks_and_refused_kinds() -> None:
    ids = pictures.DEEP.astype(np.int32) * 1000 - 5
    data = pictures.encoded(Image.fromarray(ids), "TIFF")
    found = decode_mask(data, name="x")
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, ids)
    with pytest.raises(DataError, match="unknown range"):
        decode_image(data, name="x")
    real = pictures.encoded(Image.fromarray(pictures.GREY.astype(np.float32)), "TIFF")
    with pytest.raises(DataError, match="float"):
        decode_image(real, name="x")
    with pytest.raises(DataError, match="float32"):
        decode_mask(real, name="x")


def test_a_mask_of_equal_channels_is_read() -> None:
    data = pictures.encoded(Image.fromarray(np.dstack([pictures.IDS] * 3)), "PNG")
    np.testing.assert_array_equal(decode_mask(data, name="x"), pictures.IDS)


@pytest.mark.parametrize("kind", ["GIF", "TIFF", "PNG", "WEBP"])
def test_of_several_frames_the_first(kind: str) -> None:
    first, second = Image.fromarray(pictures.RGB), Image.fromarray(255 - pictures.RGB)
    options = {"lossless": True, "minimize_size": False} if kind == "WEBP" else {}
    data = pictures.encoded(first, kind, save_all=True, append_images=[second], **options)
    alone = pictures.encoded(first, kind, **({"lossless": True} if kind == "WEBP" else {}))
    np.testing.assert_array_equal(decode_image(data, name="x"), decode_image(alone, name="x"))
    if kind != "PNG":
        assert read_header(data).frames == 2


def test_no_file_begins_like_two_formats() -> None:
    for picture in PICTURES:
        assert [format for format in FORMATS.values() if format.begins(picture.data)] == [sniff(picture.data)]
