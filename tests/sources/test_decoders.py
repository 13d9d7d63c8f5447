"""Another decoder is one record: it is asked in its turn, may pass, and is held to the same law."""

from __future__ import annotations

import encoded_pictures as pictures
import numpy as np
import pytest
from drawn_jpegs import Jpeg
from numpy.typing import NDArray

from augrecipes.sources import decoders
from augrecipes.sources.decoders.decoder import Decoder, Part
from augrecipes.sources.encoded import encoded
from augrecipes.sources.formats import png
from augrecipes.sources.formats.header import ImageHeader

asked: list[Part] = []


def _toy(data: bytes, header: ImageHeader, channels: int | None, part: Part) -> NDArray[np.uint8] | None:
    """Reads PNGs and passes on parts of one row."""
    asked.append(part)
    return (
        None
        if part.y1 - part.y0 == 1
        else png.decode(data, header, channels)[:: part.reduce, :: part.reduce][part.reduced]
    )


TOY = Decoder("png", lambda data, header: (2,), _toy)


@pytest.fixture
def with_toy(monkeypatch: pytest.MonkeyPatch) -> None:
    asked.clear()
    monkeypatch.setattr(decoders, "DECODERS", (TOY, *decoders.DECODERS))


@pytest.mark.usefixtures("with_toy")
def test_a_registered_decoder_is_asked_and_may_pass() -> None:
    (data,) = (picture.data for picture in pictures.all_pictures() if picture.name == "rgb.png")
    picture = encoded(data, name="it")
    assert picture.scales() == (2,)
    np.testing.assert_array_equal(picture.region(2, 3, 9, 8), pictures.RGB[2:9, 3:8])
    np.testing.assert_array_equal(picture.region(2, 4, 3, 8), pictures.RGB[2:3, 4:8])
    np.testing.assert_array_equal(picture.region(2, 4, 9, 8, 2), pictures.RGB[2:9:2, 4:8:2])
    assert asked == [Part(2, 3, 9, 8), Part(2, 4, 3, 8), Part(2, 4, 10, 8, 2)]


@pytest.mark.usefixtures("with_toy")
def test_it_is_asked_for_its_format_alone() -> None:
    picture = encoded(Jpeg(40, 30).data, name="it")
    np.testing.assert_array_equal(picture.region(0, 0, 9, 9), picture.array()[:9, :9])
    assert picture.scales() == (2, 4, 8)
    assert asked == []
