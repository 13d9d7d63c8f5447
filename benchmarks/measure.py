"""Fair timing: one thread, a tuned allocator for everyone, turns taken call by call, medians and their spread."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter

import cv2
import torch

from augrecipes.bench.machine import machine
from augrecipes.machine import tune_allocator

Work = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds a call: the median of the turns, and the median distance from it."""

    median: float
    spread: float

    def in_units(self, unit: str) -> str:
        """As text in `ms` or `µs`.

        >>> Timing(0.00125, 0.0001).in_units("ms")
        '1.25 ± 0.10 ms'
        """
        factor = {"s": 1.0, "ms": 1e3, "µs": 1e6}[unit]
        return f"{self.median * factor:.2f} ± {self.spread * factor:.2f} {unit}"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two pieces of work, measured in turns: A B A B.

    Attributes:
        ours: of the first.
        peer: of the second.
        ratio: median over the turns of peer / ours; above 1 ours is the quicker.
        extra: median and spread over the turns of ours − peer, in seconds.
    """

    ours: Timing
    peer: Timing
    ratio: float
    extra: Timing


def settle() -> None:
    """One thread each, and glibc's allocator tuned: the same conditions for whatever is measured afterwards."""
    os.environ["OMP_NUM_THREADS"] = "1"  # of processes that are started from here
    cv2.setNumThreads(0)
    torch.set_num_threads(1)
    tune_allocator()


def alone(work: Work, turns: int, calls: int = 1) -> Timing:
    """Time `work` in `turns` turns of `calls` calls."""
    work()
    return timing([_turn(work, calls) for _ in range(turns)])


def in_turns(ours: Work, peer: Work, turns: int, calls: int = 1) -> Pair:
    """Time two pieces of work in alternating turns, so that whatever else the machine does hits both."""
    ours(), peer()
    a, b = [], []
    for _ in range(turns):
        a.append(_turn(ours, calls))
        b.append(_turn(peer, calls))
    ratios = [y / x for x, y in zip(a, b, strict=True)]
    return Pair(timing(a), timing(b), median(ratios), timing([x - y for x, y in zip(a, b, strict=True)]))


def _turn(work: Work, calls: int) -> float:
    gc.disable()
    try:
        start = perf_counter()
        for _ in range(calls):
            work()
        return (perf_counter() - start) / calls
    finally:
        gc.enable()


def timing(values: Sequence[float]) -> Timing:
    """The median of some seconds, and the median distance from it."""
    middle = median(values)
    return Timing(middle, median(abs(v - middle) for v in values))


def conditions() -> str:
    """Date, machine and versions, in one paragraph."""
    here = machine()
    versions = ", ".join(f"{name} {found}" for name, found in here.packages.items() if name != "augrecipes")
    load = "unknown" if here.load is None else f"{here.load:.1f}"
    return (
        f"{here.date[:10]}, {here.processor}, {os.cpu_count()} cores (load {load} at the start), {here.system}, "
        f"Python {here.python}, {versions}, {here.kernels}."
    )
