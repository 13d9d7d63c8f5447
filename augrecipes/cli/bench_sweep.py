"""A sweep over the loader's backends as text: epochs by who reads, and the setting to use."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from augrecipes.cli.aligned import bar, table
from augrecipes.cli.terminal import paint

if TYPE_CHECKING:
    from augrecipes.bench.advice import Advice, Point
    from augrecipes.bench.record import Bench
    from augrecipes.bench.sweep import Sweep

_BUSY = 0.25  # of the cores
_LONG = 100.0  # seconds, of which thousandths say nothing


def tell_sweep(sweep: Sweep, bench: Bench) -> Iterator[str]:
    """Of each recipe a table, a bar for each setting, and the advice; then what stood in the way."""
    for recipe in dict.fromkeys(point.recipe for point in sweep.points):
        points = [point for point in sweep.points if point.recipe == recipe]
        advice = sweep.advice_for(recipe)
        yield ""
        yield from _times(points, sweep)
        if advice is not None:
            yield from _bars([point for point in points if point.samples == sweep.sizes[-1]], advice)
            yield f"  {paint('advised', 'good', sys.stdout)} {advice.text}"
            yield paint(f"  {_call(advice, bench.batch_size)}", "faint", sys.stdout)
    yield from (f"  {paint('left out', 'warning', sys.stdout)} {text}" for text in sweep.left_out)
    load, cores = bench.machine.load, bench.machine.cores
    if load is not None and load > _BUSY * cores:
        told = f"other work kept {load:.1f} of {cores} cores busy when this began: workers may bring more than it seems"
        yield f"  {paint('note', 'warning', sys.stdout)} {told}"


def _times(points: Sequence[Point], sweep: Sweep) -> Iterator[str]:
    title = f"{points[0].recipe} · {points[0].level}: seconds of an epoch, by who reads"
    largest = f"of {sweep.sizes[-1]:,}: samples/s"
    heads = ["", *_sizes(sweep.sizes), largest, "first epoch", "gaps p50", "p95", "p99 ms"]
    digits = 1 if max(point.seconds for point in points) > _LONG else 3
    rows = []
    for name in dict.fromkeys(point.name for point in points):
        by_size = {point.samples: point for point in points if point.name == name}
        row = [name]
        for size in sweep.sizes:
            point = by_size.get(size)
            row.append(f"{point.seconds:.{digits}f} ± {point.mad:.{digits}f}" if point else "")
        point = by_size.get(sweep.sizes[-1])
        if point is None:
            rows.append([*row, *[""] * 5])
            continue
        rate = (
            f"{point.samples_per_second:,.0f}" if point.samples_per_second >= 10 else f"{point.samples_per_second:.2g}"
        )
        gaps = (f"{value:.1f}" for value in (point.gaps.p50, point.gaps.p95, point.gaps.p99))
        rows.append([*row, rate, f"{point.first_seconds:.{digits}f}", *gaps])
    yield from table(title, heads, rows)
    told = f"{sweep.rounds} rounds in turns after the first; the data has {sweep.available:,} samples"
    again = ", larger epochs read some again" if sweep.sizes[-1] > sweep.available else ""
    yield paint(f"  {told}{again}", "faint", sys.stdout)


def _sizes(sizes: Sequence[int]) -> list[str]:
    first, *others = (f"{size:,}" for size in sizes)
    return [f"{first} samples", *others]


def _bars(points: Sequence[Point], advice: Advice) -> Iterator[str]:
    longest = max(point.seconds for point in points)
    rows = [
        [point.name, bar(point.seconds / longest), "advised" if point.name == advice.name else ""] for point in points
    ]
    yield from table("", None, rows, left=(0, 1, 2))


def _call(advice: Advice, batch_size: int) -> str:
    """How the loader is told."""
    if advice.backend == "batches":
        return f"ar.loader(ds, {batch_size}, num_workers=0)"
    return f'ar.loader(ds, {batch_size}, backend="{advice.backend}", num_workers={advice.workers})'
