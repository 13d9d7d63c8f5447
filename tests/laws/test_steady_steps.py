"""A step gives the same bits however many threads OpenCV has, and wherever in memory its picture and results lie."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import cv2
import numpy as np
import pytest
from every_class import EACH, SIZE, SLOW, mask_of, run

from augrecipes.compat.albumentations import pixel
from augrecipes.compat.instead import lit_from_corner
from augrecipes.ops import registry
from augrecipes.recipe.model import Arguments, Step

pytestmark = pytest.mark.filterwarnings("ignore")  # some classes warn on every call
LARGE = 132, 130  # OpenCV shares pictures of 128 × 128 px and more among threads
_WAYS = ((1, 0), (2, 4), (1, 12))  # OpenCV's threads, and bytes from the beginning of a line of memory
SMALL = SLOW | {"Morphological"}  # of larger pictures OpenCV 5 refuses to turn its boxes into masks


@contextmanager
def threads(count: int) -> Iterator[None]:
    """OpenCV has so many inside."""
    before = cv2.getNumThreads()
    cv2.setNumThreads(count)
    try:
        yield
    finally:
        cv2.setNumThreads(before)


def lying(array: np.ndarray, shift: int) -> np.ndarray:
    """A copy that begins so many bytes behind the beginning of a line of memory."""
    room = np.empty(array.nbytes + 128, np.uint8)
    start = -room.ctypes.data % 64 + shift
    found = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def check(step: Step, dtype: str, size: tuple[int, int] = LARGE) -> None:
    image = np.random.default_rng(3).integers(0, 256, (*size, 3), np.uint8)
    mask = cv2.resize(mask_of(1), size[::-1], interpolation=cv2.INTER_NEAREST)
    given = image if dtype == "uint8" else image.astype(np.float32) / 255
    made = []
    for count, shift in _WAYS:
        with threads(count):
            held = [np.empty(1000 * k + 1, np.uint8) for k in range(shift // 4)]  # results lie elsewhere, too
            made.append(run(step, 1, lying(given, shift), mask).image)
            del held
    for other in made[1:]:
        np.testing.assert_array_equal(other, made[0])


@EACH
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_every_class(step: Step, dtype: str) -> None:
    check(step, dtype, SIZE if step.name in SMALL else LARGE)


@pytest.mark.parametrize("channels", [None, 1, 2, 3, 5])
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_light_from_a_corner_has_the_bits_of_opencv(channels: int | None, dtype: str) -> None:
    with without_ipp():
        for k, size in enumerate([(1, 1), (1, 40), (50, 61), (61, 50), (132, 130), (4200, 9)]):
            image = np.random.default_rng(k).integers(0, 256, (*size, channels or 1)).astype(np.uint8)
            image = image if dtype == "uint8" else (image / np.float32(255))
            image = image if channels else image[..., 0]
            for corner in range(4):
                ours = lit_from_corner(image, 0.17 - 0.1 * corner, corner)
                # Of one channel albumentations makes no more than of none.
                plain = image[..., 0] if channels == 1 else image
                theirs = pixel.apply_corner_illumination(plain, 0.17 - 0.1 * corner, corner)
                np.testing.assert_array_equal(ours, theirs.reshape(image.shape))


@contextmanager
def without_ipp() -> Iterator[None]:
    ipp: Any = getattr(cv2, "ipp", None)
    before = ipp is not None and ipp.useIPP()
    if before:
        ipp.setUseIPP(False)
    try:
        yield
    finally:
        if before:
            ipp.setUseIPP(True)


@pytest.mark.skipif(not (hasattr(cv2, "ipp") and cv2.ipp.useIPP()), reason="OpenCV without IPP is steady")
def test_the_law_sees_what_is_not_steadied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("every_class.construct", registry.plain)
    with pytest.raises(AssertionError):
        check(Step("Illumination", Arguments({"mode": "corner"}), p=1.0, site="Illumination#1"), "float32")
