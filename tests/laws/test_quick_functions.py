"""Classes whose functions are done quicker draw and make what albumentations' own do, to the bit."""

from typing import Any

import albumentations as A
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augrecipes.compat.steps import sampler_of
from augrecipes.compiler.kernels import probes, quick_functions
from augrecipes.compiler.kernels.quick_functions import with_quick_functions

pytestmark = pytest.mark.filterwarnings("ignore:This augmenter is very slow")

CLASSES: dict[str, list[dict[str, Any]]] = {
    "ConstrainedCoarseDropout": [
        {"mask_indices": [1, 2, 127, 254], "num_holes_range": (1, 3)},
        {"mask_indices": [2], "hole_height_range": (0.5, 1.0), "fill": 9},
    ],
    "MaskDropout": [{}, {"max_objects": (1, 9), "fill": 7}, {"max_objects": 500}],
    "PiecewiseAffine": [{}, {"nb_cols": (5, 12), "scale": (0.01, 0.2)}, {"absolute_scale": True, "scale": (1, 3)}],
    "RandomSunFlare": [{}, {"src_radius": 30, "src_color": (7, 100, 255)}, {"src_radius": 2600, "angle_range": (0, 1)}],
    "PixelDropout": [{}, {"dropout_prob": 0.5, "per_channel": True}, {"drop_value": None}, {"drop_value": (1, 2, 3)}],
    "RandomRain": [{}, {"rain_type": "heavy", "blur_value": 3}, {"brightness_coefficient": 1.0, "drop_width": 5}],
    "Superpixels": [{}, {"n_segments": (5, 7), "p_replace": (1.0, 1.0), "max_size": None}, {"max_size": 20}],
    "HEStain": [{}, {"augment_background": True}, {"preset": "macenko", "method": "preset"}, {"method": "macenko"}],
    "Illumination": [
        {},
        {"angle_range": (45, 45)},
        {"mode": "gaussian"},
        {"mode": "gaussian", "effect_type": "darken"},
    ],
    "UnsharpMask": [{}, {"blur_limit": (3, 3), "threshold": 0}, {"alpha": (1.0, 1.0), "sigma_limit": (2.0, 3.0)}],
}
CASES = [(name, arguments) for name, each in CLASSES.items() for arguments in each]
IMAGES = st.tuples(st.integers(1, 40), st.integers(1, 40), st.sampled_from([1, 3, 3]), st.integers(0, 99))


def outcome(step: Any, image: np.ndarray, seed: int) -> Any:
    """What a step draws, and makes of an image and a mask; or the class of what it raises."""
    step.set_random_seed(seed)
    try:
        drawn = sampler_of(step)({"image": image, "mask": image[..., 0] // 86 * (1 + 126 * (seed % 2))})
        masked = step.apply_to_mask if isinstance(step, A.DualTransform) else step.apply
        return drawn, step.apply(image.copy(), **drawn), masked(image.copy(), **drawn)
    except Exception as error:
        return type(error)


def check(name: str, arguments: dict[str, Any], size: tuple[int, int, int, int]) -> None:
    """Holds a class to itself with quick functions, for one image and what it draws."""
    image = np.random.default_rng(size[3]).integers(0, 256, size[:3], np.uint8)
    plain, quick = getattr(A, name)(**arguments), with_quick_functions(getattr(A, name)(**arguments))
    assert set(vars(quick)) > set(vars(plain)), "no function of it is done quicker"
    expected, found = outcome(plain, image, size[3]), outcome(quick, image, size[3])
    if isinstance(expected, type):
        assert found is expected
        return
    for key, value in expected[0].items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(found[0][key], value, strict=True)
        else:
            assert found[0][key] == value
    for made, own in zip(found[1:], expected[1:], strict=True):
        np.testing.assert_array_equal(made, own, strict=True)


@pytest.mark.parametrize(("name", "arguments"), CASES)
@given(size=IMAGES)
def test_classes_draw_and_make_the_same(name: str, arguments: dict[str, Any], size: tuple[int, int, int, int]) -> None:
    check(name, arguments, size)


@pytest.mark.parametrize("name", sorted(name for functions in quick_functions.FUNCTIONS.values() for name in functions))
def test_a_function_that_errs_is_not_used(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    home, whole = next((home, each[name]) for home, each in quick_functions.FUNCTIONS.items() if name in each)

    def spoilt(*args: Any, **named: Any) -> Any:
        made = whole(*args, **named)
        last = np.array(made[-1] if isinstance(made, tuple) else made)
        last.reshape(-1)[-1:] = last.reshape(-1)[-1:] == 0
        return (*made[:-1], last) if isinstance(made, tuple) else last

    monkeypatch.setitem(quick_functions.FUNCTIONS[home], name, spoilt)
    monkeypatch.setattr(probes, "_KNOWN", {})
    methods = "apply", "get_params_dependent_on_data"
    cls = next(cls for cls in CLASSES if any(name in getattr(getattr(A, cls), m).__code__.co_names for m in methods))
    with pytest.raises(AssertionError, match="done quicker"):
        for arguments in CLASSES[cls]:
            check(cls, arguments, (20, 30, 3, 1))
