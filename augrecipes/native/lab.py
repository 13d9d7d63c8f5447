"""Tables for the conversion of RGB to Lab and back in integers, as OpenCV 4 and 5 do for uint8; used by native/lab.h.

sRGB levels (IEC 61966-2-1) are linearised, converted to X, Y and Z (D65), and these, by cube roots, to L, a and b (CIE
1976).
"""

import numpy as np

from augrecipes.native.layout import LAB

_TO_XYZ = np.array([[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]])
_FROM_XYZ = np.array(
    [[3.240479, -1.53715, -0.498535], [-0.969256, 1.875991, 0.041556], [0.055648, -0.204043, 1.057311]]
)
_WHITE = np.array([0.950456, 1.0, 1.088754])
_WEIGHT, _LIGHT, _ROOT, _BACK = 1 << 12, 255 << 3, 1 << 15, 1 << 14  # fixed-point units
_ROOTS, _LEVELS = 3072, 4096


def tables() -> np.ndarray:
    """The tables of native/lab.h, as a record with its layout."""
    record = np.zeros(1, np.dtype([(name, letters[0], len(letters)) for name, letters in LAB.formats.items()]))
    level, light = np.arange(256) / 255, np.arange(_LEVELS) / _LEVELS
    record["light"] = np.rint(_LIGHT * np.where(level <= 0.04045, level / 12.92, ((level + 0.055) / 1.055) ** 2.4))
    record["there"] = np.rint(_WEIGHT * _TO_XYZ / _WHITE[:, None]).reshape(-1)
    record["back"] = np.rint(_WEIGHT * _FROM_XYZ * _WHITE).reshape(-1)
    record["roots"] = _roots(np.arange(_ROOTS) / _LIGHT)
    record["ys"], record["root_ys"] = _ys(np.arange(256))
    encoded = np.where(light <= 0.0031308, light * 12.92, light ** (1 / 2.4) * 1.055 - 0.055)
    record["levels"] = np.rint(255 * encoded)
    return record


def _roots(x: np.ndarray) -> np.ndarray:
    """Cube roots, linear near black; in float32 as in OpenCV, since two values are nearly halves."""
    roots = np.where(x < 216 / 24389, x * 841 / 108 + 16 / 116, np.cbrt(x))
    return np.rint(roots.astype(np.float32) * np.float32(_ROOT))


def _ys(level: np.ndarray) -> np.ndarray:
    """Y of each L, and its cube root, 2×256."""
    root = level * 100 * _BACK / (255 * 116) + 16 * _BACK / 116
    near_black = level <= 20
    y = np.where(near_black, level * _BACK * 180 / (17 * 29**3), root**3 / _BACK**2)
    line = _BACK * (16 / 116 + level * 5 / (3 * 17 * 29))
    return np.rint(np.stack([y, np.where(near_black, line, root)]))


TABLES = tables()
