"""CLAHE by native kernels has the bits of OpenCV's, and so have the conversions to Lab and back, of every colour."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from guarded import guarded
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import KERNEL_SETS, Spoilt, spoil_last
from test_native_plan import recipe_of
from test_quick_apply import SIZES, picture

from augrecipes.compat.albumentations import A
from augrecipes.compiler.kernels import probes
from augrecipes.compiler.lowering import colours
from augrecipes.native.kernels import Library

KERNELS = [level for level in KERNEL_SETS if level is not None]
ON_EACH = pytest.mark.parametrize("kernels", KERNELS, ids=lambda kernels: kernels.isa)
KINDS = st.sampled_from(["noise", "levels", "grey", "dark"])
FIELDS = ["light", "there", "back", "roots", "steps", "levels"]
_ARGUMENTS = "pllllldpplp"


def check(kernels: Any, image: np.ndarray, limit: float, tiles: tuple[int, int] = (8, 8), lab: Any = None) -> None:
    """Holds the kernel to the class."""
    (across, down), before = tiles, image.copy()
    room, out = (
        np.empty(3072 * across + 256 * across * down + 8 * image.shape[1] + 1280, np.uint8),
        np.empty_like(image),
    )
    tables = (colours._LAB if lab is None else lab).ctypes.data
    given_numbers = image.ctypes.data, *image.shape, down, across, limit, tables, room.ctypes.data, room.size
    assert kernels.kernel("clahe", _ARGUMENTS)(*given_numbers, out.ctypes.data) == 0
    np.testing.assert_array_equal(image, before)
    np.testing.assert_array_equal(out, A.CLAHE(tile_grid_size=tiles, p=1).apply(image, clip_limit=limit))


@ON_EACH
def test_levels_are_those_of_opencv(kernels: Library) -> None:
    @given(
        kind=KINDS,
        size=SIZES,
        channels=st.sampled_from([1, 3, 3]),
        tiles=st.tuples(st.integers(1, 12), st.integers(1, 12)),
        limit=st.floats(1, 300),
        seed=st.integers(0, 99),
    )
    def law(kind: str, size: Any, channels: int, tiles: Any, limit: float, seed: int) -> None:
        if size != (4, 1):
            check(kernels, picture(kind, size, channels, seed), limit, tiles)

    law()


def _every_colour(step: int) -> np.ndarray:
    some = np.arange(0, 1 << 24, step, dtype=np.uint32)
    some = some[: len(some) // 512 * 512].reshape(-1, 512)
    return np.stack([some >> 16, some >> 8 & 255, some & 255], axis=-1).astype(np.uint8)


@ON_EACH
@pytest.mark.parametrize("step", [37, pytest.param(1, marks=pytest.mark.soak)])
def test_every_colour_goes_to_lab_and_back_as_in_opencv(kernels: Library, step: int) -> None:
    """A limit so high, and a picture so even, that L hardly changes; and one where it does."""
    for limit in (1.0, 40.0):
        check(kernels, _every_colour(step), limit, (1, 1))


@pytest.mark.parametrize("field", FIELDS)
def test_the_probe_sees_a_number_that_is_one_off(field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on an OpenCV with another table: the step is left to albumentations. Of roots, each decides little."""
    size, seen = {"roots": 1700, "levels": 4000}.get(field, colours._LAB[field].shape[1]), 0
    for place in np.linspace(0, size - 1, 5).astype(int):
        changed = colours._LAB.copy()
        changed[field][0, place] += 1
        monkeypatch.setattr(colours, "_LAB", changed)
        monkeypatch.setattr(probes, "_KNOWN", {})
        plan: Any = recipe_of(("CLAHE", {"p": 1.0})).compile(optimize="exact").native
        seen += len(plan.opaque)
    assert seen >= (3 if field == "roots" else 5)


@ON_EACH
@pytest.mark.parametrize("field", FIELDS)
def test_the_law_sees_a_number_that_is_one_off(kernels: Library, field: str) -> None:
    changed = colours._LAB.copy()
    values = changed[field][0]
    values[len(values) // 4 : len(values) // 4 + 8] += 1
    with pytest.raises(AssertionError):
        check(kernels, _every_colour(37), 1.0, (1, 1), changed)


@ON_EACH
@pytest.mark.parametrize("channels", [1, 3])
def test_the_law_sees_a_spoilt_pixel(kernels: Library, channels: int) -> None:
    image = picture("noise", (30, 40), channels, 0)
    check(kernels, image, 2.0)
    with pytest.raises(AssertionError):
        check(Spoilt(kernels, 10, spoil_last), image, 2.0)


@ON_EACH
@pytest.mark.parametrize("at_end", [False, True])
def test_nothing_is_read_or_written_beside_the_arrays(kernels: Library, at_end: bool) -> None:
    kernel, lab = kernels.kernel("clahe", _ARGUMENTS), guarded(colours._LAB.view(np.uint8), at_end)
    for rows, columns in ((1, 1), (3, 15), (2, 17), (9, 70), (2, 255), (2, 256), (3, 257)):
        for channels in (1, 3):
            for down, across in ((8, 8), (1, 1), (5, 3)):
                image = picture("noise", (rows, columns), channels, 1)
                size = 3072 * across + 256 * across * down + 8 * columns + 1280
                arrays = [guarded(array, at_end) for array in (image, np.zeros(size, np.uint8), np.zeros_like(image))]
                source, room, out = (array.ctypes.data for array in arrays)
                shape = rows, columns, channels, down, across
                assert kernel(source, *shape, 2.5, lab.ctypes.data, room, size, out) == 0
                expected = A.CLAHE(tile_grid_size=(across, down), p=1).apply(image, clip_limit=2.5)
                np.testing.assert_array_equal(arrays[2], expected)
                assert kernel(source, *shape, 2.5, lab.ctypes.data, room, size - 1, out) < 0
    assert kernel(source, *shape, float("nan"), lab.ctypes.data, room, size, out) < 0
    for sides in ((0, 5, 3, 8, 8), (5, 0, 3, 8, 8), (5, 5, 2, 8, 8), (5, 5, 3, 0, 8), (1 << 17, 1 << 17, 3, 8, 8)):
        assert kernel(None, *sides, 2.5, None, None, 1 << 40, None) < 0
