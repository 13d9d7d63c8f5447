"""The difference of two recipes as text for people."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from augrecipes.cli import tables
from augrecipes.cli.terminal import paint
from augrecipes.diff import words
from augrecipes.diff.differences import ComparedRecipe, Difference, StepDifference
from augrecipes.errors import counted

_MARKS = {"added": "+", "removed": "-", "moved": ">", "changed": "~"}
_STYLES = {"+": "good", "-": "error", ">": "warning", "~": "warning"}
_TITLES = {"train": "training_steps", "eval": "evaluation_steps"}
_LISTED = 8  # hints and remarks that are printed; the others are counted


def render(found: Difference, width: int | None = None) -> str:
    """A difference as aligned text, no wider than the terminal.

    >>> from augrecipes.diff import Change, Difference
    >>> side = ComparedRecipe("tiny", "tiny.yaml", "0123456789abcdef")
    >>> layout = Change("output.layout", "chw", "hwc")
    >>> print(render(Difference(side, side, ("train",), settings=(layout,), alike=3), 80))
    A: tiny · tiny.yaml · digest 0123456789ab
    B: tiny · tiny.yaml · digest 0123456789ab
    <BLANKLINE>
    Settings
      setting        what differs
      output.layout  chw → hwc
    <BLANKLINE>
    they differ: 1 setting; 3 steps are the same
    """
    return f"{_painted(tables.render(report_of(found), width))}\n\n{_verdict(found)}"


def report_of(found: Difference) -> dict[str, Any]:
    """A difference as facts and lists, which `tables` shows."""
    report: dict[str, Any] = {"A": _side(found.a), "B": _side(found.b)}
    if found.settings:
        report["settings"] = [{"setting": one.key, "what differs": words.of_change(one)} for one in found.settings]
    for mode in found.modes:
        rows = [_row(one) for one in found.steps if one.mode == mode]
        if rows:
            report[_TITLES[mode]] = rows
    for key, lines in (("to_keep_draws", found.hints), ("not_counted_as_differences", found.remarks)):
        if lines:
            more = [f"and {len(lines) - _LISTED} more"] if len(lines) > _LISTED else []
            report[key] = [*lines[:_LISTED], *more]
    return report


def _side(side: ComparedRecipe) -> str:
    return f"{side.recipe} · {side.file} · digest {side.digest[:12]}"


def _row(one: StepDifference) -> Mapping[str, str]:
    return {
        "": _MARKS[one.what],
        "step": one.site,
        "draws": one.draws if one.draws in ("kept", "changed") else "",
        "what differs": words.of_step(one),
    }


def _painted(text: str) -> str:
    """Rows of steps in the colour of their mark, on terminals."""
    lines = []
    for line in text.split("\n"):
        style = _STYLES.get(line[2:3]) if line.startswith("  ") and line[3:5] == "  " else None
        lines.append(paint(line, style, sys.stdout) if style else line)
    return "\n".join(lines)


def _verdict(found: Difference) -> str:
    same = f"{counted(found.alike, 'step')} {'is' if found.alike == 1 else 'are'} the same"
    if found.same:
        return paint(f"the same in effect: {same}", "good", sys.stdout)
    counts = [counted(len(rows), word) for rows, word in ((found.settings, "setting"), (found.steps, "step")) if rows]
    return paint(f"they differ: {', '.join(counts)}; {same}", "strong", sys.stdout)
