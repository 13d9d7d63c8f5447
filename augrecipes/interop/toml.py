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
    """The path of every key and of every element of an array of tables, and where its statement begins."""
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
        is_header = start.startswith("[")
        path = () if is_header else table
        while isinstance(value, dict) and len(value) == 1:  # keys inside each other; what else is inside is here, too
            ((key, value),) = value.items()
            path = (*path, key)
            yield path, place
            if is_header and isinstance(value, list):
                value, last[path] = value[0], last.get(path, -1) + 1
            if path in last:
                path = (*path, last[path])
                yield path, place
        table = path if is_header else table


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
