"""Images on their way to the page: files that are kept decoded give the same pixels, and a PNG loses none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import pytest
from asking import picture
from hypothesis import given, settings
from hypothesis import strategies as st

from augrecipes.errors import DataError
from augrecipes.images.encoded import Encoded, encoded
from augrecipes.preview.display import picture_of_output
from augrecipes.recipe.model import Output
from augrecipes.studio.data import DecodedOnce
from augrecipes.studio.images import png_of, shown_of, shrunk


def file_of(form: str, height: int, width: int, turn: int = 1) -> Encoded:
    """An image in its format, turned by its EXIF data where it is a JPEG."""
    done, data = cv2.imencode(form, picture(height, height, width))
    assert done
    whole = data.tobytes()
    if turn != 1:
        exif = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0" + bytes([turn]) + b"\0\0\0\0\0\0"
        whole = whole[:2] + b"\xff\xe1" + (len(exif) + 2).to_bytes(2, "big") + exif + whole[2:]
    return encoded(whole, name="one")


@st.composite
def parts(draw: st.DrawFn) -> tuple[Encoded, int, tuple[int, int, int, int]]:
    """A file, a scale that it has, and a part of it."""
    form = draw(st.sampled_from([".jpg", ".png"]))
    height, width = draw(st.integers(9, 90)), draw(st.integers(9, 90))
    file = file_of(form, height, width, draw(st.integers(1, 8)) if form == ".jpg" else 1)
    reduce = draw(st.sampled_from([1, 1, *file.scales()]))
    (height, width), found = file.shape[:2], []
    for most in (height, width):
        start = draw(st.integers(0, (most - 1) // reduce)) * reduce
        found.append((start, draw(st.integers(start + 1, most))))
    return file, reduce, (found[0][0], found[1][0], found[0][1], found[1][1])


def apart(kept: Any, file: Encoded, reduce: int, part: tuple[int, int, int, int]) -> bool:
    """Whether a file that is kept gives other pixels than the file."""
    for _ in range(2):
        one, other = kept.region(*part, reduce), file.region(*part, reduce)
        if one.shape != other.shape or (one != other).any():
            return True
        one[:] = 77  # it belongs to whoever asked
    return not np.array_equal(kept.array(), file.array())


@settings(max_examples=80)
@given(parts())
def test_files_that_are_kept_decoded_give_the_same_pixels(one: Any) -> None:
    file, reduce, part = one
    assert not apart(DecodedOnce(file), file, reduce, part)


class _OffByOne(DecodedOnce):
    """Planted: of smaller scales the part that begins a pixel early."""

    def view(self, y0: int, x0: int, y1: int, x1: int, reduce: int = 1) -> Any:
        whole = self._decoded(reduce)
        assert whole is not None
        return np.array(whole[y0 // reduce : y1 // reduce, x0 // reduce : x1 // reduce])


class _Shared(DecodedOnce):
    """Planted: what is kept is handed out itself."""

    def region(self, y0: int, x0: int, y1: int, x1: int, reduce: int = 1) -> Any:
        whole = self._decoded(reduce)
        assert whole is not None
        return whole[y0 // reduce : -(-y1 // reduce), x0 // reduce : -(-x1 // reduce)]


@pytest.mark.parametrize("fault", [_OffByOne, _Shared])
def test_planted_files_are_noticed(fault: Callable[[Encoded], Any]) -> None:
    file = file_of(".jpg", 61, 47)
    assert not apart(DecodedOnce(file), file, 2, (2, 4, 33, 45))
    assert apart(fault(file), file, 2, (2, 4, 33, 45))


def said_of(file: Encoded, part: tuple[int, int, int, int]) -> Any:
    """The pixels of a part, or what is said where it cannot be read."""
    try:
        return file.region(*part).tolist()
    except DataError as error:
        return str(error)


def test_damaged_files_that_are_kept_say_what_every_other_says() -> None:
    whole = file_of(".jpg", 160, 120)
    cut = Encoded("cut", whole.data[: len(whole.data) // 2], whole.header, whole.channels, whole.turn, whole.shape)
    for file in (cut, DecodedOnce(cut)):
        with pytest.raises(DataError, match="cut: truncated or damaged"):
            file.array()
    for part in ((0, 0, 16, 120), (40, 8, 72, 64), (96, 0, 160, 120)):
        assert said_of(DecodedOnce(cut), part) == said_of(cut, part)


@settings(max_examples=40)
@given(st.integers(1, 70), st.integers(1, 70), st.sampled_from([3, 4]), st.integers(0, 99))
def test_no_pixel_is_lost_in_a_png(height: int, width: int, channels: int, seed: int) -> None:
    given_ = np.random.default_rng(seed).integers(0, 256, (height, width, channels), np.uint8)
    back = cv2.imdecode(np.frombuffer(png_of(given_), np.uint8), cv2.IMREAD_UNCHANGED)
    assert np.array_equal(back[..., [2, 1, 0, 3][:channels]], given_)


@pytest.mark.parametrize("layout", ["chw", "hwc"])
def test_small_pictures_of_floats_are_the_large_ones_made_smaller(layout: Any) -> None:
    output = Output(dtype="float32", layout=layout, range=(-1.0, 1.0))
    for height, width in ((300, 400), (257, 129), (64, 640)):
        image = picture(3, height, width).astype(np.float32) / 127.5 - 1
        image = np.ascontiguousarray(np.moveaxis(image, -1, 0)) if layout == "chw" else image
        for size in (32, 100, 224):
            small = shown_of(image, output, size)
            wanted = shrunk(picture_of_output(image, output), size)
            assert small.shape == wanted.shape
            assert np.abs(small.astype(int) - wanted).mean() < 3
        assert np.array_equal(shown_of(image, output, 0), picture_of_output(image, output))
