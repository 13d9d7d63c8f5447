"""Contact sheets of pairs: aligned targets at one scale, crops outlined on whole scenes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

import augrecipes as ar
from augrecipes.demo.scenes import Scenes, draw_scenes
from augrecipes.kinds.pair import sheet as pairs
from augrecipes.preview import overlay, preview, sample_grid
from augrecipes.preview.display import picture_of_output
from augrecipes.preview.panels import (
    Panel,
    PanelGroup,
    PanelLayout,
    ScenePanels,
    at_size,
    layout_of_panels,
    render_scene,
    size_in,
)
from augrecipes.preview.sheet import EMPTY, HEADER, MARGIN, MAX_WIDTH_PX, page
from augrecipes.recipe.parse import parse_text
from augrecipes.sources.files import read_image

PAIR = "{version: 1, recipe: tiny, kind: pair, scales: {lr: 1, hr: 4}, eval: [], steps: [%s]}"
CROP = "RandomCrop: {height: 12, width: 16, at: lr}"
DEGRADE = "Degrade: {source: hr, target: lr, steps: [ResizeToTarget: {method: area}]}"


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Scenes:
    return draw_scenes(tmp_path_factory.mktemp("pairs"), count=4, shrink=2, seed=1)


class Drawn:
    """Stands in for `draw_scene` and keeps what it was given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.scenes: list[ScenePanels] = []
        self.layout: PanelLayout | None = None
        self.texts: dict[str, Any] = {}
        self.blocks: Sequence[NDArray[np.uint8]] = ()
        monkeypatch.setattr(pairs, "render_scene", self.scene)
        monkeypatch.setattr(pairs, "page", self.page)

    def scene(self, scene: ScenePanels, layout: PanelLayout) -> NDArray[np.uint8]:
        self.scenes.append(scene)
        self.layout = layout
        return render_scene(scene, layout)

    def page(self, width: int, blocks: Sequence[NDArray[np.uint8]], **texts: Any) -> NDArray[np.uint8]:
        self.blocks, self.texts = blocks, texts
        return page(width, blocks, **texts)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Drawn:
    return Drawn(monkeypatch)


def test_it_shows_what_a_dataset_hands_out(scenes: Scenes, drawn: Drawn) -> None:
    recipe = ar.load("sr-x4")
    sample_grid(recipe, scenes.roots("hr", "lr"), rows=2, columns=3, seed=9, epoch=4)
    pipeline = recipe.compile(seed=9)
    for scene, index in zip(drawn.scenes, (0, 2), strict=True):
        assert scene.caption == f"HR/000{index + 1}.png"
        hr, lr = (read_image(root / f"000{index + 1}{end}.png") for root, end in ((scenes.hr, ""), (scenes.lr, "x4")))
        for k, group in enumerate(scene.groups):
            out = pipeline.at(index, 4 + k)(hr=hr, lr=lr)
            assert group.header == f"epoch {4 + k}"
            assert [panel.caption for panel in group.panels] == ["lr 48×48", "hr 192×192"]
            for panel, name in zip(group.panels, ("lr", "hr"), strict=True):
                np.testing.assert_array_equal(panel.picture, picture_of_output(out[name], recipe.output))


def test_the_dataset_counts_the_scenes_alike(scenes: Scenes, drawn: Drawn) -> None:
    ds = ar.PairedImages(scenes.roots("hr", "lr"), "sr-x4", seed=3)
    sample_grid("sr-x4", scenes.roots("hr", "lr"), rows=4, columns=1, seed=3)
    for index, scene in enumerate(drawn.scenes):
        shown = scene.groups[0].panels[1].picture
        np.testing.assert_array_equal(shown, picture_of_output(ds[0, index]["hr"].numpy(), ds.recipe.output))


def test_the_outline_is_where_the_crop_was(scenes: Scenes, drawn: Drawn, monkeypatch: pytest.MonkeyPatch) -> None:
    crops: list[Any] = []
    monkeypatch.setattr(pairs, "render_crops", lambda image, found, names: crops.append((image.shape, found, names)))
    recipe = parse_text(PAIR % CROP)  # nothing is turned: the crop can be found by cutting
    sample_grid(recipe, scenes.roots("hr", "lr"), rows=3, columns=2, epoch=7)
    for index, (shape, found, names) in zip((0, 1, 2), crops, strict=True):
        whole = read_image(scenes.hr / f"000{index + 1}.png")
        scale = shape[0] / whole.shape[0]
        assert names == ["7", "8"]
        for window, group in zip(found, drawn.scenes[index].groups, strict=True):
            y0, x0, y1, x1 = (round(value / scale) for value in window)
            np.testing.assert_array_equal(whole[y0:y1, x0:x1], group.panels[1].picture)


def test_three_targets_and_those_that_a_recipe_makes(scenes: Scenes, drawn: Drawn) -> None:
    sample_grid("sr-multiscale", scenes.roots("hr", "lr", "x2"), rows=1, columns=2)
    captions = [panel.caption for panel in drawn.scenes[0].groups[0].panels]
    assert captions == ["lr 32×32", "x2 64×64", "hr 128×128"]
    made = parse_text(PAIR % f"{CROP}, {DEGRADE}")
    sample_grid(made, scenes.roots("hr"), rows=1, columns=2)
    assert [panel.caption for panel in drawn.scenes[1].groups[0].panels] == ["lr 16×12", "hr 64×48"]
    assert "scales lr:hr = 1:4" in drawn.texts["lines"][-1]


def test_what_is_cut_off_is_said(scenes: Scenes, drawn: Drawn) -> None:
    sample_grid(parse_text(PAIR % CROP), scenes.roots("hr", "lr"), rows=3, columns=1)
    notes = [scene.notes for scene in drawn.scenes]
    assert notes[0] == ["lr 64×48 · index 0", ""]
    assert notes[2] == ["lr 64×48 · index 2", "cut to 256×192, which all scales divide"]
    assert drawn.scenes[2].header == "hr 257×193"


