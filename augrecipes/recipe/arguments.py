"""Check values against the schema of a class's arguments, with exact messages and places. Imports no albumentations."""

import operator
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from augrecipes.errors import NO_HINT, Fix, Hint
from augrecipes.ops.checks import is_number
from augrecipes.recipe.nodes import ListNode, MappingNode, Node, Place, Scalar, describe, plain, same
from augrecipes.recipe.problems import near

Schema = Mapping[str, Any]

_KINDS: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: is_number(value) and float(value).is_integer(),
    "number": is_number,
}
_BOUNDS: tuple[tuple[str, Callable[[Any, Any], bool], str], ...] = (
    ("minimum", operator.ge, "at least"),
    ("exclusiveMinimum", operator.gt, "greater than"),
    ("maximum", operator.le, "at most"),
    ("exclusiveMaximum", operator.lt, "less than"),
)
_NOUNS = {"number": "a number", "integer": "a whole number", "boolean": "true or false", "string": "text"}


class ArgumentProblem(NamedTuple):
    """One problem: its code, its place, a message without the argument's name, and its key in a mapping."""

    code: str
    place: Place
    message: str
    hint: Hint = NO_HINT
    key: str = ""


def check_value(schema: Schema, node: Node) -> list[ArgumentProblem]:
    """The problems of one value; empty where the schema accepts it.

    >>> here = Place("f", 3, 5)
    >>> check_value({"type": "number", "minimum": 0}, Scalar("high", here))[0].message
    "must be a number, got text 'high'"
    >>> check_value({"type": "number", "minimum": 0}, Scalar(-1, here))[0].message
    'must be at least 0, got -1'
    """
    if "anyOf" in schema:
        return _check_union(schema, node)
    if "enum" in schema:
        return _check_enum(schema, node)
    kinds = _kinds_of(schema)
    if not kinds:
        return []
    if not any(_is(kind, node) for kind in kinds):
        return [_wrong_type(schema, node)]
    if isinstance(node, ListNode):
        return _check_items(schema, node)
    if isinstance(node, MappingNode):
        return _check_table(schema, node)
    return _check_bounds(schema, node)


def _kinds_of(schema: Schema) -> list[str]:
    kinds = schema.get("type", [])
    return [kinds] if isinstance(kinds, str) else list(kinds)


def _is(kind: str, node: Node) -> bool:
    if isinstance(node, Scalar):
        return kind in _KINDS and _KINDS[kind](node.value)
    return kind == ("array" if isinstance(node, ListNode) else "object")


def _wrong_type(schema: Schema, node: Node) -> ArgumentProblem:
    hint = _hint_for_text(schema, node.value) if isinstance(node, Scalar) and isinstance(node.value, str) else NO_HINT
    return ArgumentProblem("E306", node.place, f"must be {expected(schema)}, got {describe(node)}", hint)


def _hint_for_text(schema: Schema, value: str) -> Hint:
    """The hint for text in place of another type: YAML 1.1's booleans, and numbers in quotes."""
    kinds = {kind for part in schema.get("anyOf", [schema]) for kind in _kinds_of(part)}
    if "boolean" in kinds and value.lower() in ("yes", "on", "no", "off", "y", "n"):
        word = "true" if value.lower() in ("yes", "on", "y") else "false"
        return Hint(f"; write {word}", (Fix("value", word),))
    if kinds & {"number", "integer"}:
        with suppress(ValueError):
            float(value)
            what = "underscores" if "_" in value else "quotes"
            return Hint(f"; write it without {what}", (Fix("value", value.strip().replace("_", "")),))
    return NO_HINT


def _check_union(schema: Schema, node: Node) -> list[ArgumentProblem]:
    close: list[list[ArgumentProblem]] = []
    for part in schema["anyOf"]:
        problems = check_value(part, node)
        if not problems:
            return []
        # An alternative that accepts this type but has problems inside says more than the whole list.
        if all(problem.code != "E306" or problem.key or problem.place != node.place for problem in problems):
            close.append(problems)
    values = [problems for problems in close if all(problem.code == "E307" for problem in problems)]
    if (values or len(close) == 1) and not all("enum" in part for part in schema["anyOf"]):
        return (values or close)[0]
    return [_wrong_type(schema, node)]


def _check_enum(schema: Schema, node: Node) -> list[ArgumentProblem]:
    choices, value = schema["enum"], plain(node)
    if any(same(choice, value) for choice in choices):
        return []
    texts = [choice for choice in choices if isinstance(choice, str)] if isinstance(value, str) else []
    listed = isinstance(value, list) and any(isinstance(choice, list) for choice in choices)
    near_enough = texts or listed or (isinstance(node, Scalar) and any(map(is_number, choices)))
    message = f"must be {expected(schema)}, got {value if listed else describe(node)}"
    hint = near(value, texts) if texts else NO_HINT
    return [ArgumentProblem("E307" if near_enough else "E306", node.place, message, hint)]


