"""Stains that a native kernel jitters, for `fast`, are within a level of those that the step itself jitters."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np
import pytest
from guarded import guarded
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import KERNEL_SETS, Spoilt
from test_quick_apply import PICTURES

from augrecipes.compiler.lowering.colours import STAINS
from augrecipes.native.kernels import Library
from augrecipes.ops.stain import density_matrix, through_density
from augrecipes.recipe.parse import parse_text

KERNELS = [level for level in KERNEL_SETS if level is not None]
RATES = st.one_of(st.floats(0.8, 1.2), st.floats(-3, 6))
SHIFTS = st.one_of(st.floats(-0.1, 0.1), st.floats(-20, 20))


class Stain(NamedTuple):
    """What is drawn."""

    factors: tuple[float, float, float]
    shifts: tuple[float, float, float]


DRAWS = st.builds(Stain, st.tuples(RATES, RATES, RATES), st.tuples(SHIFTS, SHIFTS, SHIFTS))


def jittered(kernels: Any, image: np.ndarray, by: Stain, out: np.ndarray, count: int) -> int:
    """What the kernel answers, which writes to memory that may be the picture's."""
    numbers = (*by.factors, *by.shifts, *(array.ctypes.data for array in STAINS))
    return int(kernels.kernel("stain", "plddddddppp")(image.ctypes.data, count, *numbers, out.ctypes.data))


def check(kernels: Any, image: np.ndarray, by: Stain) -> np.ndarray | None:
    """Holds the kernel to the step; None where it does not take such numbers."""
    before, done = image.copy(), np.empty_like(image)
    if jittered(kernels, image, by, done, image.size // 3):
        return None
    expected = through_density(image, density_matrix(by.factors, by.shifts))
    np.testing.assert_array_equal(image, before)
    off = np.abs(done.astype(np.int16) - expected)
    assert off.max(initial=0) <= 1
    assert off.sum() <= 3 + 0.01 * off.size
    inside = image.copy()
    assert jittered(kernels, inside, by, inside, image.size // 3) == 0
    np.testing.assert_array_equal(inside, done)
    return done


@given(image=PICTURES.filter(lambda image: image.shape[2] == 3), by=DRAWS)
def test_levels_are_those_of_the_step(image: np.ndarray, by: Stain) -> None:
    first, *others = (check(kernels, image, by) for kernels in KERNELS)
    for one in others:
        np.testing.assert_array_equal(one, first)  # whatever the processor


@pytest.mark.parametrize("kernels", KERNELS, ids=lambda kernels: kernels.isa)
def test_the_law_sees_two_levels(kernels: Library) -> None:
    image, still = np.full((20, 30, 3), (180, 120, 170), np.uint8), Stain((1.0, 1.0, 1.0), (0.0, 0.0, 0.0))
    assert check(kernels, image, still) is not None
    with pytest.raises(AssertionError):
        check(Spoilt(kernels, 10, _two_levels), image, still)


def _two_levels(address: int) -> None:
    (ctypes.c_uint8 * 1).from_address(address)[0] += 2


@pytest.mark.parametrize("by", [Stain((1.0, 1.0, 1e6), (0.0,) * 3), Stain((1.0,) * 3, (float("nan"), 0.0, 0.0))])
def test_what_is_out_of_range_is_refused(by: Stain) -> None:
    image = np.zeros((5, 9, 3), np.uint8)
    for kernels in KERNELS:
        out = np.full_like(image, 7)
        assert jittered(kernels, image, by, out, 45) < 0
        assert jittered(kernels, image, Stain((1.0,) * 3, (1.0,) * 3), out, -1) < 0
        assert (out == 7).all()


@pytest.mark.parametrize("kernels", KERNELS, ids=lambda kernels: kernels.isa)
@pytest.mark.parametrize("at_end", [False, True])
def test_nothing_is_read_or_written_beside_the_arrays(kernels: Library, at_end: bool) -> None:
    kernel = kernels.kernel("stain", "plddddddppp")
    tables = [guarded(table, at_end) for table in STAINS]
    for count in (0, 1, 7, 8, 9, 15, 16, 17, 70, 4900):
        image = np.random.default_rng(count).integers(0, 256, (count, 3), np.uint8)
        held, out = (guarded(array, at_end) for array in (image, np.zeros_like(image)))
        numbers = (1.1, 0.9, 1.0, 0.01, -0.02, 0.0)
        given_arrays = (*(table.ctypes.data for table in tables), out.ctypes.data)
        assert kernel(held.ctypes.data, count, *numbers, *given_arrays) == 0
        expected: Any = through_density(image[None], density_matrix(numbers[:3], numbers[3:])) if count else image
        assert np.abs(expected.astype(np.int16) - out).max(initial=0) <= 1


def _fused(steps: str) -> list[str]:
    text = f"version: 1\nrecipe: test\nsteps: {steps}\neval: []\n"
    plan = parse_text(text).compile(optimize="fast").compiled.plans["uint8"]
    return [step.site for step in plan.steps]


def test_it_stands_first_among_the_colours_that_are_joined() -> None:
    stain, tone = "StainJitter: {p: 1.0}", "RandomBrightnessContrast: {brightness_limit: 0.1, contrast_limit: 0.1}"
    assert _fused(f"[{stain}]") == ["JoinedColours(StainJitter#1)"]
    assert _fused(f"[{stain}, {tone}]") == ["JoinedColours(StainJitter#1 + RandomBrightnessContrast#1)"]
    assert _fused(f"[ToSepia, {tone}, {stain}]")[2:] == ["JoinedColours(StainJitter#1)"]
    assert _fused(f"[{stain}, CLAHE]") == ["StainJitter#1", "CLAHE#1"]
    assert _fused(f"[ToSepia, Sequential: {{steps: [ToGray, {stain}]}}]")[0] == "ToSepia#1"
