"""Reports of objects and commands: facts, tables and notes, for terminals, JSON and notebooks."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from io import StringIO
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from augrecipes.errors import harmless, logger

if TYPE_CHECKING:
    from rich.text import Text

STYLES = {"error": "bold red", "warning": "yellow", "strong": "bold", "faint": "dim", "good": "green", "": ""}
_LEAST = 20  # characters that a column of text keeps when lines are narrow, if it needs them
_HANG = 2  # columns by which the further lines of a note are indented
_GLUE = "\ue000"  # stands for a space where no line may break; no shown text holds it
_LIST, _PAIR = re.compile(r"\[[^\]]*\]"), re.compile(r"[\w.]+: \S+")
_TRAILING = re.compile(r" +((?:\x1b\[0m)?)$", re.MULTILINE)


def to_plain(value: Any) -> Any:
    """Convert a value to what JSON can hold: dicts, lists, strings, numbers, booleans and None.

    A dataclass becomes a dict of its fields, except those with `compare=False`. A number that is not finite becomes
    None.

    >>> to_plain({"sizes": (1, 2.5), "ratio": float("inf")})
    {'sizes': [1, 2.5], 'ratio': None}
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: to_plain(getattr(value, one.name)) for one in fields(value) if one.compare}
    if isinstance(value, Mapping):
        return {str(key): to_plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_plain(part) for part in value]
    if hasattr(value, "tolist"):  # arrays and numbers of numpy
        return to_plain(value.tolist())
    if isinstance(value, float) and not isfinite(value):
        return None
    return os.fspath(value) if isinstance(value, os.PathLike) else value


class Note(NamedTuple):
    """A sentence below a report or a table; the style applies to its label where it has one, else to all of it."""

    text: str
    label: str = ""
    style: str = ""


@dataclass(slots=True)
class TextTable:
    """A table of text.

    Attributes:
        title: the line above the table.
        headings: the columns' headings; empty: none.
        rows: cells of text. Leading spaces of a first cell show its depth.
        right: indices of right-aligned columns of numbers, which are not wrapped; others may be.
        keys: how many first columns are repeated where lines are too narrow for one table.
        strong: indices of bold columns, which are not wrapped either.
        styles: the rows' styles; empty: none.
        notes: the notes below the table.
    """

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Collection[int] = ()
    keys: int = 1
    strong: Collection[int] = ()
    styles: Sequence[str] = ()
    notes: Sequence[Note] = ()


@dataclass(slots=True)
class Report:
    """A report.

    Attributes:
        facts: facts by name, in one line each where there is room.
        tables: the tables below them.
        notes: the notes at the end.
    """

    facts: Mapping[str, str] = field(default_factory=dict)
    tables: Sequence[TextTable] = ()
    notes: Sequence[Note] = ()

    def text(self, columns: int = 80, *, colour: bool = False) -> str:
        """Format the report as lines of at most `columns` characters; `colour` adds escape codes for a terminal.

        >>> rows = [("Flip#1", "0.5", "axis: x"), ("Rotate#1", "1", "limit: [-5, 5]")]
        >>> print(Report({"recipe": "tiny"}, [TextTable("Steps", ("step", "p", "arguments"), rows, right=(1,))]).text())
        recipe: tiny
        <BLANKLINE>
        Steps
          step        p  arguments
          Flip#1    0.5  axis: x
          Rotate#1    1  limit: [-5, 5]
        """
        from rich.console import Console

        page = StringIO()
        console = Console(
            file=page, width=columns, color_system="standard" if colour else None, force_terminal=colour,
            highlight=False, legacy_windows=False, _environ={},
        )  # fmt: skip
        facts = [line for key, value in self.facts.items() for line in _hanging(f"{key}: ", value, console)]
        notes = [line for note in self.notes for line in _note_lines(note, "", console)]
        parts = [facts, *(_lines(table, console) for table in self.tables), notes]
        for number, part in enumerate(filter(None, parts)):
            console.print(*([""] if number else []), *part, sep="\n", soft_wrap=False)
        return _TRAILING.sub(r"\1", page.getvalue().replace(_GLUE, " ")).removesuffix("\n")


