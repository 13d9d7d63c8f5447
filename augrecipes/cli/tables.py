"""JSON-like data as text for people: facts first, then a table for every list."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from augrecipes.cli.terminal import paint

_TITLES = {
    "steps": "Steps, with the arguments that take effect",
    "rules": "Rules that fired",
    "plan": "Plan",
    "stayed": "Stayed as it is, and why",
}


def render(told: Mapping[str, Any]) -> str:
    """A mapping of facts and lists as text.

    >>> print(render({"recipe": "tiny", "plan": [{"step": "HorizontalFlip", "p": 0.5}, {"step": "sink", "p": 1}]}))
    recipe: tiny
    <BLANKLINE>
    Plan
      HorizontalFlip  0.5
      sink            1
    """
    facts = [f"{key}: {_text(value)}" for key, value in told.items() if not _is_table(value)]
    parts = ["\n".join(facts)] if facts else []
    for key, rows in told.items():
        if _is_table(rows):
            title = paint(_TITLES.get(key, key.replace("_", " ").capitalize()), "strong", sys.stdout)
            parts.append("\n".join([title, *(_rows(rows) or ["  none"])]))
    return "\n\n".join(parts)


def _is_table(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _rows(rows: Sequence[Any]) -> list[str]:
    """Aligned columns; the last one is not padded."""
    cells = [[_text(cell) for cell in row.values()] if isinstance(row, Mapping) else [_text(row)] for row in rows]
    count = max((len(row) for row in cells), default=0)
    widths = [max((len(row[i]) for row in cells if i < len(row) - 1), default=0) for i in range(count)]
    return [
        "  " + "  ".join([*(cell.ljust(widths[i]) for i, cell in enumerate(row[:-1])), *row[-1:]]).rstrip()
        for row in cells
    ]


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_text(part)}" for key, part in value.items())
    if isinstance(value, list | tuple):
        return f"[{', '.join(_text(part) for part in value)}]"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: ""}[value]
    return str(value)
