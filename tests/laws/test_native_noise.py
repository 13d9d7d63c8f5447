"""Noise by native kernels is the noise that OpenCV draws, number by number, and so are pictures with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from guarded import guarded
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import KERNEL_SETS, Spoilt, spoil_first, spoil_last

from augrecipes.compat.albumentations import pixel
from augrecipes.compiler.kernels import noise_native
from augrecipes.compiler.kernels.noise_native import NativeNoise, agrees
from augrecipes.native.kernels import Library, using
from augrecipes.recipe.parse import parse_text

KERNELS = [level for level in KERNEL_SETS if level is not None]
SHAPES = st.tuples(st.integers(1, 70), st.integers(1, 70), st.integers(1, 4))
RANGES = st.tuples(st.floats(-1, 1), st.sampled_from([0.0, 0.1])).map(lambda r: (r[0], r[0] + r[1]))


def check(native: Any, shape: tuple[int, ...], mean: Any, deviation: Any, full: float, seed: int) -> None:
    """Holds noise and what it is added to to albumentations' own."""
    params = {"mean_range": mean, "std_range": deviation}
    image = np.random.default_rng(seed).integers(0, 256, shape, np.uint8)
    ours, theirs = np.random.default_rng(seed), np.random.default_rng(seed)
    made = native.generate_noise("gaussian", "per_pixel", shape, params, full, 1.0, ours)
    expected = pixel.generate_noise("gaussian", "per_pixel", shape, params, full, 1.0, theirs)
    assert made.dtype == expected.dtype
    np.testing.assert_array_equal(made, expected)
    assert ours.random() == theirs.random()
    for noise in (expected, np.abs(expected), expected * np.float32(1e6)):
        np.testing.assert_array_equal(native.add_noise(image, noise), pixel.add_noise(image, noise))


@pytest.mark.parametrize("kernels", KERNELS, ids=lambda kernels: kernels.isa)
def test_noise_is_that_of_opencv(kernels: Library) -> None:
    @given(
        shape=st.one_of(SHAPES, st.just((130, 140, 3))),
        mean=RANGES,
        deviation=RANGES.map(lambda r: (abs(r[0]), abs(r[0]) + 0.1)),
        full=st.sampled_from([255, 1.0]),
        seed=st.integers(0, 10**6),
    )
    def law(shape: tuple[int, ...], mean: Any, deviation: Any, full: float, seed: int) -> None:
        check(NativeNoise(kernels), shape, mean, deviation, full, seed)

    law()


@pytest.mark.parametrize("kernels", KERNELS, ids=lambda kernels: kernels.isa)
def test_every_seed_that_steps_draw_gives_the_same_numbers(kernels: Library) -> None:
    for seed in (0, 1, 2**16 - 1):  # 0 stands for another state
        pixel.cv2.setRNGSeed(seed)
        expected = np.zeros((211, 97, 3))
        pixel.cv2.randn(dst=expected, mean=np.zeros(3, np.float32), stddev=np.ones(3, np.float32))
        made = NativeNoise(kernels).normal(seed, 0.0, 1.0, 1.0, expected.shape)
        np.testing.assert_array_equal(made, expected.astype(np.float32))


@pytest.mark.parametrize("kernels", KERNELS, ids=lambda kernels: kernels.isa)
def test_the_law_sees_kernels_that_are_one_bit_off(kernels: Library) -> None:
    assert agrees(NativeNoise(kernels))
    for target, spoil in ((9, spoil_first), (9, spoil_last)):
        spoilt = NativeNoise(Spoilt(kernels, target, spoil))  # type: ignore[arg-type]
        spoilt._add = NativeNoise(kernels)._add
        assert not agrees(spoilt)
        with pytest.raises(AssertionError):
            check(spoilt, (20, 30, 3), (0.0, 0.0), (0.2, 0.2), 255, 0)
    spoilt = NativeNoise(Spoilt(kernels, 2, spoil_last))  # type: ignore[arg-type]
    spoilt._normal = NativeNoise(kernels)._normal
    assert not agrees(spoilt)
    with pytest.raises(AssertionError):
        check(spoilt, (20, 30, 3), (0.0, 0.0), (0.2, 0.2), 255, 0)


@pytest.mark.parametrize("kernels", KERNELS, ids=lambda kernels: kernels.isa)
@pytest.mark.parametrize("at_end", [False, True])
def test_nothing_is_read_or_written_beside_the_arrays(kernels: Library, at_end: bool) -> None:
    normal, add = kernels.kernel("normal", "lpppppddfpl"), kernels.kernel("add_noise", "pppl")
    tables = [guarded(table, at_end) for table in noise_native.strips()]
    for count in (1, 2, 31, 64, 2047, 2048, 2049, 5000):
        noise = guarded(np.zeros(count, np.float32), at_end)
        strips = [*(table.ctypes.data for table in tables), *noise_native._logarithm_and_exponential()]
        assert normal(7, *strips, 0.0, 0.2, 255.0, noise.ctypes.data, count) == 0
        image, out = (guarded(np.full(count, 99, np.uint8), at_end) for _ in range(2))
        assert add(image.ctypes.data, noise.ctypes.data, out.ctypes.data, count) == 0
        np.testing.assert_array_equal(out, np.clip(99 + np.trunc(noise), 0, 255).astype(np.uint8))


RECIPE = """
version: 1
recipe: test
steps:
  - GaussNoise: {mean_range: [-0.1, 0.2], p: 0.9}
  - OneOf: {steps: [GaussNoise: {per_channel: false}, GaussNoise: {noise_scale_factor: 0.5}, RGBShift], p: 1}
  - AdditiveNoise:
      noise_type: gaussian
      spatial_mode: per_pixel
      noise_params: {mean_range: [0, 0.1], std_range: [0.1, 0.2]}
eval: []
output: {dtype: uint8, layout: hwc}
"""


@pytest.mark.parametrize("kernels", KERNEL_SETS, ids=lambda kernels: kernels.isa if kernels else "python")
def test_samples_are_those_of_none(kernels: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    normal = NativeNoise.normal
    monkeypatch.setattr(NativeNoise, "normal", lambda *args: (calls.append(1), normal(*args))[1])
    noise_native._proven.cache_clear()
    image = np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8)
    with using(kernels):
        for given_image in (image, image.astype(np.float32) / np.float32(255)):
            ours, plain = (parse_text(RECIPE).compile(optimize=o, save_applied_params=True) for o in ("exact", "none"))
            for index in range(20):
                made, expected = ours.at(index)(image=given_image), plain.at(index)(image=given_image)
                np.testing.assert_array_equal(made["image"], expected["image"])
                for (*one, drawn), (*other, said) in zip(made["applied"], expected["applied"], strict=True):
                    assert one == other
                    assert drawn.keys() == said.keys()
                    assert all(np.array_equal(drawn[name], said[name]) for name in drawn)
    assert bool(calls) == (kernels is not None)
    noise_native._proven.cache_clear()


def test_kernels_with_other_bits_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise_native, "agrees", lambda _: False)
    for kernels in KERNELS:
        assert noise_native._proven.__wrapped__(kernels) is None
