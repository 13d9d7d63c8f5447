"""MotionBlur's lines of pixels are albumentations' own, to the bit and to the draw."""

from __future__ import annotations

import random
from typing import Any

import albumentations as A
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augrecipes.compat.albumentations import blur
from augrecipes.compiler.kernels import streaks, twins

ANGLES = st.one_of(st.floats(0, 360), st.sampled_from([0.0, 30.0, 45.0, 90.0, 180.0, 225.0, 270.0, 360.0]))
DIRECTIONS = st.one_of(st.floats(-1, 1), st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), st.floats(-3, 3))


@given(st.integers(0, 16), ANGLES, DIRECTIONS, st.booleans(), st.integers(0, 9999))
def test_the_line_is_the_same(half: int, angle: float, direction: float, shifted: bool, seed: int) -> None:
    one, other = random.Random(seed), random.Random(seed)
    asked = blur.create_motion_kernel(2 * half + 1, angle, direction, shifted, one)
    made = streaks.streak(2 * half + 1, angle, direction, shifted, other)
    assert made.dtype == asked.dtype
    np.testing.assert_array_equal(made, asked)
    assert one.getstate() == other.getstate()


def law() -> None:
    """What MotionBlur draws with the quick line is what it draws."""
    for seed in range(40):
        own, quick = (A.MotionBlur(blur_limit=(3, 15), allow_shifted=bool(seed % 2)) for _ in range(2))
        twins.attach([quick])
        assert "get_params" in vars(quick)
        for step in (own, quick):
            step.set_random_seed(seed)
        np.testing.assert_array_equal(quick.get_params()["kernel"], own.get_params()["kernel"])


def test_the_step_draws_the_same() -> None:
    law()


def test_the_law_sees_another_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def turned(*given: Any, **named: Any) -> Any:
        return blur.create_motion_kernel(*given, **named).T

    monkeypatch.setattr(streaks, "streak", turned)
    with pytest.raises(AssertionError):
        law()
