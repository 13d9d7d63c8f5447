"""Filters in few passes are within their levels of the classes' own, and a disc is what its definition says."""

from functools import partial
from typing import Any

import albumentations as A
import numpy as np
import pytest
from hypothesis import strategies as st
from kernel_sets import EACH_SET, SETS, Spoilt, guarded, spoil_first
from support.checks import holds, planted, planted_faults, tries

from augrecipes.compiler.kernels import quick_filters
from augrecipes.ops.capabilities import claims

SIZES = st.tuples(st.integers(1, 40), st.integers(1, 40), st.sampled_from([1, 3, 3]))
SEEDS = st.integers(0, 10**6)
WIDE = st.tuples(st.just(600), st.just(7), st.just(3))
STEPS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "Defocus": st.builds(
        lambda radius, soft: {"radius": (radius, radius), "alias_blur": (soft, soft)},
        st.integers(1, 24),
        st.floats(0.1, 1.0),
    ),
    "RingingOvershoot": st.builds(
        lambda half, cutoff: {"blur_limit": (2 * half + 1, 2 * half + 1), "cutoff": (cutoff, cutoff)},
        st.integers(1, 10),
        st.floats(0.1, 3.0),
    ),
}


def noise(size: tuple[int, ...], seed: int) -> np.ndarray:
    """Levels far apart, or any."""
    rng = np.random.default_rng(seed)
    return rng.choice(np.array([0, 255], np.uint8), size) if seed % 2 else rng.integers(0, 256, size, np.uint8)


def near(name: str, arguments: dict[str, Any], size: tuple[int, ...], seed: int) -> None:
    within(name, arguments, noise(size, seed), seed)


def tips(radius: int, soft: float) -> None:
    """Where weights at the borders of albumentations' array are larger than a disc's: at its four tips."""
    image, ends = np.zeros((61, 61, 3), np.uint8), (30 - radius, 30 + radius)
    image[ends, 26:35] = image[26:35, ends] = 255
    within("Defocus", {"radius": (radius, radius), "alias_blur": (soft, soft)}, image, 0)


def within(name: str, arguments: dict[str, Any], image: np.ndarray, seed: int) -> None:
    made = []
    for attach in (lambda _: None, quick_filters.attach):
        step = getattr(A, name)(**arguments, p=1)
        attach(step)
        step.set_random_seed(seed)
        made.append(step.apply(image.copy(), **step.get_params()))
    assert made[0].dtype == made[1].dtype == np.uint8
    assert made[0].shape == made[1].shape
    assert np.abs(made[0].astype(int) - made[1]).max() <= claims(name).filter_error


@pytest.mark.parametrize("name", STEPS)
def test_within_its_levels(name: str) -> None:
    holds(partial(near, name), STEPS[name], SIZES, SEEDS, tried=tries(60))


def test_tips_of_discs() -> None:
    holds(tips, st.integers(7, 24), st.floats(0.1, 3.0), tried=tries(60))


def test_the_common_arguments_take_few_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick_filters.cv2, "filter2D", None)  # what albumentations calls
    if not SETS:
        pytest.skip("no native kernels")
    for seed in range(20):
        image = noise((20, 30, 3), seed)
        quick_filters.defocus(image, 3 + seed % 5, 0.1 + seed / 50)
        ringing = A.RingingOvershoot(p=1)
        ringing.set_random_seed(seed)
        quick_filters.convolve(image, ringing.get_params()["kernel"])


def disc(kernels: Any, size: tuple[int, ...], far: int, seed: int) -> None:
    """A kernel's means over any rows of runs, of guarded memory, against sums of a padded image."""
    rng = np.random.default_rng(seed)
    image, reach = noise((*size[:2], 3), seed), rng.integers(0, far + 1, 2 * far + 1, np.int32)
    share = np.float32(1.01 / (2 * reach + 1).sum())
    arrays = image, reach, np.zeros((2 * far + 1, size[1] + 2 * far + 1, 3), np.uint16), np.zeros_like(image)
    source, reaches, sums, out = (guarded(array, at_end=bool(seed % 3)) for array in arrays)
    rows, columns = size[:2]
    given = source.ctypes.data, rows, columns, reaches.ctypes.data, far, share, sums.ctypes.data, out.ctypes.data
    assert kernels.kernel("defocus", "pllplfpp")(*given) == 0
    wide = np.pad(image, ((far, far), (far, far), (0, 0)), "reflect").astype(np.int64)
    total = np.zeros(image.shape, np.int64)
    for y, across in enumerate(reach.tolist()):
        for x in range(far - across, far + across + 1):
            total += wide[y : y + rows, x : x + columns]
    expected = np.clip(np.rint(total.astype(np.float32) * share), 0, 255).astype(np.uint8)
    np.testing.assert_array_equal(out, expected)


@EACH_SET
def test_a_disc_is_what_its_definition_says(kernels: Any) -> None:
    holds(partial(disc, kernels), st.one_of(SIZES, WIDE), st.integers(0, 20), SEEDS, tried=tries(60))


def test_what_the_kernel_refuses() -> None:
    for rows, columns, far in ((0, 5, 1), (5, 0, 1), (5, 5, -1), (5, 5, 128)):
        for kernels in SETS:
            assert kernels.kernel("defocus", "pllplfpp")(0, rows, columns, 0, far, 1.0, 0, 0) != 0


test_planted_faults_are_caught = planted_faults(
    {
        "weights that are far from a disc's are taken for near": (
            planted(tips, st.integers(7, 24), st.floats(0.1, 3.0)),
            (quick_filters, "_NEAR", {"disc": 30.0, "rows": 0.5}),
        ),
        "weights that few rows do not make are taken for near": (
            planted(partial(near, "RingingOvershoot"), STEPS["RingingOvershoot"], SIZES, SEEDS),
            (quick_filters, "_NEAR", {"disc": 3.0, "rows": 20.0}),
        ),
        "a kernel errs": (
            lambda _: disc(Spoilt(SETS[0], 7, spoil_first), (5, 6), 2, 1) if SETS else pytest.fail("no kernels"),
        ),
    }
)
