"""A kernel that errs alone is not used: the probes look at the work of each that is called."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_sets import KERNEL_SETS, Spoilt
from noise_in_numpy import lightness
from test_quick_apply import check, picture

from augrecipes.compat.normals import normals
from augrecipes.compiler.kernels import own_numbers, photons, quick_apply
from augrecipes.compiler.lowering import opencv_variants
from augrecipes.native.kernels import using
from augrecipes.recipe.model import Arguments, Step

NATIVE = [kernels for kernels in KERNEL_SETS if kernels is not None]
ON_EACH = pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)


class OneSpoilt(Spoilt):
    """Of all kernels one is spoilt: some number of what it makes is larger."""

    def __init__(self, kernels: Any, name: str, target: int, by: np.generic, place: int = 0) -> None:
        super().__init__(kernels, target, lambda at: _add(at + place * by.itemsize, by))
        self.name = name

    def kernel(self, name: str, arguments: str) -> Callable[..., int]:
        return super().kernel(name, arguments) if name == self.name else self.kernels.kernel(name, arguments)


def _add(address: int, by: Any) -> None:
    there = np.frombuffer((ctypes.c_uint8 * by.itemsize).from_address(address), by.dtype)
    there += by


STRONG = Step("FancyPCA", Arguments({"alpha": 2}))
LEVEL = np.uint8(1)
# A kernel; which of its arguments is the result, and by how much that errs; and a step whose `apply` it makes quicker.
CALLED = (
    ("sum_floats", 3, np.float32(3), STRONG),
    ("sum_doubles", 3, np.float64(30), STRONG),
    ("of_three", 8, LEVEL, STRONG),
    ("of_three", 8, LEVEL, Step("StainJitter")),
)


@ON_EACH
@pytest.mark.parametrize("called", CALLED, ids=lambda called: f"{called[0]} of {called[3].name}")
def test_a_quick_apply_that_calls_it_is_not_used_and_would_be_seen(
    kernels: Any, called: tuple[str, int, np.generic, Step], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, target, by, step = called

    def law() -> None:
        for seed in range(8):
            check(step, picture("noise", (20, 30), 3, seed), seed)

    with using(OneSpoilt(kernels, name, target, by)):  # type: ignore[arg-type]
        law()
        monkeypatch.setattr(quick_apply, "same_bits", lambda *_: True)
        with pytest.raises(AssertionError):
            law()
    with using(kernels):
        law()


@ON_EACH
def test_the_lightness_of_a_picture(kernels: Any) -> None:
    own_numbers.kernel.cache_clear()
    image = picture("noise", (20, 30), 3, 0)
    assert photons.sums(image, kernels) == lightness(image)
    assert photons.sums(image, OneSpoilt(kernels, "lightness", 2, np.int64(1))) != lightness(image)  # type: ignore[arg-type]
    own_numbers.kernel.cache_clear()


@ON_EACH
@pytest.mark.skipif(not normals(), reason="numpy is another here")
@pytest.mark.parametrize(
    ("name", "target", "by"),
    [
        ("numpy_normals", 4, np.float64(1e-9)),
        ("normal_strips", 1, np.uint64(2**46)),
        ("normal_strips", 2, np.float64(1)),
    ],
)
def test_numbers_that_are_not_those_of_numpy(kernels: Any, name: str, target: int, by: np.generic) -> None:
    assert opencv_variants.numpy_normals(kernels) is not None
    spoilt: Any = OneSpoilt(kernels, name, target, by, 17)
    assert opencv_variants.numpy_normals(spoilt) is None