def test_stages_show_every_target_after_every_step(scenes: Scenes, drawn: Drawn) -> None:
    steps = f"{CROP}, D4: {{p: 0.0}}, {DEGRADE}"
    sample_grid(parse_text(PAIR % steps), scenes.roots("hr"), rows=1, stages=True)
    groups = drawn.scenes[0].groups
    assert [group.header for group in groups] == ["as they are", "RandomCrop", "D4 – unchanged", "ResizeToTarget"]
    assert [group.quiet for group in groups] == [True, False, True, False]
    assert [group.panels[0].picture is None for group in groups] == [True, True, True, False]
    assert groups[0].panels[0].caption == "lr: made later"
    np.testing.assert_array_equal(groups[1].panels[1].picture, groups[3].panels[1].picture)


def test_every_target_has_its_output_and_resampling_has_no_outline(scenes: Scenes, drawn: Drawn) -> None:
    text = (
        "{version: 1, recipe: tiny, kind: pair, scales: {lr: 1, hr: 4}, allow_resampling: true, eval: [], "
        "steps: [RandomResizedCrop: {size: [24, 24], at: lr}], "
        "output: {lr: {dtype: uint8, layout: hwc, range: [0, 255]}, hr: {range: [-1, 1]}}}"
    )
    sample_grid(parse_text(text), scenes.roots("hr", "lr"), rows=1, columns=1)
    (group,) = drawn.scenes[0].groups
    assert (group.header, group.tag) == ("epoch 0 – resampled", None)
    means = [panel.picture.mean() for panel in group.panels if panel.picture is not None]
    assert abs(means[0] - means[1]) < 6, "both are shown in the range of pictures"
    assert "output lr uint8 24×24×3, hr float32 3×96×96" in drawn.texts["lines"][-1]


def test_evaluation_has_one_draw_and_no_outline_around_everything(scenes: Scenes, drawn: Drawn) -> None:
    sample_grid("sr-x4", scenes.roots("hr", "lr"), rows=1, mode="eval")
    (group,) = drawn.scenes[0].groups
    assert group.tag is None
    assert group.panels[1].caption == "hr 256×192"
    assert "the same in every epoch" in drawn.texts["lines"][-1]


def test_a_csv_file_lists_pairs(scenes: Scenes, drawn: Drawn, tmp_path: Path) -> None:
    table = tmp_path / "pairs.csv"
    table.write_text(f"lr,hr\n{scenes.lr / '0002x4.png'},{scenes.hr / '0002.png'}\n", encoding="utf-8")
    sample_grid("sr-x4", table, columns=1)
    assert [scene.caption for scene in drawn.scenes] == ["HR/0002.png"]


def test_files_without_a_partner_and_broken_ones_are_named(scenes: Scenes, drawn: Drawn, tmp_path: Path) -> None:
    for root in (scenes.hr, scenes.lr):
        (tmp_path / root.name).mkdir()
        for path in root.iterdir():
            (tmp_path / root.name / path.name).write_bytes(path.read_bytes())
    (tmp_path / "X4" / "0001x4.png").unlink()
    (tmp_path / "HR" / "0002.png").write_bytes(b"no image")
    sample_grid("sr-x4", {"hr": tmp_path / "HR", "lr": tmp_path / "X4"}, rows=1, columns=1)
    assert [scene.caption for scene in drawn.scenes] == ["HR/0003.png"]
    footers = "\n".join(drawn.texts["footers"])
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
    assert sheet.shape[1] <= MAX_WIDTH_PX
    assert sheet.std() > 10


# -- panels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("groups", [1, 2, 3, 6, 13])
@pytest.mark.parametrize("panels", [2, 3, 4])
@pytest.mark.parametrize("size", [64, 192, 256, 700])
@pytest.mark.parametrize("aspect", [0.5, 1.0, 1.6])
def test_layouts_fit_the_sheet(groups: int, panels: int, size: int, aspect: float) -> None:
    layout = layout_of_panels(groups, panels, [(size // 4, size // 4), (size, size)], aspect)
    assert layout.width <= MAX_WIDTH_PX
    assert layout.across <= groups
    assert min(layout.panel) >= 64
    assert min(layout.whole) >= 100


def test_pixels_are_shown_as_squares_of_one_size() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (12, 16, 3), dtype=np.uint8)
    size = size_in([(48, 64), (12, 16)], (200, 200))
    assert size == (144, 192)
    np.testing.assert_array_equal(at_size(noise, size), noise.repeat(12, 0).repeat(12, 1))


def test_panels_stand_side_by_side_and_a_missing_one_leaves_its_place() -> None:
    layout = layout_of_panels(2, 2, [(16, 16), (64, 64)], 1.0)
    lr, hr = np.full((16, 16, 3), 10, np.uint8), np.full((64, 64, 3), 20, np.uint8)
    whole = np.full((*layout.whole, 3), 30, np.uint8)
    scene = ScenePanels(
        whole, [PanelGroup([Panel(lr, "lr"), Panel(hr, "hr")]), PanelGroup([Panel(None, "lr"), Panel(hr, "hr")])]
    )
    block = render_scene(scene, layout)
    assert block.shape[1] == layout.width - 2 * MARGIN
    height, width = layout.panel
    for value, count in ((10, 1), (20, 2)):
        assert (block == value).all(-1).sum() >= count * height * width
    assert not (block == np.array(EMPTY)).all(-1).any(), "these pictures fill their panels"
    assert (block[HEADER : HEADER + 10, : layout.whole[1]] == 30).all()


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
