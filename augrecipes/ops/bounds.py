"""How large numbers may be: what OpenCV's integers and a machine's memory hold, checked before the first image.

The classes accept more than they can carry out: a size of 2³² ends the process, others end in errors of OpenCV that
do not name the argument.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from augrecipes.ops.records import op_record
from augrecipes.ops.sizes import UNKNOWN

Fault = tuple[str, str] | None

LARGEST = 1_000_000  # of any number: pixels, degrees, factors, counts
SMALLEST = 1e-6  # but for 0: what is less is divided by, squared and lost
MOST_BYTES = 1 << 30  # of an image that a recipe makes, unless it says otherwise

# Arguments that end much sooner: beyond, memory or time runs out on the smallest image, or a formula breaks. By the
# name of the argument in every class, or in one class alone.
_KERNEL, _RATIO, _SIGMA = (-LARGEST, 1001), (0.02, 50), (0, 250)
LIMITS: dict[str | tuple[str, str], tuple[float, float]] = {
    "blur_limit": _KERNEL,
    "fill": (0, 255),
    "num_holes_range": (0, 10_000),
    "num_masks_x": (0, 10_000),
    "num_masks_y": (0, 10_000),
    "roughness": (0, 100),  # its power of as many as an image has doublings stays a float32
    ("CLAHE", "tile_grid_size"): (1, 256),
    ("Defocus", "radius"): (0, 500),
    ("Downscale", "scale_range"): (0.01, 1),
    ("MedianBlur", "blur_limit"): (-LARGEST, 255),
    ("ElasticTransform", "sigma"): (0, 250),
    ("Erasing", "ratio"): _RATIO,
    ("Erasing", "scale"): (0, 1),
    ("GaussianBlur", "blur_limit"): (0, 1001),
    ("GaussianBlur", "sigma_limit"): _SIGMA,
    ("GlassBlur", "iterations"): (1, 100),
    ("GlassBlur", "max_delta"): (1, 100),
    ("GlassBlur", "sigma"): (0.1, 100),
    ("GridDistortion", "num_steps"): (1, 100),
    ("GridDropout", "holes_number_xy"): (1, 1000),
    ("GridElasticDeform", "num_grid_xy"): (1, 100),
    ("Morphological", "scale"): (1, 1000),
    ("Pad", "padding"): (0, LARGEST),
    ("PixelDropout", "drop_value"): (0, 255),
    ("PiecewiseAffine", "nb_cols"): (2, 100),
    ("PiecewiseAffine", "nb_rows"): (2, 100),
    ("RandomGravel", "number_of_patches"): (1, 1000),
    ("RandomGridShuffle", "grid"): (1, 100),
    ("RandomRain", "blur_value"): (1, 1001),
    ("RandomRain", "drop_width"): (1, 1000),
    ("RandomResizedCrop", "ratio"): _RATIO,
    ("RandomShadow", "num_shadows_limit"): (1, 1000),
    ("RandomShadow", "shadow_dimension"): (3, 1000),
    ("RandomSizedCrop", "w2h_ratio"): _RATIO,
    ("RandomSunFlare", "num_flare_circles_range"): (1, 1000),
    ("RandomSunFlare", "src_color"): (0, 255),
    ("RandomSunFlare", "src_radius"): (2, 10_000),
    ("Spatter", "gauss_sigma"): _SIGMA,
    ("Superpixels", "max_size"): (16, LARGEST),
    ("Superpixels", "n_segments"): (1, 500),
    ("ThinPlateSpline", "num_control_points"): (2, 20),
    ("ToGray", "num_output_channels"): (1, 128),
    ("ZoomBlur", "max_factor"): (1, 10),
    ("ZoomBlur", "step_factor"): (0.001, LARGEST),
}
# Ranges that a formula divides by: 0 may be drawn, next to never, but not always.
ABOVE_0 = {
    *(("AdvancedBlur", name) for name in ("noise_limit", "sigma_x_limit", "sigma_y_limit")),
    ("Erasing", "scale"), ("GaussianBlur", "sigma_limit"), ("RingingOvershoot", "cutoff"), ("ShotNoise", "scale_range"),
}  # fmt: skip
# Pairs of which the second number must be as large as the first, or larger by 1: it is never drawn.
RISING = {("ChannelDropout", "channel_drop_range"): 0, ("CropAndPad", "px"): 1, ("GridDropout", "unit_size_range"): 1}

# What a size is called, in the order in which one is blamed.
_SIZES = ("size", "height", "min_height", "max_size", "y_max", "scale_limit")


def fault(name: str, arguments: Mapping[str, Any], max_bytes: int | None = MOST_BYTES) -> Fault:
    """The argument of a class that is out of all bounds, and why; None where all are within. Defaults are merged.

    `max_bytes` is the largest image, of three channels of uint8, that may be made; None: any.

    >>> fault("PadIfNeeded", {"min_height": 4294967297, "min_width": 8})
    ('min_height', 'numbers are at most 1,000,000 either way, got 4294967297')
    >>> print(fault("Resize", {"height": 50_000, "width": 50_000})[1])
    makes images of 50,000 × 50,000, more than 1 GiB; make them smaller, or raise the recipe's `max_bytes`
    """
    for argument, value in arguments.items():
        low, high = LIMITS.get((name, argument)) or LIMITS.get(argument, (-LARGEST, LARGEST))
        numbers = list(_numbers(value))
        for number in numbers:
            if not -LARGEST <= number <= LARGEST:
                return argument, f"numbers are at most {LARGEST:,} either way, got {number}"
            if 0 < abs(number) < SMALLEST:
                return argument, f"numbers are 0, or at least {SMALLEST:f} either way, got {number}"
            if not low <= number <= high:
                bound = f"at most {high:,}" if number > high else f"at least {low:g}"
                return argument, f"must be {bound} to be carried out, got {number}"
        if (name, argument) in ABOVE_0 and numbers and max(numbers) == 0:
            return argument, "must reach beyond 0, which alone makes no image"
        more = RISING.get((name, argument))
        if more is not None and any(second < first + more for first, second in _pairs(value)):
            return argument, f"the second number must be {'above' if more else 'at least'} the first, got {value}"
    return None if max_bytes is None else _image(name, arguments, max_bytes)


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


def _pairs(value: Any) -> Iterator[tuple[float, float]]:
    for item in value if isinstance(value, list | tuple) else ():
        yield from _pairs(item)
    if isinstance(value, list | tuple) and len(value) == 2 and not isinstance(value[0], list | tuple):
        yield value[0], value[1]


def _image(name: str, arguments: Mapping[str, Any], max_bytes: int) -> Fault:
    """The argument that makes every image too large. A crop makes none larger, unless it pads."""
    record = op_record(name)
    if record.size is None:
        return None
    if record.crops and not record.resizes and not arguments.get("pad_if_needed"):
        return None
    height, width = record.size(arguments, UNKNOWN).low
    if height * width * 3 <= max_bytes:
        return None
    made = f"{height:,.0f} × {width:,.0f}, more than {size_text(max_bytes)}"
    blamed = next((argument for argument in _SIZES if arguments.get(argument) is not None), None)
    if blamed is None:
        return None  # it keeps the size that it is given
    return blamed, f"makes images of {made}; make them smaller, or raise the recipe's `max_bytes`"
