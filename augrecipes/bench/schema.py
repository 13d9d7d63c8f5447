"""What the keys of `bench.json` mean, as a page for people: made of the record's classes and their docstrings."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from augrecipes.bench import record

_PLAIN = {int: "whole number", float: "number", str: "text", bool: "true or false", type(None): "null", Any: "as given"}
_OPENING = """# bench.json

What `augrecipes bench` writes with `--json FILE` or `-o FOLDER`, version {version}; `augrecipes schema --bench` prints
this page.

{about}
"""


@dataclass(frozen=True, slots=True)
class JsonKey:
    """One key of an object.

    Attributes:
        name: of it.
        type: of its value, as Python has it.
        about: what it means.
    """

    name: str
    type: Any
    about: str


def markdown() -> str:
    """The whole page.

    >>> print(markdown()[:12])
    # bench.json
    """
    about = (inspect.getdoc(record) or "").partition("\n\n")[2]
    lines = [_OPENING.format(version=record.SCHEMA_VERSION, about=about)]
    for cls in classes():
        title = "The whole" if cls is record.Bench else cls.__name__
        lines += [f"## {title}\n", f"{_opening(cls)}\n", "| key | value | |", "|---|---|---|"]
        lines += [f"| `{key.name}` | {words(key.type)} | {_cell(key.about)} |" for key in keys(cls)]
        lines.append("")
    return "\n".join(lines)


def classes() -> list[type]:
    """What objects of a record are made by, each once, the whole first."""
    found: list[type] = [record.Bench]
    for cls in found:
        found += [inner for inner in dict.fromkeys(_inner(cls)) if inner not in found]
    return found


def keys(cls: type) -> list[JsonKey]:
    """The keys of an object, with what the docstring says of each; empty where it says nothing.

    >>> keys(record.Stage)[2]
    JsonKey(name='ms', type=<class 'float'>, about='a sample.')
    """
    hints, said = get_type_hints(cls), _said(cls)
    return [JsonKey(field.name, hints[field.name], said.get(field.name, "")) for field in fields(cls)]


def words(hint: Any) -> str:
    """A type for people.

    >>> words(tuple[float, ...]), words(dict[str, record.Stage]), words(float | None)
    ('list of number', '[Stage](#stage) by name', 'number or null')
    """
    if is_dataclass(hint):
        name = hint.__name__  # type: ignore[union-attr]
        return f"[{name}](#{name.lower()})"
    origin, inside = get_origin(hint), get_args(hint)
    if origin in {Union, types.UnionType}:
        return " or ".join(map(words, inside))
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in inside)
    if origin is tuple:
        return f"list of {words(inside[0])}"
    if origin in {dict, Mapping}:
        return "object" if inside[1] is Any else f"{words(inside[1])} by name"
    return _PLAIN[hint]


def _inner(cls: type) -> Iterator[type]:
    """The classes that a class's fields hold."""
    waiting = [key.type for key in keys(cls)]
    while waiting:
        hint = waiting.pop(0)
        if is_dataclass(hint):
            yield hint  # type: ignore[misc]
        waiting += get_args(hint)


def _opening(cls: type) -> str:
    return (inspect.getdoc(cls) or "").partition("\n\nAttributes:")[0].partition("\n\n>>>")[0]


def _said(cls: type) -> dict[str, str]:
    """What the docstring says of each attribute."""
    _, _, listed = (inspect.getdoc(cls) or "").partition("Attributes:\n")
    found = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", listed, flags=re.MULTILINE)
    return {name: re.sub(r"\s+", " ", about).replace("None", "null") for name, about in found}


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
