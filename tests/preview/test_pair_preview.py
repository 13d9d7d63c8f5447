"""Contact sheets of pairs: aligned targets at one scale, crops outlined on whole scenes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from sheet_of import sheet_of

import augrecipes as ar
from augrecipes.demo.dataset import Scenes, draw_scenes
from augrecipes.kinds.pair import sheet as pairs
from augrecipes.preview import overlay, preview, sample_grid
from augrecipes.preview.cells import MAX_WIDTH
from augrecipes.preview.display import picture_of_output
from augrecipes.recipe.parse import parse_text
from augrecipes.sources.files import read_image

PAIR = "{version: 1, recipe: tiny, kind: pair, scales: {lr: 1, hr: 4}, eval: [], steps: [%s]}"
CROP = "RandomCrop: {height: 12, width: 16, at: lr}"
DEGRADE = "Degrade: {source: hr, target: lr, steps: [ResizeToTarget: {method: area}]}"


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Scenes:
    return draw_scenes(tmp_path_factory.mktemp("pairs"), count=4, shrink=2, seed=1)


def test_it_shows_what_a_dataset_hands_out(scenes: Scenes) -> None:
    recipe = ar.load("sr-x4")
    sheet = sheet_of(recipe, scenes.roots("hr", "lr"), rows=2, columns=3, seed=9, epoch=4)
    pipeline = recipe.compile(seed=9)
    for scene, index in zip(sheet.rows, (0, 2), strict=True):
        assert scene.caption == f"HR/000{index + 1}.png"
        hr, lr = (read_image(root / f"000{index + 1}{end}.png") for root, end in ((scenes.hr, ""), (scenes.lr, "x4")))
        for k, group in enumerate(scene.groups):
            out = pipeline.at(index, 4 + k)(hr=hr, lr=lr)
            assert group.header == f"epoch {4 + k}"
            assert [panel.caption for panel in group.cells] == ["lr 48×48", "hr 192×192"]
            for panel, name in zip(group.cells, ("lr", "hr"), strict=True):
                np.testing.assert_array_equal(panel.picture, picture_of_output(out[name], recipe.output))


def test_the_dataset_counts_the_scenes_alike(scenes: Scenes) -> None:
    ds = ar.PairedImages(scenes.roots("hr", "lr"), "sr-x4", seed=3)
    sheet = sheet_of("sr-x4", scenes.roots("hr", "lr"), rows=4, columns=1, seed=3)
    for index, scene in enumerate(sheet.rows):
        shown = scene.groups[0].cells[1].picture
        np.testing.assert_array_equal(shown, picture_of_output(ds[0, index]["hr"].numpy(), ds.recipe.output))


def test_the_outline_is_where_the_crop_was(scenes: Scenes, monkeypatch: pytest.MonkeyPatch) -> None:
    crops: list[Any] = []
    monkeypatch.setattr(pairs, "render_crops", lambda image, found, names: crops.append((image.shape, found, names)))
    recipe = parse_text(PAIR % CROP)  # nothing is turned: the crop can be found by cutting
    sheet = sheet_of(recipe, scenes.roots("hr", "lr"), rows=3, columns=2, epoch=7)
    assert sheet.pixels.ndim == 3
    for index, (shape, found, names) in zip((0, 1, 2), crops, strict=True):
        whole = read_image(scenes.hr / f"000{index + 1}.png")
        scale = shape[0] / whole.shape[0]
        assert names == ["7", "8"]
        for window, group in zip(found, sheet.rows[index].groups, strict=True):
            y0, x0, y1, x1 = (round(value / scale) for value in window)
            np.testing.assert_array_equal(whole[y0:y1, x0:x1], group.cells[1].picture)


def test_three_targets_and_those_that_a_recipe_makes(scenes: Scenes) -> None:
    sheet = sheet_of("sr-multiscale", scenes.roots("hr", "lr", "x2"), rows=1, columns=2)
    captions = [panel.caption for panel in sheet.rows[0].groups[0].cells]
    assert captions == ["lr 32×32", "x2 64×64", "hr 128×128"]
    made = parse_text(PAIR % f"{CROP}, {DEGRADE}")
    sheet = sheet_of(made, scenes.roots("hr"), rows=1, columns=2)
    assert [panel.caption for panel in sheet.rows[0].groups[0].cells] == ["lr 16×12", "hr 64×48"]
    assert "scales lr:hr = 1:4" in sheet.lines[-1]


def test_what_is_cut_off_is_said(scenes: Scenes) -> None:
    sheet = sheet_of(parse_text(PAIR % CROP), scenes.roots("hr", "lr"), rows=3, columns=1)
    notes = [scene.notes for scene in sheet.rows]
    assert notes[0] == ["lr 64×48 · index 0", ""]
    assert notes[2] == ["lr 64×48 · index 2", "cut to 256×192, which all scales divide"]
    assert sheet.rows[2].source is not None
    assert sheet.rows[2].source.header == "hr 257×193"


def test_stages_show_every_target_after_every_step(scenes: Scenes) -> None:
    steps = f"{CROP}, D4: {{p: 0.0}}, {DEGRADE}"
    groups = sheet_of(parse_text(PAIR % steps), scenes.roots("hr"), rows=1, stages=True).rows[0].groups
    assert [group.header for group in groups] == ["as they are", "RandomCrop", "D4 – unchanged", "ResizeToTarget"]
    assert [group.quiet for group in groups] == [True, False, True, False]
    assert [group.cells[0].picture is None for group in groups] == [True, True, True, False]
    assert groups[0].cells[0].caption == "lr: made later"
    np.testing.assert_array_equal(groups[1].cells[1].picture, groups[3].cells[1].picture)


def test_every_target_has_its_output_and_resampling_has_no_outline(scenes: Scenes) -> None:
    text = (
        "{version: 1, recipe: tiny, kind: pair, scales: {lr: 1, hr: 4}, allow_resampling: true, eval: [], "
        "steps: [RandomResizedCrop: {size: [24, 24], at: lr}], "
        "output: {lr: {dtype: uint8, layout: hwc, range: [0, 255]}, hr: {range: [-1, 1]}}}"
    )
    sheet = sheet_of(parse_text(text), scenes.roots("hr", "lr"), rows=1, columns=1)
    (group,) = sheet.rows[0].groups
    assert (group.header, group.tag) == ("epoch 0 – resampled", None)
    means = [panel.picture.mean() for panel in group.cells if panel.picture is not None]
    assert abs(means[0] - means[1]) < 6, "both are shown in the range of pictures"
    assert "output lr uint8 24×24×3, hr float32 3×96×96" in sheet.lines[-1]


def test_evaluation_has_one_draw_and_no_outline_around_everything(scenes: Scenes) -> None:
    sheet = sheet_of("sr-x4", scenes.roots("hr", "lr"), rows=1, mode="eval")
    (group,) = sheet.rows[0].groups
    assert group.tag is None
    assert group.cells[1].caption == "hr 256×192"
    assert "the same in every epoch" in sheet.lines[-1]


def test_a_csv_file_lists_pairs(scenes: Scenes, tmp_path: Path) -> None:
    table = tmp_path / "pairs.csv"
    table.write_text(f"lr,hr\n{scenes.lr / '0002x4.png'},{scenes.hr / '0002.png'}\n", encoding="utf-8")
    (row,) = sheet_of("sr-x4", {"files": table, "outside": True}, columns=1).rows
    assert row.caption == "HR/0002.png"


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


def test_a_folder_without_a_target_is_told_which_there_are(scenes: Scenes, tmp_path: Path) -> None:
    with pytest.raises(ar.DataError, match=r"for lr and hr; sr-x4 takes hr=FOLDER lr=FOLDER, or a CSV file"):
        sample_grid("sr-x4", scenes.hr)
    with pytest.raises(ar.DataError, match=r"for hr; real-esrgan-x4 takes hr=FOLDER, or a CSV file"):
        sample_grid("real-esrgan-x4", scenes.hr)
    with pytest.raises(ar.DataError, match="has no masks"):
        sample_grid("sr-x4", scenes.roots("hr", "lr"), masks=tmp_path)


def test_the_file_holds_the_sheet(scenes: Scenes, tmp_path: Path) -> None:
    out = preview("sr-x4", scenes.roots("hr", "lr"), tmp_path / "pairs.png", rows=2, columns=4)
    sheet = cv2.imread(str(out))
    assert sheet.shape[1] <= MAX_WIDTH
    assert sheet.std() > 10


# -- outlines ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ground", [0, 128, 255])
def test_outlines_can_be_seen_on_any_ground(ground: int) -> None:
    picture = np.full((120, 160, 3), ground, np.uint8)
    overlay.render_crops(picture, [(20, 30, 80, 110), (50, 60, 118, 158)], ["0", "1"])
    line = picture[50, 26:34].astype(int).sum(-1)  # across the left side of the first crop
    assert line.max() - line.min() > 200
    assert tuple(picture[70, 30]) == overlay.colour_of(1)
    assert (picture[5:15] == ground).all(), "nothing is drawn elsewhere"


def test_crops_at_one_place_keep_a_tag_each() -> None:
    picture = np.full((120, 160, 3), 90, np.uint8)
    overlay.render_crops(picture, [(20, 30, 100, 130)] * 4, list("0123"))
    for number in range(1, 4):
        assert (picture == overlay.colour_of(number)).all(-1).sum() > 100
