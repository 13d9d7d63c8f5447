"""Borders made in one call are those that albumentations makes, and fail where they fail."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
from examples import PLANTED
from hypothesis import given
from hypothesis import strategies as st

from augrecipes.compat.albumentations import geometric
from augrecipes.compiler.kernels import padded

_MODES = (cv2.BORDER_CONSTANT, cv2.BORDER_REPLICATE, cv2.BORDER_REFLECT, cv2.BORDER_REFLECT_101, cv2.BORDER_WRAP)
_SHAPES = st.tuples(st.integers(0, 9), st.integers(1, 9), st.integers(1, 6)) | st.tuples(
    st.integers(1, 9), st.integers(1, 9)
)
_VALUES = st.sampled_from([0, 7, 255.0, (1, 2, 3), [9.0, 8.0, 7.0, 6.0], (1,), None])
_CASES = st.tuples(
    _SHAPES,
    st.sampled_from([np.uint8, np.float32, np.int16, np.uint16]),
    st.tuples(*(st.integers(-1, 12) for _ in range(4))),
    st.sampled_from(_MODES),
    _VALUES,
)


def outcome(function: Any, image: np.ndarray, sides: tuple[int, ...], mode: int, value: Any) -> Any:
    try:
        return function(image, *sides, border_mode=mode, value=value)
    except Exception as error:
        return type(error)


def check(case: Any) -> None:
    shape, dtype, sides, mode, value = case
    image = np.random.default_rng(1).integers(0, 200, shape).astype(dtype)
    ours, theirs = (outcome(f, image, sides, mode, value) for f in (padded.pad_with_params, geometric.pad_with_params))
    assert isinstance(ours, np.ndarray) == isinstance(theirs, np.ndarray)
    if isinstance(ours, np.ndarray):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
    else:
        assert ours is theirs


@given(_CASES)
def test_borders_are_those_of_albumentations(case: Any) -> None:
    check(case)


@pytest.mark.parametrize("fault", ["sides", "value", "one channel"])
def test_the_law_sees_borders_that_err(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    true = padded.pad_with_params
    if fault == "sides":
        wrong: Any = lambda img, t, b, left, r, **more: true(img, b, t, left, r, **more)  # noqa: E731
        monkeypatch.setattr(padded, "pad_with_params", wrong)
    elif fault == "value":
        monkeypatch.setattr(
            padded, "geometric", type("Wrong", (), {"extend_value": staticmethod(lambda v, n: (0,) * 4)})
        )
    else:
        monkeypatch.setattr(padded, "_FEW", (1, 2, 3, 4))
    with pytest.raises((AssertionError, AttributeError)):
        PLANTED(given(_CASES)(check))()
