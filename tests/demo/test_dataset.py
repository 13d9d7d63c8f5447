from __future__ import annotations

import csv
import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from augrecipes.demo import photos, tissue
from augrecipes.demo.dataset import DemoData, draw_dataset, write_image
from augrecipes.demo.photos import render_photo
from augrecipes.demo.tissue import CELL_TYPES, LABORATORIES, render_tile
from augrecipes.sources.files import read_mask


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, DemoData]:
    root = tmp_path_factory.mktemp("drawn")
    return root, draw_dataset(root, tiles=12, photo_count=6, shrink=4, seed=3)


def rows_of(data: DemoData) -> list[dict[str, str]]:
    with data.table.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_larger_set_begins_with_the_smaller_one(drawn: tuple[Path, DemoData], tmp_path: Path) -> None:
    root, data = drawn
    small = draw_dataset(tmp_path, tiles=3, photo_count=0, shrink=4, seed=3)
    for row in rows_of(small):
        assert (tmp_path / row["image"]).read_bytes() == (root / row["image"]).read_bytes()
    assert rows_of(small) == rows_of(data)[:3]


def test_the_table_lists_images_masks_and_boxes_that_fit_each_other(drawn: tuple[Path, DemoData]) -> None:
    root, data = drawn
    rows = rows_of(data)
    assert len(rows) == 12
    assert {row["label"] for row in rows} == set(tissue.CLASSES)
    assert {row["group"] for row in rows} == {lab.name for lab in LABORATORIES}
    for row in rows:
        image = cv2.imread(str(root / row["image"]))
        height, width = image.shape[:2]
        assert read_mask(root / row["mask"]).shape == (height, width)
        boxes = json.loads(row["boxes"])
        assert len(boxes) >= 1
        for x0, y0, x1, y1, label in boxes:
            assert 0 <= x0 < x1 <= width
            assert 0 <= y0 < y1 <= height
            assert label in CELL_TYPES


def test_one_photo_is_grey_and_one_lies_on_its_side(drawn: tuple[Path, DemoData]) -> None:
    _, data = drawn
    grey = cv2.imread(str(next(data.photos.glob("*/photo-002.jpg"))), cv2.IMREAD_UNCHANGED)
    assert grey.ndim == 2
    turned = next(data.photos.glob("*/photo-001.jpg"))
    assert b"Exif\0\0" in turned.read_bytes()[:32]
    stored = cv2.imread(str(turned), cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
    seen = cv2.imread(str(turned), cv2.IMREAD_COLOR)
    np.testing.assert_array_equal(seen, np.rot90(stored, -1))
    assert seen.shape[1] > seen.shape[0]


@pytest.mark.parametrize("kind", tissue.CLASSES)
@pytest.mark.parametrize("laboratory", LABORATORIES, ids=lambda lab: lab.name)
def test_tiles_have_the_colours_of_stained_tissue(kind: str, laboratory: tissue.Laboratory) -> None:
    tile = render_tile(kind, (144, 176), laboratory, np.random.default_rng(5))
    assert tile.image.shape == (144, 176, 3)
    assert tile.image.dtype == np.uint8
    red, green, blue = tile.image.reshape(-1, 3).mean(0)
    # Of the real H&E pictures that it was drawn after, the means lie in 148..204, 98..167 and 144..237.
    assert 125 < red < 235
    assert 75 < green < 195
    assert 105 < blue < 235
    assert green < red, "eosin and haematoxylin both take green most"
    assert green < blue


def test_nuclei_are_dark_and_blue_against_the_rest() -> None:
    tile = render_tile("tumour", (160, 160), LABORATORIES[0], np.random.default_rng(1))
    inside, outside = tile.image[tile.ids > 0].mean(0), tile.image[tile.ids == 0].mean(0)
    assert inside.sum() < outside.sum() - 60
    assert inside[2] - inside[0] > outside[2] - outside[0]
    assert 0.15 < (tile.ids > 0).mean() < 0.8


def test_no_light_passes_the_slide_that_was_not_sent_in() -> None:
    tile = render_tile("stroma", (160, 160), LABORATORIES[3], np.random.default_rng(1))
    white = np.array(LABORATORIES[3].white)
    # Noise reaches a few levels above the bare slide.
    assert (np.percentile(tile.image.reshape(-1, 3), 99.5, axis=0) <= white + 12).all()


def test_ids_types_and_boxes_agree() -> None:
    tile = render_tile("lymphocytes", (120, 150), LABORATORIES[1], np.random.default_rng(2))
    np.testing.assert_array_equal(tile.types > 0, tile.ids > 0)
    assert tile.types.max() <= len(CELL_TYPES)
    tight = set()
    for number in np.unique(tile.ids)[1:]:
        ys, xs = np.nonzero(tile.ids == number)
        tight.add((int(xs.min()), int(ys.min()), int(xs.max()) + 1, int(ys.max()) + 1))
    assert set(tile.boxes) <= tight
    assert len(tile.boxes) == len(tile.labels)
    for (x0, y0, x1, y1), label in zip(tile.boxes, tile.labels, strict=True):
        assert CELL_TYPES.index(label) + 1 in tile.types[y0:y1, x0:x1]


@pytest.mark.parametrize("kind", photos.CLASSES)
def test_photos_use_the_range_of_a_camera(kind: str) -> None:
    image = render_photo(kind, (96, 130), np.random.default_rng(8))
    assert image.shape == (96, 130, 3)
    assert image.dtype == np.uint8
    assert image.std() > 15, "neither blank nor flat"
    assert 40 < image.mean() < 215


def test_unknown_kinds_are_named() -> None:
    with pytest.raises(ValueError, match=r"unknown tissue 'bone'.*stroma"):
        render_tile("bone", (64, 64), LABORATORIES[0], np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"unknown scene 'city'.*landscape"):
        render_photo("city", (64, 64), np.random.default_rng(0))


def test_palette_png_shows_the_palettes_colours(tmp_path: Path) -> None:
    indices = np.array([[0, 1, 2], [2, 1, 0]], np.uint8)
    palette = ((0, 0, 0), (255, 0, 0), (10, 20, 30))
    path = write_image(tmp_path / "a" / "mask.png", indices, palette=palette)
    np.testing.assert_array_equal(cv2.imread(str(path))[..., ::-1], np.array(palette, np.uint8)[indices])
    np.testing.assert_array_equal(read_mask(path), indices)
