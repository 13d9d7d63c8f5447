"""A recipe's text as the page counts it, and the steps in it with the places of their names and arguments."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from augrecipes.errors import AugrecipesError
from augrecipes.ops import registry
from augrecipes.recipe.edit import Spans, TextSpan, steps_of
from augrecipes.recipe.model import Recipe, Step
from augrecipes.recipe.nodes import Place, plain

_BREAK = re.compile("\r\n|[\n\r]")
_YAML_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")


class PageText:
    """Offsets of a text as lines and columns: of the page, whose columns are UTF-16 units, and of YAML.

    >>> page = PageText("a: é\\nb: 𝄞x")
    >>> page.of(9), page.offset(2, 5), page.between(TextSpan(5, 9))
    ([2, 5], 9, {'from': [2, 0], 'to': [2, 5]})
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(found.end() for found in _BREAK.finditer(text))]
        self._yaml = [0, *(found.end() for found in _YAML_BREAK.finditer(text))]

    def of(self, offset: int) -> list[int]:
        """Line from 1 and column from 0 of an offset, for the page."""
        line = bisect_right(self._starts, offset)
        before = self.text[self._starts[line - 1] : offset]
        return [line, len(before) + sum(ord(c) > 0xFFFF for c in before)]

    def offset(self, line: int, column: int) -> int:
        """The offset of a line and column as messages have them: both from 1, in characters."""
        start = self._yaml[min(max(line, 1), len(self._yaml)) - 1]
        return min(start + max(column, 1) - 1, len(self.text))

    def between(self, span: TextSpan | Place) -> dict[str, Any]:
        """`from` and `to` of a span."""
        return {"from": self.of(span.start), "to": self.of(span.end)}


def steps_by_path(recipe: Recipe) -> dict[str, Step]:
    """Every step of a recipe by path, `steps.2.steps.0`, those that it inherits too; of `eval: derived` none."""

    def paths(steps: tuple[Step, ...], path: str) -> Iterator[tuple[str, Step]]:
        for number, step in enumerate(steps):
            yield f"{path}.{number}", step
            yield from paths(step.steps, f"{path}.{number}.steps")

    evaluation = () if recipe.derived else recipe.eval or ()
    return dict([*paths(recipe.steps, "steps"), *paths(evaluation, "eval")])


def values_of(step: Step) -> dict[str, Any]:
    """The arguments that are given to a step, `p` among them."""
    return {**step.args.plain(), **({} if step.p is None else {"p": step.p})}


def outline(spans: Spans, page: PageText, recipe: Recipe | None, *, extends: bool) -> list[dict[str, Any]]:
    """The steps for the page: those of the text with places; those that a recipe inherits at the line of their file."""
    known = steps_by_path(recipe) if recipe is not None else {}
    found = []
    if extends and known:
        for path, step in known.items():
            line = [max(step.position.line, 1), 0]
            place = {"from": line, "to": line}
            values = {name: _argument(step, name, value, place) for name, value in values_of(step).items()}
            found.append({"path": path, "name": step.name, **place, "key": place, "arguments": values})
        return found
    for path, one in steps_of(spans).items():
        entries = one.arguments.entries if one.arguments else {}
        values = {
            name: _argument(known.get(path), name, plain(node), page.between(node.place))
            for name, node in entries.items()
            if name != "steps"
        }
        key, place = page.between(one.key), page.between(one.item.place)
        found.append({"path": path, "name": one.name, **place, "key": key, "arguments": values})
    return found


def _argument(step: Step | None, name: str, value: Any, place: dict[str, Any]) -> dict[str, Any]:
    """An argument; of a range that is written as one number both `ends`, for sliders: brightness 0.2 is 0.8 to 1.2."""
    ends = {}
    if step is not None and not step.steps and type(value) in (int, float) and (both := _ranges(step).get(name)):
        ends = {"ends": list(both)}
    return {"value": value, **ends, **place}


@lru_cache(maxsize=512)
def _ranges(step: Step) -> dict[str, tuple[float, float]]:
    """The arguments that the class keeps as two numbers."""
    try:
        made = registry.construct(step)
    except AugrecipesError:
        return {}
    found: dict[str, tuple[float, float]] = {}
    for name in step.args.plain():
        match getattr(made, name, None):
            case (int() | float() as least, int() | float() as most):
                found[name] = least, most
    return found
