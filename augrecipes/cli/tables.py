"""An explanation as text for people: facts first, then a table for every list, no wider than the terminal."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from augrecipes.cli.terminal import paint
from augrecipes.cli.terminal import width as columns
from augrecipes.diff.words import text
from augrecipes.recipe.derive import ONE_BY_ONE

_NARROWEST = 24  # of a last column; where it is less, the text stands below
_DIGITS = 12  # of a digest: enough to tell recipes apart


class TextTable(NamedTuple):
    """Rows of text; the last column is wrapped."""

    title: str
    headings: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def render(report: Mapping[str, Any], width: int | None = None) -> str:
    """What `Explanation.to_json()` holds, as text.

    Args:
        report: facts, and lists of mappings.
        width: columns to stay within; None asks the terminal.

    >>> flip = {"site": "Flip#1", "depth": 0, "name": "Flip", "p": 0.5, "arguments": {"axis": "x", "fill": None}}
    >>> print(render({"recipe": "tiny", "digest": "0123456789abcdef", "steps": [flip], "stayed": []}, 80))
    recipe: tiny
    digest: 0123456789ab
    <BLANKLINE>
    Steps, with the arguments that take effect
      step    p    arguments
      Flip#1  0.5  axis: x
    <BLANKLINE>
    Not merged or moved, and why
      none
    """
    width = columns() if width is None else width
    timing = report.get("timing")
    facts = {key: value for key, value in report.items() if not isinstance(value, list | tuple | Mapping)}
    if timing is not None:
        facts |= _measured(timing)
    if isinstance(facts.get("digest"), str):
        facts["digest"] = facts["digest"][:_DIGITS]
    if facts.get("optimize") == "fast":
        facts["optimize"] = "fast (keeps the contracts below; augrecipes verify measures how far)"
    parts = ["\n".join(filled(f"{key}: ", text(value), width) for key, value in facts.items())] if facts else []
    return "\n\n".join([*parts, *(_rendered(table, width) for table in tables_of(report))])


def tables_of(report: Mapping[str, Any]) -> Iterator[TextTable]:
    """A table for every list of a report; those of steps with their times, where they were measured."""
    timing = report.get("timing")
    for key, rows in report.items():
        if isinstance(rows, list | tuple):
            table = _TABLES.get(key, _any)(key, rows)
            if timing is not None and key in _TIMED:
                table = _with_times(table, [row["ms"] for row in rows], timing[_TIMED[key]])
            yield table


def _steps(_: str, rows: Sequence[Mapping[str, Any]]) -> TextTable:
    """Children stand below their group, further in, so their label need not repeat the group's."""
    shown = []
    for row in rows:
        site = str(row["site"]).rpartition("/")[2]
        label = site if site.startswith(f"{row['name']}#") else f"{site} ({row['name']})"
        arguments = {name: value for name, value in row["arguments"].items() if value is not None}
        shown.append(("  " * row["depth"] + label, f"{row['p']:g}", text(arguments)))
    return TextTable("Steps, with the arguments that take effect", ("step", "p", "arguments"), shown)


def _rules(_: str, rows: Sequence[Mapping[str, Any]]) -> TextTable:
    shown = []
    for row in rows:
        shown.append((f"{row['rule']}", f"{row['contract']}", f"{row['before']} → {row['after'] or 'nothing'}"))
        if row["equation"]:
            shown.append(("", "", " ".join(row["equation"].split())))
    return TextTable("Rules that fired", ("rule", "contract", "what it did"), shown)


def _plan(_: str, rows: Sequence[Mapping[str, Any]]) -> TextTable:
    shown = [
        (str(row["step"]), f"{row['runs']}{' = ' if row['stands_for'] else ''}{row['stands_for']}") for row in rows
    ]
    return TextTable("Plan", ("step", "how it runs"), shown)


def _stayed(_: str, rows: Sequence[Mapping[str, Any]]) -> TextTable:
    return TextTable("Not merged or moved, and why", (), [(str(row["site"]), str(row["why"])) for row in rows])


def _shared(_: str, rows: Sequence[Mapping[str, Any]]) -> TextTable:
    return TextTable("Who shares a draw", (), [(str(row["site"]), str(row["how"])) for row in rows])


