"""The output conversion of images of every depth: its values beside those of float64, and what leaves as it came."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import augrecipes as ar
from augrecipes.compiler.kernels import sink as sink_module
from augrecipes.compiler.kernels.formulas import COLOR_PLANES
from augrecipes.compiler.kernels.sink import Sink
from augrecipes.errors import RecipeError
from augrecipes.recipe.model import Normalize, Output

CHANNELS = (1, 2, 3, 4, 5, 8, 32)
SPANS: dict[str, tuple[tuple[float, float] | None, ...]] = {
    "uint8": (None,), "uint16": (None, (0, 4095), (1000, 30_000)), "float32": (None, (10_000, 10_010), (-1, 3)),
}  # fmt: skip
FULL = {"uint8": 255, "uint16": 65535, "float32": 1}
CLOSE = {"float32": 1e-6, "float16": 1e-3, "uint8": 0.5001, "uint16": 0.51}


def image_of(dtype: str, span: tuple[float, float] | None, channels: int) -> np.ndarray:
    low, high = span or (0, FULL[dtype])
    shares = np.random.default_rng(channels).random((9, 21, channels))
    shares[0, 0], shares[-1, -1] = 0, 1
    return np.asarray(low + shares * (high - low), dtype)


def conversion_law(output: Output, dtype: str, channels: int, span: tuple[float, float] | None) -> None:
    """A value leaves as its share of the range, with what the output does to shares in 0..1, up to rounding."""
    image, (low, high) = image_of(dtype, span, channels), span or (0, FULL[dtype])
    out = Sink(output, span)(image)
    shares: Any = (image.astype(np.float64) - low) / (high - low)
    if output.color in COLOR_PLANES and (channels == 3 or output.color != "gray"):
        planes = COLOR_PLANES[output.color]
        weights = np.array([plane.weights for plane in planes]).T
        weights = weights if channels == 3 else weights.sum(axis=0, keepdims=True)
        shares = shares @ weights + [plane.offset / 255 for plane in planes]
    shares = shares[..., ::-1] if output.color == "bgr" else shares
    if output.dtype in ("uint8", "uint16"):
        shares = shares * FULL[output.dtype]
    elif output.normalize is not None:
        shares = (shares - output.normalize.mean[0]) / output.normalize.std[0]
    found = out if output.layout == "hwc" else np.moveaxis(out, 0, -1)
    assert out.dtype == output.dtype
    assert np.abs(found.astype(np.float64) - shares).max() <= CLOSE[output.dtype] * (4 if output.normalize else 1)


@pytest.mark.parametrize("dtype", SPANS)
@pytest.mark.parametrize("color", ["rgb", "bgr", "y", "gray", "ycbcr"])
def test_values_leave_as_their_share_of_the_range(dtype: str, color: str) -> None:
    channels = {"rgb": CHANNELS, "bgr": (3,)}.get(color, (1, 3))
    normalized = Normalize((0.5,), (0.25,))
    for leaves, layout, count, span in product(CLOSE, ("chw", "hwc"), channels, SPANS[dtype]):
        for normalize in (None, normalized) if leaves.startswith("float") else (None,):
            conversion_law(Output(leaves, layout, normalize, color=color), dtype, count, span)


def test_a_range_that_is_not_subtracted_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    own = sink_module.Sink._span
    monkeypatch.setattr(sink_module.Sink, "_span", lambda self, dtype: (0.0, *own(self, dtype)[1:]))
    with pytest.raises(AssertionError):
        conversion_law(Output(), "uint16", 3, (1000, 30_000))


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_levels_leave_as_they_came(dtype: str) -> None:
    image = image_of(dtype, None, 5)[::-1]
    for layout, view in (("hwc", image), ("chw", image.transpose(2, 0, 1))):
        for span in (None, (0, FULL[dtype])):
            np.testing.assert_array_equal(Sink(Output(dtype, layout), span)(image), view, strict=True)
    image = image.copy()
    assert Sink(Output(dtype, "hwc"))(image, caller_arrays=()) is image


def test_levels_of_16_bits_become_levels_of_8_and_back() -> None:
    deep = np.arange(65536, dtype=np.uint16).reshape(256, 256, 1)
    np.testing.assert_array_equal(Sink(Output("uint8", "hwc"))(deep)[..., 0], np.rint(deep[..., 0] / 257))
    flat = np.arange(256, dtype=np.uint8).reshape(16, 16, 1)
    np.testing.assert_array_equal(Sink(Output("uint16", "hwc"))(flat), flat.astype(np.uint16) * 257)


@pytest.mark.parametrize("leaves", CLOSE)
@pytest.mark.parametrize("color", ["rgb", "gray"])
def test_pixels_of_no_data_leave_as_0(leaves: str, color: str) -> None:
    image, valid = image_of("uint16", None, 3), np.random.default_rng(0).random((9, 21)) > 0.5
    output = Output(leaves, "hwc", Normalize((0.5,), (0.25,)) if leaves.startswith("float") else None, color=color)
    out, whole = Sink(output)(image, valid=valid), Sink(output)(image)
    assert not out[~valid].any()
    np.testing.assert_array_equal(out[valid], whole[valid])


def test_what_is_no_number_leaves_as_level_0() -> None:
    image = np.array([[[np.nan, np.inf, -np.inf, 0.5, 1]]], np.float32)
    assert Sink(Output("uint8", "hwc"))(image).ravel().tolist() == [0, 255, 0, 128, 255]


def test_a_recipe_asks_for_levels_of_16_bits() -> None:
    head = "version: 1\nrecipe: r\nsteps: [HorizontalFlip: {p: 1}]\neval: []\noutput: {dtype: uint16, layout: hwc"
    photo = image_of("uint8", None, 3)
    for optimize in ("none", "exact", "fast"):
        out = ar.load(f"{head}}}\n").compile(optimize=optimize).at(0)(image=photo)["image"]
        np.testing.assert_array_equal(out, photo[:, ::-1].astype(np.uint16) * 257, strict=True)
    for wrong in ("range: [0, 255]", "normalize: imagenet", "where: device"):
        with pytest.raises(RecipeError, match="uint16"):
            ar.load(f"{head}, {wrong}}}\n")
