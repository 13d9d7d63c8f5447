"""Deep images on a screen: stretched by their source, alike in a row, pixels of no data in a colour of their own."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import augrecipes as ar
from augrecipes.preview import sheet_of
from augrecipes.preview.display import rgb_of_input, rgb_of_output
from augrecipes.preview.rows import SheetRequest
from augrecipes.preview.stretch import NODATA, PLAIN, stretch_of
from augrecipes.recipe.model import Inputs, Normalize, Output, Recipe

OUTPUTS = (
    Output(layout="hwc"),
    Output(range=(-1.0, 1.0)),
    Output(normalize=Normalize((0.4, 0.5, 0.6), (0.2, 0.3, 0.4)), color="bgr"),
)
INPUTS = {
    "uint16": Inputs(dtype="uint16"),
    "12 bits": Inputs(dtype="uint16", range=(0, 4095)),
    "floats": Inputs(dtype="float32", range=(-10, 60)),
}


def deep(inputs: Inputs, seed: int = 0, shape: tuple[int, ...] = (31, 40, 3)) -> np.ndarray:
    """An image whose values take a small part of its range."""
    low, high = inputs.full_range
    share = np.random.default_rng(seed).uniform(0.2, 0.3, shape)
    return np.asarray(low + share * (high - low), inputs.dtype)


@pytest.mark.parametrize("inputs", INPUTS.values(), ids=list(INPUTS))
@pytest.mark.parametrize("output", OUTPUTS)
def test_an_image_looks_the_same_before_and_after_the_output_conversion(inputs: Inputs, output: Output) -> None:
    recipe, image = Recipe("x", inputs=inputs, output=output, eval=()), deep(inputs)
    stretch = stretch_of([image], inputs)
    shown = rgb_of_input(image, stretch)
    out = rgb_of_output(recipe.compile().at(0)(image=image)["image"], output, stretch)
    assert np.abs(shown.astype(int) - out).max() <= 1
    assert (shown.min(), shown.max()) == (0, 255)
    assert rgb_of_input(image[..., :1], stretch).std() > 50


@given(st.integers(1, 60_000), st.integers(2, 5_000), st.sampled_from([1, 2, 3, 5]))
def test_values_of_a_ramp_are_its_percentiles(first: int, count: int, channels: int) -> None:
    ramp = np.arange(first, first + count, dtype=np.uint16)[:, None, None].repeat(channels, axis=2)
    stretch = stretch_of([ramp], INPUTS["uint16"])
    assert abs(stretch.low - (first + 0.01 * (count - 1))) <= 1
    assert abs(stretch.high - (first + 0.99 * (count - 1))) <= 1
    levels = rgb_of_input(ramp, stretch)[:, 0, 0].astype(int)
    assert (np.diff(levels) >= 0).all()


def test_what_is_brighter_is_shown_brighter() -> None:
    image = deep(INPUTS["uint16"])
    stretch = stretch_of([image], INPUTS["uint16"])
    assert rgb_of_input(image + np.uint16(3000), stretch).mean() > rgb_of_input(image, stretch).mean() + 50


@pytest.mark.parametrize(("depth", "nodata"), [(16, 0), (16, 65535), ("float32", -1.0), ("float32", "nan")])
def test_pixels_of_no_data_have_their_colour_and_no_part_in_the_stretch(depth: Any, nodata: Any) -> None:
    recipe = ar.load({
        "version": 1, "recipe": "x", "steps": [{"HorizontalFlip": {"p": 1.0}}, {"Rotate": {"limit": [30, 30], "p": 1}}],
        "inputs": {"depth": depth, "nodata": nodata, "range": [0, 4000]}, "output": {"normalize": "imagenet"},
    })  # fmt: skip
    whole = deep(Inputs(dtype=recipe.inputs.dtype, range=(0, 4000)))
    image = whole.copy()
    image[:9, :12] = np.nan if nodata == "nan" else nodata
    stretch = stretch_of([image], recipe.inputs)
    assert abs(stretch.low - stretch_of([whole], recipe.inputs).low) < 10
    assert (rgb_of_input(image, stretch)[:9, :12] == NODATA).all()
    assert not (rgb_of_input(whole, stretch) == NODATA).all(axis=2).any()
    pipeline = recipe.compile()
    (_, flipped), (_, turned) = pipeline.stages(0)(image=image)
    assert ((rgb_of_input(flipped, stretch) == NODATA).all(axis=2)[:9, -12:]).all()
    out = rgb_of_output(pipeline.at(0)(image=image)["image"], recipe.output, stretch)
    missing = (out == NODATA).all(axis=2)
    assert missing[0, 0], "what lies outside of the image is no data, too"
    np.testing.assert_array_equal(missing, (rgb_of_input(turned, stretch) == NODATA).all(axis=2))
    turned = pipeline.at(0)(image=whole)["image"]
    assert (turned[:, 0, 0] == 0).all(), "nor where the source has all of its pixels"


def test_images_of_8_bits_are_shown_as_they_are() -> None:
    image = np.random.default_rng(0).integers(90, 110, (9, 8, 3), np.uint8)
    for inputs in (Inputs(), Inputs(dtype="uint8"), Inputs(nodata=0)):
        stretch = stretch_of([image], inputs)
        assert stretch.words == ""
        np.testing.assert_array_equal(rgb_of_input(image, stretch), image)
    assert PLAIN.is_plain
    assert stretch_of([image], Inputs(), always=True).words.startswith("stretched from 90 to ")
    flat = np.full((9, 8, 3), 7, np.uint16)
    assert stretch_of([flat], Inputs(dtype="uint16")).words == ""
    assert stretch_of([flat], Inputs(dtype="uint16", nodata=7)).words == ""


def test_a_sheet_says_how_to_declare_a_range_that_values_fill() -> None:
    data: Any = [{"image": deep(INPUTS["12 bits"], seed)} for seed in range(2)]
    for inputs, expected in (({"depth": 16}, "range: [0, 2047]"), ({"depth": 16, "range": [0, 4095]}, "")):
        recipe = ar.load({"version": 1, "recipe": "x", "inputs": inputs, "steps": ["HorizontalFlip"]})
        footers = sheet_of(recipe, SheetRequest(data, 2, 2)).footers
        assert (expected in footers[0]) if expected else not footers
