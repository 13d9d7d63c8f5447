"""CLAHE by native kernels has the bits of OpenCV's, and so have the conversions to Lab and back, of every colour."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from guarded import guarded
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import KERNEL_SETS, Spoilt, spoil_last
from test_twins import SIZES, picture

from augrecipes.compat.albumentations import A
from augrecipes.compiler.kernels import clahe
from augrecipes.compiler.kernels.clahe import TWIN
from augrecipes.compiler.kernels.twins import _agrees
from augrecipes.native.kernels import Library, using

KERNELS = [level for level in KERNEL_SETS if level is not None and level.isa != "base"]
KINDS = st.sampled_from(["noise", "levels", "grey", "dark"])


def check(made: Any, image: np.ndarray, limit: float, step: Any) -> None:
    """Holds a twin to its class."""
    before = image.copy()
    done = made(image, clip_limit=limit)
    np.testing.assert_array_equal(image, before)
    np.testing.assert_array_equal(done, step.apply(image, clip_limit=limit))


@pytest.mark.parametrize("kernels", KERNELS, ids=lambda kernels: kernels.isa)
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
        image, step = picture(kind, size, channels, seed), A.CLAHE(tile_grid_size=tiles, p=1)
        if size != (4, 1):
            check(TWIN.make(step), image, limit, step)

    with using(kernels):
        law()


@pytest.mark.parametrize("kernels", KERNELS, ids=lambda kernels: kernels.isa)
def test_a_twin_leaves_what_is_not_its_own(kernels: Library) -> None:
    with using(kernels):
        works: Any = TWIN.make(A.CLAHE(p=1))
    image = np.zeros((20, 30, 3), np.uint8)
    for other in (image[:, ::2], image.astype(np.float32), image[..., :2], image[:0]):
        assert works(other, clip_limit=2.0) is None
    assert works(image, clip_limit=float("nan")) is None
    readonly = image.copy()
    readonly.flags.writeable = False
    check(works, readonly, 2.0, A.CLAHE(p=1))


def _every_colour(step: int) -> np.ndarray:
    some = np.arange(0, 1 << 24, step, dtype=np.uint32)
    some = some[: len(some) // 512 * 512].reshape(-1, 512)
    return np.stack([some >> 16, some >> 8 & 255, some & 255], axis=-1).astype(np.uint8)


@pytest.mark.parametrize("kernels", KERNELS, ids=lambda kernels: kernels.isa)
@pytest.mark.parametrize("step", [37, pytest.param(1, marks=pytest.mark.soak)])
def test_every_colour_goes_to_lab_and_back_as_in_opencv(kernels: Library, step: int) -> None:
    """A limit so high, and a picture so even, that L hardly changes; and one where it does."""
    image, one = _every_colour(step), A.CLAHE(tile_grid_size=(1, 1), p=1)
    with using(kernels):
        works = TWIN.make(one)
        for limit in (1.0, 40.0):
            check(works, image, limit, one)


@pytest.mark.parametrize("field", ["light", "there", "back", "roots", "steps", "levels"])
def test_the_probe_sees_a_number_that_is_one_off(field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on an OpenCV with another table. Each root decides little: most are seen."""
    size, seen = {"roots": 1700, "levels": 4000}.get(field, clahe._LAB[field].shape[1]), 0
    places = np.linspace(0, size - 1, 5).astype(int)
    with using(KERNELS[-1]):
        for place in places:
            changed = clahe._LAB.copy()
            changed[field][0, place] += 1
            monkeypatch.setattr(clahe, "_LAB", changed)
            seen += not all(_agrees(TWIN, *case) for case in TWIN.cases(A.CLAHE))
    assert seen >= (3 if field == "roots" else 5)


@pytest.mark.parametrize("kernels", KERNELS, ids=lambda kernels: kernels.isa)
@pytest.mark.parametrize("field", ["light", "there", "back", "roots", "steps", "levels"])
def test_the_law_sees_a_number_that_is_one_off(kernels: Library, field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = clahe._LAB.copy()
    values = changed[field][0]
    values[len(values) // 4 : len(values) // 4 + 8] += 1
    monkeypatch.setattr(clahe, "_LAB", changed)
    step = A.CLAHE(tile_grid_size=(1, 1), p=1)
    with using(kernels), pytest.raises(AssertionError):
        check(TWIN.make(step), _every_colour(37), 1.0, step)


@pytest.mark.parametrize("kernels", KERNELS, ids=lambda kernels: kernels.isa)
@pytest.mark.parametrize("channels", [1, 3])
def test_the_law_sees_a_spoilt_pixel(kernels: Library, channels: int) -> None:
    spoilt: Any = Spoilt(kernels, 10, spoil_last)
    step = A.CLAHE(p=1)
    with using(kernels):
        works: Any = TWIN.make(step)
    image = picture("noise", (30, 40), channels, 0)
    check(works, image, 2.0, step)
    cells = dict(zip(works.__code__.co_freevars, works.__closure__, strict=True))
    cells["kernel"].cell_contents = spoilt.kernel("clahe", "pllllldpplp")
    with pytest.raises(AssertionError):
        check(works, image, 2.0, step)


@pytest.mark.parametrize("kernels", KERNEL_SETS[1:], ids=lambda kernels: kernels.isa)
@pytest.mark.parametrize("at_end", [False, True])
def test_nothing_is_read_or_written_beside_the_arrays(kernels: Library, at_end: bool) -> None:
    kernel, lab = kernels.kernel("clahe", "pllllldpplp"), guarded(clahe._LAB.view(np.uint8), at_end)
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
    for shape in ((0, 5, 3, 8, 8), (5, 0, 3, 8, 8), (5, 5, 2, 8, 8), (5, 5, 3, 0, 8), (1 << 17, 1 << 17, 3, 8, 8)):
        assert kernel(None, *shape, 2.5, None, None, 1 << 40, None) < 0
