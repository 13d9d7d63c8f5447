"""Places of tiles, read off file names."""

from __future__ import annotations

import pytest

from augrecipes.sources.paths import NOWHERE, place_in


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("tile_x1024_y2048.png", (1024, 2048)),
        ("tile_x1024y2048.png", (1024, 2048)),
        ("y7_x5.jpg", (5, 7)),
        ("a/b/X12_Y0.tif", (12, 0)),
        ("slide [x=1024,y=2048,w=512,h=512].jpg", (1024, 2048)),
        ("slide_x_30_y_40.png", (30, 40)),
        ("slide_1024_2048.png", (1024, 2048)),
        ("1024_2048.png", (1024, 2048)),
        ("slide_40x_1024_2048.png", (1024, 2048)),
        ("slide_40x_x5_y7.png", (5, 7)),
        ("slide(1024,2048).png", (1024, 2048)),
        ("TCGA-AA-3812_512_0.jpg", (512, 0)),
        ("a_1_2_3.png", (2, 3)),
        ("x1_y2/tile.png", NOWHERE),
        ("tumour_1.png", NOWHERE),
        ("max1_y2.png", NOWHERE),
        ("2023-01-05.png", NOWHERE),
        ("slide_1.5_3.png", NOWHERE),
        ("tile.png", NOWHERE),
        ("x99999999999999999999_y1.png", NOWHERE),
        ("", NOWHERE),
    ],
)
def test_schemes(name: str, place: tuple[int, int]) -> None:
    assert place_in(name) == place
