"""Sizes of the files of a pair, in words: what fits the scales, and what a size that does not fit looks like."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from augrecipes.compiler.run.grid import cells
from augrecipes.errors import DataError

Size = tuple[int, int]  # height, width
_LARGEST_RATIO = 16


def size_text(size: Size) -> str:
    """A size as people say it, width first.

    >>> size_text((300, 451))
    '451×300'
    """
    return f"{size[1]}×{size[0]}"


def fits(sizes: Mapping[str, Size], units: Mapping[str, int]) -> Size | None:
    """Rows and columns of common cells, or None where the targets do not fit each other."""
    try:
        return cells(sizes, units)
    except DataError:
        return None


def misfit(large: str, small: str, sizes: Mapping[str, Size], units: Mapping[str, int]) -> str | None:
    """Why two targets do not fit, and what they look like; None where they do.

    >>> misfit("hr", "lr", {"hr": (300, 451), "lr": (150, 225)}, {"hr": 4, "lr": 1})
    'lr should be 112×75 at ×4; this looks like ×2'
    """
    two = {name: sizes[name] for name in (large, small)}
    if fits(two, units) is not None:
        return None
    if any(min(two[name]) < units[name] for name in two):
        name = next(name for name in two if min(two[name]) < units[name])
        return f"{name} is smaller than one common cell of {units[name]} px"
    ratio = Fraction(units[large], units[small])
    wanted = f"{small} should be {_wanted(large, small, two, units)} at ×{_number(ratio)}"
    return f"{wanted}; {looks}" if (looks := _looks(large, small, two, units)) else wanted


def looks_like(large: Size, small: Size) -> int | None:
    """The whole number of times that one size goes into the other, rounded down; None where there is none.

    >>> looks_like((300, 451), (150, 225)), looks_like((300, 451), (150, 112))
    (2, None)
    """
    for times in range(1, _LARGEST_RATIO + 1):
        if (large[0] // times, large[1] // times) == small:
            return times
    return None


def _wanted(large: str, small: str, sizes: Mapping[str, Size], units: Mapping[str, int]) -> str:
    height, width = (n // units[large] * units[small] for n in sizes[large])
    more = units[small] - 1
    return size_text((height, width)) + (f" (or up to {more} px more)" if more else "")


def _looks(large: str, small: str, sizes: Mapping[str, Size], units: Mapping[str, int]) -> str | None:
    a, b = sizes[large], sizes[small]
    if a == b:
        return "both have one size: was it enlarged already?"
    if fits({large: b, small: a}, units) is not None:
        return f"the two look swapped: {small} is the larger one"
    if b[0] >= a[0] and b[1] >= a[1]:
        return f"{small} is larger than {large}: are they swapped?"
    if fits({large: a, small: (b[1], b[0])}, units) is not None:
        return "it fits when one of them is turned by a quarter (an EXIF orientation?)"
    times = looks_like(a, b)
    if times is not None:
        return f"this looks like ×{times}"
    ratio = Fraction(units[large], units[small])
    if all(b[i] == -(-a[i] // ratio) or b[i] == a[i] // ratio for i in (0, 1)):
        return "it was rounded up"
    return None


def _number(ratio: Fraction) -> str:
    return f"{float(ratio):g}"
