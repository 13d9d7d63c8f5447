"""Colour jitter: brightness and contrast by a table, saturation and hue in a native pass each, in the order drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import through_table
from augrecipes.compiler.kernels.colour_native import MOST, Colours, colours, takes, turn_of
from augrecipes.compiler.kernels.twins import Apply, Case, Twin

_LEVELS = np.arange(256, dtype=np.float32)
_HUE = 3


def _make(step: Any) -> Apply | None:
    del step
    native = colours()
    if native is None:
        return None
    one = _steps(native)

    def jitter(
        img: np.ndarray, brightness: float, contrast: float, saturation: float, hue: float, order: Any, **_: Any
    ) -> np.ndarray | None:
        if not takes(img) or turn_of(180 * hue) is None or saturation > MOST:
            return None
        done, amounts = img, (brightness, contrast, saturation, hue)
        for k in order:
            if amounts[k] != (0 if k == _HUE else 1):
                done = one[k](done, amounts[k])
        return done

    return jitter


def _steps(native: Colours) -> tuple[Callable[[np.ndarray, float], np.ndarray], ...]:
    """What is done to brightness, contrast, saturation and hue."""

    def brightness(img: np.ndarray, factor: float) -> np.ndarray:
        return _through(img, _LEVELS * np.float32(factor)) if factor else np.zeros_like(img)

    def contrast(img: np.ndarray, factor: float) -> np.ndarray:
        mean = native.mean_luma(img)
        return _through(img, _LEVELS * factor + mean * (1 - factor)) if factor else np.full_like(img, int(mean + 0.5))

    def hue(img: np.ndarray, shift: float) -> np.ndarray:
        return native.shifted(img, turn_of(180 * shift) or 0, 0, 0)

    return brightness, contrast, native.saturated, hue


def _through(img: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A picture through a table of values, whose fractions are dropped."""
    return through_table(img, np.clip(values, 0, 255).astype(np.uint8))


def _cases(cls: type) -> Iterator[Case]:
    step = cls()
    amounts = ((0.8, 1.3, 0.0, -0.11), (1.17, 0.0, 1.45, 0.5), (0.0, 1.0, 0.63, 0.02), (2.6, 0.4, 3.1, -0.4986))
    for place, order in enumerate(permutations(range(4))):
        names = ("brightness", "contrast", "saturation", "hue")
        yield step, {**dict(zip(names, amounts[place % 4], strict=True)), "order": list(order)}


TWIN = Twin(_make, _cases)
