"""The place that a window is drawn around is that of albumentations, and so is whatever is drawn after it."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augrecipes.compat.albumentations import A
from augrecipes.compiler.kernels import places, quick_apply

DTYPES = st.sampled_from([np.uint8, np.uint16, np.int16, np.float32])


def check(mask: np.ndarray, seed: int, **args: Any) -> None:
    own, quick = (A.CropNonEmptyMaskIfExists(3, 5, p=1, **args) for _ in range(2))
    quick_apply.attach([quick])
    seen = []
    for step in (own, quick):
        step.py_random = random.Random(seed)
        data = {"image": mask, "mask": mask}
        params = step.update_transform_params({}, data)
        drawn = step.get_params_dependent_on_data(params, data)["crop_coords"]
        seen.append((drawn, [type(number) for number in drawn], step.py_random.random()))
    assert seen[0] == seen[1]


@given(
    size=st.tuples(st.integers(3, 70), st.integers(5, 70)),
    share=st.sampled_from([0.0, 0.001, 0.1, 0.9, 1.0]),
    dtype=DTYPES,
    channels=st.sampled_from([0, 0, 0, 2]),
    args=st.sampled_from([{}, {}, {"ignore_values": [1]}, {"ignore_channels": [0]}]),
    seed=st.integers(0, 10**6),
)
def test_windows_are_drawn_around_the_same_places(
    size: tuple[int, int], share: float, dtype: Any, channels: int, args: dict[str, Any], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    shape = (*size, channels) if channels else size
    mask = (rng.random(shape) < share) * rng.integers(-1 if dtype in (np.int16, np.float32) else 1, 3, shape)
    if args.get("ignore_channels") and not channels:
        args = {}
    check(mask.astype(dtype), seed, **args)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 99))
def test_places_are_those_of_numpy(height: int, width: int, seed: int) -> None:
    mask = np.random.default_rng(seed).integers(0, 2, (height, width), np.uint8)
    expected, found = np.argwhere(mask), places.places(mask)
    assert len(found) == len(expected)
    for number, place in enumerate(expected):
        assert found[number].dtype == place.dtype
        np.testing.assert_array_equal(found[number], place)


def test_the_law_sees_a_place_that_is_one_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places.np, "flatnonzero", lambda row: np.nonzero(row)[0][::-1])
    with pytest.raises(AssertionError):
        for seed in range(9):
            check(np.random.default_rng(seed).integers(0, 2, (20, 30), np.uint8), seed)
