"""Contact sheets of real recipes over the drawn data."""

import logging
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

import augrecipes as ar
from augrecipes.demo.dataset import DemoData, Scenes, draw_dataset, draw_scenes
from augrecipes.kinds.bag.sheet import NOT_PICKED, PICKED, SHOWN, tile_map
from augrecipes.kinds.pair import sheet as pairs
from augrecipes.preview import preview, sample_grid
from augrecipes.preview import sheet as sheets
from augrecipes.preview import sheet_of as preview_sheet
from augrecipes.preview.cells import GROUP_GAP, MARGIN, CellGroup, SheetRow, layout_of
from augrecipes.preview.display import rgb_of_output, width_px
from augrecipes.preview.rows import SheetRequest
from augrecipes.preview.sheet import Sheet
from augrecipes.recipe.parse import as_recipe, parse_text


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> DemoData:
    return draw_dataset(tmp_path_factory.mktemp("drawn"), tiles=6, photo_count=6, shrink=3)


def test_the_file_holds_the_grid(data: DemoData, tmp_path: Path) -> None:
    out = tmp_path / "ü" / "grid.png"
    assert preview("folder-128", data.tissue, out, rows=2, columns=3, seed=5) == out
    decoded = cv2.imdecode(np.frombuffer(out.read_bytes(), np.uint8), cv2.IMREAD_COLOR)
    expected = sample_grid("folder-128", data.tissue, rows=2, columns=3, seed=5)
    np.testing.assert_array_equal(decoded[..., ::-1], expected)


def headers(row: SheetRow) -> list[str]:
    return [group.header for group in row.groups]


def image_of(group: CellGroup | None) -> NDArray[np.uint8]:
    (cell,) = group.cells
    return cell.at(cell.image.shape[:2])


def test_sizes_columns_and_nothing_empty(data: DemoData) -> None:
    sheet = sheet_of("stained-tissue", data.tissue, rows=3, columns=5)
    layout = layout_of(sheet.rows, sheet.across)
    assert (layout.across, layout.cell, layout.source) == (5, (224, 224), (224, 224))
    assert sheet.pixels.shape[1] == layout.width == 2 * MARGIN + 6 * 224 + 5 * GROUP_GAP
    for row in sheet.rows:
        assert headers(row) == [f"epoch {k}" for k in range(5)]
        images = [image_of(group) for group in (row.source, *row.groups)]
        assert all(one.std() > 5 for one in images)
        assert len({one.tobytes() for one in images}) == 6, "every epoch has draws of its own"


def test_views_have_their_names(data: DemoData) -> None:
    (row,) = sheet_of("dino-pathology", data.tissue, rows=1, columns=1).rows
    captions = [[cell.caption for cell in group.cells] for group in row.groups]
    assert captions == [["global 1", "global 2"], [f"local {k}" for k in range(1, 9)]]
    (alone,) = sheet_of("stained-tissue", data.tissue, rows=1, columns=1).rows
    assert [cell.caption for group in alone.groups for cell in group.cells] == [""]


def test_it_shows_what_a_dataset_hands_out(data: DemoData) -> None:
    recipe = ar.load("jpeg-crop-256")
    sheet = sheet_of(recipe, data.photos, rows=2, columns=2, seed=9, epoch=4)
    ds = ar.ImageFolder(data.photos, recipe, seed=9)
    for row, index in zip(sheet.rows, (0, 3), strict=True):
        for k, group in enumerate(row.groups):
            expected = rgb_of_output(ds[4 + k, index]["image"].numpy(), recipe.output)
            np.testing.assert_array_equal(group.cells[0].image, expected)
        assert f"index {index}" in row.notes[0]


