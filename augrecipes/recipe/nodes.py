"""The nodes of a YAML file, with places: YAML 1.2 scalars, lists and mappings. No aliases, no tags, no objects."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_WORDS: dict[str, bool | None] = dict.fromkeys(("", "~", "null", "Null", "NULL"))
_WORDS |= {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?[0-9]+", re.ASCII)
_OCTAL = re.compile(r"0o[0-7]+")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_LARGEST = 2**63


class NumberError(ValueError):
    """A number that no step can use: infinite, NaN, or an integer over 64 bits."""


def resolve(text: str) -> bool | int | float | str | None:
    """The value of a plain (unquoted) scalar.

    Raises:
        NumberError: it is infinite, NaN or does not fit 64 bits.

    >>> [resolve(text) for text in ("true", "no", "1e-3", "0o17", "0x1F", "1_000", "1:30", "~", "012", ".5")]
    [True, 'no', 0.001, 15, 31, '1_000', '1:30', None, 12, 0.5]
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    if len(text) > 400 and _FLOAT.fullmatch(text):
        raise NumberError(f"a number of {len(text)} characters")
    for pattern, base in ((_INTEGER, 10), (_OCTAL, 8), (_HEXADECIMAL, 16)):
        if pattern.fullmatch(text):
            number = int(text if base == 10 else text[2:], base)
            if not -_LARGEST <= number < 2 * _LARGEST:
                raise NumberError(f"{text[:40]} does not fit into 64 bits")
            return number
    if _FLOAT.fullmatch(text):
        value = float(text)
        if math.isinf(value):
            raise NumberError(f"{text} is too large")
        return value
    if _NOT_FINITE.fullmatch(text):
        raise NumberError(f"{text} is not a finite number")
    return text


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a file: the file as the user named it, 1-based line and column, and offsets in the text.

    A list or mapping without brackets ends with its last value.
    """

    file: str = "<recipe>"
    line: int = 0
    col: int = 0
    start: int = field(default=0, compare=False, repr=False)
    end: int = field(default=0, compare=False, repr=False)


NOWHERE = Place()


@dataclass(slots=True, eq=False)
class Scalar:
    """A value: text, number, boolean or null; `written` is its text in the file."""

    value: Any
    place: Place
    written: str = ""


@dataclass(slots=True, eq=False)
class ListNode:
    """A list; `flow`: it is written in brackets."""

    items: list[Node]
    place: Place
    flow: bool = False


@dataclass(slots=True, eq=False)
class MappingNode:
    """A mapping from names to nodes; `at` has the places of the keys; `flow`: it is written in braces."""

    entries: dict[str, Node]
    place: Place
    at: dict[str, Place] = field(default_factory=dict)
    flow: bool = False

    def pairs(self) -> Iterator[tuple[str, Place, Node]]:
        """Yield each key, its place and its value, in file order."""
        for key, node in self.entries.items():
            yield key, self.at.get(key, node.place), node


Node = Scalar | ListNode | MappingNode


def plain(node: Node) -> Any:
    """The Python value of a node.

    >>> plain(ListNode([Scalar(1, Place()), Scalar("a", Place())], Place()))
    [1, 'a']
    """
    match node:
        case Scalar():
            return node.value
        case ListNode():
            return [plain(item) for item in node.items]
        case MappingNode():
            return {key: plain(value) for key, value in node.entries.items()}


def same(first: Any, second: Any) -> bool:
    """Whether two plain values are the same in a recipe: 1 and 1.0 are, 1 and true are not."""
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, dict) and isinstance(second, dict):
        return list(first) == list(second) and all(map(same, first.values(), second.values()))
    return bool(first == second)


def walk(node: Node) -> Iterator[Node]:
    """Yield the node and every node inside it."""
    yield node
    parts = node.items if isinstance(node, ListNode) else node.entries.values() if isinstance(node, MappingNode) else ()
    for part in parts:
        yield from walk(part)


def from_value(value: Any, place: Place) -> Node:
    """Turn Python values into a node; all its parts have the place `place`.

    Raises:
        TypeError: a value has a type that no recipe can hold.
    """
    if isinstance(value, Mapping):
        entries = {str(key): from_value(item, place) for key, item in value.items()}
        return MappingNode(entries, place, dict.fromkeys(entries, place))
    if isinstance(value, list | tuple):
        return ListNode([from_value(item, place) for item in value], place)
    if value is None or isinstance(value, bool | int | float | str):
        return Scalar(value, place, str(value))
    raise TypeError(f"a recipe holds text, numbers, true, false, null, lists and mappings, not {type(value).__name__}")


def describe(node: Node) -> str:
    """Describe a node in a few words, for messages.

    >>> describe(Scalar("high", Place())), describe(Scalar(None, Place()))
    ("text 'high'", 'nothing')
    """
    match node:
        case ListNode(items=items):
            return f"a list of {len(items)}" if items else "an empty list"
        case MappingNode():
            return "a mapping"
        case Scalar(value=None):
            return "nothing"
        case Scalar(value=bool(value)):
            return "true" if value else "false"
        case Scalar(value=str(value)):
            return f"text {short(value)!r}"
    return repr(node.value)


def short(text: str, most: int = 40) -> str:
    """A text, cut to `most` characters."""
    return text if len(text) <= most else text[: most - 3] + "..."
