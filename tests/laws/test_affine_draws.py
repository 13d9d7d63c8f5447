"""Rotate, Affine and ShiftScaleRotate draw by ours what they draw in albumentations, bit for bit."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augrecipes.compiler.kernels import fast_apply, samplers
from augrecipes.ops.registry import construct
from augrecipes.recipe.model import Arguments, Step

ANGLES = st.sampled_from([0.0, 90.0, 15.0, [-200, 700]])
SPANS = st.sampled_from([[0, 0], [-20, 30], [7, 7]])
ROTATE = st.fixed_dictionaries({"limit": ANGLES, "crop_border": st.booleans()}).map(lambda args: ("Rotate", args))
AFFINE = st.fixed_dictionaries(
    {
        "rotate": ANGLES,
        "scale": st.sampled_from([1.0, [0.5, 1.5], {"x": [0.8, 1.2], "y": 2.0}]),
        "keep_ratio": st.just(False),
        "shear": st.sampled_from([0.0, [-30, 30], {"x": [-10, 10], "y": 0.0}, {"x": 0.0, "y": 5.0}]),
        "fit_output": st.booleans(),
        "balanced_scale": st.booleans(),
    },
    optional={"translate_px": SPANS},
).map(lambda args: ("Affine", args))
SHIFTS = st.fixed_dictionaries({"shift_limit": st.sampled_from([0.0, 0.1]), "rotate_limit": ANGLES}).map(
    lambda args: ("ShiftScaleRotate", args)
)


def check_draws(name: str, args: dict[str, Any], size: tuple[int, int], seed: int) -> None:
    own, fast = (construct(Step(name, Arguments(args))) for _ in range(2))
    fast_apply.attach([fast])
    assert {samplers.FastRotate, samplers.FastAffine} & {*type(fast).__mro__}
    drawn = []
    for step in (own, fast):
        step.py_random = random.Random(seed)
        data = {"image": np.zeros((*size, 3), np.uint8)}
        params = step.update_transform_params({}, data)
        params |= step.get_params_dependent_on_data(params, data)
        exact = {key: (one.dtype, one.tobytes()) if isinstance(one, np.ndarray) else one for key, one in params.items()}
        drawn.append(([*exact.items()], step.py_random.random()))
    assert drawn[0] == drawn[1]


@given(
    step=st.one_of(ROTATE, AFFINE, SHIFTS),
    size=st.tuples(st.integers(1, 900), st.integers(1, 900)),
    seed=st.integers(0, 10**6),
)
def test_matrices_are_those_of_albumentations(step: Any, size: tuple[int, int], seed: int) -> None:
    name, args = step
    check_draws(name, args, size, seed)


def test_a_matrix_that_is_rounded_otherwise_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    own = samplers.affine_matrices
    monkeypatch.setattr(
        samplers,
        "affine_matrices",
        lambda *args: {key: np.nextafter(one, 2) for key, one in own(*args).items()},
    )
    with pytest.raises(AssertionError):
        check_draws("Rotate", {"limit": [-15, 15]}, (300, 200), 0)
