"""Fog that is painted where it is looks, to the bit, as if the whole picture had been blended."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
from guarded import guarded
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import KERNEL_SETS, Spoilt, spoil_last

from augrecipes.compat.albumentations import A
from augrecipes.compiler.kernels import fog
from augrecipes.native.kernels import using
from augrecipes.recipe.parse import parse_text

SHAPES = st.tuples(st.integers(1, 70), st.integers(1, 70), st.sampled_from([1, 3, 3, 4]))
NATIVE = [kernels for kernels in KERNEL_SETS if kernels is not None]
ON_EACH = pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)


def check(shape: tuple[int, ...], seed: int, *, floats: bool = False) -> bool:
    """Holds fog to the class; whether it is made."""
    rng = np.random.default_rng(seed)
    image: Any = rng.integers(0, 256, shape, np.uint8)
    image, count = image.astype(np.float32) / np.float32(255) if floats else image, int(rng.integers(0, 12))
    (height, width), step = shape[:2], A.RandomFog(alpha_coef=float(rng.uniform(0, 1)), p=1)
    drawn = {
        "particle_positions": [
            (int(rng.integers(-3, width + 3)), int(rng.integers(-3, height + 3))) for _ in range(count)
        ],
        "radiuses": [int(rng.integers(1, 30)) for _ in range(count)],
        "intensity": float(rng.uniform(0, 1)),
    }
    before, works = image.copy(), fog.quick(step)
    assert works is not None
    made = works(image, **drawn)
    np.testing.assert_array_equal(image, before)
    if made is not None:
        np.testing.assert_array_equal(made, step.apply(image, **drawn))
    return made is not None


@ON_EACH
def test_what_is_painted_is_what_albumentations_paints(kernels: Any) -> None:
    @given(shape=SHAPES, seed=st.integers(0, 10**6), floats=st.sampled_from([False, False, False, True]))
    def law(shape: tuple[int, ...], seed: int, floats: bool) -> None:
        assert not check(shape, seed, floats=floats) or (shape[2] == 3 and not floats)

    with using(kernels):
        law()
        assert any(check((50, 60, 3), seed) for seed in range(5))


@ON_EACH
def test_the_law_sees_a_spoilt_kernel(kernels: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    spoilt: Any = Spoilt(kernels, 0, spoil_last)
    monkeypatch.setattr(fog, "_kernel", lambda _: spoilt.kernel("discs", "plllplppippp"))
    with using(kernels), pytest.raises(AssertionError):
        for seed in range(5):
            check((50, 60, 3), seed)


@ON_EACH
@pytest.mark.parametrize("at_end", [False, True])
def test_no_disc_is_painted_beside_the_picture(kernels: Any, at_end: bool) -> None:
    kernel = fog._kernel(kernels)
    spans, starts = (guarded(array, at_end) for array in fog._spans(0, 9))
    places = np.array([[x, y, (x + y) % 10] for x in range(-12, 30, 2) for y in range(-12, 25, 3)], np.int32)
    table = guarded(np.minimum(np.arange(256) + 9, 255).astype(np.uint8), at_end)
    for shape in ((1, 1, 1), (1, 17, 3), (13, 19, 3), (13, 1, 2), (0, 4, 3)):
        image = guarded(np.zeros(shape, np.uint8), at_end)
        room = (
            guarded(np.zeros(1 << 16, np.uint8), at_end),
            guarded(np.ones(shape[0] * (shape[1] + 1), np.int32), at_end),
        )
        held = guarded(places, at_end)
        given_arrays = held.ctypes.data, len(places), spans.ctypes.data, starts.ctypes.data, 0
        memory = table.ctypes.data, *(array.ctypes.data for array in room)
        assert kernel(image.ctypes.data, *shape, *given_arrays, *memory) == 0
        over = sum((cv2.circle(np.zeros(shape[:2], np.uint8), (int(x), int(y)), int(r), 1, -1).astype(int)
                    for x, y, r in places if shape[0]), np.zeros(shape[:2], int))  # fmt: skip
        np.testing.assert_array_equal(image, np.broadcast_to(np.minimum(9 * over, 255)[..., None], shape))
    falling = np.zeros(256, np.uint8)
    assert kernel(None, 0, 0, 3, None, 0, None, None, 0, falling.ctypes.data, room[0].ctypes.data, None) < 0


RECIPE = """
version: 1
recipe: test
steps:
  - RandomFog: {p: 0.9}
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
