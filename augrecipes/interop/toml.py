"""TOML as nodes with places.

`tomllib` tells no places. A statement of TOML is the shortest run of lines that is TOML by itself: each is read alone,
and its keys stand where it begins.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

from augrecipes.errors import Diagnostic, RecipeError
from augrecipes.interop.budget import bounded, spend
from augrecipes.recipe.limits import MAX_DEPTH
from augrecipes.recipe.nodes import ListNode, MappingNode, Node, Place, from_value

_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_Path = tuple[str | int, ...]


def read_toml(text: str, file: str) -> Node:
    """A text of TOML as a mapping.

    Raises:
        RecipeError: it is none, with line and column; or it is too much.

    >>> read_toml("[a]\\n'b' = [ # a list\\n  1 ]\\nc.d = 2", "f.toml").entries["a"].at["c"].line
    4
    """
    text = text.replace("\r\n", "\n")
    line, col = 1, 1
    try:
        with bounded(file):
            values, places = tomllib.loads(text), [*_places(text, file)]
            return _node(values, (), dict(reversed(places)), Place(file, 1, 1))  # the first place of each counts
    except tomllib.TOMLDecodeError as error:
        message, at = _AT.sub("", str(error)), _AT.search(str(error))
        line, col = (int(at[1]), int(at[2])) if at and at[1] else (text.rstrip("\n").count("\n") + 1, 1)
        if "\\" in text.split("\n")[line - 1]:
            message += "; a backslash is an escape between double quotes: write paths in single quotes, or with /"
    except RecursionError:
        message = "it is nested too deeply"
    raise RecipeError(problems=[Diagnostic(f"no TOML: {message}", line, col, "E603", "import", file)])


def _places(text: str, file: str) -> Iterator[tuple[_Path, Place]]:
    """The path of everything that has a key or is in a list, and where its statement begins."""
    table: _Path = ()
    last: dict[_Path, int] = {}  # of each array of tables, the element that is being filled
    lines: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        lines.append(line)
        spend(len(lines))
        try:
            value: Any = tomllib.loads("\n".join(lines))
        except tomllib.TOMLDecodeError:
            continue
        start = lines[0].lstrip()
        place = Place(file, number - len(lines) + 1, 1 + len(lines[0]) - len(start))
        lines = []
        if not start.startswith("["):
            yield from ((path, place) for path in _paths(value, table))
            continue
        table = ()
        while value:  # a header: keys inside each other, the last one of an empty table or a list of one
            ((key, value),) = value.items()
            table = (*table, key)
            yield table, place
            if isinstance(value, list):
                value, last[table] = value[0], last.get(table, -1) + 1
            if table in last:
                table = (*table, last[table])
                yield table, place


def _paths(value: Any, path: _Path) -> Iterator[_Path]:
    """The path of everything inside a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from _paths(inner, (*path, key))


def _node(value: Any, path: _Path, places: dict[_Path, Place], place: Place) -> Node:
    """A value as a node; dates, and numbers that no step can use, as text."""
    if len(path) > MAX_DEPTH:
        raise RecursionError
    place = places.get(path, place)
    if isinstance(value, dict):
        entries = {key: _node(inner, (*path, key), places, place) for key, inner in value.items()}
        return MappingNode(entries, place, {key: node.place for key, node in entries.items()})
    if isinstance(value, list):
        return ListNode([_node(inner, (*path, index), places, place) for index, inner in enumerate(value)], place)
    is_plain = isinstance(value, str) or (isinstance(value, int | float) and abs(value) < 2**63)
    return from_value(value if is_plain else str(value), place)
