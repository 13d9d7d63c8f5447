"""The steps of a text by their path, `steps.2.steps.0`, with the places of their names and arguments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from augrecipes.recipe.addresses import SECTIONS
from augrecipes.recipe.model import Recipe, Step
from augrecipes.recipe.nodes import ListNode, MappingNode, Node, Scalar, plain
from augrecipes.recipe.spans import Spans, TextSpan
from augrecipes.studio.ends import ends_of
from augrecipes.studio.places import PageText


@dataclass(frozen=True, slots=True)
class WrittenStep:
    """A step as it stands in a text.

    Attributes:
        path: such as `steps.0`, or `eval.1.steps.0`.
        item: the entry of its list.
        name: of its class.
        key: where the name stands.
        body: its arguments; None for a bare name.
        span: all of it.
        parent: the list.
    """

    path: str
    item: Node
    name: str
    key: TextSpan
    body: Node | None
    span: TextSpan
    parent: ListNode

    @property
    def arguments(self) -> MappingNode | None:
        """Its arguments where there are some."""
        return self.body if isinstance(self.body, MappingNode) else None


def written_steps(spans: Spans) -> dict[str, WrittenStep]:
    """Every step that stands in a text, by path; what has not the shape of a step is left out."""
    top = spans.top
    if not isinstance(top, MappingNode):
        return {}
    return {one.path: one for section in SECTIONS for one in _walk(spans, top.entries.get(section), section)}


def _walk(spans: Spans, node: Node | None, path: str) -> Iterator[WrittenStep]:
    if not isinstance(node, ListNode):
        return
    for number, item in enumerate(node.items):
        here = f"{path}.{number}"
        if isinstance(item, Scalar) and isinstance(item.value, str):
            span = spans.span(item)
            yield WrittenStep(here, item, item.value, span, None, span, node)
        elif isinstance(item, MappingNode) and len(item.entries) == 1:
            ((name, body),) = item.entries.items()
            yield WrittenStep(here, item, name, spans.key(item, name), body, spans.span(item), node)
            if isinstance(body, MappingNode):
                yield from _walk(spans, body.entries.get("steps"), f"{here}.steps")


def steps_by_path(recipe: Recipe) -> dict[str, Step]:
    """Every step of a recipe by path, `steps.2.steps.0`, those that it inherits too; of `eval: derived` none."""

    def paths(steps: tuple[Step, ...], path: str) -> Iterator[tuple[str, Step]]:
        for number, step in enumerate(steps):
            yield f"{path}.{number}", step
            yield from paths(step.steps, f"{path}.{number}.steps")

    evaluation = () if recipe.derived else recipe.eval or ()
    return dict([*paths(recipe.steps, "steps"), *paths(evaluation, "eval")])


def outline(spans: Spans, places: PageText, recipe: Recipe | None) -> list[dict[str, Any]]:
    """The steps for the page: those of the text with places, those that a recipe inherits without."""
    written = written_steps(spans)
    known = steps_by_path(recipe) if recipe is not None else {}
    inherits = isinstance(spans.top, MappingNode) and "extends" in spans.top.entries
    if inherits and known:
        return [_inherited(path, step) for path, step in known.items()]
    return [_outlined(spans, places, one, known.get(path)) for path, one in written.items()]


def _outlined(spans: Spans, places: PageText, one: WrittenStep, step: Step | None) -> dict[str, Any]:
    found = {"path": one.path, "name": one.name, **places.between(one.span), "arguments": {}}
    found["key"] = places.between(one.key)
    found["label"] = step.site if step is not None else None
    if one.arguments is not None:
        for name, node in one.arguments.entries.items():
            if name != "steps":
                value = plain(node)
                place = places.between(spans.span(node))
                found["arguments"][name] = {"value": value, **ends_of(step, name, value), **place}
    return found


def _inherited(path: str, step: Step) -> dict[str, Any]:
    """A step of a variant: its text stands elsewhere."""
    values = {**step.args.plain(), **({} if step.p is None else {"p": step.p})}
    line = [max(step.position.line, 1), 0]
    return {
        "path": path, "name": step.name, "from": line, "to": line, "key": {"from": line, "to": line},
        "label": step.site, "inherited": True,
        "arguments": {
            name: {"value": value, **ends_of(step, name, value), "from": line, "to": line}
            for name, value in values.items()
        },
    }  # fmt: skip
