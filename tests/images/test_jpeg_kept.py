"""A JPEG as stores keep it decodes to the very pixels of the file, whole and in part, whatever kind it is of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.encoded_pictures import JPEGS, Jpeg
from test_encoded import FRACTIONS, corners_in, cut

from augrecipes.images.encoded import encoded
from augrecipes.native.libjpeg import codec
from augrecipes.packing import bake
from augrecipes.packing.bake import TURNED, kept
from augrecipes.store import decodes_to


@pytest.fixture(scope="module", autouse=True, params=["libjpeg-turbo", "none"])
def library(request: pytest.FixtureRequest) -> Iterator[Any]:
    """What writes the coefficients anew: everything here holds without it, too."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "none":
            patch.setattr(bake, "codec", lambda: None)
        elif codec() is None:
            pytest.skip("built without libjpeg-turbo")
        yield request.param


@given(JPEGS, st.sampled_from((1, 3)), st.sampled_from(("apply", "ignore")), FRACTIONS)
def test_what_is_kept_is_the_picture(jpeg: Jpeg, channels: int, exif: Any, fractions: tuple[float, ...]) -> None:
    picture = encoded(jpeg.data, name="it", channels=channels, exif=exif)
    data = kept(picture.data, picture.header, picture.turn)
    assert data is not None
    assert decodes_to(picture.array(), data)
    assert (data[2:4] == TURNED) == (picture.turn != 1)
    again, corners = encoded(data, name="kept", channels=channels), corners_in(picture, fractions)
    assert again.shape == picture.shape
    np.testing.assert_array_equal(again.region(*corners), cut(picture.array(), corners))


def test_places_on_earth_and_thumbnails_are_not_kept() -> None:
    plain = Jpeg(40, 50).data
    secret = b"59.3293N" * 900
    data = plain[:2] + b"\xff\xe1" + (len(secret) + 2).to_bytes(2, "big") + secret + plain[2:]
    data = data[:2] + b"\xff\xfe\x00\x0ahusband.." + data[2:]
    picture = encoded(data, name="it")
    found = kept(data, picture.header, 1)
    assert found is not None
    assert b"59.3293N" not in found
    assert b"husband" not in found
    assert decodes_to(picture.array(), found)


def test_other_files_are_not_kept() -> None:
    ramp = b"P5 4 4 255\n" + bytes(range(16))
    assert kept(ramp, encoded(ramp, name="ramp").header, 1) is None
