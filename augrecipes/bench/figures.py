"""How figures are written: with as many digits as can matter beside what they vary by."""

from __future__ import annotations

from math import floor, log10

_MOST = 3  # digits behind the point


def digits_for(value: float, spread: float | None = None) -> int:
    """How many digits behind the point a figure deserves: those of its size or, if that is fewer, of its spread.

    >>> digits_for(0.1234), digits_for(12.345), digits_for(345.67), digits_for(2345.6)
    (3, 2, 1, 0)
    >>> digits_for(5.652, 5.1), digits_for(5.652, 0.31), digits_for(0.5, 0.0001), digits_for(5.0, 0.0)
    (0, 1, 3, 3)
    """
    own = 3 if value < 10 else 2 if value < 100 else 1 if value < 1000 else 0
    if not spread or spread <= 0:
        return own
    return max(0, min(own, _MOST, -floor(log10(spread))))


def figure(value: float, spread: float | None = None) -> str:
    """A figure as text.

    >>> figure(30.974, 5.1), figure(30.974)
    ('31', '30.97')
    """
    return f"{value:,.{digits_for(value, spread)}f}"


def percent(share: float, digits: int = 1) -> str:
    """A share of 1.

    >>> percent(0.1234), percent(1.0), percent(0.0), percent(0.0002), percent(0.1234, 0)
    ('12.3 %', '100.0 %', '0.0 %', '< 0.1 %', '12 %')
    """
    return "< 0.1 %" if digits and 0 < share < 0.0005 else f"{100 * share:.{digits}f} %"


def varied(value: float, spread: float) -> str:
    """A figure and what it varies by, with as many digits both.

    >>> varied(30.974, 5.1), varied(1.2345, 0.0312)
    ('31 ± 5', '1.23 ± 0.03')
    """
    digits = digits_for(value, spread)
    return f"{value:,.{digits}f} ± {spread:,.{digits}f}"


def rate(samples_per_second: float) -> str:
    """Samples a second, as text.

    >>> rate(1930.4), rate(6.04), rate(0.256)
    ('1,930', '6.0', '0.26')
    """
    if samples_per_second < 1:
        return f"{samples_per_second:.2g}"
    return f"{samples_per_second:,.{0 if samples_per_second >= 10 else 1}f}"
