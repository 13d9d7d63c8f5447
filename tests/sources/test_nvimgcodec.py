"""The optional decoder gives the very pixels of the whole decode, or nothing; and it is only asked when it is named."""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from drawn_jpegs import JPEGS, Jpeg
from hypothesis import given
from hypothesis import strategies as st
from test_encoded import FRACTIONS, check_part, corners_in, cut, parts_disagree, read_or_none
from test_fuzz import damaged

from augrecipes.errors import DataError, DecoderError
from augrecipes.sources import decoders
from augrecipes.sources.decoders import nvimgcodec
from augrecipes.sources.decoders.decoder import Decoder, Part
from augrecipes.sources.encoded import encoded
from augrecipes.sources.files import decode_image
from augrecipes.sources.headers import read_header

PLAIN = [Jpeg(120, 90), Jpeg(120, 90, sampling="4:4:4"), Jpeg(120, 90, components=1), Jpeg(300, 200, quality=100)]


@pytest.fixture(scope="module")
def _named() -> Iterator[None]:
    """In a module of its own, as importing it writes to stderr, and hypothesis takes no fixture of one function."""
    pytest.importorskip("nvidia.nvimgcodec")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(decoders.ENVIRONMENT, "nvimgcodec")
        yield


named = pytest.mark.usefixtures("_named")


def by_nvimgcodec(data: bytes, channels: int, corners: tuple[int, int, int, int]) -> np.ndarray | None:
    return nvimgcodec.region(data, read_header(data), channels, Part(*corners))


@named
@given(JPEGS, st.sampled_from((1, 3, 4, None)), st.sampled_from(("apply", "ignore")), FRACTIONS)
def test_a_part_is_the_part_of_the_whole(
    jpeg: Jpeg, channels: int | None, exif: str, fractions: tuple[float, ...]
) -> None:
    data = jpeg.data
    picture = encoded(data, name="it", channels=channels, exif=exif)  # type: ignore[arg-type]
    whole = decode_image(data, name="it", channels=channels, exif=exif)  # type: ignore[arg-type]
    check_part(picture, whole, corners_in(picture, fractions))


