"""A native warp gives the bits of the installed OpenCV, or leaves it the work: every border, size and place."""

from __future__ import annotations

from itertools import product
from typing import Any

import albumentations.augmentations.geometric.functional as geometric
import cv2
import numpy as np
import pytest
from guarded import guarded
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import KERNEL_SETS, Spoilt, spoil_first, spoil_last

from augrecipes.compiler.kernels import warp_native
from augrecipes.compiler.kernels.warp_native import NativeWarp
from augrecipes.native.kernels import Library
from augrecipes.ops.constants import NEAREST

KINDS: list[warp_native.Kind] = ["affine", "perspective", "maps"]
# Levels whose bits are those of the OpenCV that is installed; on an old processor, none.
NATIVE = [k for k in KERNEL_SETS if k is not None and NativeWarp(k).body("maps", cv2.INTER_LINEAR)]
SIDES = st.integers(1, 70)
FILLS = st.one_of(
    st.floats(-20, 300), st.integers(-20, 300), st.lists(st.floats(-20, 300), min_size=1, max_size=4).map(tuple)
)


def picture(height: int, width: int, channels: int, seed: int, lies: str = "whole") -> np.ndarray:
    random = np.random.default_rng(seed)
    image: Any = random.integers(0, 256, (height, width, channels), np.uint8)
    image[random.random(image.shape) < 0.5] = 255
    if lies == "rows apart":
        wide = np.pad(image, ((1, 1), (2, 3), (0, 0)))
        return wide[1:-1, 2:-3]
    return image


def forward_matrix(seed: int, height: int, width: int, tilt: float) -> np.ndarray:
    random = np.random.default_rng(seed)
    angle, scale = random.uniform(-4, 4), 4.0 ** random.uniform(-1, 1)
    c, s = scale * np.cos(angle), scale * np.sin(angle)
    shift = random.uniform(-0.5, 0.5, 2) * (width, height)
    rows = [[c, s, shift[0] + width / 2 * (1 - c)], [-s, c * random.uniform(0.5, 2), shift[1] + height / 3]]
    return np.array([*rows, [*(random.uniform(-tilt, tilt, 2)), 1.0]])


def maps_of(seed: int, source: tuple[int, int], size: tuple[int, int], wild: float) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    (h, w), reach = source, wild * max(source)
    return (
        random.uniform(-reach, w + reach, size).astype(np.float32),
        random.uniform(-reach, h + reach, size).astype(np.float32),
    )


def check(
    native: NativeWarp,
    image: np.ndarray,
    size: tuple[int, int],
    kind: str,
    border: int,
    fill: Any,
    seed: int,
    sampling: int = cv2.INTER_LINEAR,
) -> bool:
    """Holds what is sampled to albumentations' own functions; says whether the kernel did the work."""
    before, worked = image.copy(), []
    sampled = native.sampled

    def counted(*given: Any, **named: Any) -> Any:
        worked.append(sampled(*given, **named))
        return worked[-1]

    native.sampled = counted  # type: ignore[method-assign]
    height, width = image.shape[:2]
    matrix = forward_matrix(seed, height, width, 0.0 if kind == "affine" else 2e-3)
    if kind == "maps":
        given: Any = (image, *maps_of(seed, (height, width), size, seed % 4), sampling, border, fill)
        found, expected = native.remap(*given), geometric.remap(*given)
    else:
        if kind == "affine":
            value = [fill] * image.shape[2] if isinstance(fill, float) else fill
            expected = geometric.warp_affine(image, matrix, sampling, fill, border, size)
            back = warp_native._inverse(matrix.ravel().tolist())
        else:
            value = fill
            expected = geometric.perspective(image, matrix, size[1], size[0], fill, border, False, sampling)
            back = cv2.invert(matrix)[1].ravel().tolist()
        made = native.sampled(kind, image, sampling, border, value, size, back)  # type: ignore[arg-type]
        found = expected if made is None else made
    del native.sampled  # type: ignore[attr-defined]
    np.testing.assert_array_equal(found, expected)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(image, before)
    return any(one is not None for one in worked)


