"""Where `fast` turns the hue of a whole uint8 picture by the native kernel, the levels are albumentations' own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import KERNEL_SETS
from test_twins import PICTURES

from augrecipes.compat.albumentations import pixel
from augrecipes.compiler.kernels import pending_colours
from augrecipes.compiler.kernels.colour_native import Colours, colours, takes
from augrecipes.compiler.kernels.pending_colours import turn_hue
from augrecipes.compiler.kernels.scratch import Scratch
from augrecipes.native.kernels import using

TURNED = PICTURES.filter(lambda image: image.shape[2] == 3 and takes(image))


def check(image: np.ndarray, shift: float) -> None:
    before, expected = image.copy(), pixel.adjust_hue_torchvision(image, shift)
    np.testing.assert_array_equal(turn_hue(image, shift, np.empty_like(image), Scratch()), expected)
    np.testing.assert_array_equal(image, before)
    np.testing.assert_array_equal(turn_hue(before, shift, before, Scratch()), expected)  # in place


@pytest.mark.parametrize("kernels", KERNEL_SETS, ids=lambda kernels: kernels.isa if kernels else "python")
def test_a_turned_hue_is_that_of_the_step(kernels: Any) -> None:
    @given(image=TURNED, shift=st.floats(-0.5, 0.5).filter(lambda shift: abs(180 * shift % 1 - 0.5) < 0.499))
    def law(image: np.ndarray, shift: float) -> None:
        check(image, shift)

    with using(kernels):
        if colours() is not None:
            law()


def test_the_law_sees_a_step_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    image = np.random.default_rng(0).integers(0, 256, (9, 20, 3), np.uint8)
    turned = Colours.shifted
    monkeypatch.setattr(Colours, "shifted", lambda self, img, hue, *rest: turned(self, img, (hue + 1) % 180, *rest))
    with using(KERNEL_SETS[-1]):
        assert pending_colours.colours() is not None
        with pytest.raises(AssertionError):
            check(image, 0.1)
