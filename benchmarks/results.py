"""RESULTS.md: one section a benchmark, written by the benchmark itself and by nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

RESULTS = Path(__file__).parent / "RESULTS.md"
_HEAD = "# Results\n\nWritten by the scripts in this folder, with `--write`; not by hand.\n"
_SECTION = re.compile(r"<!-- begin (\S+) -->(.*?)<!-- end \1 -->", re.DOTALL)


HEAD = ("what", "augrecipes", "beside", "")


class Row(NamedTuple):
    """One line of a benchmark's table: what was measured, ours, what it stands beside, and the ratio or the goal."""

    what: str
    ours: str
    beside: str
    verdict: str

    def __str__(self) -> str:
        return f"{self.what:52} {self.ours:24} {self.beside:52} {self.verdict}".rstrip()


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


def put_section(name: str, body: str, path: Path = RESULTS) -> None:
    """Write the section `name`, in the place of an earlier one; sections stand in the order of their names."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    sections = dict(_SECTION.findall(text)) | {name: f"\n{body.strip()}\n"}
    found = [f"<!-- begin {key} -->{sections[key]}<!-- end {key} -->\n" for key in sorted(sections)]
    path.write_text("\n".join([_HEAD, *found]), encoding="utf-8")


def table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A Markdown table, aligned so that it reads well in a terminal too."""
    widths = [max(len(row[k]) for row in (header, *rows)) for k in range(len(header))]

    def line(row: tuple[str, ...]) -> str:
        return "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"

    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([line(header), rule, *map(line, rows)])
