"""The samplers with their matrices written out: albumentations' own draws, and its matrices to the last bits."""

from __future__ import annotations

import pickle
from typing import Any

import albumentations as A
import albumentations.augmentations.geometric.functional as geometric
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augrecipes.compat import samplers
from augrecipes.compat.samplers import with_quick_matrix
from augrecipes.compiler.kernels import quick_apply

STEPS: list[tuple[type, dict[str, Any]]] = [
    (A.Rotate, {"limit": 200}),
    (A.Rotate, {"limit": 30, "crop_border": True}),
    (A.Affine, {"scale": (0.5, 2), "rotate": (-90, 90), "shear": (-30, 30), "translate_percent": (-0.3, 0.3)}),
    (A.Affine, {"scale": {"x": (0.5, 2), "y": (1, 3)}, "shear": {"x": (-9, 9), "y": (5, 20)}, "fit_output": True}),
    (A.ShiftScaleRotate, {}),
]


def largest_difference(cls: type, arguments: dict[str, Any]) -> float:
    own, quick = cls(p=1.0, **arguments), with_quick_matrix(cls(p=1.0, **arguments))
    assert quick.get_params_dependent_on_data.__code__ is own.get_params_dependent_on_data.__code__
    params, worst = {"shape": (101, 64, 3)}, 0.0
    for seed in range(100):
        made = []
        for step in (own, quick):
            step.set_random_seed(seed)
            made.append(step.get_params_dependent_on_data(params, {}))
        assert made[0].keys() == made[1].keys()
        for key, value in made[0].items():
            if isinstance(value, np.ndarray):
                worst = max(worst, float(np.abs(value - made[1][key]).max()))
            else:
                assert value == pytest.approx(made[1][key], abs=1e-9), key
    return worst


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("cls", "arguments"), STEPS)
def test_same_draws_same_matrices(cls: type, arguments: dict[str, Any]) -> None:
    assert largest_difference(cls, arguments) < 1e-10


def test_a_wrong_matrix_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = samplers.affine_matrix
    monkeypatch.setattr(samplers, "affine_matrix", lambda x, y, size, angle, scale: right(x, y, size, -angle, scale))
    assert largest_difference(A.Rotate, {"limit": 30}) > 0.1


def test_other_samplers_stay_as_they_are() -> None:
    for step in (A.RandomCrop(8, 8), A.SafeRotate(), A.HorizontalFlip()):
        assert "get_params_dependent_on_data" not in vars(with_quick_matrix(step))


NUMBERS = st.one_of(
    st.floats(-500, 500), st.integers(-400, 400), st.sampled_from([0, -0.0, 90, 180.0, 270, -90.0, 1e-9])
)
PAIRS = st.fixed_dictionaries({"x": NUMBERS, "y": NUMBERS})
NO_SHEAR = st.just({"x": 0, "y": 0.0})


def same_bits(*drawn: Any) -> None:
    own = geometric.create_affine_transformation_matrix(*drawn)
    assert samplers.same_matrix(*drawn).tobytes() == own.tobytes()


@given(st.tuples(PAIRS, st.one_of(NO_SHEAR, PAIRS), PAIRS, NUMBERS, st.tuples(NUMBERS, NUMBERS)))
def test_the_matrix_of_exact_is_albumentations_to_the_last_bit(drawn: Any) -> None:
    same_bits(*drawn)


def test_that_law_sees_products_in_another_order(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = ({"x": 3.3, "y": 1.7}, {"x": 0, "y": 0}, {"x": 1.1, "y": 0.7}, 33.3, (99.5, 7.5))
    monkeypatch.setattr(samplers, "same_matrix", samplers.affine_matrix)
    with pytest.raises(AssertionError):
        for angle in range(90):
            same_bits(*drawn[:3], angle + 0.3, drawn[4])


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("cls", "arguments"), STEPS)
def test_steps_of_exact_draw_what_albumentations_draws(cls: type, arguments: dict[str, Any]) -> None:
    own, quick = cls(p=1.0, **arguments), cls(p=1.0, **arguments)
    quick_apply.attach([quick])
    for seed in range(50):
        made = []
        for step in (own, quick):
            step.set_random_seed(seed)
            made.append(step.get_params_dependent_on_data({"shape": (101, 64, 3)}, {}))
        assert pickle.dumps(made[0]) == pickle.dumps(made[1])
