"""What every script here shares: its command line, rounds in turns, processes of their own, rows, its section.

A script is a list of parts: functions that take the options and yield rows, which are gathered into tables, or texts.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import cv2
import numpy as np
import torch

from augrecipes.bench import timing
from augrecipes.bench.record import machine
from augrecipes.machine import tune_allocator

RESULTS = Path(__file__).parent / "RESULTS.md"
HEAD = ("what", "augrecipes", "compared with", "")
_TITLE = "# Results\n\nWritten by the scripts in this folder, with `--write`; not by hand.\n"
_SECTION = re.compile(r"<!-- begin (\S+) -->(.*?)<!-- end \1 -->", re.DOTALL)
_UNITS = {"s": 1.0, "ms": 1e3, "µs": 1e6}


class Row(NamedTuple):
    """One line of a table: what was measured, ours, what it is compared with, and the ratio or the goal."""

    what: str
    ours: str
    peer: str
    verdict: str

    def __str__(self) -> str:
        return f"{self.what:52} {self.ours:24} {self.peer:52} {self.verdict}".rstrip()


Part = Callable[[Any], Iterable[Row | str]]


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds a call: the median of the turns, and the median distance from it."""

    median: float
    spread: float

    def in_units(self, unit: str) -> str:
        """As text in `s`, `ms` or `µs`.

        >>> Timing(0.00125, 0.0001).in_units("ms")
        '1.25 ± 0.10 ms'
        """
        return f"{self.median * _UNITS[unit]:.2f} ± {self.spread * _UNITS[unit]:.2f} {unit}"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two pieces of work, measured in turns.

    Attributes:
        ours: of the first.
        peer: of the second.
        ratio: median over the turns of peer / ours; above 1 ours is the faster.
        extra: median and spread over the turns of ours − peer, in seconds.
    """

    ours: Timing
    peer: Timing
    ratio: float
    extra: Timing

    def row(self, what: str, peer: str, goal: float | None = None, unit: str = "ms") -> Row:
        """As a line of a table."""
        return Row(what, self.ours.in_units(unit), f"{peer} {self.peer.in_units(unit)}", times(self.ratio, goal))

    def rates(self, what: str, peer: str, count: int, goal: float | None = None) -> Row:
        """As a line of a table, in so many things a second."""
        ours, theirs = (f"{count / one.median:,.0f}/s" for one in (self.ours, self.peer))
        return Row(what, ours, f"{peer} {theirs}", times(self.ratio, goal))


def in_turns(ours: Callable[[], object], peer: Callable[[], object], turns: int, calls: int = 1) -> Pair:
    """Time two pieces of work in alternating turns, so that whatever else the machine does hits both."""
    ours(), peer()
    works = [timing.calls("ours", ours, calls), timing.calls("peer", peer, calls)]
    a, b = timing.interleaved(works, turns, 1)[0][..., 0] / calls
    return Pair(timing_of(a), timing_of(b), median(b / a), timing_of(a - b))


def alone(work: Callable[[], object], turns: int) -> Timing:
    """Time `work` in so many turns."""
    work()
    return timing_of(timing.interleaved([timing.calls("work", work)], turns, 1)[0].reshape(-1))


def timing_of(seconds: Sequence[float] | np.ndarray) -> Timing:
    """The median of some seconds, and the median distance from it."""
    return Timing(float(np.median(seconds)), timing.mad(seconds))


def settle() -> None:
    """One thread each, and glibc's allocator tuned: the same conditions for whatever is measured afterwards."""
    os.environ["OMP_NUM_THREADS"] = "1"  # of processes that are started from here
    cv2.setNumThreads(0)
    torch.set_num_threads(1)
    tune_allocator()


def met(reached: bool) -> str:
    """How a goal came out."""
    return "met" if reached else "missed"


def times(ratio: float, goal: float | None = None) -> str:
    """A ratio, and its goal.

    >>> times(5.521, 6.5), times(648.2)
    ('×5.52, goal ×6.5: missed', '×648')
    """
    text = f"×{ratio:,.0f}" if ratio >= 100 else f"×{ratio:.2f}"
    return text if goal is None else f"{text}, goal ×{goal:g}: {met(ratio >= goal)}"


