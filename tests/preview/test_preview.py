"""Contact sheets of real recipes over the drawn data."""

from __future__ import annotations

import logging
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from sheet_of import sheet_of

import augrecipes as ar
from augrecipes.demo.dataset import DemoData, draw_dataset
from augrecipes.preview import preview, sample_grid
from augrecipes.preview.cells import APART, MARGIN, MAX_WIDTH, CellGroup, SheetRow, layout_of
from augrecipes.preview.display import picture_of_output


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


def picture(group: CellGroup | None) -> NDArray[np.uint8]:
    assert group is not None
    (cell,) = group.cells
    assert cell.picture is not None
    return cell.at(cell.picture.shape[:2])


def test_sizes_columns_and_nothing_empty(data: DemoData) -> None:
    sheet = sheet_of("stained-tissue", data.tissue, rows=3, columns=5)
    layout = layout_of(sheet.rows, sheet.across)
    assert (layout.across, layout.cell, layout.source) == (5, (224, 224), (224, 224))
    assert sheet.pixels.shape[1] == layout.width == 2 * MARGIN + 6 * 224 + 5 * APART
    for row in sheet.rows:
        assert headers(row) == [f"epoch {k}" for k in range(5)]
        pictures = [picture(group) for group in (row.source, *row.groups)]
        assert all(one.std() > 5 for one in pictures)
        assert len({one.tobytes() for one in pictures}) == 6, "every epoch has draws of its own"


def test_it_shows_what_a_dataset_hands_out(data: DemoData) -> None:
    recipe = ar.load("jpeg-crop-256")
    sheet = sheet_of(recipe, data.photos, rows=2, columns=2, seed=9, epoch=4)
    ds = ar.ImageFolder(data.photos, recipe, seed=9)
    for row, index in zip(sheet.rows, (0, 3), strict=True):
        for k, group in enumerate(row.groups):
            expected = picture_of_output(ds[4 + k, index]["image"].numpy(), recipe.output)
            np.testing.assert_array_equal(group.cells[0].picture, expected)
        assert f"index {index}" in row.notes[0]


def test_titles_say_what_made_the_sheet(data: DemoData) -> None:
    recipe = ar.load("stained-tissue")
    sheet = sheet_of(recipe, data.tissue, rows=1, columns=1, seed=42)
    assert sheet.title == "stained-tissue"
    about, facts = sheet.lines
    assert about == recipe.about
    for fact in (f"digest {recipe.digest[:8]}", "seed 42", "3×224×224"):
        assert fact in facts


def test_stages_have_a_column_a_step_with_its_label(data: DemoData) -> None:
    recipe = ar.load("stained-tissue")
    for row in sheet_of(recipe, data.tissue, rows=2, stages=True, seed=1).rows:
        assert [header.removesuffix(" – unchanged") for header in headers(row)] == [step.name for step in recipe.steps]
        for before, group in pairwise([row.source, *row.groups]):
            unchanged = np.array_equal(*(one.cells[0].picture for one in (before, group)))
            assert group.quiet == unchanged == ("unchanged" in group.header)


def test_many_stages_go_on_below(data: DemoData, tmp_path: Path) -> None:
    steps = "\n".join(f"  - GaussianBlur: {{blur_limit: 3, p: 1.0, id: blur{k}}}" for k in range(20))
    path = tmp_path / "long.yaml"
    path.write_text(f"version: 1\nrecipe: long\nkind: image\nsteps:\n{steps}\neval: []\n", encoding="utf-8")
    sheet = sheet_of(path, data.tissue, rows=1, stages=True)
    layout = layout_of(sheet.rows, sheet.across)
    assert layout.across == 10
    assert sheet.pixels.shape[1] == layout.width <= MAX_WIDTH


def test_evaluation_has_one_column(data: DemoData) -> None:
    sheet = sheet_of("imagenet-train", data.photos, rows=2, columns=6, mode="eval")
    assert [len(row.groups) for row in sheet.rows] == [1, 1]


def test_masks_and_boxes_are_drawn_over(data: DemoData) -> None:
    masked = sheet_of("segmentation", data.tissue, masks=data.masks, rows=1, columns=2)
    boxed = sheet_of("detection", data.table, rows=1, columns=2)
    assert [name for _, name in boxed.legend] == ["fibroblast", "lymphocyte", "tumour"]
    for sheet in (masked, boxed):
        for group in (sheet.rows[0].source, *sheet.rows[0].groups):
            shown = picture(group)
            assert (shown != group.cells[0].picture).any()
            vivid = shown.max(-1).astype(int) - shown.min(-1)
            assert vivid.max() > 100


def test_one_file_and_a_flat_folder(data: DemoData) -> None:
    one = next(data.photos.glob("*/photo-001.jpg"))
    (row,) = sheet_of("folder-128", one, rows=4, columns=2).rows
    assert row.caption.endswith("photo-001.jpg")
    assert len(sheet_of("folder-128", one.parent, rows=4, columns=2).rows) == 3


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


def test_zero_rows_are_refused(data: DemoData) -> None:
    with pytest.raises(ar.DataError, match="at least one row"):
        sample_grid("folder-128", data.tissue, rows=0)
