"""Sheets from images made here: sizes, text, overlays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from augrecipes.compiler.kernels.sink import Sink
from augrecipes.ops.box_formats import corners_px
from augrecipes.preview import display, overlay
from augrecipes.preview.cells import (
    CELL_GAP,
    GROUP_GAP,
    HEADER,
    LINE_GAP,
    MARGIN,
    MAX_WIDTH,
    Cell,
    CellGroup,
    SheetRow,
    layout_of,
)
from augrecipes.preview.display import PAGE, resize_to, rgb_of_input, rgb_of_output, size_in, within
from augrecipes.preview.rows import stage_groups
from augrecipes.preview.sheet import Sheet
from augrecipes.recipe.model import Normalize, Output


def noise(height: int, width: int, channels: int = 3, seed: int = 0) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (height, width, channels), dtype=np.uint8)


# -- display ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["chw", "hwc"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(
    "scaling",
    [
        {"normalize": Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))},
        {"normalize": Normalize((0.5,), (0.5,))},
        {"range": (-1.0, 1.0)},
        {"range": (0.0, 255.0)},
        {},
    ],
    ids=["imagenet", "one-number", "signed", "levels", "unit"],
)
@pytest.mark.parametrize("color", ["rgb", "bgr"])
def test_what_output_did_is_undone(layout: str, dtype: str, scaling: dict[str, object], color: str) -> None:
    output = Output(dtype=dtype, layout=layout, color=color, **scaling)  # type: ignore[arg-type]
    image = noise(6, 9)
    # The sink orders channels first: mean and standard deviation count in the output's order.
    values = image[..., :: -1 if color == "bgr" else 1].astype(np.float64) / 255
    if output.normalize:
        values = (values - output.normalize.mean) / output.normalize.std
    else:
        values = values * (output.range[1] - output.range[0]) + output.range[0]
    values = (np.moveaxis(values, -1, 0) if layout == "chw" else values).astype(dtype)
    seen = rgb_of_output(values, output)
    assert seen.dtype == np.uint8
    assert seen.shape == (6, 9, 3)
    # Half precision keeps 11 bits: half a level at the top of 0..255.
    np.testing.assert_allclose(seen, image, atol=0 if dtype == "float32" else 1)


def test_grey_and_luma_are_shown_in_full_range() -> None:
    grey = np.full((1, 2, 2), 0.5, np.float32)
    assert rgb_of_output(grey, Output(color="gray")).tolist() == [[[128] * 3] * 2] * 2
    luma = np.array([[[16, 235]]], np.float32) / 255
    assert rgb_of_output(luma, Output(color="y"))[0].tolist() == [[0] * 3, [255] * 3]


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_ycbcr_is_shown_as_the_colours_it_was_made_of(dtype: str) -> None:
    output = Output(dtype=dtype, color="ycbcr")
    seen = rgb_of_output(Sink(output)(noise(6, 9)), output)
    np.testing.assert_allclose(seen, noise(6, 9), atol=0 if dtype == "float32" else 2)


def test_other_channel_counts_and_values_that_are_not_numbers_are_shown() -> None:
    assert rgb_of_input(noise(4, 5, 5)).shape == (4, 5, 3)
    assert rgb_of_input(noise(4, 5, 2)).shape == (4, 5, 3)
    assert rgb_of_input(noise(4, 5)[..., 0]).shape == (4, 5, 3)
    assert rgb_of_input(np.array([[np.nan, 2.0, -1.0]], np.float32))[0, :, 0].tolist() == [0, 255, 0]


@given(height=st.integers(1, 90), width=st.integers(1, 90), largest=st.integers(8, 60))
def test_an_image_that_is_made_small_fits_and_keeps_its_shape(height: int, width: int, largest: int) -> None:
    small = within(np.zeros((height, width, 3), np.uint8), largest)
    scale = min(1, largest / max(height, width))
    assert max(small.shape[:2]) == min(largest, max(height, width))
    assert all(abs(side - max(old * scale, 1)) <= 0.5 for side, old in zip(small.shape, (height, width), strict=False))


# -- text -------------------------------------------------------------------------------------------------------------


@given(st.text(max_size=60), st.integers(20, 300), st.booleans())
def test_shortened_text_fits_unless_there_is_no_room_at_all(words: str, room: int, middle: bool) -> None:
    short = display.fit(words, room, 14, middle=middle)
    assert short == words or "…" in short
    assert display.width_px(short, 14) <= room or short == "…"


def test_a_name_cut_in_the_middle_keeps_both_ends() -> None:
    short = display.fit("tumour/a-very-long-name-of-a-tile-0001.png", 150, 14, middle=True)
    assert short.startswith("tum")
    assert short.endswith(".png")


@pytest.mark.parametrize("old", [False, True], ids=["newest", "opencv-4"])
@pytest.mark.parametrize("align", ["left", "center"])
def test_text_is_drawn_where_it_is_said_to_be(old: bool, align: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if old:
        monkeypatch.setattr(display, "_face", lambda: None)
    canvas = np.full((60, 400, 3), 255, np.uint8)
    display.render_text(canvas, "Ünïcode × 日本\n", (200, 40), size_px=16, colour=(0, 0, 0), align=align)
    columns = np.nonzero((canvas < 128).any((0, 2)))[0]
    width = display.width_px("Ünïcode × 日本\n", 16)
    left = {"left": 200, "center": 200 - width // 2}[align]
    assert columns.size > 0
    assert left - 3 <= columns.min()
    assert columns.max() <= left + width + 3


# -- overlays ---------------------------------------------------------------------------------------------------------


def test_a_mask_is_tinted_inside_stronger_at_its_edge_and_nowhere_else() -> None:
    image = np.full((40, 40, 3), 128, np.uint8)
    mask = np.zeros((40, 40), np.int64)
    mask[10:30, 10:30] = 7
    overlay.render_mask(image, mask)
    assert (image[:9] == 128).all()
    inside, edge = np.abs(image[20, 20].astype(int) - 128).sum(), np.abs(image[10, 20].astype(int) - 128).sum()
    assert 0 < inside < edge


@pytest.mark.parametrize("level", [0, 128, 255])
def test_255_is_hatched_in_a_mask_of_classes_and_a_nucleus_in_a_mask_of_ids(level: int) -> None:
    for top, hatched in ((255, True), (300, False)):
        image = np.full((60, 60, 3), level, np.uint8)
        mask = np.full((60, 60), 255)
        mask[:30], mask[0, 0] = 1, top
        overlay.render_mask(image, mask)
        rows = image[32:].astype(int)
        assert (rows == rows[..., :1]).all() == hatched  # grey, and no class's colour
        stripes = rows[:-1, 1:] == rows[1:, :-1]
        assert (np.ptp(rows[..., 0]) > 30, stripes.all()) == (hatched, True)
        assert len(np.unique(image[2:28].reshape(-1, 3), axis=0)) == 1


def test_masks_are_scaled_to_their_image() -> None:
    image = np.full((80, 40, 3), 128, np.uint8)
    mask = np.zeros((20, 10), np.uint16)
    mask[10:] = 1
    overlay.render_mask(image, mask)
    assert (image[:38] == 128).all()
    assert (image[42:] != 128).any(-1).all()


def test_boxes_are_drawn_on_their_outermost_pixels() -> None:
    image = np.zeros((50, 60, 3), np.uint8)
    overlay.render_boxes(image, np.array([[5.0, 10, 15, 20]], np.float32), [], 2.0)
    rows, cols = np.nonzero(image.any(-1))
    assert (rows.min(), rows.max(), cols.min(), cols.max()) == (20, 39, 10, 29)
    assert not image[25:35, 15:25].any()


def test_labels_never_overlap_and_have_their_classes_names() -> None:
    assert overlay.label_colour(1) == overlay.label_colour(np.int64(1)) != overlay.label_colour(2)
    image = np.zeros((100, 200, 3), np.uint8)
    crowd = np.array([[20 + k, 40, 120 + k, 80] for k in range(5)], np.float32)
    overlay.render_boxes(image, crowd, [0] * 5, 1.0, ["cell"])
    labelled = image.copy()
    plain = np.zeros_like(image)
    overlay.render_boxes(plain, crowd, [], 1.0)
    rows = np.nonzero((labelled != plain).any((1, 2)))[0]
    assert rows.max() - rows.min() <= 30, "one line of label, not five"


@pytest.mark.parametrize(
    ("form", "box"),
    [
        ("pascal_voc", [10, 20, 40, 60]),
        ("coco", [10, 20, 30, 40]),
        ("albumentations", [0.1, 0.1, 0.4, 0.3]),
        ("yolo", [0.25, 0.2, 0.3, 0.2]),
    ],
)
def test_box_formats_mean_the_same_corners(form: str, box: list[float]) -> None:
    np.testing.assert_allclose(corners_px(np.array([box]), form, 200, 100), [[10, 20, 40, 60]], atol=1e-4)


def test_keypoints_are_dots_at_their_places() -> None:
    image = np.zeros((60, 80, 3), np.uint8)
    overlay.render_keypoints(image, np.array([[10.0, 20.0]]), 2.0)
    rows, cols = np.nonzero(image.any(-1))
    # The middle of pixel 10 lies at 20.5 px of the image that is twice as large.
    assert abs(rows.mean() - 40.5) < 0.6
    assert abs(cols.mean() - 20.5) < 0.6


# -- sheets -----------------------------------------------------------------------------------------------------------


def flat(value: int, height: int = 64, width: int = 64) -> Cell:
    return Cell(np.full((height, width, 3), value, np.uint8))


def extent(image: NDArray[np.uint8], value: int) -> tuple[int, int, int, int]:
    """Rows and columns that a flat image of this grey spans: top, bottom, left, right; ink may hit the same grey."""
    same = (image == value).all(-1)
    rows, columns = (np.nonzero(same.sum(axis) > 20)[0] for axis in (1, 0))
    return int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1


@given(
    across=st.none() | st.integers(1, 3),
    groups=st.integers(1, 40),
    cells=st.integers(1, 12),
    size=st.sampled_from([(64, 64), (192, 96), (256, 700), (8, 8)]),
    source=st.none() | st.sampled_from([(50, 100), (160, 100), (1, 9)]),
)
def test_layouts_fit_the_sheet(
    across: int | None, groups: int, cells: int, size: tuple[int, int], source: tuple[int, int] | None
) -> None:
    group = CellGroup([flat(0, size[0] // 4, size[1] // 4), *[flat(0, *size)] * (cells - 1)])
    rows = [SheetRow([group] * groups, None if source is None else CellGroup([flat(0, *source)]))]
    layout = layout_of(rows, across)
    assert layout.width <= MAX_WIDTH
    assert 1 <= layout.across <= min(groups, across or groups)
    assert max(layout.cell) >= 48
    assert layout.source == (0, 0) if source is None else min(layout.source) >= 20


@pytest.mark.parametrize(
    ("across", "groups", "cells"), [(None, 1, 1), (None, 4, 1), (2, 3, 2), (1, 3, 2), (2, 5, 3), (None, 5, 3)]
)
def test_every_image_is_where_the_arithmetic_says(across: int | None, groups: int, cells: int) -> None:
    numbers = np.arange(groups * cells).reshape(groups, cells) + 20
    body = SheetRow([CellGroup([flat(int(n)) for n in of_group], f"epoch {k}") for k, of_group in enumerate(numbers)],
               CellGroup([flat(10)]))  # fmt: skip
    sheet = Sheet([body], "a recipe", ["one", "two"], ["left out: x"], across=across)
    layout, pixels = layout_of([body], across), sheet.pixels
    assert pixels.shape[1] == layout.width
    assert (pixels[:, :30] == PAGE).all()
    assert (pixels[:, -30:] == PAGE).all()
    first, start = extent(pixels, 20), MARGIN + layout.source[1] + GROUP_GAP
    for (line, column), of_group in zip((divmod(k, layout.across) for k in range(groups)), numbers, strict=True):
        for k, number in enumerate(of_group):
            top, bottom, left, right = extent(pixels, number)
            assert (bottom - top, right - left) == layout.cell
            assert top - first[0] == line * (HEADER + layout.cell[0] + LINE_GAP)
            assert left == start + column * (layout.group_width + GROUP_GAP) + k * (layout.cell[1] + CELL_GAP)
    top, _, left, _ = extent(pixels, 10)
    assert (top, left) == (first[0], MARGIN)


def test_lines_that_are_too_wide_are_broken_between_facts() -> None:
    long = " · ".join(f"fact number {k}" for k in range(6))
    one, many = (Sheet([SheetRow([CellGroup([flat(90)])])], title="t", lines=[line]).pixels for line in ("short", long))
    assert many.shape[0] - one.shape[0] in {22, 44, 66}
    ink = np.all(many[:150] < 200, axis=-1)
    assert not ink[:, -36:].any(), "the margin stays free"


def test_what_is_drawn_over_an_image_knows_its_scale() -> None:
    scales: list[float] = []
    cell = Cell(np.zeros((10, 10, 3), np.uint8), over=lambda shown, scale: scales.append(scale) or shown.fill(9))
    assert (cell.at((30, 30)) == 9).all()
    assert scales == [3.0]
    assert not cell.image.any(), "the image itself stays as it was"


def test_pixels_are_shown_as_squares_of_one_size() -> None:
    small = noise(12, 16)
    size = size_in([(48, 64), (12, 16)], (200, 200))
    assert size == (144, 192)
    np.testing.assert_array_equal(resize_to(small, size), small.repeat(12, 0).repeat(12, 1))


def test_a_step_that_changed_nothing_is_marked() -> None:
    before = noise(30, 30)
    stages = [("Blur#1", {"image": before.copy()}), ("Blur#2", {"image": before[:9]})]
    groups = stage_groups({"image": before}, stages, lambda after: [Cell(after["image"])])
    assert [(one.header, one.quiet) for one in groups] == [("Blur – unchanged", True), ("Blur#2", False)]
