"""Contact sheets of bags: tiles as they are, as epochs give them, and where they lie."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import augrecipes as ar
from augrecipes.demo.slides import draw_slides
from augrecipes.kinds.bag import sheet as bags
from augrecipes.preview import sample_grid
from augrecipes.preview.display import picture_of_output
from augrecipes.preview.sheet import EMPTY, MAX_WIDTH_PX
from augrecipes.preview.slide_map import LEFT, PICKED, SHOWN, render_map
from augrecipes.preview.strips import COLUMN, BagBlock, Strip, render_bag, sheet_width, tile_px
from augrecipes.recipe.parse import parse_text

BAG = "{version: 1, recipe: tiny, kind: bag, bag: %s, eval: [], steps: [%s]}"


@pytest.fixture(scope="module")
def slides(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_slides(tmp_path_factory.mktemp("slides"), bags=3, shrink=4, seed=2)


class Drawn:
    """Stands in for `draw_bag` and keeps what it was given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bags: list[BagBlock] = []
        self.texts: dict[str, Any] = {}
        self.page = bags.page
        monkeypatch.setattr(bags, "render_bag", self.bag)
        monkeypatch.setattr(bags, "page", self.keep)

    def bag(self, bag: BagBlock, tiles: int, side: int) -> NDArray[np.uint8]:
        self.bags.append(bag)
        return render_bag(bag, tiles, side)

    def keep(self, *given: Any, **texts: Any) -> NDArray[np.uint8]:
        self.texts = texts
        return self.page(*given, **texts)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Drawn:
    return Drawn(monkeypatch)


def test_it_shows_what_a_dataset_hands_out(slides: Path, drawn: Drawn) -> None:
    recipe = ar.load("stained-tissue-bag")
    sheet = sample_grid(recipe, slides, rows=2, columns=3, seed=4, epoch=2)
    assert sheet.shape[1] <= MAX_WIDTH_PX
    ds = ar.TileBags(slides, recipe, seed=4)
    for block, index in zip(drawn.bags, (0, 1), strict=True):
        assert block.name == f"slide-{index + 1}"
        assert [strip.header for strip in block.strips] == ["as they are", "epoch 2", "epoch 3"]
        numbers = [int(caption.split()[1]) for caption in block.captions]
        for strip, epoch in zip(block.strips[1:], (2, 3), strict=True):
            sample = ds[epoch, index]["image"].numpy()
            for number, picture in zip(numbers, strip.pictures, strict=True):
                np.testing.assert_array_equal(picture, picture_of_output(sample[number], recipe.output))


def test_bags_say_what_they_are_and_which_draws_they_share(slides: Path, drawn: Drawn) -> None:
    sample_grid("stained-tissue-bag", slides, rows=3, columns=2)
    assert drawn.bags[0].notes == ["label tumour", "24 tiles", "64×64 px"]
    assert drawn.texts["title"] == "stained-tissue-bag"
    assert drawn.texts["lines"][-1] == (
        "one draw for the whole bag: StainJitter · "
        "a draw for every tile: Rotate, RandomResizedCrop, HorizontalFlip, VerticalFlip"
    )
    assert [name for _, name in drawn.texts["legend"]] == ["shown here", "picked"]


def test_tiles_that_an_epoch_leaves_out_leave_their_place(slides: Path, drawn: Drawn) -> None:
    recipe = parse_text(BAG % ("{max_tiles: 6}", "HorizontalFlip"))
    sample_grid(recipe, slides, rows=1, columns=6, seed=1)
    ds = ar.TileBags(slides, recipe, seed=1)
    (block,) = drawn.bags
    assert block.notes[1] == "6 of 24 tiles picked"
    assert all(picture is not None for picture in block.strips[1].pictures)
    places = ds[1, 0]["coords"].tolist()
    second = [name.split("_") for name in sorted(path.stem for path in (slides / "slide-1").iterdir())]
    for caption, picture in zip(block.captions, block.strips[2].pictures, strict=True):
        x, y = (int(part[1:]) for part in second[int(caption.split()[1])])
        assert (picture is None) == ([x, y] not in places)
    assert (LEFT, "not picked") in drawn.texts["legend"]


def test_tiles_that_both_epochs_have_come_first() -> None:
    assert bags._spread(frozenset({3, 9, 5, 7}), frozenset({1, 3, 5, 7, 9}), 2) == [3, 7]
    assert bags._spread(frozenset({9}), frozenset({1, 2, 9}), 2) == [1, 9]
    assert bags._spread(frozenset({2}), frozenset({2}), 5) == [2]


def test_stages_are_a_strip_a_step(slides: Path, drawn: Drawn) -> None:
    sample_grid(
        parse_text(BAG % ("{}", "HorizontalFlip: {p: 1.0}, VerticalFlip: {p: 0.0}")), slides, rows=1, stages=True
    )
    (block,) = drawn.bags
    assert [strip.header for strip in block.strips] == ["as they are", "HorizontalFlip", "VerticalFlip – unchanged"]
    assert [strip.quiet for strip in block.strips] == [True, False, True]
    np.testing.assert_array_equal(block.strips[1].pictures[0], block.strips[0].pictures[0][:, ::-1])


def test_evaluation_has_one_epoch(slides: Path, drawn: Drawn) -> None:
    sample_grid("stained-tissue-bag", slides, rows=1, columns=2, mode="eval")
    assert [strip.header for strip in drawn.bags[0].strips] == ["as they are", "epoch 0"]
    assert "the same in every epoch" in drawn.texts["lines"][-1]
    assert not any("a draw" in line or "drawn" in line for line in drawn.texts["lines"][1:])


