"""A format that reads parts by itself says so in its record, and is held to the same law."""

from __future__ import annotations

from dataclasses import replace

import encoded_pictures as pictures
import numpy as np
import pytest
from numpy.typing import NDArray

from augrecipes.sources.encoded import encoded
from augrecipes.sources.formats import png
from augrecipes.sources.formats.format import StoredRegion
from augrecipes.sources.formats.header import ImageHeader
from augrecipes.sources.headers import FORMATS, sniff

asked: list[StoredRegion] = []


def _region(data: bytes, header: ImageHeader, channels: int | None, part: StoredRegion) -> NDArray[np.uint8]:
    asked.append(part)
    return png.decode(data, header, channels)[:: part.reduce, :: part.reduce][part.reduced]


def test_its_record_is_asked_for_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMATS, "png", replace(png.FORMAT, scales=lambda data, header: (2,), region=_region))
    asked.clear()
    (data,) = (picture.data for picture in pictures.all_pictures() if picture.name == "rgb.png")
    picture = encoded(data, name="it")
    assert picture.scales() == (2,)
    np.testing.assert_array_equal(picture.region(2, 3, 9, 8), pictures.RGB[2:9, 3:8])
    np.testing.assert_array_equal(picture.region(2, 4, 9, 8, 2), pictures.RGB[2:9:2, 4:8:2])
    assert asked == [StoredRegion(2, 3, 9, 8), StoredRegion(2, 4, 10, 8, 2)]


def test_no_file_begins_like_two_formats() -> None:
    for picture in pictures.all_pictures():
        mine = [format for format in FORMATS.values() if format.begins(picture.data)]
        assert mine == [sniff(picture.data)]
