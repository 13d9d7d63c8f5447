"""Hue, saturation and value shifted: in one native pass or, without one, by tables between OpenCV's conversions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cv2
import numpy as np

from augrecipes.compiler.kernels.colour_native import colours, takes, turn_of
from augrecipes.compiler.kernels.twins import Apply, Case, Twin

_LEVELS = np.arange(256, dtype=np.int16)


def _make(step: Any) -> Apply:
    del step

    def shift(img: np.ndarray, hue_shift: float, sat_shift: float, val_shift: float, **_: Any) -> np.ndarray | None:
        if not takes(img):
            return None
        return img if hue_shift == sat_shift == val_shift == 0 else shifted(img, hue_shift, sat_shift, val_shift)

    return shift


def shifted(
    img: np.ndarray, hue_shift: float, sat_shift: float, val_shift: float, out: np.ndarray | None = None
) -> np.ndarray:
    """A uint8 RGB picture with hue, saturation and value shifted, in new memory or in `out`, which may be its own.

    >>> shifted(np.array([[[200, 100, 100]]], np.uint8), 60, 0, 0).tolist()
    [[[100, 200, 100]]]
    """
    turn, native = turn_of(hue_shift), colours()
    if native is not None and turn is not None and takes(img):
        return native.shifted(img, turn, limited(sat_shift), limited(val_shift), out)
    hsv = cv2.cvtColor(img, cv2.COLOR_RGB2HSV)
    cv2.LUT(hsv, _tables(hue_shift, sat_shift, val_shift)[None], dst=hsv)
    return cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB, dst=hsv if out is None else out)


def limited(shift: float) -> int:
    """As it is added to a level: without its fraction."""
    return max(-255, min(int(shift), 255))


def _tables(hue_shift: float, sat_shift: float, val_shift: float) -> np.ndarray:
    """256×3: what becomes of hue, 0..179, saturation and value."""
    made = np.empty((256, 3), np.uint8)
    made[:, 0] = np.mod(_LEVELS + hue_shift, 180) if hue_shift else _LEVELS
    made[:, 1] = np.clip(_LEVELS + limited(sat_shift), 0, 255)
    made[0, 1] = 0  # what is grey stays grey
    made[:, 2] = np.clip(_LEVELS + limited(val_shift), 0, 255)
    return made


def _cases(cls: type) -> Iterator[Case]:
    step = cls()
    for hue in (-20.0, -0.5, 0, 13.7, 179.6, -400.2):
        for saturation, value in ((-30.4, 0.9), (30.9, -20.2), (0, 20.0), (300.0, -300.0), (-0.5, 0)):
            yield step, {"hue_shift": hue, "sat_shift": saturation, "val_shift": value}


TWIN = Twin(_make, _cases)
