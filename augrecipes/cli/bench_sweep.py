"""A sweep over the loader's backends as text: epochs by who reads, and the setting to use."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from augrecipes.bench.figures import figure, varied
from augrecipes.cli.aligned import bar, table
from augrecipes.cli.terminal import paint

if TYPE_CHECKING:
    from augrecipes.bench.record import Bench
    from augrecipes.bench.sweep import Point, Sweep

_BUSY = 0.25  # of the cores


def tell_sweep(sweep: Sweep, bench: Bench) -> Iterator[str]:
    """Of each recipe a table, a bar for each setting, and the advice; then what stood in the way."""
    for recipe in dict.fromkeys(point.recipe for point in sweep.points):
        points = [point for point in sweep.points if point.recipe == recipe]
        advice = sweep.advice_for(recipe)
        yield ""
        yield from _times(points, sweep)
        if advice is not None:
            yield from _bars(points, advice)
            yield f"  {paint('recommended', 'good', sys.stdout)} {advice.name}"
            yield paint(f"  {_call(advice, bench.batch_size)}", "faint", sys.stdout)
    yield from (f"  {paint('left out', 'warning', sys.stdout)} {text}" for text in sweep.left_out)
    load, cores = bench.machine.load, bench.machine.cores
    if load is not None and load > _BUSY * cores:
        text = f"the machine was busy when this began (load {load:.1f}, {cores} cores): measure again when it is not"
        yield f"  {paint('note', 'warning', sys.stdout)} {text}"


def _times(points: Sequence[Point], sweep: Sweep) -> Iterator[str]:
    first, *others = (f"{size:,}" for size in sweep.sizes)
    largest = f"of {sweep.sizes[-1]:,}: samples/s"
    headings = ["", f"{first} samples", *others, largest, "first epoch", "latency p50", "p95", "p99 ms"]
    rows = []
    for name in dict.fromkeys(point.name for point in points):
        by_size = {point.samples: point for point in points if point.name == name}
        epochs = [_epoch(by_size.get(size)) for size in sweep.sizes]
        rows.append([name, *epochs, *_largest(by_size.get(sweep.sizes[-1]))])
    yield from table(f"{points[0].recipe} · {points[0].level}: seconds of an epoch, by who reads", headings, rows)
    text = f"{sweep.rounds} rounds in turns after the first; the data has {sweep.available:,} samples"
    again = ", larger epochs read some again" if sweep.sizes[-1] > sweep.available else ""
    yield paint(f"  {text}{again}", "faint", sys.stdout)


def _epoch(point: Point | None) -> str:
    return "" if point is None else varied(point.seconds, point.mad)


def _largest(point: Point | None) -> list[str]:
    from augrecipes.bench.figures import rate

    if point is None:
        return [""] * 5
    gaps = (f"{value:.1f}" for value in (point.gaps.p50, point.gaps.p95, point.gaps.p99))
    return [rate(point.samples_per_second), figure(point.first_seconds, point.mad), *gaps]


def _bars(points: Sequence[Point], advice: Point) -> Iterator[str]:
    """Of the largest epochs."""
    most = max(point.samples for point in points)
    seconds = {point.name: point.seconds for point in points if point.samples == most}
    longest = max(seconds.values())
    rows = [[name, bar(one / longest), "recommended" if name == advice.name else ""] for name, one in seconds.items()]
    yield from table("", None, rows, left=(0, 1, 2))


def _call(advice: Point, batch_size: int) -> str:
    """The backend and number of workers, as `ar.loader` takes them."""
    if advice.backend == "batches":
        return f"ar.loader(ds, {batch_size}, num_workers=0)"
    return f'ar.loader(ds, {batch_size}, backend="{advice.backend}", num_workers={advice.workers})'