@pytest.mark.skipif(not NATIVE, reason="no native kernel gives this OpenCV's bits")
@given(
    st.sampled_from(NATIVE or [None]), SIDES, SIDES, SIDES, SIDES, st.sampled_from([1, 2, 3, 4, 5]),
    st.sampled_from(KINDS), st.integers(0, 4), FILLS, st.integers(0, 2**32), st.sampled_from(["whole", "rows apart"]),
    st.sampled_from([cv2.INTER_NEAREST, cv2.INTER_LINEAR]), st.sampled_from(["uint8", "uint16", "int16", "float32"]),
)  # fmt: skip
def test_the_bits_are_those_of_opencv(
    kernels: Library, h: int, w: int, height: int, width: int, channels: int, kind: str, border: int, fill: Any,
    seed: int, lies: str, sampling: int, dtype: str,
) -> None:  # fmt: skip
    image = picture(h, w, channels, seed, lies)
    if dtype != "uint8":
        image = image.astype(dtype)
    check(NativeWarp(kernels), image, (height, width), kind, border, fill, seed, sampling)


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
@pytest.mark.parametrize("kind", KINDS)
def test_the_kernel_does_the_work(kernels: Library, kind: str) -> None:
    for channels in (1, 3, 4):
        for sampling in (cv2.INTER_NEAREST, cv2.INTER_LINEAR):
            assert check(NativeWarp(kernels), picture(70, 60, channels, 1), (50, 41), kind, 4, 0, 1, sampling)
    for dtype in ("uint16", "float32"):
        labels = picture(70, 60, 1, 1).astype(dtype)
        assert check(NativeWarp(kernels), labels, (50, 41), kind, 0, 7.0, 1, cv2.INTER_NEAREST)


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
def test_large_and_long_pictures(kernels: Library) -> None:
    native = NativeWarp(kernels)
    for shape, size in (((3, 16384, 3), (4, 16400)), ((16384, 2, 1), (16390, 3)), ((700, 900, 3), (640, 1000))):
        for kind in KINDS:
            for sampling in (cv2.INTER_NEAREST, cv2.INTER_LINEAR):
                check(native, picture(*shape, 5), size, kind, 4, 7, 5, sampling)


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e30])
def test_places_that_are_no_numbers_are_left_to_opencv(kernels: Library, bad: float) -> None:
    native, image = NativeWarp(kernels), picture(20, 30, 3, 0)
    for place in range(9):
        matrix = np.eye(3).ravel() * 1.5
        matrix[place] = bad
        assert native.sampled("perspective", image, 1, 4, 0, (20, 20), matrix.tolist()) is None
    for place in range(6):
        matrix = np.eye(3).ravel() * 1.5
        matrix[place] = bad
        assert native.sampled("affine", image, 1, 4, 0, (20, 20), matrix.tolist()) is None
    for which in (0, 1):
        maps = maps_of(0, (20, 30), (9, 9), 0)
        maps[which][3, 5] = bad
        assert native.sampled("maps", image, 1, 4, 0, (9, 9), maps=maps) is None


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
@pytest.mark.parametrize("at_end", [False, True])
def test_nothing_is_read_beside_the_picture_or_its_maps(kernels: Library, at_end: bool) -> None:
    native = NativeWarp(kernels)
    for h, w in [(1, 1), (1, 2), (2, 1), (1, 7), (3, 3), (5, 64), (33, 17), (70, 70)]:
        for channels, sampling, border in product((1, 3, 4), (0, 1), range(5)):
            image = guarded(picture(h, w, channels, h), at_end)
            for kind in KINDS:
                size = (h + 3, w + 5)
                back = np.linalg.inv(forward_matrix(h + w, h, w, 1e-4 if kind == "perspective" else 0))
                maps = [guarded(m, at_end) for m in maps_of(border, (h, w), size, 1)] if kind == "maps" else ()
                native.sampled(kind, image, sampling, border, 9, size, back.ravel().tolist(), maps)  # type: ignore[arg-type]


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
@pytest.mark.parametrize("kind", KINDS)
def test_the_law_sees_a_kernel_that_is_one_bit_off(kernels: Library, kind: warp_native.Kind) -> None:
    for spoil in (spoil_first, spoil_last):
        spoilt = NativeWarp(Spoilt(kernels, 17, spoil))  # type: ignore[arg-type]
        spoilt._bodies[kind, True] = NativeWarp(kernels).body(kind, cv2.INTER_LINEAR)
        with pytest.raises(AssertionError):
            check(spoilt, picture(40, 40, 3, 2), (40, 40), kind, 4, 0, 2)


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
def test_the_probe_sees_a_kernel_that_is_one_bit_off(kernels: Library) -> None:
    for kind, linear in product(KINDS, (False, True)):
        assert warp_native.agrees(kind, linear, 16, NativeWarp(kernels))
        assert not warp_native.agrees(kind, linear, 16, NativeWarp(Spoilt(kernels, 17, spoil_last)))  # type: ignore[arg-type]
    for kind in KINDS[:2]:  # places of a row's last pixels are found in another order
        assert not warp_native.agrees(kind, True, 1, NativeWarp(kernels))


def test_no_kernel_no_work() -> None:
    for kernels in KERNEL_SETS[1:]:
        if kernels not in NATIVE:
            assert kernels is not None
            check(NativeWarp(kernels), picture(40, 40, 3, 2), (40, 40), "affine", 4, 0, 2)


def test_labels_on_an_axis_of_one_are_the_kernels_too() -> None:
    """numpy gives that axis a step of no bytes."""
    labels = np.random.default_rng(0).integers(0, 9, (40, 50), np.uint8)
    turn = (0.9, 0.2, 1.0, -0.2, 0.9, 3.0, 0.0, 0.0, 1.0)
    for kernels in NATIVE:
        made = [
            NativeWarp(kernels).sampled("affine", one, NEAREST, cv2.BORDER_CONSTANT, [3], (30, 20), turn, body=1)
            for one in (labels, labels[..., None])
        ]
        assert made[1] is not None
        assert np.array_equal(made[0], made[1][..., 0])
