"""A faster sampler draws what albumentations draws, to the last bit, and so does whoever draws after it."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from kernel_sets import KERNEL_SETS, using
from support.checks import holds, planted, planted_faults

from augrecipes.compiler.kernels import fast_apply, fields, samplers
from augrecipes.ops.records import op_record, record_names
from augrecipes.ops.registry import construct
from augrecipes.recipe.model import Arguments, Step

pytestmark = pytest.mark.filterwarnings("ignore:This augmenter is very slow", "ignore::RuntimeWarning")
# Arguments of each class that has one.
ARGUMENTS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "ElasticTransform": st.fixed_dictionaries(
        {
            "alpha": st.floats(0, 300),
            "sigma": st.floats(1, 20) | st.sampled_from((1.0, 1.5, 3.3, 6.0, 11.0, 50.0)),  # of each remainder by four
            "approximate": st.booleans(),
            "same_dxdy": st.booleans(),
            "noise_distribution": st.sampled_from(["gaussian", "uniform"]),
        }
    ),
    "PiecewiseAffine": st.fixed_dictionaries(
        {
            "nb_rows": st.just([2, 13]),
            "nb_cols": st.just([2, 13]),
            "scale": st.sampled_from([[0.0, 0.0], [0.03, 0.05], [1, 3]]),
            "absolute_scale": st.booleans(),
        }
    ),
    "CropNonEmptyMaskIfExists": st.fixed_dictionaries(
        {"height": st.just(3), "width": st.just(5)},
        optional={"ignore_values": st.just([1]), "ignore_channels": st.just([0])},
    ),
}


@st.composite
def masks(draw: st.DrawFn, most: int) -> np.ndarray:
    """Masks with few labels or many, now and then of two channels."""
    dtype = draw(st.sampled_from([np.uint8, np.uint16, np.int16, np.float32]))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    shape = (draw(st.integers(3, most)), draw(st.integers(5, most)), *draw(st.sampled_from([(), (), (), (2,)])))
    labels = rng.integers(-1 if dtype in (np.int16, np.float32) else 1, 3, shape)
    return ((rng.random(shape) < draw(st.sampled_from([0.0, 0.001, 0.1, 0.9, 1.0]))) * labels).astype(dtype)


def to_the_bit(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    return [(type(one), one) for one in value] if isinstance(value, tuple) else value


def check(name: str, arguments: dict[str, Any], mask: np.ndarray, seed: int) -> None:
    if mask.ndim == 2 and "ignore_channels" in arguments:
        arguments = {key: value for key, value in arguments.items() if key != "ignore_channels"}
    own, fast = (construct(Step(name, Arguments(arguments))) for _ in range(2))
    with using(KERNEL_SETS[-1]):
        fast_apply.attach([fast])
        assert type(fast).__mro__ != type(own).__mro__ or KERNEL_SETS[-1] is None
        drawn = []
        for step in (own, fast):
            step.py_random, step.random_generator = random.Random(seed), np.random.Generator(np.random.Philox(seed))
            params = step.update_transform_params({}, data := {"image": mask, "mask": mask})
            params |= step.get_params_dependent_on_data(params, data)
            after = step.py_random.random(), step.random_generator.bit_generator.random_raw()
            drawn.append(({key: to_the_bit(value) for key, value in params.items()}, after))
    assert drawn[0] == drawn[1]


def examples_of(name: str) -> tuple[st.SearchStrategy[Any], ...]:
    return st.just(name), ARGUMENTS[name], masks(70), st.integers(0, 2**32)


def test_every_faster_sampler_is_here() -> None:
    classes = {name for name in record_names() if ":Fast" in op_record(name).fast}
    assert classes == ARGUMENTS.keys()


@pytest.mark.parametrize("name", ARGUMENTS)
def test_draws_are_those_of_albumentations(name: str) -> None:
    holds(check, *examples_of(name), tried=settings.default)


def test_a_kernel_whose_means_are_off_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "piecewise_maps", _moved)
    fields.adds_as_numpy.cache_clear()
    try:
        check("PiecewiseAffine", {}, np.zeros((20, 30), np.uint8), 1)
    finally:
        fields.adds_as_numpy.cache_clear()


smooth, piecewise_maps = fields.smooth, fields.piecewise_maps


def _a_bit_off(field: Any, *how: Any) -> bool:
    if not smooth(field, *how):
        return False
    field[-1] += np.float32(1e-4)
    return True


def _moved(*given: Any, **named: Any) -> Any:
    map_x, map_y = piecewise_maps(*given, **named)
    return map_x, None if map_y is None else np.nextafter(map_y, np.float32(np.inf))


def law(name: str) -> Any:
    return planted(check, *examples_of(name))


test_planted_faults_are_caught = planted_faults(
    {
        "a place is another": (
            law("CropNonEmptyMaskIfExists"),
            (samplers.np, "flatnonzero", lambda row: np.nonzero(row)[0][::-1]),
        ),
        "maps a bit off": (law("ElasticTransform"), (fields, "smooth", _a_bit_off)),
        "means a bit off": (
            law("PiecewiseAffine"), (fields, "piecewise_maps", _moved), (fields, "adds_as_numpy", lambda _: True)
        ),
    }
)  # fmt: skip