@named
@given(
    st.builds(
        Jpeg,
        height=st.integers(40, 120),
        width=st.integers(16, 150),
        seed=st.integers(0, 2**16),
        components=st.sampled_from((1, 3)),
        quality=st.sampled_from((10, 50, 90, 100)),
        sampling=st.sampled_from(("4:4:4", "4:2:2", "4:2:0", "4:4:0", "4:1:1")),
    ),
    FRACTIONS,
)
def test_it_takes_parts_of_plain_pictures(jpeg: Jpeg, fractions: tuple[float, ...]) -> None:
    data, channels = jpeg.data, jpeg.components
    whole = decode_image(data, name="it", channels=channels)
    y0, x0, y1, x1 = corners_in(encoded(data, name="it", channels=channels), fractions)
    y0, y1 = y0 * 2 // 5, max(y1 * 2 // 5, y0 * 2 // 5 + 1)  # well above the last row of blocks
    x1 = min(x1, x0 + jpeg.width // 2)
    found = by_nvimgcodec(data, channels, (y0, x0, y1, x1))
    assert found is not None
    np.testing.assert_array_equal(found.reshape(y1 - y0, x1 - x0, channels), whole[y0:y1, x0:x1])


@named
@pytest.mark.parametrize(
    ("jpeg", "channels", "corners"),
    [
        (Jpeg(120, 90), 1, (0, 0, 50, 40)),
        (Jpeg(120, 90), 4, (0, 0, 50, 40)),
        (Jpeg(120, 90, components=1), 3, (0, 0, 50, 40)),
        (Jpeg(120, 90, components=4), 3, (0, 0, 50, 40)),
        (Jpeg(120, 90, restart=6), 3, (0, 0, 50, 40)),
        (Jpeg(120, 90, progressive=True), 3, (0, 0, 50, 40)),
        (Jpeg(120, 90), 3, (0, 0, 111, 40)),
        (Jpeg(120, 90), 3, (0, 0, 50, 46)),
    ],
)
def test_it_leaves_the_rest_to_others(jpeg: Jpeg, channels: int, corners: tuple[int, int, int, int]) -> None:
    assert by_nvimgcodec(jpeg.data, channels, corners) is None


@named
def test_unusual_samplings_are_refused_as_ever() -> None:
    data = bytearray(Jpeg(120, 90).data)
    data[read_header(bytes(data)).layout.at + 11] = 0x31
    assert by_nvimgcodec(bytes(data), 3, (0, 0, 50, 40)) is None
    assert read_or_none(bytes(data), (0, 0, 50, 40)) is None


@named
@pytest.mark.parametrize("jpeg", PLAIN)
@pytest.mark.parametrize("end", [b"", b"\xff\xd9", b"\xff\xd0"])
def test_a_cut_file_gives_no_wrong_pixels(jpeg: Jpeg, end: bytes) -> None:
    data = jpeg.data
    whole, start = decode_image(data, name="it", channels=jpeg.components), data.rfind(b"\xff\xda") + 14
    found = Counter[str]()
    for keep in (start + (len(data) - start) * k // 20 for k in range(20)):
        for corners in ((0, 0, 16, 40), (30, 5, 60, 40), (70, 10, 100, 60)):
            part = by_nvimgcodec(data[:keep] + end, jpeg.components, corners)
            if part is not None:
                height, width = corners[2] - corners[0], corners[3] - corners[1]
                same = np.array_equal(part.reshape(height, width, -1), cut(whole, corners))
                found["same" if same else "wrong"] += 1
    # Without an end marker, a cut file is left to the next decoder, which refuses it.
    assert found["wrong"] == 0
    assert (found["same"] > 0) == (end == b"\xff\xd9")


@named
def test_without_the_cut_at_the_first_marker_wrong_pixels_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    data = PLAIN[0].data
    early = data[: len(data) // 3] + b"\xff\xd9"
    assert by_nvimgcodec(early, 3, (0, 0, 100, 40)) is None

    class Never:
        @staticmethod
        def search(data: bytes, start: int) -> object:
            return re.compile(rb"\xff\xd9").search(data + b"\xff\xd9", len(data))

    monkeypatch.setattr(nvimgcodec, "_MARKER", Never)
    part = by_nvimgcodec(early, 3, (0, 0, 100, 40))
    assert part is not None
    assert not np.array_equal(part, cut(decode_image(data, name="it"), (0, 0, 100, 40)))


@named
@given(st.sampled_from(PLAIN), st.randoms(use_true_random=False), FRACTIONS)
def test_where_a_damaged_file_is_read_its_parts_are_the_same(
    jpeg: Jpeg, rng: random.Random, fractions: tuple[float, ...]
) -> None:
    data = damaged(jpeg.data, rng)
    try:
        picture = encoded(data, name="it", max_pixels=1_000_000)
    except DataError:
        return
    parts_disagree(data, corners_in(picture, fractions))


@named
def test_every_thread_and_a_forked_process_may_read() -> None:
    picture = encoded(Jpeg(120, 90).data, name="it")
    whole = picture.array()
    with ThreadPoolExecutor(4) as pool:
        for y, found in enumerate(pool.map(lambda y: picture.region(y, 9, y + 20, 50), range(80))):
            np.testing.assert_array_equal(found, whole[y : y + 20, 9:50])
    if hasattr(os, "fork"):
        np.testing.assert_array_equal(picture.region(9, 5, 60, 40), whole[9:60, 5:40])
        child = os.fork()
        if not child:
            os._exit(0 if np.array_equal(picture.region(9, 5, 60, 40), whole[9:60, 5:40]) else 3)
        assert os.waitpid(child, 0)[1] == 0


def test_it_is_only_asked_where_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(decoders.ENVIRONMENT, raising=False)
    assert decoders.asked() == decoders.DECODERS
    assert nvimgcodec.DECODER not in decoders.DECODERS
    monkeypatch.setenv(decoders.ENVIRONMENT, "")
    assert decoders.asked() == decoders.DECODERS


def test_a_wrong_name_or_a_missing_package_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    picture = encoded(Jpeg(40, 30).data, name="it")
    monkeypatch.setenv(decoders.ENVIRONMENT, "libjpeg")
    with pytest.raises(DecoderError, match="must be one of nvimgcodec, or not be set, got 'libjpeg'"):
        picture.region(0, 0, 9, 9)
    missing = Decoder("jpeg", lambda data, header: (), nvimgcodec.region, package="nvidia.no_such_package")
    monkeypatch.setitem(decoders.OPTIONAL, "missing", missing)
    monkeypatch.setenv(decoders.ENVIRONMENT, "missing")
    with pytest.raises(DecoderError, match=r"needs nvidia.no_such_package: pip install 'augrecipes\[missing\]'"):
        picture.region(0, 0, 9, 9)
