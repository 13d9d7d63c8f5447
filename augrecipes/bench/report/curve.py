"""The worker curve: seconds of an epoch over workers, a line for each backend, a panel for each recipe and size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil, floor, log10
from typing import Any

from augrecipes.bench.advice import rate
from augrecipes.bench.report import Report
from augrecipes.bench.report.headline import readers

WIDTH, HEIGHT = 340, 220  # of a panel, in its own units
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 30, 38
BACKENDS = {"threads": "line-0", "processes": "line-1", "batches": "line-2"}
_TICKS = 4


@dataclass(frozen=True, slots=True)
class Dot:
    """One measurement on a panel.

    Attributes:
        x: of its middle.
        y: of its middle.
        low: y of its median less its MAD.
        high: y of its median plus its MAD.
        title: in figures.
        advised: whether this is the setting that is advised.
    """

    x: float
    y: float
    low: float
    high: float
    title: str
    advised: bool


@dataclass(frozen=True, slots=True)
class CurveLine:
    """What one backend takes.

    Attributes:
        backend: its name.
        colour: its name in the palette.
        dots: by workers.
    """

    backend: str
    colour: str
    dots: tuple[Dot, ...]

    @property
    def path(self) -> str:
        """As points of a polyline; this process has no workers, so that its time is a line across."""
        if self.backend == "batches" and len(self.dots) == 1:
            return f"{LEFT},{self.dots[0].y:.1f} {WIDTH - RIGHT},{self.dots[0].y:.1f}"
        return " ".join(f"{dot.x:.1f},{dot.y:.1f}" for dot in self.dots)


@dataclass(frozen=True, slots=True)
class CurvePanel:
    """One recipe at one level, over an epoch of one size.

    Attributes:
        title: recipe and level.
        samples: of an epoch.
        lines: by backend.
        xs: place and text of the ticks for workers.
        ys: place and text of the ticks for seconds.
    """

    title: str
    samples: int
    lines: tuple[CurveLine, ...]
    xs: tuple[tuple[float, str], ...]
    ys: tuple[tuple[float, str], ...]

    @property
    def summary(self) -> str:
        """For those who cannot see it."""
        text = "; ".join(dot.title for line in self.lines for dot in line.dots)
        return f"{self.title}, {self.samples:,} samples an epoch: {text}"


def panels(sweep: Report) -> list[CurvePanel]:
    """Small multiples; panels of one size share the scale of seconds."""
    workers = sorted({point["workers"] for point in sweep["points"]})
    ticks = {size: ticks_to(slowest(sweep, size)) for size in sizes(sweep)}
    advised = {(a["recipe"], a["level"], a["backend"], a["workers"]) for a in sweep["advice"]}
    return [_panel(title, size, points, workers, ticks[size], advised) for (title, size), points in grouped(sweep)]


def sizes(sweep: Report) -> list[int]:
    """Samples of an epoch, ascending."""
    return sorted({point["samples"] for point in sweep["points"]})


def across(sweep: Report) -> int:
    """Panels side by side: those of one recipe, where it has several."""
    several = len(sizes(sweep))
    return min(several if several > 1 else len(list(grouped(sweep))), 3)


def slowest(sweep: Report, size: int) -> float:
    """Seconds of the slowest epoch of a size, with what it varies by."""
    return max(float(p["seconds"] + p["mad"]) for p in sweep["points"] if p["samples"] == size)


def grouped(sweep: Report) -> Iterator[tuple[tuple[str, int], list[Report]]]:
    """Points by recipe with level, and size of the epoch, in the order in which recipes come."""
    order = list(dict.fromkeys(f"{point['recipe']} · {point['level']}" for point in sweep["points"]))

    def key(point: Report) -> tuple[str, int]:
        return f"{point['recipe']} · {point['level']}", point["samples"]

    ordered = sorted(sweep["points"], key=lambda p: (order.index(key(p)[0]), p["samples"], p["workers"]))
    for found, points in groupby(ordered, key):
        yield found, list(points)


def ticks_to(value: float) -> list[float]:
    """Round ticks of a scale from 0; the last is not below the value.

    >>> ticks_to(3.1), ticks_to(0.07), ticks_to(12.0)
    ([0.0, 1.0, 2.0, 3.0, 4.0], [0.0, 0.02, 0.04, 0.06, 0.08], [0.0, 5.0, 10.0, 15.0])
    """
    rough = max(value, 1e-9) / _TICKS
    power = 10.0 ** floor(log10(rough))
    step = next(times * power for times in (1, 2, 2.5, 5, 10) if times * power >= rough * (1 - 1e-9))
    return [float(f"{step * k:.12g}") for k in range(ceil(value / step - 1e-9) + 1)]


def _panel(
    title: str,
    size: int,
    points: Sequence[Report],
    workers: Sequence[int],
    ticks: Sequence[float],
    advised: set[tuple[Any, ...]],
) -> CurvePanel:
    most = max(*workers, 1)

    def x(count: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * count / most

    def y(seconds: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * max(seconds, 0.0) / ticks[-1]

    lines = []
    for backend, colour in BACKENDS.items():
        dots = tuple(
            Dot(
                x(p["workers"]), y(p["seconds"]), y(p["seconds"] - p["mad"]), y(p["seconds"] + p["mad"]), title_of(p),
                (p["recipe"], p["level"], p["backend"], p["workers"]) in advised,
            )
            for p in points
            if p["backend"] == backend
        )  # fmt: skip
        if dots:
            lines.append(CurveLine(backend, colour, dots))
    xs, ys = tuple((x(count), str(count)) for count in workers), tuple((y(tick), f"{tick:g}") for tick in ticks)
    return CurvePanel(title, size, tuple(lines), xs, ys)


def title_of(point: Report) -> str:
    """One measurement in words.

    >>> title_of({"backend": "threads", "workers": 2, "seconds": 1.5, "mad": 0.25, "samples_per_second": 1234.6})
    '2 threads: 1.5 s an epoch (± 0.25), 1,235 samples/s'
    """
    seconds = f"{point['seconds']:.3g} s an epoch (± {point['mad']:.2g})"
    return f"{readers(point['backend'], point['workers'])}: {seconds}, {rate(point['samples_per_second'])} samples/s"
