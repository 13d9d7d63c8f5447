"""Kernels that turn pictures and reorder channels copy every pixel to its place, and touch nothing beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from guarded import guarded
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import KERNEL_SETS, Spoilt, spoil_first

from augrecipes.compiler.kernels.moves import D4
from augrecipes.native.kernels import Library
from augrecipes.recipe.parse import parse_text

EACH = pytest.mark.parametrize("kernels", [k for k in KERNEL_SETS if k is not None], ids=lambda kernels: kernels.isa)
SIDES = st.one_of(st.integers(1, 40), st.sampled_from((63, 64, 65, 97, 130)))


def picture(height: int, width: int, channels: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, channels), np.uint8)


def moved(kernels: Library | Spoilt, view: np.ndarray, end: bool) -> np.ndarray:
    out = guarded(np.zeros(view.shape, np.uint8), end)
    height, width, channels = view.shape
    kernel = kernels.kernel("moved", "plllllpl")
    down, across, _ = view.strides
    assert kernel(view.ctypes.data, down, across, height, width, channels, out.ctypes.data, width * channels) == 0
    return out


@EACH
@given(SIDES, SIDES, st.integers(1, 4), st.sampled_from(sorted(D4)), st.booleans(), st.integers(0, 99))
def test_every_turn_of_every_size(
    kernels: Library, height: int, width: int, channels: int, turn: str, end: bool, seed: int
) -> None:
    view = D4[turn].view(guarded(picture(height, width, channels, seed), end))
    np.testing.assert_array_equal(moved(kernels, view, end), view)


@EACH
def test_a_planted_fault_is_seen(kernels: Library) -> None:
    image = picture(9, 11, 3, 0)
    for view in (D4[turn].view(image) for turn in D4):
        assert not np.array_equal(moved(Spoilt(kernels, 6, spoil_first), view, end=True), view)


@EACH
@given(SIDES, SIDES, st.sampled_from(sorted(D4)), st.integers(0, 99))
def test_windows_are_turned_and_no_more(kernels: Library, height: int, width: int, turn: str, seed: int) -> None:
    view = D4[turn].view(picture(height + 5, width + 7, 3, seed)[2:-3, 4:-3])
    np.testing.assert_array_equal(moved(kernels, view, end=True), view)


@EACH
@given(SIDES, SIDES, st.integers(1, 4), st.randoms(use_true_random=False), st.booleans(), st.booleans())
def test_channels_in_every_order(
    kernels: Library, height: int, width: int, channels: int, random: Any, end: bool, in_place: bool
) -> None:
    order = random.sample(range(channels), channels)
    image = guarded(picture(height, width, channels, 3), end)
    wanted, places = image[..., order], np.array(order, np.uint8)
    out = image if in_place else guarded(np.zeros_like(image), end)
    kernel = kernels.kernel("reordered", "pllpp")
    assert kernel(image.ctypes.data, height * width, channels, places.ctypes.data, out.ctypes.data) == 0
    np.testing.assert_array_equal(out, wanted)


@EACH
def test_orders_that_are_none_are_refused(kernels: Library) -> None:
    image, places = picture(2, 2, 3, 0), np.array([0, 1, 3], np.uint8)
    assert kernels.kernel("reordered", "pllpp")(image.ctypes.data, 4, 3, places.ctypes.data, image.ctypes.data) < 0


@pytest.mark.parametrize("name", ["HorizontalFlip", "VerticalFlip", "Transpose"])
@pytest.mark.parametrize("output", ["{dtype: uint8, layout: hwc}", "{dtype: uint8, layout: chw}", "{layout: chw}"])
def test_every_call_of_a_flip_is_of_one_size_or_of_another(name: str, output: str) -> None:
    """A result's size is guessed from the last one: pictures of other sizes in between change nothing."""
    text = f"version: 1\nrecipe: one\nsteps:\n  - {name}: {{p: 0.5}}\neval: []\noutput: {output}\n"
    exact, none = (parse_text(text, root=None).compile(optimize=how) for how in ("exact", "none"))
    for index, (height, width) in enumerate(((21, 34), (21, 34), (34, 21), (21, 34), (30, 30), (21, 34), (34, 21)) * 2):
        image = picture(height, width, 3, index)
        given_back, wanted = (pipeline.at(index)(image=image)["image"] for pipeline in (exact, none))
        np.testing.assert_array_equal(given_back, wanted)