def run(
    script: str,
    doc: str,
    title: str,
    method: str,
    parts: Mapping[str, Part],
    *,
    children: Mapping[str, Callable[..., Sequence[float]]] | None = None,
    more: Mapping[str, dict[str, Any]] | None = None,
    arguments: Sequence[str] | None = None,
) -> None:
    """Measure the parts one after another, print each row as it comes, and write the section when all were measured.

    Args:
        script: the script's `__file__`: the section bears its name.
        doc: its docstring.
        title: of the section.
        method: how it was measured.
        parts: by name, for `--only`; each gets the options, and an empty `options.folder`.
        children: functions that `child` calls in a process of its own, by name.
        more: options of this script alone, as `add_argument` takes them.
        arguments: instead of those of the command line.
    """
    known = ArgumentParser(description=doc.splitlines()[0])
    known.add_argument("--write", action="store_true", help="write the section of RESULTS.md")
    known.add_argument("--quick", action="store_true", help="a tenth of the turns: is everything still there?")
    known.add_argument("--only", metavar="WORD", help="only the parts whose name holds it", default="")
    known.add_argument("--child", nargs="+", help=SUPPRESS)
    for name, how in (more or {}).items():
        known.add_argument(f"--{name}", **how)
    options = known.parse_args(arguments)
    if options.child:
        settle()
        print(*(children or {})[options.child[0]](*options.child[1:]))
        return
    chosen = {name: part for name, part in parts.items() if options.only in name}
    if not chosen:
        raise SystemExit(f"--only {options.only}: no part has that in its name; there are {', '.join(parts)}")
    where = conditions()
    settle()
    blocks: list[str | list[Row]] = []
    for part in chosen.values():
        with tempfile.TemporaryDirectory() as folder:
            options.folder = Path(folder)
            for found in part(options):
                print(found, flush=True)
                if isinstance(found, str):
                    blocks.append(found)
                elif blocks and isinstance(blocks[-1], list):
                    blocks[-1].append(found)
                else:
                    blocks.append([found])
    if options.write and not options.quick and len(chosen) == len(parts):
        name = Path(script).stem
        tables = [block if isinstance(block, str) else table(HEAD, block) for block in blocks]
        put_section(name, "\n\n".join((f"## {title} (`python benchmarks/{name}.py --write`)", where, method, *tables)))


def child(script: str, name: str, *arguments: object, **env: str) -> tuple[float, ...]:
    """What one of a script's `children` returns, in a process of its own."""
    command = [sys.executable, script, "--child", name, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **env})
    return tuple(map(float, done.stdout.split()))


def memory(name: str, process: int | str = "self") -> float:
    """A line of a process's memory, MB: `VmRSS` is resident, `VmHWM` the highest of it; only on Linux."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace").splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1]) * 1024 / 1e6


def conditions() -> str:
    """Date, machine and versions, in one paragraph."""
    here = machine()
    versions = ", ".join(f"{name} {found}" for name, found in here.packages.items() if name != "augrecipes")
    load = "unknown" if here.load is None else f"{here.load:.1f}"
    return (
        f"{here.date[:10]}, {here.processor}, {os.cpu_count()} cores (load {load} at the start), {here.system}, "
        f"Python {here.python}, {versions}, {here.kernels}."
    )


def put_section(name: str, body: str, path: Path = RESULTS) -> None:
    """Write the section `name`, in the place of an earlier one; sections stand in the order of their names."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    sections = dict(_SECTION.findall(text)) | {name: f"\n{body.strip()}\n"}
    found = [f"<!-- begin {key} -->{sections[key]}<!-- end {key} -->\n" for key in sorted(sections)]
    path.write_text("\n".join([_TITLE, *found]), encoding="utf-8")


def table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A Markdown table, aligned so that it reads well in a terminal too."""
    widths = [max(len(row[k]) for row in (header, *rows)) for k in range(len(header))]

    def line(row: tuple[str, ...]) -> str:
        return "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"

    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([line(header), rule, *map(line, rows)])
