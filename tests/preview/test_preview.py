"""Contact sheets of real recipes over the drawn data."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

import augrecipes as ar
from augrecipes.demo.dataset import DemoData, draw_dataset
from augrecipes.kinds.image import sheet as grid
from augrecipes.preview import preview, sample_grid
from augrecipes.preview.display import picture_of_output
from augrecipes.preview.sheet import SheetRow, layout_for

MARGIN, GAP = 36, 12


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> DemoData:
    return draw_dataset(tmp_path_factory.mktemp("drawn"), tiles=6, photo_count=6, shrink=3)


class Composed:
    """Stands in for `compose` and keeps what it was given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.real = grid.compose
        monkeypatch.setattr(grid, "compose", self)

    def __call__(self, layout: Any, rows: list[SheetRow], **texts: Any) -> NDArray[np.uint8]:
        self.layout, self.rows, self.texts = layout, rows, texts
        return self.real(layout, rows, **texts)


@pytest.fixture
def composed(monkeypatch: pytest.MonkeyPatch) -> Composed:
    return Composed(monkeypatch)


def test_the_file_holds_the_grid(data: DemoData, tmp_path: Path) -> None:
    out = tmp_path / "ü" / "grid.png"
    assert preview("folder-128", data.tissue, out, rows=2, columns=3, seed=5) == out
    decoded = cv2.imdecode(np.frombuffer(out.read_bytes(), np.uint8), cv2.IMREAD_COLOR)
    expected = sample_grid("folder-128", data.tissue, rows=2, columns=3, seed=5)
    np.testing.assert_array_equal(decoded[..., ::-1], expected)


def test_sizes_columns_and_nothing_empty(data: DemoData, composed: Composed) -> None:
    sheet = sample_grid("stained-tissue", data.tissue, rows=3, columns=5)
    assert [len(row.cells) for row in composed.rows] == [6, 6, 6]
    assert sheet.shape[1] == 2 * MARGIN + 6 * 224 + 5 * GAP
    assert composed.layout == layout_for(6, 1.0, 224)
    assert [cell.header for cell in composed.rows[0].cells] == ["source", *(f"epoch {k}" for k in range(5))]
    assert [row.headers for row in composed.rows] == [True, False, False]
    for row in composed.rows:
        pictures = [cell.picture for cell in row.cells]
        assert all(picture.std() > 5 for picture in pictures)
        assert len({picture.tobytes() for picture in pictures}) == 6, "every epoch has draws of its own"


def test_it_shows_what_a_dataset_hands_out(data: DemoData, composed: Composed) -> None:
    recipe = ar.load("jpeg-crop-256")
    sample_grid(recipe, data.photos, rows=2, columns=2, seed=9, epoch=4)
    ds = ar.ImageFolder(data.photos, recipe, seed=9)
    for row, index in zip(composed.rows, (0, 3), strict=True):
        for k, cell in enumerate(row.cells[1:]):
            expected = picture_of_output(ds[4 + k, index]["image"].numpy(), recipe.output)
            np.testing.assert_array_equal(cell.picture, expected)
        assert f"index {index}" in row.note


def test_titles_say_what_made_the_sheet(data: DemoData, composed: Composed) -> None:
    recipe = ar.load("stained-tissue")
    sample_grid(recipe, data.tissue, rows=1, columns=1, seed=42)
    assert composed.texts["title"] == "stained-tissue"
    about, facts = composed.texts["lines"]
    assert about == recipe.about
    assert f"digest {recipe.digest[:8]}" in facts
    assert "seed 42" in facts
    assert "3×224×224" in facts


def test_stages_have_a_column_a_step_with_its_label(data: DemoData, composed: Composed) -> None:
    recipe = ar.load("stained-tissue")
    sample_grid(recipe, data.tissue, rows=2, stages=True, seed=1)
    for row in composed.rows:
        headers = [cell.header.removesuffix(" – unchanged") for cell in row.cells]
        assert headers == ["source", *(step.name for step in recipe.steps)]
        for before, cell in zip(row.cells[1:], row.cells[2:], strict=False):
            if "unchanged" in cell.header:
                assert cell.quiet
                np.testing.assert_array_equal(cell.picture, before.picture)


def test_many_stages_go_on_below(data: DemoData, composed: Composed, tmp_path: Path) -> None:
    steps = "\n".join(f"  - GaussianBlur: {{blur_limit: 3, p: 1.0, id: blur{k}}}" for k in range(20))
    path = tmp_path / "long.yaml"
    path.write_text(f"version: 1\nrecipe: long\nkind: image\nsteps:\n{steps}\neval: []\n", encoding="utf-8")
    sheet = sample_grid(path, data.tissue, rows=1, stages=True)
    assert [len(row.cells) for row in composed.rows] == [11, 10]
    assert composed.rows[1].indent
    assert sheet.shape[1] <= 2400


def test_evaluation_has_one_column(data: DemoData, composed: Composed) -> None:
    sample_grid("imagenet-train", data.photos, rows=2, columns=6, mode="eval")
    assert [len(row.cells) for row in composed.rows] == [2, 2]


def test_masks_and_boxes_are_drawn_over(data: DemoData, composed: Composed) -> None:
    sample_grid("segmentation", data.tissue, masks=data.masks, rows=1, columns=2)
    masked = [cell.picture for cell in composed.rows[0].cells]
    sample_grid("detection", data.table, rows=1, columns=2)
    boxed = [cell.picture for cell in composed.rows[0].cells]
    assert [name for _, name in composed.texts["legend"]] == ["fibroblast", "lymphocyte", "tumour"]
    for picture in (*masked, *boxed):
        vivid = picture.max(-1).astype(int) - picture.min(-1)
        assert vivid.max() > 100


def test_one_file_and_a_flat_folder(data: DemoData, composed: Composed) -> None:
    one = next(data.photos.glob("*/photo-001.jpg"))
    sample_grid("folder-128", one, rows=4, columns=2)
    assert len(composed.rows) == 1
    assert composed.rows[0].caption.endswith("photo-001.jpg")
    sample_grid("folder-128", one.parent, rows=4, columns=2)
    assert len(composed.rows) == 2


def test_broken_files_are_left_out_and_named(
    data: DemoData, composed: Composed, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole = next(data.photos.glob("*/photo-000.jpg")).read_bytes()
    (tmp_path / "a.jpg").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "b.jpg").write_bytes(whole)
    (tmp_path / "c.png").write_bytes(b"")
    seen: list[tuple[int, int]] = []
    with caplog.at_level(logging.WARNING, "augrecipes"):
        sample_grid("folder-128", tmp_path, rows=1, columns=2, progress=lambda done, total: seen.append((done, total)))
    assert [row.caption for row in composed.rows] == [f"{tmp_path.name}/b.jpg"]
    assert ["a.jpg" in line for line in composed.texts["footers"]] == [True]
    assert "a.jpg" in caplog.text
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


def test_zero_rows_are_refused(data: DemoData) -> None:
    with pytest.raises(ar.DataError, match="at least one row"):
        sample_grid("folder-128", data.tissue, rows=0)