def test_evaluation_that_draws_says_so(slides: Path, drawn: Drawn) -> None:
    text = "version: 1\nrecipe: tiny\nkind: bag\nsteps: []\neval:\n  - D4: {p: 1.0}  # augrecipes: ignore[L101]\n"
    sample_grid(parse_text(text), slides, rows=1, columns=2, mode="eval")
    assert "one draw an epoch" in drawn.texts["lines"][-2]
    assert drawn.texts["lines"][-1] == "a draw for every tile: D4"


def test_a_csv_file_and_bags_without_places_or_labels(slides: Path, drawn: Drawn, tmp_path: Path) -> None:
    tiles = sorted((slides / "slide-2").iterdir())
    plain = tmp_path / "slides" / "a"
    plain.mkdir(parents=True)
    for number, tile in enumerate(tiles):
        (plain / f"{'abc'[number]}.jpg").write_bytes(tile.read_bytes())
    sample_grid("stained-tissue-bag", plain.parent, rows=1, columns=3)
    assert drawn.bags[0].map is None
    assert not drawn.texts["legend"]
    assert drawn.bags[0].notes == ["", "3 tiles", "64×64 px"]
    table = tmp_path / "tiles.csv"
    rows = [f"b,{tile},{512 * number},0,benign" for number, tile in enumerate(tiles)]
    table.write_text("\n".join(["bag,image,x,y,label", *rows]), encoding="utf-8")
    sample_grid("stained-tissue-bag", table, rows=1, columns=3)
    assert drawn.bags[1].notes[0] == "label benign"
    assert drawn.bags[1].map is not None


def test_a_broken_tile_is_left_out_and_named(slides: Path, drawn: Drawn, tmp_path: Path) -> None:
    folder = tmp_path / "slides" / "one"
    folder.mkdir(parents=True)
    for tile in (slides / "slide-2").iterdir():
        (folder / tile.name).write_bytes(tile.read_bytes())
    (folder / "x00000_y00000.jpg").write_bytes(b"no image")
    sample_grid("stained-tissue-bag", folder.parent, rows=1, columns=4)
    assert drawn.bags[0].captions == ["tile 1", "tile 2", "tile 3"]
    assert "x00000_y00000.jpg" in drawn.texts["footers"][0]
    for tile in folder.iterdir():
        tile.write_bytes(b"")
    with pytest.raises(ar.DataError, match="no image can be shown"):
        sample_grid("stained-tissue-bag", folder.parent, rows=1)


def test_bags_that_are_too_small_are_passed_over(slides: Path, drawn: Drawn) -> None:
    sample_grid(parse_text(BAG % ("{min_tiles: 10}", "D4")), slides, rows=3, columns=2)
    assert [block.name for block in drawn.bags] == ["slide-1"]
    assert "fewer than min_tiles=10" in drawn.texts["footers"][0]


# -- maps -------------------------------------------------------------------------------------------------------------


def count(picture: NDArray[np.uint8], colour: tuple[int, int, int]) -> int:
    return int((picture == colour).all(-1).sum())


def test_squares_are_filled_where_tiles_were_picked() -> None:
    coords = np.array([(x * 256 + 4096, y * 256) for y in range(4) for x in range(5)])
    made = render_map(coords, set(range(10)), {0, 1}, 300, 200)
    assert made is not None
    assert made.shape[0] <= 300
    assert made.shape[1] <= 200
    square = count(made, SHOWN) / 2
    assert count(made, PICKED) == 8 * square
    assert 0 < count(made, LEFT) < 10 * square / 2, "outlines only"
    assert count(made[: made.shape[0] // 2], SHOWN) == 2 * square


def test_thousands_of_tiles_fit_their_map() -> None:
    rng = np.random.default_rng(0)
    coords = rng.integers(0, 400, (3000, 2)) * 512
    made = render_map(coords, set(range(1000)), {999}, 240, COLUMN)
    assert made is not None
    assert made.shape[0] <= 241
    assert made.shape[1] <= COLUMN + 1
    assert count(made, SHOWN) > 0


def test_unknown_places_are_left_out() -> None:
    coords = np.array([(0, 0), (-1, -1), (64, 64)])
    made = render_map(coords, {0, 1, 2}, {1}, 100, 100)
    assert made is not None
    assert count(made, SHOWN) == 0
    assert render_map(coords[:2], {0}, {0}, 100, 100) is None


# -- strips -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tiles", [1, 3, 12, 32])
def test_strips_stand_aligned_under_each_other(tiles: int) -> None:
    side = tile_px(tiles)
    strips = [Strip([np.full((64, 64, 3), 40 + k, np.uint8) for k in range(tiles)], f"epoch {n}") for n in range(3)]
    block = render_bag(
        BagBlock(strips, [f"tile {k}" for k in range(tiles)], "slide " * 30, ["note " * 60]), tiles, side
    )
    assert block.shape[1] + 72 == sheet_width(tiles, side) <= MAX_WIDTH_PX
    for k in range(tiles):
        rows, columns = np.nonzero((block == 40 + k).all(-1))
        wide = np.bincount(columns, minlength=block.shape[1]) >= 3 * side  # antialiased ink may hit the same grey
        assert wide.sum() == side
        assert np.ptp(np.nonzero(wide)[0]) == side - 1
        assert rows.size >= 3 * side * side
    assert not (block[:, COLUMN + 4 : COLUMN + 24] < 200).any(), "names and notes stay in their column"


def test_an_absent_tile_leaves_a_calm_ground() -> None:
    block = render_bag(BagBlock([Strip([None])]), 1, 152)
    assert (block == EMPTY).all(-1).sum() > 0.85 * 152 * 152