def test_stages_have_a_column_a_step_with_its_label(data: DemoData) -> None:
    recipe = ar.load("stained-tissue")
    for row in sheet_of(recipe, data.tissue, rows=2, stages=True, seed=1).rows:
        assert [header.removesuffix(" – unchanged") for header in headers(row)] == [step.name for step in recipe.steps]
        for before, group in pairwise([row.source, *row.groups]):
            unchanged = np.array_equal(*(one.cells[0].image for one in (before, group)))
            assert group.quiet == unchanged == ("unchanged" in group.header)


def test_evaluation_has_one_column(data: DemoData) -> None:
    sheet = sheet_of("imagenet-train", data.photos, rows=2, columns=6, mode="eval")
    assert [len(row.groups) for row in sheet.rows] == [1, 1]


def test_masks_and_boxes_are_drawn_over(data: DemoData) -> None:
    masked = sheet_of("segmentation", data.tissue, masks=data.masks, rows=1, columns=2)
    boxed = sheet_of("detection", data.table, rows=1, columns=2)
    assert [name for _, name in boxed.legend] == ["fibroblast", "lymphocyte", "tumour"]
    for sheet in (masked, boxed):
        for group in (sheet.rows[0].source, *sheet.rows[0].groups):
            shown = image_of(group)
            assert (shown != group.cells[0].image).any()
            vivid = shown.max(-1).astype(int) - shown.min(-1)
            assert vivid.max() > 100


def test_broken_files_are_left_out_and_named(data: DemoData, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    whole = next(data.photos.glob("*/photo-000.jpg")).read_bytes()
    (tmp_path / "a.jpg").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "b.jpg").write_bytes(whole)
    (tmp_path / "c.png").write_bytes(b"")
    with caplog.at_level(logging.WARNING, "augrecipes"):
        sheet = sheet_of("folder-128", tmp_path, rows=1, columns=2)
    assert [row.caption for row in sheet.rows] == [f"{tmp_path.name}/b.jpg"]
    assert ["a.jpg" in line for line in sheet.footers] == [True]
    assert "a.jpg" in caplog.text
    seen: list[tuple[int, int]] = []
    sample_grid("folder-128", tmp_path, rows=1, columns=2, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 1)]


def test_nothing_to_show_is_an_error_that_names_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(b"no image")
    with pytest.raises(ar.DataError, match=r"a\.jpg"):
        sample_grid("folder-128", tmp_path)
    with pytest.raises(ar.DataError, match="no such file"):
        sample_grid("folder-128", tmp_path / "missing")


@pytest.mark.parametrize("name", ["grid.gif", "grid"])
def test_only_png_and_jpeg_are_written(data: DemoData, tmp_path: Path, name: str) -> None:
    with pytest.raises(ar.DataError, match=r"\.png or \.jpg"):
        preview("folder-128", data.tissue, tmp_path / name)


def test_a_place_that_cannot_be_written_is_a_data_error(data: DemoData, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ar.DataError, match="cannot be written"):
        preview("folder-128", data.tissue, tmp_path / "file" / "grid.png", rows=1, columns=1)


# Contact sheets of pairs: aligned targets at one scale, crops outlined on whole scenes.


PAIR = "{version: 1, recipe: tiny, kind: pair, scales: {lr: 1, hr: 4}, eval: [], steps: [%s]}"
CROP = "RandomCrop: {height: 12, width: 16, at: lr}"
DEGRADE = "Degrade: {source: hr, target: lr, steps: [ResizeToTarget: {method: area}]}"


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Scenes:
    return draw_scenes(tmp_path_factory.mktemp("pairs"), count=4, shrink=2, seed=1)


def test_the_outline_is_where_the_crop_was(scenes: Scenes, monkeypatch: pytest.MonkeyPatch) -> None:
    crops: list[Any] = []
    monkeypatch.setattr(pairs, "render_crops", lambda image, found, names: crops.append((image.shape, found, names)))
    recipe = parse_text(PAIR % CROP)  # nothing is turned: the crop can be found by cutting
    sheet = sheet_of(recipe, scenes.roots("hr", "lr"), rows=3, columns=2, epoch=7)
    assert sheet.pixels.ndim == 3
    for index, (shape, found, names) in zip((0, 1, 2), crops, strict=True):
        whole = ar.read_image(scenes.hr / f"000{index + 1}.png")
        scale = shape[0] / whole.shape[0]
        assert names == ["7", "8"]
        for window, group in zip(found, sheet.rows[index].groups, strict=True):
            y0, x0, y1, x1 = (round(value / scale) for value in window)
            np.testing.assert_array_equal(whole[y0:y1, x0:x1], group.cells[1].image)


