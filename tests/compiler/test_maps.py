"""Maps made with fewer temporaries are albumentations' own, to the last bit, for the same draws."""

from __future__ import annotations

from typing import Any

import albumentations as A
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augrecipes.compiler.kernels import maps
from augrecipes.compiler.kernels.maps import with_quick_maps

FIELDS = st.one_of(
    st.builds(
        lambda **arguments: (A.ElasticTransform, arguments),
        alpha=st.floats(0, 300),
        sigma=st.floats(1, 20),
        approximate=st.booleans(),
        same_dxdy=st.booleans(),
        noise_distribution=st.sampled_from(["gaussian", "uniform"]),
    ),
    st.builds(
        lambda **arguments: (A.GridDistortion, arguments),
        num_steps=st.integers(1, 12),
        distort_limit=st.sampled_from([0.0, 0.3, 0.9, -1.0, (-1.0, 1.0)]),
        normalized=st.booleans(),
    ),
    st.builds(
        lambda **arguments: (A.OpticalDistortion, arguments),
        distort_limit=st.sampled_from([0.0, 0.05, 0.5, (-3.0, 3.0)]),
        mode=st.sampled_from(["camera", "fisheye"]),
    ),
)


def drawn(step: Any, shape: tuple[int, ...], seed: int) -> Any:
    step.set_random_seed(seed)
    try:
        return step.get_params_dependent_on_data({"shape": shape}, {})
    except ZeroDivisionError as error:  # more parts than pixels
        return type(error)


def check(of: tuple[type, dict[str, Any]], shape: tuple[int, ...], seed: int) -> None:
    cls, arguments = of
    expected = drawn(cls(**arguments), shape, seed)
    found = drawn(with_quick_maps(cls(**arguments)), shape, seed)
    if not isinstance(expected, dict):
        assert found is expected
        return
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert found[key].dtype == value.dtype == np.float32
        np.testing.assert_array_equal(found[key].view(np.uint32), value.view(np.uint32), err_msg=key)


@given(FIELDS, st.integers(1, 70), st.integers(1, 70), st.integers(0, 2**32))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_same_draws_same_maps(of: tuple[type, dict[str, Any]], height: int, width: int, seed: int) -> None:
    check(of, (height, width, 3), seed)


ALL = [(A.ElasticTransform, {"sigma": 5}), (A.GridDistortion, {}), (A.OpticalDistortion, {"mode": "fisheye"})]


@pytest.mark.parametrize("of", ALL)
def test_on_a_large_picture(of: tuple[type, dict[str, Any]]) -> None:
    check(of, (301, 640, 3), 1)


@pytest.mark.parametrize(("of", "name"), list(zip(ALL, ["elastic", "_spread", "fisheye"], strict=True)))
def test_a_planted_fault_is_seen(of: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = getattr(maps, name)

    def wrong(*given: Any) -> Any:
        made = right(*given)
        value = given[-1] if made is None else made["map_y"] if isinstance(made, dict) else made[1]
        value[-1] = np.nextafter(value[-1], np.float32(np.inf))
        return made

    monkeypatch.setattr(maps, name, wrong)
    with pytest.raises(AssertionError):
        check(of, (64, 64, 3), 1)


def test_other_samplers_stay_as_they_are() -> None:
    for step in (A.RandomCrop(8, 8), A.ThinPlateSpline(), A.Perspective()):
        assert "get_params_dependent_on_data" not in vars(with_quick_maps(step))
