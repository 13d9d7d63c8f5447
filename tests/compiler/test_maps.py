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

FIELDS = st.builds(
    lambda **arguments: (A.ElasticTransform, arguments),
    alpha=st.floats(0, 300),
    sigma=st.floats(1, 20),
    approximate=st.booleans(),
    same_dxdy=st.booleans(),
    noise_distribution=st.sampled_from(["gaussian", "uniform"]),
)


def drawn(step: Any, shape: tuple[int, ...], seed: int) -> Any:
    step.set_random_seed(seed)
    return step.get_params_dependent_on_data({"shape": shape}, {})


def check(of: tuple[type, dict[str, Any]], shape: tuple[int, ...], seed: int) -> None:
    cls, arguments = of
    expected = drawn(cls(**arguments), shape, seed)
    found = drawn(with_quick_maps(cls(**arguments)), shape, seed)
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert found[key].dtype == value.dtype == np.float32
        np.testing.assert_array_equal(found[key].view(np.uint32), value.view(np.uint32), err_msg=key)


@given(FIELDS, st.integers(1, 70), st.integers(1, 70), st.integers(0, 2**32))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_same_draws_same_maps(of: tuple[type, dict[str, Any]], height: int, width: int, seed: int) -> None:
    check(of, (height, width, 3), seed)


ELASTIC: tuple[type, dict[str, Any]] = (A.ElasticTransform, {"sigma": 5})


def test_on_a_large_picture() -> None:
    check(ELASTIC, (301, 640, 3), 1)


def test_a_planted_fault_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = maps.elastic

    def wrong(*given: Any) -> Any:
        made = right(*given)
        made["map_y"][-1] = np.nextafter(made["map_y"][-1], np.float32(np.inf))
        return made

    monkeypatch.setattr(maps, "elastic", wrong)
    with pytest.raises(AssertionError):
        check(ELASTIC, (64, 64, 3), 1)


def test_other_samplers_stay_as_they_are() -> None:
    for step in (A.RandomCrop(8, 8), A.ThinPlateSpline(), A.GridDistortion()):
        assert "get_params_dependent_on_data" not in vars(with_quick_maps(step))
