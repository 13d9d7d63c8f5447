"""Random parameters in words: what the studio and others say of a step."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

from augrecipes.recipe.words import in_words


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"brightness": 1.0834, "hue": -0.012, "shape": (3, 4)}, "brightness × 1.08, hue −0.012"),
        ({"crop_coords": (30, 12, 254, 236)}, "window 224×224 at (30, 12)"),
        ({"matrix": [*cv2.getRotationMatrix2D((0, 0), -17.3, 1.0).tolist(), [0, 0, 1]]}, "angle 17.3°"),
        ({"rotate": 24.889, "scale": {"x": 0.8, "y": 0.8}, "matrix": np.eye(3)}, "angle 24.9°, scale × 0.8"),
        ({"group_element": "r90"}, "rotated by 90°"),
        ({"holes": np.zeros((2, 4), int)}, "2 holes"),
        ({"noise_map": np.zeros((4, 5, 3), np.float32)}, "noise map spread 0"),
        ({"alpha": 1.2, "beta": -3.5}, "contrast × 1.2, brightness −3.5"),
        ({"quality": 71, "image_type": ".jpg"}, "quality 71"),
        ({"matrix": np.array([[1, 0, 0], [0, 1, 0], [0.001, 0, 1]])}, "corners moved"),
        ({"seed": 3, "interpolation": 1, "fill": 0}, ""),
    ],
)
def test_draws_in_words(params: dict[str, Any], words: str) -> None:
    assert in_words(params) == words
