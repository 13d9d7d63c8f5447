"""A part of an image that is not decoded is the very part of the whole image; and damage is not taken for pixels."""

import pickle
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from support import encoded_images as pictures
from support.encoded_images import FRACTIONS, JPEGS, Corners, Jpeg, corners_in, cut, decode_image

from augrecipes import DataError, read_image
from augrecipes.images import jpeg
from augrecipes.images.encoded import Encoded, encoded, open_encoded
from augrecipes.native.kernels import codec

IMAGES = pictures.all_images()


@pytest.fixture(scope="module", autouse=True, params=["libjpeg-turbo", "simplejpeg"])
def decoder(request: pytest.FixtureRequest) -> Iterator[str]:
    """What decodes parts of JPEGs: everything here holds with either."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "simplejpeg":
            patch.setattr(jpeg, "codec", lambda: None)
        elif codec() is None:
            pytest.skip("built without libjpeg-turbo")
        yield request.param


def check_part(image: Encoded, whole: NDArray[np.uint8], corners: Corners, reduce: int = 1) -> None:
    found = image.region(*corners, reduce)
    np.testing.assert_array_equal(found, cut(whole, corners, reduce))
    assert found.dtype == np.uint8
    assert found.flags.c_contiguous
    assert found.flags.writeable
    assert found.flags.owndata


@given(JPEGS, st.sampled_from((1, 3, 4, None)), st.sampled_from(("apply", "apply", "ignore")), FRACTIONS)
def test_a_part_is_the_part_of_the_whole(
    jpeg: Jpeg, channels: int | None, exif: str, fractions: tuple[float, ...]
) -> None:
    data = jpeg.data
    image = encoded(data, name="it", channels=channels, exif=exif)  # type: ignore[arg-type]
    whole = decode_image(data, name="it", channels=channels, exif=exif)  # type: ignore[arg-type]
    assert image.shape == whole.shape
    np.testing.assert_array_equal(image.array(), whole)
    if jpeg.components == channels == 3:
        turn = 0 if exif == "apply" else cv2.IMREAD_IGNORE_ORIENTATION
        theirs = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR | turn)
        np.testing.assert_array_equal(whole, theirs[:, :, ::-1])
    check_part(image, whole, corners_in(image, fractions))


@given(JPEGS, st.sampled_from((1, 3)), FRACTIONS)
def test_a_reduced_part_is_the_part_of_the_reduced_whole(
    jpeg: Jpeg, channels: int, fractions: tuple[float, ...]
) -> None:
    data = jpeg.data
    image = encoded(data, name="it", channels=channels)
    height, width, _ = image.shape
    for reduce in image.scales():
        whole = image.region(0, 0, height, width, reduce)
        assert whole.shape == (-(-height // reduce), -(-width // reduce), channels)
        if jpeg.components == 3 and channels == 3:
            theirs = cv2.imdecode(np.frombuffer(data, np.uint8), getattr(cv2, f"IMREAD_REDUCED_COLOR_{reduce}"))
            np.testing.assert_array_equal(whole, theirs[:, :, ::-1])
        check_part(image, whole, corners_in(image, fractions, reduce), reduce)


@pytest.mark.parametrize("image", IMAGES, ids=lambda p: p.name)
def test_parts_of_every_format(image: pictures.Picture) -> None:
    for channels in (1, 3, 4, None):
        whole = decode_image(image.data, name="it", channels=channels)
        it = encoded(image.data, name="it", channels=channels)
        assert it.shape == whole.shape
        assert it.dtype == whole.dtype
        assert (it.scales() != ()) == image.name.endswith(".jpg")
        for corners in ((0, 0, *whole.shape[:2]), (3, 5, 4, 6), (0, 7, 9, 22), (6, 0, 13, 8)):
            check_part(it, whole, corners)


def whole_decodes(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts what is decoded, from here on."""
    count: Counter[str] = Counter()
    for module, name in ((jpeg, "samples"), (jpeg, "_pixels")):
        real = getattr(module, name)

        def counted(*args: object, name: str = name, real: object = real) -> object:
            count[name] += 1
            return real(*args)  # type: ignore[operator]

        monkeypatch.setattr(module, name, counted)
    return count


