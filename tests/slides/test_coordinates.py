"""Coordinates of tiles are exact: a slide whose pixels tell where they lie shows at `coords` what stands there."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checks import planted_faults
from support.slides import write_slide

import augrecipes as ar
from augrecipes.kinds.bag.table import BagTable

HEIGHT, WIDTH, SIDE = 300, 420, 40
ROWS, COLUMNS, SMALL = 200, 250, 16
RECIPE = ar.load(
    {"version": 1, "recipe": "t", "kind": "bag", "steps": [], "eval": [], "output": {"dtype": "uint8", "layout": "hwc"}}
)
y, x = np.mgrid[:HEIGHT, :WIDTH]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("coordinates")
    numbers = np.stack([x % 256, y % 256, x // 256 + 16 * (y // 256)], -1).astype(np.uint8)
    write_slide(root, "rgb", image=numbers, name="numbers")
    return root


@pytest.fixture(scope="module")
def ramps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("ramps")
    ramp = np.stack([x, y, 0 * x], -1)[:ROWS, :COLUMNS]
    write_slide(root, "rgb", image=ramp.astype(np.uint8), name="ramps", factors=(2,))
    return root


def positions(image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The x and y that the pixels of a tile tell."""
    red, green, blue = image.astype(int).transpose(2, 0, 1)
    return red + 256 * (blue % 16), green + 256 * (blue // 16)


@pytest.mark.parametrize("stride", [None, 23, 57])
@pytest.mark.parametrize("most", [None, 5])
def test_tiles_of_level_0_show_the_very_pixels_at_their_coordinates(folder: Path, stride: Any, most: Any) -> None:
    ds = ar.SlideBags(folder, RECIPE, tile=SIDE, level=0, stride=stride, tissue=None, max_white=1, max_tiles=most)
    sample = ds[0]
    assert len(sample["image"]) == (most or ds.tiles[0])
    for image, (left, top) in zip(sample["image"].numpy(), sample["coords"].tolist(), strict=True):
        columns, rows = positions(image)
        assert np.array_equal(columns, left + np.arange(SIDE)[None].repeat(SIDE, 0))
        assert np.array_equal(rows, top + np.arange(SIDE)[:, None].repeat(SIDE, 1))


def test_chosen_and_packed_tiles_keep_theirs(folder: Path, tmp_path: Path) -> None:
    bags = ar.SlideBags(folder, RECIPE, tile=SIDE, level=0, tissue=lambda small: small[:, :, 0] > 128, max_white=1)
    assert 0 < bags.tiles[0] < (WIDTH // SIDE) * (HEIGHT // SIDE)
    ar.pack(RECIPE, bags, tmp_path / "store")
    for ds in (bags, ar.Packed(tmp_path / "store", RECIPE), ar.TileBags(bags, RECIPE)):
        for image, (left, top) in zip(ds[0]["image"].numpy(), ds[0]["coords"].tolist(), strict=True):
            assert [axis[0, 0] for axis in positions(image)] == [left, top]


@pytest.mark.parametrize("mpp", [0.5, 0.75, 1.0, 1.3, 2.0])
def test_reduced_tiles_lie_within_a_pixel_of_theirs(ramps: Path, mpp: float) -> None:
    ds = ar.SlideBags(ramps, RECIPE, tile=SMALL, mpp=mpp, slide_mpp=0.5, tissue=None, max_white=1)
    sample, extent = ds[0], SMALL * mpp / 0.5
    assert len(sample["image"]) > 1
    for image, corner in zip(sample["image"].numpy(), sample["coords"].numpy(), strict=True):
        centre = image[:, :, :2].mean((0, 1))
        assert np.abs(centre - (corner + extent / 2 - 0.5)).max() < mpp / 0.5


def exact(fixture: Callable[[str], Any]) -> None:
    test_tiles_of_level_0_show_the_very_pixels_at_their_coordinates(fixture("folder"), None, None)


def reduced(fixture: Callable[[str], Any]) -> None:
    test_reduced_tiles_lie_within_a_pixel_of_theirs(fixture("ramps"), 1.3)


def turned(self: BagTable, bag: int, tiles: Any) -> Any:
    return places(self, bag, tiles)[:, ::-1].copy()


places: Any = BagTable.places
test_planted_faults_are_caught = planted_faults(
    {
        "a pixel aside": (exact, (BagTable, "places", lambda self, bag, tiles: places(self, bag, tiles) + 1)),
        "rows for columns": (exact, (BagTable, "places", turned)),
        "two of them aside": (reduced, (BagTable, "places", lambda self, bag, tiles: places(self, bag, tiles) + 6)),
        "in the tiles' own pixels": (
            reduced, (BagTable, "places", lambda self, bag, tiles: places(self, bag, tiles) // 2)
        ),
    }
)  # fmt: skip
