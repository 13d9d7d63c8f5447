"""Ours and every peer of one workload: looked at, timed in rounds, and told as a table."""

from __future__ import annotations

import gc
import itertools
import random
import sys
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from time import perf_counter

from likeness import kind_of, same_kind
from measure import Timing, timing
from results import table, times
from sides import Missing, Side

METHOD = """\
Every side takes its turn in each round, in an order that is drawn anew; a turn is a pass of whole batches, and nothing
of it runs on into another's turn. Medians over the rounds ± median distance; a ratio is the median over the rounds of
that side's time by ours, and above 1 ours is the quicker. One thread each (`cv2.setNumThreads(0)`,
`torch.set_num_threads(1)`, `OMP_NUM_THREADS=1`, one thread or worker where a library has its own), but where a row says
otherwise, and glibc's allocator tuned alike for all. Before anything is timed, samples of every side are held against
ours: shape, dtype, range, means, spread and sharpness, labels and colours of the classes, and whether pairs fit."""

# The least ratio that a side of ours should reach beside a peer, or beside each side of a maker: goals[ours][peer].
Goals = Mapping[str, Mapping[str, float]]


def compare(
    title: str,
    ours: Sequence[Side],
    peers: Iterable[Side | Missing],
    *,
    rounds: int,
    goals: Goals | None = None,
    look_at: int = 64,
    loose: float = 1.0,
) -> str:
    """Look at all sides, then time them.

    Args:
        title: the workload.
        ours: those that get a column of ratios; they may differ in what they make.
        peers: made one by one, so that workers of one are there before threads of the next.
        rounds: turns of each side.
        goals: by names of sides, or of their makers.
        look_at: how many samples of each side.
        loose: how much more than usual sides may differ.

    Returns:
        A Markdown table, and lines for those peers that are not measured.

    Raises:
        SystemExit: a side makes other samples.
    """
    first = kind_of(ours[0], look_at)
    sides, missing = [ours[0]], []
    for side in itertools.chain(ours[1:], peers):
        if isinstance(side, Missing):
            missing.append(side)
            continue
        _progress(f"{title}: looking at {side}")
        same_kind(kind_of(side, look_at), first, loose)
        sides.append(side)
    _check(goals or {}, sides, {peer.maker for peer in missing})
    seconds = _rounds(title, sides, rounds)
    rows = [_row(side, ours, seconds, goals or {}) for side in sides]
    columns = (title, "ms a sample", "samples/s", *(f"{side.form} is" for side in ours))
    text = table(columns, rows)
    return "\n".join([text, "\nNot measured:\n", *(f"- {peer}" for peer in missing)]) if missing else text


def _check(goals: Goals, sides: Sequence[Side], missing: set[str]) -> None:
    """A goal that names nobody would never be missed."""
    named = {name for wanted in goals.values() for name in wanted} | set(goals)
    here = {name for side in sides for name in (side.name, side.maker)}
    if unknown := {name for name in named - here if name.partition(",")[0] not in missing}:
        raise ValueError(f"goals for {sorted(unknown)}, which nobody offers")


def _rounds(title: str, sides: Sequence[Side], rounds: int) -> dict[str, list[float]]:
    """Seconds a sample of each side, round by round."""
    seconds: dict[str, list[float]] = {side.name: [] for side in sides}
    order, rng = list(sides), random.Random(0)
    for k in range(rounds):
        rng.shuffle(order)
        for side in order:
            _progress(f"{title}: round {k + 1} of {rounds}, {side}")
            seconds[side.name].append(_turn(side))
    _progress("")
    return seconds


def _turn(side: Side) -> float:
    """Seconds a sample, of one pass."""
    gc.disable()
    try:
        start, samples = perf_counter(), 0
        for batch in side.batches():
            samples += len(next(iter(batch.values())))
        return (perf_counter() - start) / samples
    finally:
        gc.enable()


def _row(side: Side, ours: Sequence[Side], seconds: Mapping[str, list[float]], goals: Goals) -> tuple[str, ...]:
    found = timing(seconds[side.name])
    name = str(side) if side.makes in (ours[0].makes, side.form) else f"{side}: {side.makes}"
    cells = [_ratio(side, lead, seconds, _goal(goals.get(lead.name, {}), side)) for lead in ours]
    return name, _milliseconds(found), f"{1 / found.median:,.0f}", *cells


def _goal(wanted: Mapping[str, float], side: Side) -> float | None:
    return wanted.get(side.name, wanted.get(side.maker))


def _ratio(side: Side, lead: Side, seconds: Mapping[str, list[float]], goal: float | None) -> str:
    if side is lead:
        return ""
    ratio = median(theirs / mine for mine, theirs in zip(seconds[lead.name], seconds[side.name], strict=True))
    return times(ratio, goal)


def _milliseconds(found: Timing) -> str:
    digits = 2 if found.median >= 1e-3 else 3 if found.median >= 1e-4 else 4
    return f"{found.median * 1e3:.{digits}f} ± {found.spread * 1e3:.{digits}f}"


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