@pytest.mark.parametrize("sampling", ["4:4:4", "4:2:2", "4:2:0", "4:4:0", "4:1:1"])
@pytest.mark.parametrize("restart", [0, 1, 3, 7])
def test_plain_files_are_not_decoded_whole(
    sampling: str, restart: int, decoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = encoded(Jpeg(200, 110, sampling=sampling, restart=restart).data, name="it")
    for reduce in (1, 2, 4, 8):
        image.region(48, 8, 104, 96, reduce)  # the first of a kind is tried out
        count = whole_decodes(monkeypatch)
        image.region(48, 8, 104, 96, reduce)
        assert count == {"samples" if decoder == "simplejpeg" else "_pixels": 1}


@pytest.mark.parametrize("restart", [3, 7, 14, 21])  # 7 units a row: not all intervals begin with one
def test_restarts_leave_out_what_lies_above(restart: int, decoder: str) -> None:
    jpeg = Jpeg(200, 110, restart=restart)
    whole, data = decode_image(jpeg.data, name="it"), bytearray(jpeg.data)
    start = data.find(b"\xff\xda") + 14
    data[start : start + 20] = b"\xff\0" * 10
    image = encoded(bytes(data), name="it")
    if decoder == "simplejpeg":
        with pytest.raises(DataError, match="damaged"):
            image.view(90, 0, 200, 110)
    else:
        np.testing.assert_array_equal(image.view(90, 0, 200, 110), whole[90:])


def test_bad_questions_are_refused() -> None:
    image = encoded(Jpeg(40, 30).data, name="it")
    for corners in ((0, 0, 41, 30), (0, 0, 40, 31), (-1, 0, 5, 5), (5, 5, 5, 9), (9, 5, 5, 9)):
        with pytest.raises(ValueError, match="are not a part of 40×30 pixels"):
            image.region(*corners)
    for corners, reduce in (((0, 0, 40, 30), 3), ((4, 0, 40, 30), 8), ((0, 2, 40, 30), 4)):
        with pytest.raises(ValueError, match="cannot reduce by"):
            image.region(*corners, reduce)
    with pytest.raises(ValueError, match="channels must be"):
        encoded(Jpeg(40, 30).data, name="it", channels=0)
    with pytest.raises(DataError, match=r"3 channels, and 2 are wanted: .*`inputs: \{image: \{channels: 3\}\}`"):
        encoded(Jpeg(40, 30).data, name="it", channels=2)
    with pytest.raises(ValueError, match="exif must be"):
        encoded(Jpeg(40, 30).data, name="it", exif="yes")  # type: ignore[arg-type]


def test_a_file_is_opened_as_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "photo.jpg"
    file.write_bytes(Jpeg(120, 90, turn=6).data)
    image = open_encoded(file)
    assert image.name == str(file)
    np.testing.assert_array_equal(image.array(), read_image(file))
    again = pickle.loads(pickle.dumps(image))
    np.testing.assert_array_equal(again.region(3, 4, 50, 60), image.region(3, 4, 50, 60))
    for options, why in (({"max_pixels": 9}, "limit of 9"), ({"max_bytes": 9}, "limit of 9")):
        with pytest.raises(DataError, match=why) as caught:
            open_encoded(file, **options)
        assert caught.value.path == str(file)
    with pytest.raises(DataError, match="no such file"):
        open_encoded(tmp_path / "other.jpg")
    cut_off = encoded(file.read_bytes()[:2000], name="cut.jpg")
    for read in (cut_off.array, lambda: cut_off.region(0, 0, 5, 5)):
        with pytest.raises(DataError, match=r"cut.jpg: truncated"):
            read()
