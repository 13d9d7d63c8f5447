"""The last check of a step's arguments, after the schema: bounds of numbers, the checks of records, and constructors.

The classes accept more than they can run: a size of 2³² kills the process, others end in OpenCV errors that do not name
the argument. Where a constructor of albumentations refuses more than the schema, the class's record has a check, as
importing albumentations takes longer than all else in `augrecipes check`. Rare and registered classes are constructed.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from augrecipes.ops import registry
from augrecipes.ops.checks import Fault, is_number
from augrecipes.ops.intervals import numbers
from augrecipes.ops.readable import Refusal
from augrecipes.ops.record import OpRecord
from augrecipes.ops.records import op_record
from augrecipes.ops.sizes import UNKNOWN
from augrecipes.ops.step import Step

LARGEST = 1_000_000  # the largest number: pixels, degrees, factors, counts
SMALLEST = 1e-6  # the smallest number apart from 0: formulas divide by smaller ones, or square them to 0
MOST_BYTES = 1 << 30  # the default of `max_bytes`

# Tighter bounds of arguments in every class: beyond them memory or time runs out on the smallest image, or a formula
# breaks. Bounds for a single class are in its record.
LIMITS: dict[str, tuple[float, float]] = {
    "blur_limit": (-LARGEST, 1001),
    "fill": (0, 255),
    "num_holes_range": (0, 10_000),
    "num_masks_x": (0, 10_000),
    "num_masks_y": (0, 10_000),
    "roughness": (0, 100),  # its power with the number of octaves stays within float32
}

# Arguments of sizes, in the order in which an error names one.
_SIZES = ("size", "height", "min_height", "max_size", "y_max", "scale_limit")


def verdict(step: Step, max_bytes: int | None = MOST_BYTES) -> Refusal | None:
    """Why a step's arguments, which the schema has accepted, are refused; None: they are not.

    `max_bytes`: the largest image that it may make.

    >>> from augrecipes.ops.step import Arguments
    >>> verdict(Step("Crop", Arguments({"x_min": 9, "x_max": 5}))).argument
    'x_max'
    """
    record = op_record(step.name)
    values = {name: part.get("default") for name, part in registry.takes(step.name).items()} | step.args.plain()
    # Bounds first: a check calculates with numbers within them.
    problem = fault(record, values, max_bytes) or (record.check and record.check(values)) or _uneven(step)
    if problem:
        return Refusal(problem[1], problem[0])
    if record.asks or registry.is_registered(step.name):  # a registered class may change between runs
        try:
            registry.build(registry.get_class(step.name), registry.keywords(step))
        except Refusal as refusal:
            return Refusal(refusal.message, refusal.argument)  # without the traceback's frames
    return None


def fault(record: OpRecord, arguments: Mapping[str, Any], max_bytes: int | None = MOST_BYTES) -> Fault:
    """The argument that is out of bounds, and why; None: none is. Defaults are merged.

    `max_bytes`: the largest uint8 image of three channels that may be made; None: no limit.

    >>> fault(op_record("PadIfNeeded"), {"min_height": 4294967297, "min_width": 8})
    ('min_height', 'numbers are at most 1,000,000 either way, got 4294967297')
    >>> print(fault(op_record("Resize"), {"height": 50_000, "width": 50_000})[1])
    makes images of 50,000 × 50,000, more than 1 GiB; make them smaller, or raise the recipe's `max_bytes`
    """
    for argument, value in arguments.items():
        low, high = record.limits.get(argument) or LIMITS.get(argument, (-LARGEST, LARGEST))
        for number in numbers(value):
            if not -LARGEST <= number <= LARGEST:
                return argument, f"numbers are at most {LARGEST:,} either way, got {number}"
            if 0 < abs(number) < SMALLEST:
                return argument, f"numbers are 0, or at least {SMALLEST:f} either way, got {number}"
            if not low <= number <= high:
                bound = f"at most {high:,}" if number > high else f"at least {low:g}"
                return argument, f"must be {bound}, got {number}"
        if argument in record.above_zero and max(numbers(value), default=1) == 0:
            return argument, "must reach beyond 0, which alone makes no image"
        if argument in record.unsigned and is_number(value) and value < 0:
            return argument, f"a single number s means [-s, s], so it must be at least 0, got {value}"
        step = record.rising.get(argument)
        if step is not None and any(second < first + step for first, second in _pairs(value)):
            order = "second value must be above the first" if step else "first value may not exceed the second"
            return argument, f"the {order}, got {value}"
    return None if max_bytes is None else _image(record, arguments, max_bytes)


def _uneven(step: Step) -> Fault:
    """Why a step cannot alternate: a flip needs p 0.5, a step of more outcomes p 1; p 0 never acts."""
    p, period = registry.chance(step), registry.draw_period(step)
    even = 0.5 if period == 2 else 1.0
    if period == 1 or p in (even, 0):
        return None
    return "p", f"must be {even:g} with `draws: alternate`, got {p:g}: leave p out, or write `draws: independent`"


def size_text(size: int) -> str:
    """A number of bytes in words.

    >>> size_text(1 << 30), size_text(10_000)
    ('1 GiB', '10,000 bytes')
    """
    return f"{size:,} bytes" if size % (1 << 30) else f"{size >> 30} GiB"


def _pairs(value: Any) -> Iterator[tuple[float, float]]:
    for item in value if isinstance(value, list | tuple) else ():
        yield from _pairs(item)
    if isinstance(value, list | tuple) and len(value) == 2 and not isinstance(value[0], list | tuple):
        yield value[0], value[1]


def _image(record: OpRecord, arguments: Mapping[str, Any], max_bytes: int) -> Fault:
    """The argument that makes every image too large; a crop makes none larger, unless it pads."""
    if record.size is None:
        return None
    if record.crops and not record.resizes and not arguments.get("pad_if_needed"):
        return None
    height, width = record.size(arguments, UNKNOWN).low
    if height * width * 3 <= max_bytes:
        return None
    text = f"{height:,.0f} × {width:,.0f}, more than {size_text(max_bytes)}"
    blamed = next((argument for argument in _SIZES if arguments.get(argument) is not None), None)
    if blamed is None:
        return None  # the step keeps the size
    return blamed, f"makes images of {text}; make them smaller, or raise the recipe's `max_bytes`"
