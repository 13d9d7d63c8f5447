"""How much work something is, counted: the lines of Python code that run. The same on every run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def lines(work: Callable[[], object]) -> int:
    """The number of calls and lines of all Python code that `work` runs here; each turn of a loop is a line."""
    count = 0

    def inside(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        del frame, argument
        count += event == "line"
        return inside

    def enter(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        del frame, event, argument
        count += 1
        return inside

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def growth(make: Callable[[int], Callable[[], object]], size: int) -> float:
    """How many times the work of twice the size is that of `size`, once what does not grow is taken away.

    2 for linear work, 4 for quadratic, 0 where nothing grows.
    """
    lines(make(size))  # from Python 3.12 on, code that is traced for the first time is not counted
    one, two, four = (lines(make(times * size)) for times in (1, 2, 4))
    return (four - two) / (two - one) if two != one else 0.0