def _derived(_: str, rows: Sequence[Mapping[str, Any]]) -> TextTable:
    shown = []
    for row in rows:
        site = "  " * row["depth"] + str(row["site"]).rpartition("/")[2]
        becomes = "" if row["why"] == ONE_BY_ONE else f"{', '.join(row['becomes']) or 'nothing'}: "
        shown.append((site, f"{becomes}{row['why']}"))
    return TextTable("Evaluation, derived from the training steps", ("training", "evaluation, and why"), shown)


def _any(key: str, rows: Sequence[Any]) -> TextTable:
    mappings = [row if isinstance(row, Mapping) else {"": row} for row in rows]
    headings = tuple(str(name) for name in mappings[0]) if mappings else ()
    shown = [tuple(text(row.get(name)) for name in headings) for row in mappings]
    return TextTable(key.replace("_", " ").capitalize(), headings if any(headings) else (), shown)


_TIMED = {"steps": "before", "plan": "after"}


def _with_times(table: TextTable, times: Sequence[float], rest: Mapping[str, float]) -> TextTable:
    """A column of milliseconds before the last, and rows for what is no step."""
    more = [("sink", rest["sink"]), ("overhead", rest["overhead"]), ("in all", rest["whole"])]
    texts = [f"{ms:.3f}" for ms in (*times, *(ms for _, ms in more))]
    widest = max(len(text) for text in texts)
    columns = len(table.headings or table.rows[0] if table.rows else ("", ""))
    rows = [*table.rows, *((what, *[""] * (columns - 1)) for what, _ in more)]
    headings = table.headings or ("step", *[""] * (columns - 1))
    return TextTable(
        table.title,
        (*headings[:-1], "ms".rjust(widest), headings[-1]),
        [(*row[:-1], text.rjust(widest), row[-1]) for row, text in zip(rows, texts, strict=True)],
    )


def _measured(timing: Mapping[str, Any]) -> dict[str, str]:
    before, after = (f"{timing[which]['whole']:.3f} ms" for which in ("before", "after"))
    return {
        "measured": f"{timing['what']}, one thread, {timing['samples']} draws, {timing['rounds']} times each in turns",
        "ratio": f"{timing['ratio']:.2f} ± {timing['spread']:.2f}, {before} as written, {after} as planned",
    }


_TABLES = {"steps": _steps, "rules": _rules, "plan": _plan, "shared": _shared, "stayed": _stayed, "derived": _derived}


def _rendered(table: TextTable, width: int) -> str:
    """Title, head and aligned columns."""
    lines = [paint(table.title, "strong", sys.stdout)]
    if not table.rows:
        return "\n".join([*lines, "  none"])
    rows = [table.headings, *table.rows] if table.headings else list(table.rows)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    for number, row in enumerate(rows):
        before = "  " + "".join(f"{cell:<{size}}  " for cell, size in zip(row, widths, strict=False))
        line = filled(before, row[-1], width).rstrip()
        lines.append(paint(line, "faint", sys.stdout) if table.headings and not number else line)
    return "\n".join(lines)


def filled(before: str, text: str, width: int | None = None) -> str:
    """`text` behind `before`, wrapped, with its further lines below its first."""
    width = columns() if width is None else width
    if width - len(before) < min(len(text), _NARROWEST):
        return f"{before.rstrip()}\n{filled('      ', text, max(width, _NARROWEST + 6))}"  # below, where there is room
    room = max(width - len(before), _NARROWEST)
    # What belongs together keeps together: a break inside `[0.5, 1.0]` is hard to read.
    lines = textwrap.wrap(_glued(text), room, break_long_words=False, break_on_hyphens=False)
    indent = "\n" + " " * len(before)
    return before + indent.join(lines).replace(_GLUE, " ")


_GLUE = "\x00"


def _glued(text: str) -> str:
    """Spaces inside brackets, and after a colon, as glue that wrapping leaves alone."""
    depth, out = 0, []
    for before, character in zip(" " + text, text, strict=False):
        depth += (character in "[(") - (character in "])")
        out.append(_GLUE if character == " " and (depth > 0 or before == ":") else character)
    return "".join(out)
