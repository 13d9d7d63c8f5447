"""Fog and shadows that are painted where they are look, to the bit, as if the whole picture had been blended."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augrecipes.compat.albumentations import pixel
from augrecipes.compiler.kernels import painted
from augrecipes.recipe.parse import parse_text

SHAPES = st.tuples(st.integers(1, 70), st.integers(1, 70), st.sampled_from([1, 3, 3, 4]))
MADE = {"add_fog": painted.fog, "add_shadow": painted.shadows}


def check(name: str, shape: tuple[int, ...], seed: int, *, floats: bool = False) -> None:
    rng = np.random.default_rng(seed)
    image: Any = rng.integers(0, 256, shape, np.uint8)
    image = image.astype(np.float32) / np.float32(255) if floats else image
    given, before = MADE[name](rng, *shape[:2]), image.copy()
    try:
        expected = getattr(pixel, name)(image, *given)
    except Exception:
        return  # OpenCV takes no such picture there
    made = getattr(painted, name)(image, *given)
    np.testing.assert_array_equal(image, before)
    assert (made.dtype, made.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize("name", MADE)
def test_what_is_painted_is_what_albumentations_paints(name: str) -> None:
    @given(shape=SHAPES, seed=st.integers(0, 10**6), floats=st.sampled_from([False, False, False, True]))
    def law(shape: tuple[int, ...], seed: int, floats: bool) -> None:
        check(name, shape, seed, floats=floats)

    law()
    assert name in painted.functions()


def test_the_law_sees_a_disc_that_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    circle = cv2.circle
    monkeypatch.setattr(painted.cv2, "circle", lambda img, at, radius, *how: circle(img, at, radius - 1, *how))
    with pytest.raises(AssertionError):
        for seed in range(5):
            monkeypatch.setattr(pixel, "add_fog", _with(pixel.add_fog, circle, monkeypatch))
            check("add_fog", (50, 60, 3), seed)


def _with(function: Any, circle: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Albumentations' function on the true OpenCV, while ours is on a spoilt one."""

    def called(*given: Any) -> Any:
        with monkeypatch.context() as true:
            true.setattr(cv2, "circle", circle)
            return function(*given)

    return called


def test_the_law_sees_a_level_that_is_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(painted, "_LEVELS", np.arange(256) + 0.5)
    with pytest.raises(AssertionError):
        for seed in range(5):
            check("add_shadow", (50, 60, 3), seed)


RECIPE = """
version: 1
recipe: test
steps:
  - RandomShadow: {p: 0.9}
  - OneOf: {steps: [RandomFog: {fog_coef_range: [0.3, 0.9]}, RandomShadow: {num_shadows_limit: [2, 4]}], p: 1}
eval: []
output: {dtype: uint8, layout: hwc}
"""


def test_samples_are_those_of_none() -> None:
    image = np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8)
    exact, fast, none = (parse_text(RECIPE).compile(optimize=o) for o in ("exact", "fast", "none"))
    for index in range(12):
        expected = none.at(index)(image=image)["image"]
        np.testing.assert_array_equal(exact.at(index)(image=image)["image"], expected)
        np.testing.assert_array_equal(fast.at(index)(image=image)["image"], expected)