def test_stages_show_every_target_after_every_step(scenes: Scenes) -> None:
    steps = f"{CROP}, D4: {{p: 0.0}}, {DEGRADE}"
    groups = sheet_of(parse_text(PAIR % steps), scenes.roots("hr"), rows=1, stages=True).rows[0].groups
    assert [group.header for group in groups] == ["as they are", "RandomCrop", "D4 – unchanged", "ResizeToTarget"]
    assert [group.quiet for group in groups] == [True, False, True, False]
    assert [group.cells[0].image is None for group in groups] == [True, True, True, False]
    assert groups[0].cells[0].caption == "lr: made later"
    np.testing.assert_array_equal(groups[1].cells[1].image, groups[3].cells[1].image)


def test_files_without_a_partner_and_broken_ones_are_named(scenes: Scenes, tmp_path: Path) -> None:
    for root in (scenes.hr, scenes.lr):
        (tmp_path / root.name).mkdir()
        for path in root.iterdir():
            (tmp_path / root.name / path.name).write_bytes(path.read_bytes())
    (tmp_path / "X4" / "0001x4.png").unlink()
    (tmp_path / "HR" / "0002.png").write_bytes(b"no image")
    sheet = sheet_of("sr-x4", {"hr": tmp_path / "HR", "lr": tmp_path / "X4"}, rows=1, columns=1)
    assert [scene.caption for scene in sheet.rows] == ["HR/0003.png"]
    footers = "\n".join(sheet.footers)
    assert "0001.png" in footers
    assert "0002.png" in footers


@pytest.mark.parametrize(
    ("recipe", "targets", "said"),
    [
        ("sr-x4", ("hr",), r"no folder was given for lr; sr-x4 takes hr=FOLDER lr=FOLDER"),
        ("sr-x4", ("hr", "lr", "x2"), r"no target is called .x2.; sr-x4 takes hr=FOLDER lr=FOLDER"),
        ("real-esrgan-x4", ("hr", "lr"), r"lr is made by the recipe's Degrade.*takes hr=FOLDER"),
        ("stained-tissue", ("hr",), r"kind image: give one folder, or a CSV file, without hr="),
        ("stained-tissue-bag", ("hr", "lr"), r"kind bag.*without hr=, lr="),
    ],
)
def test_wrong_targets_are_told_with_the_cure(scenes: Scenes, recipe: str, targets: tuple[str, ...], said: str) -> None:
    with pytest.raises(ar.DataError, match=said):
        sample_grid(recipe, scenes.roots(*targets))


# -- outlines ---------------------------------------------------------------------------------------------------------


# Contact sheets of bags: tiles as they are, as epochs give them, and where they lie.


# Degraded tiles beside what they were made of, and the steps that made them.

SHUFFLED = """Degrade: {source: hr, target: lr, steps: [
  OneOf: {steps: [Blur: {blur_limit: [3, 3], p: 1.0}, GaussNoise: {p: 1.0}, NoOp: {p: 1.0}]},
  RandomOrder: {steps: [ImageCompression: {quality_range: [40, 60], p: 1.0}, ResizeToTarget: {method: area}]}]}"""


def notes_of(sheet: Sheet) -> list[Sequence[str]]:
    return [group.notes for row in sheet.rows for group in row.groups]


