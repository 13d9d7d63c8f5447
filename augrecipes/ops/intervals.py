"""The intervals from which steps draw, by a number or a range."""

from collections.abc import Iterator, Mapping
from numbers import Real
from typing import Any, Literal

Meaning = Literal["symmetric", "around_one", "from_zero", "from_one", "from_three", "exact"]
_STARTS: dict[Meaning, float] = {"from_zero": 0, "from_one": 1, "from_three": 3}


def interval(meaning: Meaning, value: Any) -> tuple[float, float] | None:
    """The least and the greatest value that an argument allows; None where it is neither number nor range.

    >>> interval("symmetric", 25), interval("around_one", 0.2), interval("exact", [3, 5])
    ((-25, 25), (0.8, 1.2), (3, 5))
    """
    if isinstance(value, Mapping):
        parts = [part for part in (interval(meaning, part) for part in value.values()) if part is not None]
        return (min(low for low, _ in parts), max(high for _, high in parts)) if parts else None
    if isinstance(value, list | tuple):
        is_range = value and all(isinstance(number, int | float) for number in value)
        return (min(value), max(value)) if is_range else None
    if not isinstance(value, int | float):
        return None
    if meaning == "symmetric":
        return (-abs(value), abs(value))
    if meaning == "around_one":
        return (max(0, 1 - value), 1 + value)
    start = _STARTS.get(meaning, value)
    return (min(start, value), max(start, value))


def numbers(value: Any) -> Iterator[float]:
    """Yield every number in an argument, also inside lists and mappings.

    >>> [*numbers({"x": [0, 1.5], "y": True}), *numbers("auto")]
    [0, 1.5]
    """
    if isinstance(value, Real):
        if not isinstance(value, bool):
            yield value  # type: ignore[misc]
    elif isinstance(value, Mapping | list | tuple):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from numbers(part)
