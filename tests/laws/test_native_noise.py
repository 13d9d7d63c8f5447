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
from augrecipes.native.kernels import Library, using
from augrecipes.recipe.parse import parse_text

KERNELS = [level for level in KERNEL_SETS if level is not None]
SHAPES = st.tuples(st.integers(1, 70), st.integers(1, 70), st.integers(1, 4))


def check(kernels: Any, shape: tuple[int, ...], mean: float, deviation: float, full: float, seed: int) -> None:
    """Holds noise to albumentations' own."""
    np.testing.assert_array_equal(*noise_native.both(kernels, shape, mean, deviation, full, seed))


@pytest.mark.parametrize("kernels", KERNELS, ids=lambda kernels: kernels.isa)
def test_noise_is_that_of_opencv(kernels: Library) -> None:
    @given(
        shape=st.one_of(SHAPES, st.just((130, 140, 3))),
        mean=st.floats(-1, 1),
        deviation=st.floats(0, 1),
        full=st.sampled_from([255, 1.0]),
        seed=st.integers(0, 10**6),
    )
    def law(shape: tuple[int, ...], mean: float, deviation: float, full: float, seed: int) -> None:
        check(kernels, shape, mean, deviation, full, seed)

    law()


@pytest.mark.parametrize("kernels", KERNELS, ids=lambda kernels: kernels.isa)
def test_every_seed_that_steps_draw_gives_the_same_numbers(kernels: Library) -> None:
    where = noise_native.addresses()
    assert where is not None
    for seed in (0, 1, 2**16 - 1):  # 0 stands for another state
        pixel.cv2.setRNGSeed(seed)
        expected = np.zeros((211, 97, 3))
        pixel.cv2.randn(dst=expected, mean=np.zeros(3, np.float32), stddev=np.ones(3, np.float32))
        made = np.empty(expected.shape, np.float32)
        kernels.kernel("normal", noise_native.ARGUMENTS)(
            seed, *where, 0.0, 1.0, 1.0, made.ctypes.data, made.size
        )  # fmt: skip
        np.testing.assert_array_equal(made, expected.astype(np.float32))


@pytest.mark.parametrize("kernels", KERNELS, ids=lambda kernels: kernels.isa)
def test_the_law_sees_kernels_that_are_one_bit_off(kernels: Library) -> None:
    assert noise_native.same_bits(kernels)
    for spoil in (spoil_first, spoil_last):
        spoilt: Any = Spoilt(kernels, 9, spoil)
        assert not noise_native.same_bits(spoilt)
        with pytest.raises(AssertionError):
            check(spoilt, (20, 30, 3), 0.0, 0.2, 255, 0)


@pytest.mark.parametrize("kernels", KERNELS, ids=lambda kernels: kernels.isa)
@pytest.mark.parametrize("at_end", [False, True])
def test_nothing_is_read_or_written_beside_the_arrays(kernels: Library, at_end: bool) -> None:
    where, tables = noise_native.addresses(), [guarded(table, at_end) for table in noise_native.strips()]
    assert where is not None
    for count in (1, 2, 31, 64, 2047, 2048, 2049, 5000):
        noise = guarded(np.zeros(count, np.float32), at_end)
        strips = [*(table.ctypes.data for table in tables), *where[3:]]
        kernel = kernels.kernel("normal", noise_native.ARGUMENTS)
        assert kernel(7, *strips, 0.0, 0.2, 255.0, noise.ctypes.data, count) == 0
        again = np.empty(count, np.float32)
        assert kernel(7, *where, 0.0, 0.2, 255.0, again.ctypes.data, count) == 0
        np.testing.assert_array_equal(noise, again)


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


def exact_and_none() -> tuple[Any, Any]:
    ours, plain = (parse_text(RECIPE).compile(optimize=o, save_applied_params=True) for o in ("exact", "none"))
    return ours, plain


def law_of_samples(ours: Any, plain: Any) -> None:
    image = np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8)
    for given_image in (image, image.astype(np.float32) / np.float32(255)):
        for index in range(20):
            made, expected = ours.at(index)(image=given_image), plain.at(index)(image=given_image)
            np.testing.assert_array_equal(made["image"], expected["image"])
            for (*one, drawn), (*other, said) in zip(made["applied"], expected["applied"], strict=True):
                assert one == other
                assert drawn.keys() == said.keys()
                assert all(np.array_equal(drawn[name], said[name]) for name in drawn)


@pytest.mark.parametrize("kernels", KERNEL_SETS, ids=lambda kernels: kernels.isa if kernels else "python")
def test_samples_are_those_of_none(kernels: Any) -> None:
    with using(kernels):
        ours, plain = exact_and_none()
        law_of_samples(ours, plain)
        if kernels is not None:
            assert "GaussNoise#1" not in ours.native.stops


@pytest.mark.parametrize("kernels", KERNELS, ids=lambda kernels: kernels.isa)
def test_numbers_of_another_generator_are_left_to_opencv(kernels: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a plan is made, and where only its pictures tell."""
    monkeypatch.setattr(noise_native, "same_bits", lambda _: False)
    with using(kernels):
        ours, plain = exact_and_none()
        assert "GaussNoise#1" in ours.native.stops
        law_of_samples(ours, plain)
    monkeypatch.setattr(noise_native, "same_bits", lambda _: True)
    bounds, widths, heights = noise_native.strips()
    where, others = noise_native.addresses(), widths * np.float32(1.1)
    assert where is not None
    planted = (bounds.ctypes.data, others.ctypes.data, heights.ctypes.data, *where[3:])
    monkeypatch.setattr(noise_native, "addresses", lambda: planted)
    with using(kernels):
        ours, plain = exact_and_none()
        assert "GaussNoise#1" in ours.native.stops
        law_of_samples(ours, plain)
