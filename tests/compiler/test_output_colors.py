"""Colours that leave as Y or as Y, Cb and Cr, by the values that BasicSR's definition has for them."""

from itertools import product

import numpy as np
import pytest

import augrecipes as ar
from augrecipes.compiler.kernels import formulas
from augrecipes.compiler.kernels.sink import Sink
from augrecipes.recipe.model import Normalize, Output

# rgb2ycbcr of BasicSR (and of MATLAB): of R, G and B in 0..1 to Y in 16..235, Cb and Cr in 16..240.
MATRIX = np.array([[65.481, 128.553, 24.966], [-37.797, -74.203, 112.0], [112.0, -93.786, -18.214]])
OFFSET = np.array([16.0, 128.0, 128.0])
RAMP = np.array([*product(range(0, 256, 5), repeat=3)], np.uint8).reshape(52, -1, 3)
COLORS = {"y": slice(0, 1), "ycbcr": slice(0, 3)}


def published(rgb: np.ndarray, color: str) -> np.ndarray:
    """H×W×C of 0..255, not rounded, of R, G and B in 0..1."""
    return (rgb.astype(np.float64) @ MATRIX.T + OFFSET)[..., COLORS[color]]


def recipe(output: str) -> ar.Recipe:
    return ar.load(f"version: 1\nrecipe: colours\nsteps: []\neval: []\noutput: {output}\n")


def color_law(color: str) -> None:
    """Floats are the definition's to float32, levels its rounded ones: halves go up, where theirs go to even."""
    expected = published(RAMP / 255, color)
    floats = recipe(f"{{color: {color}, layout: hwc}}").compile().at(0)(image=RAMP)["image"]
    np.testing.assert_allclose(floats, expected / 255, atol=3e-7)
    levels = recipe(f"{{color: {color}, layout: hwc, dtype: uint8}}").compile().at(0)(image=RAMP)["image"]
    halves = np.abs(expected - np.floor(expected) - 0.5) < 1e-9
    np.testing.assert_array_equal(levels[~halves], np.rint(expected)[~halves])
    np.testing.assert_array_equal(levels[halves], np.ceil(expected)[halves])


@pytest.mark.parametrize("color", COLORS)
def test_the_ramp_has_the_published_values(color: str) -> None:
    color_law(color)


@pytest.mark.parametrize(("name", "planted"), [("Y", (65481, 128553, 24965)), ("CR", (112_000, -93786, -18213))])
def test_a_wrong_weight_is_seen(name: str, planted: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    plane = formulas.ColorPlane(planted, 255_000, getattr(formulas, name).offset)
    planes = tuple(plane if each is getattr(formulas, name) else each for each in formulas.COLOR_PLANES["ycbcr"])
    monkeypatch.setitem(formulas.COLOR_PLANES, "ycbcr", planes)
    with pytest.raises(AssertionError):
        color_law("ycbcr")


def test_every_form_of_the_output_has_the_same_colours() -> None:
    expected = published(RAMP / 255, "ycbcr")
    for dtype, layout, optimize in product(
        ("uint8", "uint16", "float16", "float32"), ("chw", "hwc"), ("none", "exact")
    ):
        text = f"{{color: ycbcr, dtype: {dtype}, layout: {layout}}}"
        found = recipe(text).compile(optimize=optimize).at(0)(image=RAMP)["image"]
        found = np.moveaxis(found, 0, -1) if layout == "chw" else found
        full = {"uint8": 255, "uint16": 65535}.get(dtype, 1)
        atol = 0.51 if full > 1 else 1e-3 if dtype == "float16" else 3e-7
        np.testing.assert_allclose(found, expected / 255 * full, atol=atol)
    for span, want in (((0.0, 255.0), expected), ((-1.0, 1.0), expected / 127.5 - 1)):
        np.testing.assert_allclose(Sink(Output(layout="hwc", color="ycbcr", range=span))(RAMP), want, atol=1e-4)
    normalize = Normalize((0.1, 0.2, 0.3), (0.5, 0.6, 0.7))
    want = (expected / 255 - normalize.mean) / normalize.std
    np.testing.assert_allclose(Sink(Output(layout="hwc", color="ycbcr", normalize=normalize))(RAMP), want, atol=2e-6)


def test_grey_floats_and_16_bits() -> None:
    grey = np.arange(256, dtype=np.uint8).reshape(16, 16, 1)
    expected = published(np.repeat(grey, 3, 2) / 255, "ycbcr")
    sink = Sink(Output(layout="hwc", color="ycbcr"))
    np.testing.assert_allclose(sink(grey), expected / 255, atol=3e-7)
    np.testing.assert_allclose(
        sink(np.float32(RAMP) / np.float32(255)), published(RAMP / 255, "ycbcr") / 255, atol=3e-7
    )
    np.testing.assert_allclose(sink(RAMP.astype(np.uint16) * 257), published(RAMP / 255, "ycbcr") / 255, atol=3e-7)
    with pytest.raises(ar.DataError, match="needs three channels, the image has 4"):
        sink(np.zeros((2, 2, 4), np.uint8))


def test_a_target_has_colours_of_its_own() -> None:
    pair = ar.load("version: 1\nrecipe: p\nkind: pair\nscales: {lr: 1, hr: 2}\nsteps: [D4: {p: 1.0}]\neval: []\n"
                   "output: {layout: hwc, hr: {color: ycbcr}, lr: {color: y}}\n")  # fmt: skip
    hr = RAMP[:52, :2000]
    out = {mode: pair.compile(optimize=mode).at(3)(hr=hr, lr=hr[::2, ::2]) for mode in ("none", "exact")}
    assert out["exact"]["hr"].shape[2] == 3
    assert out["exact"]["lr"].shape[2] == 1
    for name in ("hr", "lr"):
        np.testing.assert_array_equal(out["none"][name], out["exact"][name])


@pytest.mark.parametrize("normalize", ["imagenet", "{mean: [0.5, 0.5], std: 0.1}"])
def test_normalize_counts_y_cb_and_cr(normalize: str) -> None:
    with pytest.raises(ar.RecipeError, match="ycbcr leaves Y, Cb and Cr"):
        recipe(f"{{color: ycbcr, normalize: {normalize}}}")
