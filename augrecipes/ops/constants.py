"""OpenCV's constants, and their names in recipes."""

from collections.abc import Mapping
from typing import Any

# cv2.INTER_* and cv2.BORDER_*; a test compares them with the installed OpenCV.
INTERPOLATION: dict[str, int] = {
    "linear": 1, "nearest": 0, "cubic": 2, "area": 3, "lanczos4": 4, "nearest_exact": 6, "linear_exact": 5,
}  # fmt: skip
NEAREST, LINEAR, CUBIC, AREA = range(4)  # the interpolations of kernels, numbered as in OpenCV
NEAREST_MIDDLE = 7  # nearest by pixel centres, by which `nearest` resizes masks; recipes have no name for it
KERNEL_INTERPOLATIONS = (NEAREST, LINEAR, CUBIC, AREA, NEAREST_MIDDLE)
BORDER: dict[str, int] = {"reflect_101": 4, "reflect": 2, "constant": 0, "replicate": 1, "wrap": 3}

# The table of each argument.
_SAMPLING = ("interpolation", "mask_interpolation", "interpolation_pair")
TABLES: dict[str, dict[str, int]] = {**dict.fromkeys(_SAMPLING, INTERPOLATION), "border_mode": BORDER}


def to_number(argument: str, value: Any) -> Any:
    """`value` with constants' names replaced by OpenCV's integers, where `argument` takes a constant.

    >>> to_number("border_mode", "reflect_101")
    4
    >>> to_number("interpolation_pair", {"downscale": "area", "upscale": "cubic"})
    {'downscale': 3, 'upscale': 2}
    >>> to_number("mode", "linear")
    'linear'
    """
    return _swap(TABLES.get(argument), value)


def to_name(argument: str, value: Any) -> Any:
    """`value` with OpenCV's integers replaced by names, where `argument` takes a constant.

    >>> to_name("interpolation", 1)
    'linear'
    >>> to_name("fill", 1)
    1
    """
    table = TABLES.get(argument)
    return _swap({number: name for name, number in table.items()} if table else None, value)


def _swap(table: Mapping[Any, Any] | None, value: Any) -> Any:
    if table is None:
        return value
    if isinstance(value, Mapping):
        return {key: _swap(table, item) for key, item in value.items()}
    return table.get(value, value) if isinstance(value, str | int) and not isinstance(value, bool) else value


def border_word(fill: Any) -> int:
    """The pixel of a constant border of a uint8 image, its bytes as one integer; −1: only OpenCV knows.

    A single number is the level of every channel, as in albumentations.

    >>> hex(border_word(2)), hex(border_word((1, 2, 3)))
    ('0x2020202', '0x30201')
    """
    values = [fill] * 4 if isinstance(fill, int | float) else fill
    if not isinstance(values, tuple | list) or not 0 < len(values) <= 4:
        return -1
    if not all(isinstance(v, int | float) and abs(v) < 1 << 30 for v in values):
        return -1
    return sum(min(max(round(v), 0), 255) << 8 * c for c, v in enumerate(values))
