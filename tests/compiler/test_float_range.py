"""Floats are 0..1: pictures of 0..255, or normalised ones, are told of instead of being trained on."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import augrecipes as ar
from augrecipes.compiler.run import targets
from augrecipes.compiler.run.targets import check_range
from augrecipes.errors import DataError

SIZES = st.tuples(st.integers(1, 70), st.integers(1, 70), st.integers(1, 5))
GREY = np.full((60, 80, 3), 200, np.float32)


def told(image: np.ndarray) -> str:
    try:
        check_range(image, "it")
    except DataError as error:
        return str(error)
    return ""


def photo(seed: int, size: tuple[int, int, int]) -> np.ndarray:
    """Noise over a gradient, 0..1: dark at one side, as photographs are."""
    rng = np.random.default_rng(seed)
    return np.clip(np.linspace(0, 1, size[1])[None, :, None] + rng.normal(0, 0.1, size), 0, 1).astype(np.float32)


@given(SIZES, st.integers(0, 2**32), st.sampled_from((255, 65535, 10, 100)))
def test_every_other_full_scale_is_told(size: tuple[int, int, int], seed: int, full: int) -> None:
    image = photo(seed, size)
    assert told(image) == ""
    image[0, 0] += 1  # whatever the size, one pixel alone decides nothing
    assert told(image) == ""
    bright = np.maximum(photo(seed, size), np.float32(0.3)) * np.float32(full)
    assert "divide by 255, or pass it as uint8" in told(bright)
    assert "divide by 255" in told(bright[::-1, ::-1].transpose(1, 0, 2))


@pytest.mark.parametrize("full", [255, 65535])
def test_photographs_are_told_however_dark(full: int) -> None:
    """Sixteen rows or more find what is bright on a hundredth of a picture."""
    for seed in range(30):
        image = np.zeros((257, 301, 3), np.float32)
        y, x = np.random.default_rng(seed).integers(0, 225, 2)
        image[y : y + 30, x : x + 30, seed % 3] = 0.2 * full
        assert told(image)


@given(SIZES, st.integers(0, 2**32))
def test_normalised_pictures_are_told(size: tuple[int, int, int], seed: int) -> None:
    dark = (photo(seed, size) * np.float32(0.3) - np.float32(0.45)) / np.float32(0.225)
    assert told(dark - np.float32(0.4)).endswith("normalising is for the recipe's output")


@given(st.integers(0, 2**32), st.integers(3, 60), st.integers(3, 60), st.booleans())
def test_resampled_pictures_are_not(seed: int, height: int, width: int, hard: bool) -> None:
    """The worst that a Lanczos kernel makes of 0..1: pictures of black and white pixels, at every size."""
    image = np.random.default_rng(seed).integers(0, 2, (31, 37, 3)).astype(np.float32)
    if hard:  # the very pattern that its lobes add up on
        kernel = cv2.resize(np.eye(8, dtype=np.float32), (16, 8), interpolation=cv2.INTER_LANCZOS4)
        image[:8, :16] = (kernel > 0)[..., None]
    assert told(cv2.resize(image, (width, height), interpolation=cv2.INTER_LANCZOS4)) == ""


def test_the_bounds_are_what_the_kernel_can_do() -> None:
    """Of an impulse Lanczos makes weights whose absolute sum says how far out of 0..1 it can go."""
    impulse = np.zeros((33, 33), np.float32)
    impulse[16, 16] = 1
    reach = 0.0
    for phase in np.linspace(0, 1, 11):
        shift = np.array([[1, 0, phase], [0, 1, phase]], np.float32)
        reach = max(reach, float(np.abs(cv2.warpAffine(impulse, shift, (33, 33), flags=cv2.INTER_LANCZOS4)).sum()))
    assert targets._LEAST < (1 - reach) / 2 < -0.9
    assert 1.9 < (1 + reach) / 2 < targets._MOST


def test_what_is_not_a_number_is_not_a_range() -> None:
    image = photo(1, (40, 50, 3))
    image[3:9, 4:30] = np.nan  # no data there, say
    assert told(image) == ""
    assert told(np.full((4, 4, 1), np.nan, np.float32)) == ""
    assert told(np.full((4, 4, 1), np.inf, np.float32))


@pytest.mark.parametrize(
    ("recipe", "given"),
    [
        ("imagenet-train", {"image": GREY}),
        ("imagenet-train", {"image": GREY[..., :1]}),
        ("imagenet-train", {"images": GREY[None]}),
        ("imagenet-train", {"volume": GREY[None]}),
        ("sr-x4", {"hr": np.full((400, 400, 3), 200, np.float32), "lr": np.full((100, 100, 3), 0.5, np.float32)}),
        ("real-esrgan-x4", {"hr": np.full((400, 400, 3), 200, np.float32)}),
        ("stained-tissue-bag", {"images": [GREY, GREY]}),
        ("stained-tissue-bag", {"image": GREY}),
    ],
)
@pytest.mark.parametrize("optimize", ["none", "fast"])
def test_wherever_floats_come_in(recipe: str, given: dict[str, Any], optimize: Any) -> None:
    with pytest.raises(
        DataError, match=r"is float32 and holds values of 200 to 200; float32 means 0..1: divide by 255"
    ):
        ar.load(recipe).compile(optimize=optimize).at(0)(**given)


def test_a_mask_of_floats_may_hold_anything() -> None:
    out = ar.load("segmentation").compile().at(0)(image=GREY / 255, mask=GREY[..., 0])
    assert 200 in out["mask"]


def test_planted_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at too few pixels, and a bound that is too wide, do not get past the tests above."""
    for name, value in (("_ROWS", 1), ("_MOST", 60.0)):
        with monkeypatch.context() as patch:
            patch.setattr(targets, name, value)
            with pytest.raises(AssertionError):
                test_photographs_are_told_however_dark(255)
