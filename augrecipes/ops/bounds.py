"""How large numbers may be: what OpenCV's integers and a machine's memory hold, checked before the first picture.

The classes accept more than they can carry out: a size of 2³² ends the process, others end in errors of OpenCV that
do not name the argument.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Fault = tuple[str, str] | None

LARGEST = 1_000_000  # of any number: pixels, degrees, factors, counts
MOST_BYTES = 1 << 30  # of a picture that a recipe makes, unless it says otherwise

# Arguments that end much sooner: beyond, memory or time runs out on the smallest picture, or a formula breaks. By the
# name of the argument in every class, or in one class alone.
_KERNEL, _RATIO = (-LARGEST, 1001), (0.02, 50)
LIMITS: dict[str | tuple[str, str], tuple[float, float]] = {
    "blur_limit": _KERNEL,
    "num_holes_range": (0, 10_000),
    ("CLAHE", "tile_grid_size"): (1, 256),
    ("Defocus", "radius"): (0, 500),
    ("Downscale", "scale_range"): (0.01, 1),
    ("MedianBlur", "blur_limit"): (-LARGEST, 255),
    ("ElasticTransform", "sigma"): (0, 250),
    ("GlassBlur", "iterations"): (1, 100),
    ("GlassBlur", "max_delta"): (1, 100),
    ("GlassBlur", "sigma"): (0.1, 100),
    ("GridDistortion", "num_steps"): (1, 100),
    ("GridDropout", "holes_number_xy"): (1, 1000),
    ("Morphological", "scale"): (1, 1000),
    ("PiecewiseAffine", "nb_cols"): (2, 100),
    ("PiecewiseAffine", "nb_rows"): (2, 100),
    ("RandomGravel", "number_of_patches"): (1, 1000),
    ("RandomGridShuffle", "grid"): (1, 1000),
    ("RandomRain", "blur_value"): (1, 1001),
    ("RandomResizedCrop", "ratio"): _RATIO,
    ("RandomSizedCrop", "w2h_ratio"): _RATIO,
}

# Arguments that two sides of a picture are made of, by class.
_SIDES: dict[str, tuple[str, ...]] = {
    "CenterCrop": ("height", "width"),
    "PadIfNeeded": ("min_height", "min_width"),
    "RandomCrop": ("height", "width"),
    "RandomResizedCrop": ("size",),
    "RandomSizedBBoxSafeCrop": ("height", "width"),
    "RandomSizedCrop": ("size",),
    "Resize": ("height", "width"),
    "SmallestMaxSize": ("max_size", "max_size"),
}
# Only where they pad do these make more than they take.
_PADS = frozenset({"CenterCrop", "Crop", "RandomCrop"})


def fault(name: str, arguments: Mapping[str, Any], max_bytes: int | None = MOST_BYTES) -> Fault:
    """The argument of a class that is out of all bounds, and why; None where all are within. Defaults are merged.

    `max_bytes` is the largest picture, of three channels of uint8, that may be made; None: any.

    >>> fault("PadIfNeeded", {"min_height": 4294967297, "min_width": 8})
    ('min_height', 'numbers are at most 1,000,000 either way, got 4294967297')
    >>> print(fault("Resize", {"height": 50_000, "width": 50_000})[1])
    makes pictures of 50,000 × 50,000, more than 1 GiB; make them smaller, or raise the recipe's `max_bytes`
    """
    for argument, value in arguments.items():
        low, high = LIMITS.get((name, argument)) or LIMITS.get(argument, (-LARGEST, LARGEST))
        for number in _numbers(value):
            if not -LARGEST <= number <= LARGEST:
                return argument, f"numbers are at most {LARGEST:,} either way, got {number}"
            if not low <= number <= high:
                bound = f"at most {high:,}" if number > high else f"at least {low:g}"
                return argument, f"must be {bound} to be carried out, got {number}"
    return None if max_bytes is None else _picture(name, arguments, max_bytes)


def size_text(size: int) -> str:
    """A number of bytes in words.

    >>> size_text(1 << 30), size_text(10_000)
    ('1 GiB', '10,000 bytes')
    """
    return f"{size:,} bytes" if size % (1 << 30) else f"{size >> 30} GiB"


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from _numbers(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


def _picture(name: str, arguments: Mapping[str, Any], max_bytes: int) -> Fault:
    if name in _PADS and not arguments.get("pad_if_needed"):
        return None
    if name == "Crop":
        height, width = (arguments[f"{axis}_max"] - arguments[f"{axis}_min"] for axis in "yx")
        return _too_large("y_max" if height > width else "x_max", height, width, max_bytes)
    sides = _SIDES.get(name)
    if sides is None:
        return None
    given = [arguments.get(side) for side in sides]
    height, width = given[0] if len(given) == 1 and isinstance(given[0], list | tuple) else (given[0], given[-1])
    height, width = (min(_numbers(side), default=0) for side in (height, width))
    return _too_large(sides[0], height, width, max_bytes)


def _too_large(argument: str, height: float, width: float, max_bytes: int) -> Fault:
    if height * width * 3 <= max_bytes:
        return None
    made = f"{height:,.0f} × {width:,.0f}, more than {size_text(max_bytes)}"
    return argument, f"makes pictures of {made}; make them smaller, or raise the recipe's `max_bytes`"
