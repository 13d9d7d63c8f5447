"""The inverse of a matrix that tilts nothing tilts nothing either: such warps are sampled in whole steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from examples import PLANTED
from hypothesis import assume, given
from hypothesis import strategies as st

from augrecipes.ops import warps

PARTS = st.floats(-3, 3)
MATRICES = st.tuples(PARTS, PARTS, st.floats(-900, 900), PARTS, PARTS, st.floats(-900, 900))


def check(inverse: Callable[[Any], warps.Matrix], numbers: tuple[float, ...]) -> None:
    a, b, _, d, e, _ = numbers
    assume(abs(a * e - b * d) > 1e-2)
    matrix = np.array([*numbers, 0.0, 0.0, 1.0]).reshape(3, 3)
    made = inverse(matrix)
    assert made[6:] == (0.0, 0.0, 1.0)
    np.testing.assert_allclose(np.array(made).reshape(3, 3) @ matrix, np.eye(3), atol=1e-6)


@given(MATRICES)
def test_what_tilts_nothing_has_an_inverse_that_does_not(numbers: tuple[float, ...]) -> None:
    check(warps.inverse, numbers)


def test_the_law_sees_a_last_row_that_was_rounded() -> None:
    def rounded(matrix: np.ndarray) -> warps.Matrix:
        (a, b, _), (d, e, _), _ = matrix.tolist()
        made = warps.inverse(matrix)
        return (*made[:8], (a * e - b * d) * (1.0 / (a * e - b * d)))

    with pytest.raises(AssertionError):
        PLANTED(given(MATRICES)(lambda numbers: check(rounded, numbers)))()


def test_what_tilts_still_does() -> None:
    matrix = np.array([[1.1, 0.2, 3.0], [0.1, 0.9, -2.0], [1e-3, -2e-3, 1.0]])
    made = np.array(warps.inverse(matrix)).reshape(3, 3)
    assert made[2, 0] != 0
    np.testing.assert_allclose(made @ matrix, np.eye(3), atol=1e-9)