def _check_items(schema: Schema, node: ListNode) -> list[ArgumentProblem]:
    least, most = schema.get("minItems", 0), schema.get("maxItems")
    if len(node.items) < least or (most is not None and len(node.items) > most):
        return [_wrong_type(schema, node)]
    parts = schema.get("prefixItems") or [schema.get("items", {})] * len(node.items)
    problems = [problem for part, item in zip(parts, node.items, strict=False) for problem in check_value(part, item)]
    if "prefixItems" not in schema and all(problem.code == "E307" for problem in problems):
        problems = problems[:1]  # one wrong item stands for the rest
    if problems or not schema.get("x-nondecreasing"):
        return problems
    values = plain(node)
    if len(values) == 2 and all(is_number(value) for value in values) and values[0] > values[1]:
        return [ArgumentProblem("E307", node.place, f"the first value may not exceed the second, got {values}")]
    return []


def _check_table(schema: Schema, node: MappingNode) -> list[ArgumentProblem]:
    properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    names, problems = re.compile(schema.get("propertyNames", {}).get("pattern", "")), list[ArgumentProblem]()
    for key, place, value in node.pairs():
        if not names.search(key):
            problems.append(ArgumentProblem("E306", place, f"its keys are whole numbers, got {key!r}", key=f".{key}"))
        if others is False and key not in properties:
            message = f"unknown key {key!r}; it takes {', '.join(properties)}"
            problems.append(ArgumentProblem("E304", place, message, near(key, properties)))
            continue
        part = properties.get(key, others)
        inner = check_value(part, value) if isinstance(part, Mapping) else []
        problems += [problem._replace(key=f".{key}{problem.key}") for problem in inner]
    missing = [key for key in schema.get("required", ()) if key not in node.entries]
    return problems + [ArgumentProblem("E305", node.place, f"key {key!r} is missing") for key in missing]


def _check_bounds(schema: Schema, node: Scalar) -> list[ArgumentProblem]:
    value = node.value
    if not is_number(value) or all(holds(value, schema[key]) for key, holds, _ in _BOUNDS if key in schema):
        return []
    hint = Hint(f"; {schema['x-hint']}") if "x-hint" in schema and value > schema["maximum"] else NO_HINT
    return [ArgumentProblem("E307", node.place, f"must be {bounds(schema)}, got {value!r}", hint)]


def bounds(schema: Schema) -> str:
    """The bounds of a number, in words; empty without any.

    >>> bounds({"minimum": 0, "maximum": 1}), bounds({"exclusiveMinimum": 0})
    ('between 0 and 1', 'greater than 0')
    """
    if "minimum" in schema and "maximum" in schema:
        return f"between {schema['minimum']} and {schema['maximum']}"
    return " and ".join(f"{words} {schema[key]}" for key, _, words in _BOUNDS if key in schema)


def expected(schema: Schema) -> str:
    """Describe in words what a schema accepts.

    >>> expected({"anyOf": [{"type": "number"}, {"type": "array", "prefixItems": [{"type": "number"}] * 2}]})
    'a number or a pair of numbers'
    >>> expected({"enum": ["linear", "nearest", 0, 1]})
    'one of linear, nearest'
    """
    if "anyOf" in schema:
        words = dict.fromkeys(map(expected, schema["anyOf"]))
        # Plain values first, lists after them.
        order = sorted(words, key=lambda word: ("list" in word) + 2 * ("pair" in word) + 3 * (word == "null"))
        return " or ".join(order)
    if "enum" in schema:
        choices = schema["enum"]
        texts = [choice for choice in choices if isinstance(choice, str)] or list(map(str, choices))
        texts += ["null"] if None in choices else []
        return f"one of {', '.join(texts)}" if len(texts) > 1 else texts[0]
    kinds = schema.get("type", "any value")
    kind = kinds if isinstance(kinds, str) else next(kind for kind in kinds if kind != "null")
    if kind == "array":
        parts = schema.get("prefixItems", ())
        what = "a pair of" if len(parts) == 2 else f"a list of {len(parts)}" if parts else "a list of"
        return f"{what} {_plural(parts[0] if parts else schema.get('items', {}))}"
    if kind == "object":
        keys = schema.get("properties")
        return f"a mapping with {', '.join(keys)}" if keys else "a mapping"
    return _NOUNS.get(kind, kind)


def _plural(schema: Schema) -> str:
    kind = schema.get("type")
    if kind == "array":
        return expected(schema).replace("a pair", "pairs", 1).replace("a list", "lists", 1)
    return {"number": "numbers", "integer": "whole numbers", "string": "texts"}.get(str(kind), "values")
