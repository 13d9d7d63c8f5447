"""What a step drew, in words: an angle of 17.3°, brightness × 1.08, a window of 224×224 at (30, 12).

Steps keep what they drew by name; the names say what the numbers are, whatever the class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

_MOST = 5  # facts of one step
# Settings, and what follows from what else is said.
_UNSAID = frozenset(
    {
        "shape", "interpolation", "mask_interpolation", "fill", "fill_mask", "bbox_matrix", "matrix_bbox", "order",
        "seed", "random_seed", "x_min", "x_max", "y_min", "y_max", "max_height", "max_width", "image_type",
        "output_shape", "border_mode", "mask", "mode", "cols", "rows", "mask_drop_mask", "mask_drop_values",
        "drop_values", "map_y", "radiuses", "rotate_method",
    }
)  # fmt: skip
_TIMES = ("brightness", "contrast", "saturation", "alpha", "scale", "multiplier", "factors", "scale_factors")
_DEGREES = ("angle", "rotate", "slant")
_LEVELS = ("beta", "sat_shift", "val_shift")
_CALLED = {
    "alpha": "contrast", "beta": "brightness", "hue_shift": "hue", "sat_shift": "saturation", "val_shift": "value",
    "rotate": "angle", "num_bits": "bits", "ksize": "kernel",
}  # fmt: skip
_ELEMENTS = {
    "e": "as it is", "r90": "turned by 90°", "r180": "turned by 180°", "r270": "turned by 270°", "v": "upside down",
    "h": "mirrored", "t": "transposed", "hvt": "transposed the other way",
}  # fmt: skip


def in_words(params: Mapping[str, Any]) -> str:
    """What was drawn; empty where that is nothing that could be said.

    >>> in_words({"brightness": 1.0834, "hue": -0.012, "shape": (3, 4)})
    'brightness × 1.08, hue −0.012'
    >>> in_words({"crop_coords": (30, 12, 254, 236)})
    'window 224×224 at (30, 12)'
    """
    facts: list[str] = []
    angled = "rotate" in params or "angle" in params
    for name, value in params.items():
        if name not in _UNSAID and value is not None:
            facts += _matrix(value, angled=angled) if name == "matrix" else _fact(name, value)
    return ", ".join(fact for fact in facts if fact)[:300] if len(facts) <= _MOST else ", ".join(facts[:_MOST]) + ", …"


def _fact(name: str, value: Any) -> list[str]:
    special = _SPECIAL.get(name)
    if special is not None:
        return [special(value)]
    called = _CALLED.get(name, name.replace("_", " "))
    if isinstance(value, Mapping):
        parts = {key: float(part) for key, part in value.items() if _is_number(part)}
        if name == "scale" and parts:
            return (
                []
                if all(abs(part - 1) < 5e-4 for part in parts.values())
                else ["scale " + " and ".join(f"× {_number(part)}" for part in dict.fromkeys(parts.values()))]
            )
        return [f"{called} {', '.join(f'{key} {_number(part)}' for key, part in parts.items())}"] if parts else []
    if isinstance(value, str):
        return [f"{called} {value}"]
    array = np.asarray(value) if not isinstance(value, np.ndarray) else value
    if array.dtype.kind not in "biuf":
        return [f"{called}: {len(value)}"] if hasattr(value, "__len__") else []
    if array.ndim == 0:
        return [_scalar(name, called, float(array), whole=array.dtype.kind in "iub")]
    if array.size and array.size <= 4 and array.ndim == 1:
        times = "× " if name in _TIMES else ""
        return [f"{called} {times}{', '.join(_number(float(one)) for one in array)}"]
    return _of_many(name, called, array)


def _scalar(name: str, called: str, value: float, *, whole: bool) -> str:
    if name in _DEGREES:
        return f"{called} {_number(value)}°" if value else ""
    if name in _TIMES:
        return f"{called} × {_number(value)}"
    if name in _LEVELS or "shift" in name or name == "hue":
        return f"{called} {_signed(value)}"
    return f"{called} {int(value)}" if whole else f"{called} {_number(value)}"


def _of_many(name: str, called: str, array: np.ndarray[Any, Any]) -> list[str]:
    """Of fields, masks and kernels how strong they are, or how many."""
    if array.size == 0:
        return [f"no {called}"]
    if array.dtype.kind == "b":
        return [f"{called} {100 * float(array.mean()):.3g} % of it"]
    if "kernel" in name or "matrix" in name:
        return [f"{called} {'×'.join(map(str, array.shape))}"]
    if name in ("map_x", "dxy"):
        return ["a field of shifts"]
    if array.ndim <= 2 and array.dtype.kind in "iu":
        return [f"{called}: {len(array)}"]
    return [f"{called} spread {_number(float(np.std(array)))}"]


def _matrix(value: Any, *, angled: bool) -> list[str]:
    """Angle, scale and shear of a matrix; that it bends where it is none of an affine map."""
    m = np.asarray(value, float)
    if m.shape != (3, 3) or not np.isfinite(m).all():
        return []
    if abs(m[2, :2]).max() > 1e-9:
        return ["corners moved"]
    facts = []
    angle = math.degrees(math.atan2(m[1, 0], m[0, 0]))
    if not angled and abs(angle) > 5e-3:
        facts.append(f"angle {_number(angle)}°")
    size = math.sqrt(abs(np.linalg.det(m[:2, :2])))
    if not angled and abs(size - 1) > 5e-4:
        facts.append(f"scale × {_number(size)}")
    shear = math.degrees(math.atan2(float(m[:2, 0] @ m[:2, 1]), size * size)) if size else 0.0
    if abs(shear) > 0.05:
        facts.append(f"shear {_number(shear)}°")
    return facts


def _window(value: Any) -> str:
    x0, y0, x1, y1 = (int(one) for one in value)
    return f"window {x1 - x0}×{y1 - y0} at ({x0}, {y0})"


def _channels(value: Any) -> str:
    return f"channels {', '.join(str(int(one)) for one in np.atleast_1d(value))}"


def _holes(value: Any) -> str:
    return f"{len(value)} hole{'' if len(value) == 1 else 's'}"


def _turns(value: Any) -> str:
    return f"turned by {90 * int(value)}°" if int(value) else "as it is"


_SPECIAL: dict[str, Callable[[Any], str]] = {
    "crop_coords": _window,
    "holes": _holes,
    "channels_to_drop": lambda value: f"without {_channels(value)}",
    "channels_shuffled": lambda value: f"order of {_channels(value)}",
    "group_element": lambda value: _ELEMENTS.get(str(value), str(value)),
    "factor": _turns,
    "pad_top": lambda value: f"{value} px above" if value else "",
    "pad_bottom": lambda value: f"{value} px below" if value else "",
    "pad_left": lambda value: f"{value} px left" if value else "",
    "pad_right": lambda value: f"{value} px right" if value else "",
    "temperature": lambda value: f"{value} K",
    "shape": str,
}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _number(value: float) -> str:
    return f"{value:.3g}".replace("-", "−") if abs(value) < 100 else f"{value:.0f}".replace("-", "−")


def _signed(value: float) -> str:
    return f"+{_number(value)}" if value > 0 else _number(value)
