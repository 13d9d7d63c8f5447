"""Fields that are made smooth natively have the bits of the installed OpenCV, with every instruction set."""

from __future__ import annotations

from typing import Any

import albumentations as A
import albumentations.augmentations.geometric.functional as geometric
import cv2
import numpy as np
import pytest
from guarded import guarded
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import KERNEL_SETS, Spoilt, spoil_first
from test_exact_equals_none import build
from test_native_plan import recipe_of

from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.kernels import field_native, maps
from augrecipes.native.kernels import Library, using

NATIVE = [kernels for kernels in KERNEL_SETS if kernels is not None and field_native.same_bits(kernels)]
SIDES = st.integers(1, 70)
SIGMAS = st.sampled_from((0.7, 0.8, 1.0, 1.5, 3.3, 6.0, 11.0, 50.0))  # 7 to 401 weights, of each remainder by four


def noise(rows: int, columns: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((rows, columns), np.float32)


def check(kernels: Any, rows: int, columns: int, deviation: float, times: float, seed: int = 0, size: int = 0) -> bool:
    """Holds a field to OpenCV's; whether the kernel made it."""
    field = noise(rows, columns, seed)
    own = cv2.GaussianBlur(field, (size, size), deviation, borderType=cv2.BORDER_REPLICATE)
    own *= times
    done = field_native.smoothed(kernels, field, field_native.weights_of(deviation, size), times)
    if done:
        np.testing.assert_array_equal(field, own)
    return done


@pytest.mark.skipif(not NATIVE, reason="no native kernel gives this OpenCV's bits")
@given(st.sampled_from(NATIVE or [None]), SIDES, SIDES, SIGMAS, st.floats(0, 200), st.integers(0, 99), st.booleans())
def test_the_bits_are_those_of_opencv(
    kernels: Any, rows: int, columns: int, deviation: float, times: float, seed: int, rough: bool
) -> None:
    assert check(kernels, rows, columns, deviation, times, seed, 17 if rough else 0) == (min(rows, columns) > 1)


@given(SIDES, SIDES, SIGMAS, st.floats(0, 200), st.booleans(), st.booleans(), st.sampled_from(["gaussian", "uniform"]))
def test_displacements_are_those_of_albumentations(
    rows: int, columns: int, sigma: float, alpha: float, same: bool, rough: bool, distribution: str
) -> None:
    size = (17, 17) if rough else (0, 0)
    drawn = [np.random.Generator(np.random.Philox(3)) for _ in range(2)]
    given_to: Any = {"same_dxdy": same, "kernel_size": size, "noise_distribution": distribution}
    own = geometric.generate_displacement_fields((rows, columns), alpha, sigma, random_generator=drawn[0], **given_to)
    found = maps.fields((rows, columns), alpha, sigma, random_generator=drawn[1], **given_to)
    assert drawn[0].bit_generator.random_raw() == drawn[1].bit_generator.random_raw()
    for one, other in zip(found, own, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
def test_large_and_long_fields(kernels: Library) -> None:
    for rows, columns, deviation in ((3, 16384, 2.0), (16384, 3, 2.0), (300, 257, 20.0), (2, 9, 900.0)):
        assert check(kernels, rows, columns, deviation, 3.0)


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
@pytest.mark.parametrize("at_end", [False, True])
def test_nothing_is_read_or_written_beside_the_field(kernels: Library, at_end: bool) -> None:
    kernel = kernels.kernel("smooth_field", "pllplfp")
    for rows, columns, deviation in (
        (2, 2, 1.0),
        (5, 7, 3.0),
        (33, 17, 9.0),
        (2, 64, 1.0),
        (40, 3, 1.0),
        (17, 130, 12.0),
    ):
        weights = guarded(np.array(field_native.weights_of(deviation)), at_end)
        field = guarded(noise(rows, columns), at_end)
        size = (rows + 1) * (columns + 128) + 16 * (columns + rows + 2 * len(weights) + 300)
        room = guarded(np.full(size, np.nan, np.float32), at_end)
        own = cv2.GaussianBlur(field, (0, 0), deviation, borderType=cv2.BORDER_REPLICATE)
        done = kernel(field.ctypes.data, rows, columns, weights.ctypes.data, len(weights), 1.0, room.ctypes.data)
        assert done == 0
        np.testing.assert_array_equal(field, own)


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
def test_a_kernel_that_is_one_bit_off_is_seen(kernels: Library) -> None:
    spoilt: Any = Spoilt(kernels, 0, spoil_first)
    with pytest.raises(AssertionError):
        check(spoilt, 30, 40, 3.0, 1.0)
    assert not field_native.same_bits(spoilt)


def test_a_transform_runs_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    own = field_native.smoothed

    def counting(*given: Any) -> bool:
        asked.append(given)
        return own(*given)

    monkeypatch.setattr(field_native, "smoothed", counting)
    for kernels in NATIVE:
        step = maps.with_quick_maps(A.ElasticTransform(alpha=50, sigma=6))
        with using(kernels):
            asked.clear()
            step.get_params_dependent_on_data({"shape": (20, 30, 3)}, {})
        assert asked.pop()[:1] == (kernels,)


@pytest.mark.skipif(not NATIVE, reason="no native kernel gives this OpenCV's bits")
@pytest.mark.parametrize("parts", [41, 60, 100])
def test_grids_of_many_parts_are_made_natively(parts: int) -> None:
    """More than the pictures have rows that steps are first tried on."""
    recipe = recipe_of(("GridDistortion", {"num_steps": parts, "p": 1.0}))
    image = np.random.default_rng(parts).integers(0, 256, (150, 171, 3), np.uint8)
    plain, exact = build(recipe, "none"), build(recipe, "exact")
    assert isinstance(exact.native, Program)
    made = exact.native.sample(2, 5, 0, image, np.empty)
    assert made is not None
    np.testing.assert_array_equal(made, plain.at(5, 2)(image=image)["image"])
