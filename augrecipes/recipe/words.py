"""A step in words: its arguments, its label, and the random parameters of a sample."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

from augrecipes.errors import harmless
from augrecipes.ops.registry import effective
from augrecipes.ops.schedule import is_schedule
from augrecipes.recipe.model import Step

_MOST = 5  # facts of one step
# Settings, and what follows from other parameters.
_LEFT_OUT = {
    "shape", "interpolation", "mask_interpolation", "fill", "fill_mask", "bbox_matrix", "matrix_bbox", "order",
    "seed", "random_seed", "x_min", "x_max", "y_min", "y_max", "max_height", "max_width", "image_type", "rows",
    "output_shape", "border_mode", "mask", "mode", "cols", "mask_drop_mask", "mask_drop_values", "drop_values",
    "map_y", "radiuses", "rotate_method",
}  # fmt: skip
_TIMES = ("brightness", "contrast", "saturation", "alpha", "scale", "multiplier", "factors", "scale_factors")
_SIGNED = ("beta", "sat_shift", "val_shift", "hue_shift", "hue")
_CALLED = {
    "alpha": "contrast", "beta": "brightness", "hue_shift": "hue", "sat_shift": "saturation", "val_shift": "value",
    "rotate": "angle", "num_bits": "bits", "ksize": "kernel",
}  # fmt: skip
_SYMMETRIES = {
    "e": "unchanged", "r90": "rotated by 90°", "r180": "rotated by 180°", "r270": "rotated by 270°",
    "v": "flipped vertically", "h": "flipped horizontally", "t": "transposed", "hvt": "transposed the other way",
}  # fmt: skip


def text(value: Any, levels: int = 20) -> str:
    """Returns a value as recipes write it, without braces; so many levels of it, as what was forged has any number.

    >>> text({"size": (224, 224), "pad": None})
    'size: [224, 224], pad: null'
    """
    if not levels:
        return "…"
    if is_schedule(value):
        return in_epochs(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {text(part, levels - 1)}" for key, part in value.items())
    if isinstance(value, list | tuple):
        return f"[{', '.join(text(part, levels - 1) for part in value)}]"
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    return harmless(str(value))


def in_epochs(schedule: Mapping[str, Any]) -> str:
    """Returns a schedule in words.

    >>> in_epochs({"from": 0, "to": 30, "epochs": 10}), in_epochs({"by_epoch": [3, 5]})
    ('0 to 30 in 10 epochs', '3, 5 by epoch')
    """
    if "by_epoch" in schedule:
        return f"{', '.join(map(str, schedule['by_epoch']))} by epoch"
    curve = f", {schedule['curve']}" if schedule.get("curve", "linear") != "linear" else ""
    return f"{schedule['from']} to {schedule['to']} in {schedule['epochs']} epochs{curve}"


def brief(description: Mapping[str, Any]) -> str:
    """Returns a step, as `compiler.prefix.described`, in one line: what differs from its class's defaults.

    >>> brief({"step": "CenterCrop", "height": 8, "width": 8, "p": 1.0})
    'CenterCrop(height: 8, width: 8)'
    """
    name = description["step"]
    defaults = json.loads(json.dumps(effective(Step(name)), default=str))
    given = [
        text({key: value})
        for key, value in description.items()
        if key not in ("step", "steps", "site") and value != defaults.get(key)
    ]
    given += [brief(child) for child in description.get("steps", ())]
    return f"{name}({', '.join(given)})" if given else str(name)


def short_label(label: str, longest: int) -> str:
    """Returns a stage's label in at most so many characters: of a joined step its first part and a count.

    >>> short_label("JoinedWarps(Rotate#1 + RandomCrop#1 + HorizontalFlip#1)", 28)
    'JoinedWarps(Rotate#1 + 2)'
    """
    kernel, _, parts = label.rstrip(")").partition("(")
    if len(label) > longest and parts:
        first, *others = parts.split(" + ")
        label = f"{kernel}({first}{f' + {len(others)}' if others else ''})"
    return label if len(label) <= longest else f"{label[: longest - 1]}…"


def in_words(params: Mapping[str, Any]) -> str:
    """Returns random parameters in words: an angle of 17.3°, brightness × 1.08, a window of 224×224 at (30, 12).

    Steps keep them by name; the names say what the numbers are, whatever the class. Empty where none can be said.

    >>> in_words({"brightness": 1.0834, "hue": -0.012, "shape": (3, 4)})
    'brightness × 1.08, hue −0.012'
    >>> in_words({"crop_coords": (30, 12, 254, 236)})
    'window 224×224 at (30, 12)'
    """
    known = {name: value for name, value in params.items() if name not in _LEFT_OUT and value is not None}
    if "rotate" in known or "angle" in known:
        known.pop("matrix", None)  # which follows from it
    facts = [fact for name, value in known.items() if (fact := _fact(name, value))]
    return ", ".join(facts)[:300] if len(facts) <= _MOST else ", ".join(facts[:_MOST]) + ", …"


def _fact(name: str, value: Any) -> str:
    if (special := _SPECIAL.get(name)) is not None:
        return special(value)
    called, times = _CALLED.get(name, name.replace("_", " ")), "× " if name in _TIMES else ""
    if isinstance(value, Mapping):
        parts = {key: _number(part) for key, part in value.items() if isinstance(part, Real)}
        if name == "scale":
            sizes = " and ".join(f"× {part}" for part in dict.fromkeys(parts.values()))
            return f"scale {sizes}" if sizes != "× 1" else ""
        return f"{called} {', '.join(f'{key} {part}' for key, part in parts.items())}" if parts else ""
    import numpy as np  # late: whoever only reads arguments does not wait for it

    array = np.asarray(value)
    if isinstance(value, str) or array.dtype.kind not in "biuf":
        return f"{called} {value}" if isinstance(value, str) else f"{called}: {len(value)}" if array.ndim else ""
    if array.ndim == 0:
        number = float(array)
        if name in ("angle", "rotate", "slant"):
            return f"{called} {_number(number)}°" if number else ""
        sign = "+" if number > 0 and (name in _SIGNED or "shift" in name) else ""
        return f"{called} {times}{sign}{_number(number) if array.dtype.kind == 'f' or times else int(number)}"
    if array.ndim == 1 and 0 < array.size <= 4:
        return f"{called} {times}{', '.join(map(_number, array))}"
    if array.size == 0:
        return f"no {called}"
    if array.dtype.kind == "b":
        return f"{called} {100 * float(array.mean()):.3g} % of it"
    if "kernel" in name:
        return f"{called} {'×'.join(map(str, array.shape))}"
    return f"{called}: {len(array)}" if array.dtype.kind in "iu" else f"{called} spread {_number(np.std(array))}"


def _matrix(value: Any) -> str:
    """Angle, scale and shear of an affine map."""
    import numpy as np

    m = np.asarray(value, float)
    if m.shape != (3, 3) or not np.isfinite(m).all():
        return ""
    if abs(m[2, :2]).max() > 1e-9:
        return "corners moved"
    size = math.sqrt(abs(np.linalg.det(m[:2, :2])))
    shear = math.degrees(math.atan2(float(m[:2, 0] @ m[:2, 1]), size * size)) if size else 0.0
    angle = math.degrees(math.atan2(m[1, 0], m[0, 0]))
    facts = [(angle, 5e-3, f"angle {_number(angle)}°"), (size - 1, 5e-4, f"scale × {_number(size)}")]
    facts.append((shear, 0.05, f"shear {_number(shear)}°"))
    return ", ".join(words for value, least, words in facts if abs(value) > least)


def _window(value: Any) -> str:
    x0, y0, x1, y1 = map(int, value)
    return f"window {x1 - x0}×{y1 - y0} at ({x0}, {y0})"


def _channels(value: Any) -> str:
    return f"channels {', '.join(str(int(one)) for one in (value if hasattr(value, '__len__') else [value]))}"


_SPECIAL: dict[str, Callable[[Any], str]] = {
    "crop_coords": _window,
    "matrix": _matrix,
    "map_x": lambda _: "a field of shifts",
    "dxy": lambda _: "a field of shifts",
    "holes": lambda value: f"{len(value)} hole{'' if len(value) == 1 else 's'}",
    "channels_to_drop": lambda value: f"without {_channels(value)}",
    "channels_shuffled": lambda value: f"order of {_channels(value)}",
    "group_element": lambda value: _SYMMETRIES.get(str(value), str(value)),
    "factor": lambda value: f"rotated by {90 * int(value)}°" if int(value) else "unchanged",
    "temperature": lambda value: f"{value} K",
    **{
        f"pad_{side}": lambda value, side=side: f"{value} px {side}" if value else ""  # type: ignore[misc]
        for side in ("top", "bottom", "left", "right")
    },
}


def _number(value: Any) -> str:
    """Three digits that count, with a true minus.

    >>> _number(-0.0123), _number(1234.5)
    ('−0.0123', '1234')
    """
    return (f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}").replace("-", "−")
