"""Ways to grey that are taken plane by plane: what the twin law sees, and that it would see a fraction rounded."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
from test_twins import check

from augrecipes.compiler.kernels import grey, twins
from augrecipes.recipe.model import Arguments, Step

SPOILT: Any = {
    "average": lambda red, green, blue: np.rint(np.mean([red, green, blue], axis=0)).astype(np.uint8),
    "desaturation": lambda red, green, blue: cv2.addWeighted(grey._largest(red, green, blue), 0.5, red, 0.5, 0),
    "max": lambda red, green, blue: cv2.max(red, green),
}


@pytest.mark.parametrize("method", grey._WAYS)
@pytest.mark.parametrize("channels", [1, 2, 3])
def test_the_law_sees_another_grey(method: str, channels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    image = np.random.default_rng(0).integers(0, 256, (31, 40, 3), np.uint8)
    step = Step("ToGray", Arguments({"method": method, "num_output_channels": channels, "p": 1.0}))
    check(step, image, 0)
    monkeypatch.setitem(grey._WAYS, method, SPOILT[method])
    monkeypatch.setattr(twins, "same_bits", lambda *_: True)
    with pytest.raises(AssertionError):
        check(step, image, 0)
