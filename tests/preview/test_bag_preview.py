"""Contact sheets of bags: tiles as they are, as epochs give them, and where they lie."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from sheet_of import sheet_of

import augrecipes as ar
from augrecipes.demo.slides import draw_slides
from augrecipes.kinds.bag import sheet as bags
from augrecipes.preview import sample_grid
from augrecipes.preview.cells import MAX_WIDTH, CellGroup
from augrecipes.preview.display import picture_of_output
from augrecipes.preview.overlay import LEFT, PICKED, SHOWN, map_of_tiles
from augrecipes.recipe.parse import parse_text

BAG = "{version: 1, recipe: tiny, kind: bag, bag: %s, eval: [], steps: [%s]}"


@pytest.fixture(scope="module")
def slides(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_slides(tmp_path_factory.mktemp("slides"), bags=3, shrink=4, seed=2)


def test_it_shows_what_a_dataset_hands_out(slides: Path) -> None:
    recipe = ar.load("stained-tissue-bag")
    sheet = sheet_of(recipe, slides, rows=2, columns=3, seed=4, epoch=2)
    assert sheet.pixels.shape[1] <= MAX_WIDTH
    ds = ar.TileBags(slides, recipe, seed=4)
    for row, index in zip(sheet.rows, (0, 1), strict=True):
        assert row.caption == f"slide-{index + 1}"
        assert [strip.header for strip in row.groups] == ["as they are", "epoch 2", "epoch 3"]
        numbers = [int(cell.caption.split()[1]) for cell in row.groups[0].cells]
        for strip, epoch in zip(row.groups[1:], (2, 3), strict=True):
            sample = ds[epoch, index]["image"].numpy()
            for number, cell in zip(numbers, strip.cells, strict=True):
                np.testing.assert_array_equal(cell.picture, picture_of_output(sample[number], recipe.output))


def test_bags_say_what_they_are(slides: Path) -> None:
    sheet = sheet_of("stained-tissue-bag", slides, rows=3, columns=2)
    assert sheet.rows[0].notes == ["label tumour", "24 tiles", "64×64 px"]
    assert sheet.title == "stained-tissue-bag"
    assert "picked and drawn anew in every epoch" in sheet.lines[-1]
    assert [name for _, name in sheet.legend] == ["shown here", "picked"]


def test_tiles_that_an_epoch_leaves_out_leave_their_place(slides: Path) -> None:
    recipe = parse_text(BAG % ("{max_tiles: 6}", "HorizontalFlip"))
    sheet = sheet_of(recipe, slides, rows=1, columns=6, seed=1)
    ds = ar.TileBags(slides, recipe, seed=1)
    (row,) = sheet.rows
    assert row.notes[1] == "6 of 24 tiles picked"
    assert all(cell.picture is not None for cell in row.groups[1].cells)
    places = ds[1, 0]["coords"].tolist()
    second = [name.split("_") for name in sorted(path.stem for path in (slides / "slide-1").iterdir())]
    for given, cell in zip(row.groups[0].cells, row.groups[2].cells, strict=True):
        x, y = (int(part[1:]) for part in second[int(given.caption.split()[1])])
        assert (cell.caption == "not picked") == (cell.picture is None) == ([x, y] not in places)
    assert (LEFT, "not picked") in sheet.legend


def test_tiles_that_both_epochs_have_come_first() -> None:
    assert bags._spread(frozenset({3, 9, 5, 7}), frozenset({1, 3, 5, 7, 9}), 2) == [3, 7]
    assert bags._spread(frozenset({9}), frozenset({1, 2, 9}), 2) == [1, 9]
    assert bags._spread(frozenset({2}), frozenset({2}), 5) == [2]


def test_stages_are_a_strip_a_step(slides: Path) -> None:
    recipe = parse_text(BAG % ("{}", "HorizontalFlip: {p: 1.0}, VerticalFlip: {p: 0.0}"))
    (row,) = sheet_of(recipe, slides, rows=1, stages=True).rows
    assert [strip.header for strip in row.groups] == ["as they are", "HorizontalFlip", "VerticalFlip – unchanged"]
    assert [strip.quiet for strip in row.groups] == [True, False, True]
    given, flipped = (strip.cells[0].picture for strip in row.groups[:2])
    assert given is not None
    np.testing.assert_array_equal(flipped, given[:, ::-1])


def test_evaluation_has_one_epoch(slides: Path) -> None:
    sheet = sheet_of("stained-tissue-bag", slides, rows=1, columns=2, mode="eval")
    assert [strip.header for strip in sheet.rows[0].groups] == ["as they are", "epoch 0"]
    assert "the same in every epoch" in sheet.lines[-1]


def test_evaluation_that_draws_says_so(slides: Path) -> None:
    text = "version: 1\nrecipe: tiny\nkind: bag\nsteps: []\neval:\n  - D4: {p: 1.0}  # augrecipes: ignore[L101]\n"
    sheet = sheet_of(parse_text(text), slides, rows=1, columns=2, mode="eval")
    assert "one draw an epoch" in sheet.lines[-1]


def test_a_csv_file_and_bags_without_places_or_labels(slides: Path, tmp_path: Path) -> None:
    tiles = sorted((slides / "slide-2").iterdir())
    plain = tmp_path / "slides" / "a"
    plain.mkdir(parents=True)
    for number, tile in enumerate(tiles):
        (plain / f"{'abc'[number]}.jpg").write_bytes(tile.read_bytes())
    sheet = sheet_of("stained-tissue-bag", plain.parent, rows=1, columns=3)
    assert sheet.rows[0].source == CellGroup([])
    assert sheet.pixels.shape[1] <= MAX_WIDTH
    assert not sheet.legend
    assert sheet.rows[0].notes == ["", "3 tiles", "64×64 px"]
    table = tmp_path / "tiles.csv"
    rows = [f"b,{tile},{512 * number},0,benign" for number, tile in enumerate(tiles)]
    table.write_text("\n".join(["bag,image,x,y,label", *rows]), encoding="utf-8")
    (row,) = sheet_of("stained-tissue-bag", {"files": table, "outside": True}, rows=1, columns=3).rows
    assert row.notes[0] == "label benign"
    assert row.source is not None
    assert row.source.cells


def test_a_broken_tile_is_left_out_and_named(slides: Path, tmp_path: Path) -> None:
    folder = tmp_path / "slides" / "one"
    folder.mkdir(parents=True)
    for tile in (slides / "slide-2").iterdir():
        (folder / tile.name).write_bytes(tile.read_bytes())
    (folder / "x00000_y00000.jpg").write_bytes(b"no image")
    sheet = sheet_of("stained-tissue-bag", folder.parent, rows=1, columns=4)
    assert [cell.caption for cell in sheet.rows[0].groups[0].cells] == ["tile 1", "tile 2", "tile 3"]
    assert "x00000_y00000.jpg" in sheet.footers[0]
    for tile in folder.iterdir():
        tile.write_bytes(b"")
    with pytest.raises(ar.DataError, match="no image can be shown"):
        sample_grid("stained-tissue-bag", folder.parent, rows=1)


def test_bags_that_are_too_small_are_passed_over(slides: Path) -> None:
    sheet = sheet_of(parse_text(BAG % ("{min_tiles: 10}", "D4")), slides, rows=3, columns=2)
    assert [row.caption for row in sheet.rows] == ["slide-1"]
    assert "fewer than min_tiles=10" in sheet.footers[0]


# -- maps -------------------------------------------------------------------------------------------------------------


def count(picture: NDArray[np.uint8], colour: tuple[int, int, int]) -> int:
    return int((picture == colour).all(-1).sum())


def drawn(places: NDArray[np.int64], picked: set[int], shown: set[int]) -> NDArray[np.uint8]:
    """A map, as large as it is made."""
    made = map_of_tiles(places, picked, shown, None)
    assert made is not None
    assert made.picture is not None
    return made.at(made.picture.shape[:2])


def test_squares_are_filled_where_tiles_were_picked() -> None:
    coords = np.array([(x * 256 + 4096, y * 256) for y in range(4) for x in range(5)])
    made = drawn(coords, set(range(10)), {0, 1})
    square = count(made, SHOWN) / 2
    assert count(made, PICKED) == 8 * square
    assert 0 < count(made, LEFT) < 10 * square / 2, "outlines only"
    assert count(made[: made.shape[0] // 2], SHOWN) == 2 * square


@pytest.mark.parametrize("unit", [512, 1])
def test_thousands_of_tiles_fit_their_map(unit: int) -> None:
    rng = np.random.default_rng(0)
    made = drawn(rng.integers(0, 400, (3000, 2)) * 512 // unit, set(range(1000)), {999})
    assert max(made.shape) <= 500
    assert count(made, SHOWN) > 0


def test_unknown_places_are_left_out() -> None:
    coords = np.array([(0, 0), (-1, -1), (64, 64)])
    assert count(drawn(coords, {0, 1, 2}, {1}), SHOWN) == 0
    assert map_of_tiles(coords[:2], {0}, {0}, None) is None
