"""What records say of one draw on several grids, held against albumentations itself, for every class."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

from augrecipes.compiler.run.draws import Draws
from augrecipes.ops.capabilities import capability, carried, known
from augrecipes.ops.registry import construct, effective
from augrecipes.recipe.model import Arguments, Step

# Some steps warn of pictures so small, or of so little colour.
pytestmark = pytest.mark.filterwarnings("ignore")

VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("AdditiveNoise", {"spatial_mode": "per_pixel"}),
    ("AdditiveNoise", {"spatial_mode": "shared"}),
    ("MultiplicativeNoise", {"elementwise": True}),
    ("MultiplicativeNoise", {"per_channel": True}),
    ("RandomSnow", {"method": "texture"}),
    ("RandomBrightnessContrast", {"brightness_by_max": False}),
    ("ColorJitter", {"contrast": 0.5}),
]
DRAWN = ("random_seed", "seed")


def image_only() -> list[tuple[str, dict[str, Any]]]:
    """Every class that changes pictures alone, with its defaults, and the variants above."""
    plain = [(name, {}) for name in known() if "mask" not in capability(name).targets]  # type: ignore[union-attr]
    return [(name, args) for name, args in plain + VARIANTS if name not in ("ResizeToTarget", "FromFloat")]


def claims(*wanted: str) -> list[Any]:
    found = []
    for name, args in image_only():
        step = Step(name, Arguments(args))
        if capability(name).grids_for(effective(step)) in wanted:  # type: ignore[union-attr]
            found.append(pytest.param(name, args, id="-".join([name, *args])))
    return found


def scene() -> tuple[np.ndarray, np.ndarray]:
    """A smooth picture, and the same one where every pixel is two by two."""
    rng = np.random.default_rng(0)
    small = cv2.resize(rng.integers(0, 256, (6, 8, 3), dtype=np.uint8), (64, 48), interpolation=cv2.INTER_CUBIC)
    return small, doubled(small)


def doubled(image: np.ndarray) -> np.ndarray:
    return image.repeat(2, axis=0).repeat(2, axis=1)


def drawn(name: str, args: dict[str, Any], image: np.ndarray, index: int) -> tuple[Any, dict[str, Any]]:
    """A keyed step, and the parameters that it draws for `image`."""
    step = construct(Step(name, Arguments(args), p=1.0))
    draws = Draws(0)
    step.random_generator, step.py_random = draws.add(name)
    draws.position(0, index)
    data = {"image": image}
    params = step.update_transform_params(params=step.get_params(), data=data)
    params.update(step.get_params_dependent_on_data(params=params, data=data))
    return step, params


def equal(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, np.ndarray):
        return a.shape == np.shape(b) and np.array_equal(a, b)
    return bool(a == b)


@pytest.mark.parametrize(("name", "args"), claims("same", "alike"))
def test_draws_do_not_depend_on_the_grid(name: str, args: dict[str, Any]) -> None:
    statistics = capability(name).statistics  # type: ignore[union-attr]
    small, large = scene()
    for index in range(20):
        here, there = drawn(name, args, small, index)[1], drawn(name, args, large, index)[1]
        assert not set(here) & set(DRAWN), "draws again when it is applied"
        for key in set(here) - {"shape"}:
            if not (statistics and key in ("stain_matrix",)):
                assert equal(here[key], there[key]), key


@pytest.mark.parametrize(("name", "args"), claims("same"))
def test_one_draw_changes_the_same_scene(name: str, args: dict[str, Any]) -> None:
    small, large = scene()
    for index in range(20):
        step, params = drawn(name, args, small, index)
        coarse = step.apply_with_params(dict(params), image=small)["image"]
        fine = step.apply_with_params({**params, "shape": large.shape}, image=large)["image"]
        np.testing.assert_allclose(fine.astype(int), doubled(coarse).astype(int), atol=1)


@pytest.mark.parametrize(("name", "args"), claims("never"))
def test_what_is_never_shared_cannot_be(name: str, args: dict[str, Any]) -> None:
    small, large = scene()
    apart = False
    for index in range(20):
        here, there = drawn(name, args, small, index)[1], drawn(name, args, large, index)[1]
        apart |= any(key in DRAWN or not equal(here[key], there[key]) for key in set(here) - {"shape"})
    if name == "Superpixels":  # draws which of its own segments it flattens
        step, params = drawn(name, args, small, 0)
        fine = step.apply_with_params({**params, "shape": large.shape}, image=large)["image"]
        apart = not np.array_equal(fine, doubled(step.apply_with_params(params, image=small)["image"]))
    assert apart


def test_geometry_says_what_the_compiler_can_carry_from_grid_to_grid() -> None:
    geometric = {name: capability(name) for name in known() if "mask" in capability(name).targets}  # type: ignore[union-attr]
    able = {
        name
        for name, record in geometric.items()
        if record is not None and record.resamples and record.grids_for(effective(Step(name))) == "same"
    }
    assert able == set(carried())
    for name, record in geometric.items():
        if record is not None and record.action in ("window", "dihedral"):
            assert record.grids_for(effective(Step(name))) == "same", name