def _lines(table: TextTable, console: Any) -> list[Any]:
    """Lay out a table for rich; where it is too wide, as several tables, one below the other."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    lines: list[Any] = [Text(table.title, "bold")] if table.title else []
    rows = [[_text(cell, console.width) for cell in row] for row in table.rows]
    captions = [_text(heading, console.width, "dim") for heading in table.headings]
    every = [*([captions] if captions else []), *rows]
    notes = [line for note in table.notes for line in _note_lines(note, "  ", console)]
    if not rows:
        return [*lines, *(notes or [Text("  none")])]
    widths = [max(row[k].cell_len for row in every) for k in range(len(every[0]))]
    whole = {*table.right, *table.strong}  # numbers and names are not wrapped
    needs = [width if k in whole else min(width, _LEAST) for k, width in enumerate(widths)]
    for place, block in enumerate(_blocks(needs, table.keys, console.width - 2)):
        shown = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=bool(captions), header_style="")
        for k in block:
            shown.add_column(
                captions[k] if captions else "",
                justify="right" if k in table.right else "left",
                no_wrap=k in whole,
                overflow="fold",
                style="bold" if k in table.strong else "",
            )
        for row, style in zip(rows, table.styles or [""] * len(rows), strict=True):
            if not place or any(row[k] for k in block[table.keys :]):
                shown.add_row(*(row[k] for k in block), style=STYLES[style])
        lines += [*([""] if place else []), Padding(shown, (0, 0, 0, 2))]
    return [*lines, *notes]


def _blocks(needs: Sequence[int], keys: int, room: int) -> list[list[int]]:
    """Split columns into tables: as many columns each as there is room for, at least one after the keys."""
    blocks: list[list[int]] = [[]]
    for k, need in enumerate(needs):
        if len(blocks[-1]) > keys and sum(needs[j] + 2 for j in blocks[-1]) + need > room:
            blocks.append([*range(keys)])
        blocks[-1].append(k)
    return blocks


def _text(text: str, columns: int, style: str = "") -> Text:
    """Make a line of text, in which short lists are not broken, nor short values from their keys."""
    from rich.text import Text

    glued = harmless(text)
    for pattern in (_LIST, _PAIR):
        glued = pattern.sub(
            lambda run: run[0].replace(" ", _GLUE) if 2 * len(run[0]) <= columns - 10 else run[0], glued
        )
    return Text(glued, style)


def _note_lines(note: Note, indent: str, console: Any) -> list[Text]:
    before = f"{indent}{note.label} " if note.label else indent
    lines = _hanging(before, note.text, console, 0 if note.label else _HANG)
    for line in lines[: 1 if note.label else None]:
        line.stylize(STYLES[note.style], 0, len(before) if note.label else None)
    return lines


def _hanging(before: str, text: str, console: Any, more: int = 0) -> list[Text]:
    """Wrap `text` after `before`; indent its further lines to below its first, or by `more` columns more."""
    from rich.text import Text

    room = max(console.width - len(before) - more, _LEAST)
    first, *others = _text(text, console.width).wrap(console, room, overflow="fold") or [Text("")]
    return [Text(before) + first, *(Text(" " * (len(before) + more)) + line for line in others)]


# What renders HTML ("html") and sheets of datasets ("dataset"); `augrecipes.api.bind` registers the functions.
renderers: dict[str, Callable[..., Any]] = {}


class Displayed:
    """An object that a notebook shows as HTML; terminals show its `repr`."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """Return the object as self-contained HTML: no file, no script, no network. Never raises."""
        return str(renderers["html"](self))


@contextmanager
def quiet() -> Iterator[None]:
    """Silence warnings for a `with` that compiles recipes only to show them: running them logs the warnings."""
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
