"""The hand-written checks of albumentations' constructors, without importing albumentations.

A check takes a step's arguments, defaults merged, after the schema has accepted each of them, and returns the argument
at fault and a message, or None. The checks of a single class are next to its record. A property test compares each with
the class's constructor. Checks marked `Stricter` refuse what the class's documentation rules out, or what fails on the
first image.
"""

from collections.abc import Callable, Mapping
from typing import Any

Arguments = Mapping[str, Any]
Fault = tuple[str, str] | None
Check = Callable[[Arguments], Fault]


def is_number(value: Any) -> bool:
    """Whether a value is a number and no boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def spread(value: Any, low: float | None = None) -> tuple[float, float]:
    """The range that albumentations makes of a number s: from `low` to s or, without `low`, from −s to s."""
    if isinstance(value, list | tuple):
        return min(value), max(value)
    return (-value, value) if low is None else (min(low, value), max(low, value))


def exactly_one(first: str, second: str) -> Check:
    """A check that exactly one of two arguments is given."""

    def check(a: Arguments) -> Fault:
        if a[first] is None and a[second] is None:
            return "", f"give {first} or {second}"
        return (second, f"give {first} or {second}, not both") if None not in (a[first], a[second]) else None

    return check


def region(name: str) -> Check:
    """A check that an argument is a rectangle within the image."""

    def check(a: Arguments) -> Fault:
        x0, y0, x1, y1 = a[name]
        if x0 < x1 and y0 < y1 and min(x0, y0) >= 0 and max(x1, y1) <= 1:
            return None
        return name, f"must be [x_min, y_min, x_max, y_max] in fractions of the image, 0 to 1, got {a[name]}"

    return check


def odd_kernel(a: Arguments) -> Fault:
    """Check that the sides of `blur_limit` are odd."""
    value = a["blur_limit"]
    if any(side % 2 == 0 for side in (value if isinstance(value, list) else [value])):
        return "blur_limit", f"kernel sizes are odd, got {value}"
    return None


def kernel_shapes(a: Arguments) -> Fault:
    """Check that the sides of `blur_limit` are odd and some shape has a weight."""
    if not any(a["shapes"].values()):
        return "shapes", "needs a shape whose weight is above 0"
    return odd_kernel(a)


def scale_above_zero(a: Arguments) -> Fault:
    """Check that 1 + `scale_limit` is above 0."""
    # Stricter: a factor of 0 or less fails on the image that draws it.
    limit = a["scale_limit"]
    if min(spread(limit)) > -1:
        return None
    return "scale_limit", f"1 is added to it, so it must stay above -1; 0.2 draws from 0.8 to 1.2; got {limit}"