def test_steps_of_a_degraded_tile_stand_below_it_as_they_ran(scenes: Scenes) -> None:
    recipe = parse_text(PAIR % f"{CROP}, {SHUFFLED}, GaussNoise: {{target: lr, p: 0.5}}")
    sheet = sheet_of(recipe, {"hr": scenes.hr}, pairs=20, seed=2)
    pipeline, orders, noisy = recipe.compile(save_applied_params=True, seed=2), set(), 0
    assert len(sheet.rows) == 20, "scenes come again in later epochs"
    for k, ((text,), row) in enumerate(zip(notes_of(sheet), sheet.rows, strict=True)):
        (group,) = row.groups
        assert group.header.endswith(f"epoch {k // 4}")
        image = cv2.imread(str(scenes.hr / Path(group.header.split(" · ")[0]).name))[..., ::-1]
        done = pipeline.at(k % 4, k // 4)(hr=image)
        facts = text.removeprefix("lr: ").split(" · ")
        assert facts[0] == "made of hr"
        applied = {name: params for _, name, params in done["applied"]}
        said = {fact.split(" ")[0] for fact in facts[1:]}
        assert said == applied.keys() - {"RandomCrop", "NoOp"}, "neither what did not run nor what does nothing"
        assert f"ImageCompression quality {applied['ImageCompression']['quality']}, jpg, subsampling 4:2:0" in facts
        assert "ResizeToTarget area" in facts
        orders.add(facts.index("ResizeToTarget area") < facts.index(next(f for f in facts if "quality" in f)))
        noisy += facts[-1].startswith("GaussNoise noise σ")
        lr, hr = group.cells
        assert lr.image.shape == hr.image.shape
        np.testing.assert_array_equal(lr.image[::4, ::4], np.rint(done["lr"].transpose(1, 2, 0) * 255))
        np.testing.assert_array_equal(lr.image, lr.image[::4, ::4].repeat(4, axis=0).repeat(4, axis=1))
        np.testing.assert_array_equal(hr.image, np.rint(done["hr"].transpose(1, 2, 0) * 255))
        assert (lr.caption, hr.caption) == ("lr 16×12", "hr 64×48")
    assert orders == {True, False}
    assert 2 < noisy < 18


def test_pairs_are_shown_alike_for_a_seed_and_fit_a_phone(scenes: Scenes, tmp_path: Path) -> None:
    recipe = parse_text(PAIR % f"{CROP}, {SHUFFLED}")
    first = preview(recipe, {"hr": scenes.hr}, tmp_path / "a.png", pairs=3, seed=1).read_bytes()
    assert preview(recipe, {"hr": scenes.hr}, tmp_path / "b.png", pairs=3, seed=1).read_bytes() == first
    assert preview(recipe, {"hr": scenes.hr}, tmp_path / "c.png", pairs=3, seed=2).read_bytes() != first
    assert preview(recipe, {"hr": scenes.hr}, tmp_path / "d.jpg", pairs=3).read_bytes()[:2] == b"\xff\xd8"
    large = draw_scenes(tmp_path / "large", count=1)
    for name, targets in {"sr-multiscale": ("hr", "x2", "lr"), "real-esrgan-x4": ("hr",)}.items():
        sheet = sheet_of(name, large.roots(*targets), pairs=2)
        assert sheet.pixels.shape[1] <= 620
        assert layout_of(sheet.rows, sheet.across, 620).cell[0] >= 128


def test_low_resolution_that_is_read_says_so(scenes: Scenes) -> None:
    recipe = parse_text(PAIR % f"{CROP}, D4: {{p: 1.0}}, Blur: {{target: hr, p: 1.0}}")
    for lr, hr in notes_of(sheet_of(recipe, {"hr": scenes.hr, "lr": scenes.lr}, pairs=2)):
        assert lr == "lr: read from disk"
        assert hr.startswith("hr: read from disk · Blur kernel ")
    ds = ar.PairedImages(scenes.roots("hr", "x2", "lr"), "sr-multiscale")
    sheet = ds.show(pairs=6)
    assert notes_of(sheet) == [["lr: read from disk", "x2: read from disk"]] * 6
    assert [one.caption for one in sheet.rows[5].groups[0].cells] == ["lr 32×32", "x2 64×64", "hr 128×128"]


def test_long_facts_are_wrapped_and_none_is_cut() -> None:
    line = "lr: made of hr · AStep that says very much of what it drew, word after word, and more · JPEG 62 · x"
    for room in (90, 200, 400):
        lines = sheets._wrap(line, room, 17)
        assert all(width_px(one, 17) <= room for one in lines)
        assert " ".join(lines).replace(" · ", " ").split() == line.replace(" · ", " ").split()
    assert len(sheets._wrap(line, 10_000, 17)) == 1


@pytest.mark.parametrize(
    ("name", "more", "said"),
    [
        ("folder-128", {"pairs": 2}, "of kind pair, and folder-128 is of kind image: leave it out"),
        ("sr-x4", {"pairs": 0}, "one or more `pairs`, got 0"),
        ("sr-x4", {"pairs": 2, "stages": True}, "without `stages`"),
        ("sr-x4", {"pairs": 2, "batch": 2}, "`pairs` or a `batch`: leave one of them out"),
    ],
)
def test_pairs_that_cannot_be_shown(scenes: Scenes, name: str, more: dict[str, Any], said: str) -> None:
    data: Any = {"hr": scenes.hr, "lr": scenes.lr} if name == "sr-x4" else scenes.hr
    with pytest.raises(ar.DataError, match=said):
        sample_grid(name, data, **more)


@pytest.fixture(scope="module")
def slides(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ar.draw_slides(tmp_path_factory.mktemp("slides"), bags=3, shrink=4, seed=2)


def test_bags_say_what_they_are(slides: Path) -> None:
    sheet = sheet_of("stained-tissue-bag", slides, rows=3, columns=2)
    assert sheet.rows[0].notes == ["label tumour", "24 tiles", "64×64 px"]
    assert sheet.title == "stained-tissue-bag"
    assert "picked and drawn anew in every epoch" in sheet.lines[-1]
    assert [name for _, name in sheet.legend] == ["shown here", "picked"]


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


# -- maps -------------------------------------------------------------------------------------------------------------


def count(image: NDArray[np.uint8], colour: tuple[int, int, int]) -> int:
    return int((image == colour).all(-1).sum())


def drawn(places: NDArray[np.int64], picked: set[int], shown: set[int]) -> NDArray[np.uint8]:
    """A map, as large as it is made."""
    made = tile_map(places, picked, shown, None)
    return made.at(made.image.shape[:2])


def test_squares_are_filled_where_tiles_were_picked() -> None:
    coords = np.array([(x * 256 + 4096, y * 256) for y in range(4) for x in range(5)])
    made = drawn(coords, set(range(10)), {0, 1})
    square = count(made, SHOWN) / 2
    assert count(made, PICKED) == 8 * square
    assert 0 < count(made, NOT_PICKED) < 10 * square / 2, "outlines only"
    assert count(made[: made.shape[0] // 2], SHOWN) == 2 * square


@pytest.mark.parametrize("unit", [512, 1])
def test_thousands_of_tiles_fit_their_map(unit: int) -> None:
    rng = np.random.default_rng(0)
    made = drawn(rng.integers(0, 400, (3000, 2)) * 512 // unit, set(range(1000)), {999})
    assert max(made.shape) <= 500
    assert count(made, SHOWN) > 0


# The sheet that `preview` draws, before it is drawn.


def sheet_of(
    recipe: Any, data: Any, *, rows: int = 4, columns: int = 6, epoch: int = 0, stages: bool = False, masks: Any = None,
    pairs: int | None = None, **compiled: Any,
) -> Sheet:  # fmt: skip
    """Arguments are those of `preview`."""
    request = SheetRequest(data, rows, columns, epoch, stages, compiled, masks, pairs=pairs)
    return preview_sheet(as_recipe(recipe), request)
