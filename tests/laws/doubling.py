"""How much work something is, counted: the bytecode instructions that Python carries out. The same on every run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def instructions(work: Callable[[], object]) -> int:
    """The number of instructions of all Python code that `work` runs in this thread."""
    count = 0

    def inside(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        del frame, argument
        count += event == "opcode"
        return inside

    def enter(frame: FrameType, event: str, argument: Any) -> Any:
        del event, argument
        frame.f_trace_opcodes = True
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
    instructions(make(size))  # from Python 3.12 on, code that is traced for the first time is not counted
    one, two, four = (instructions(make(times * size)) for times in (1, 2, 4))
    return (four - two) / (two - one) if two != one else 0.0
