"""Sliders and switches: an argument of a step, changed in the text that the page has, and nothing else."""

from __future__ import annotations

import math
from typing import Any

from augrecipes.errors import RecipeError
from augrecipes.recipe.addresses import SECTIONS
from augrecipes.recipe.model import Recipe, Step
from augrecipes.recipe.nodes import MappingNode, Node, plain
from augrecipes.recipe.spans import Spans, TextSpan, read_spans
from augrecipes.recipe.write import flow
from augrecipes.studio.outline import WrittenStep, steps_by_path, written_steps
from augrecipes.studio.places import PageText
from augrecipes.studio.requests import Refused, SlideRequest
from augrecipes.studio.text_edits import TextEdit, applied, changes_of, entry_added, entry_removed, same
from augrecipes.studio.workbench import Workbench

GONE = object()
_MOST_DEPTH = 4  # of a value: {x: [a, b]}


def slid(bench: Workbench, request: SlideRequest) -> dict[str, Any]:
    """The text with an argument of a step changed; a value of null leaves it to the class.

    Raises:
        Refused: there is no such step, or the text cannot be changed so without changing more.
        RecipeError: the text cannot be read.
    """
    text, value = request.text, GONE if request.value is None else _plain(request.value)
    edits = edits_for(bench, text, request.path, request.argument, value)
    page = PageText(text)
    return {
        "text": applied(text, edits),
        "edits": [{**page.between(edit.span), "text": edit.text} for edit in edits],
    }


def edits_for(bench: Workbench, text: str, path: str, argument: str, value: Any) -> list[TextEdit]:
    """What to change for an argument of a step to have a value, or to be gone; tried before it is handed out."""
    spans = read_spans(text)
    if not isinstance(spans.top, MappingNode):
        raise Refused(422, "text", "the text is no recipe")
    step = written_steps(spans).get(path)
    inherits = "extends" in spans.top.entries
    if step is None or (inherits and path.startswith("steps") and "steps" not in spans.top.entries):
        if not inherits:
            raise Refused(404, "path", f"there is no step {path!r:.80}")
        return _in_variant(bench, spans, spans.top, path, argument, value)
    edits = _in_step(spans, step, argument, value)
    wanted = _meaning(spans.top)
    _assign(wanted, path, argument, value)
    try:
        fine = same(_meaning(read_spans(applied(text, edits)).top), _sorted(wanted))
    except RecipeError:
        fine = False
    if not fine:
        raise Refused(422, "layout", "this is written in a way that cannot be changed in place", "change it by hand")
    return edits


def _in_step(spans: Spans, step: WrittenStep, argument: str, value: Any) -> list[TextEdit]:
    mapping = step.arguments
    if mapping is not None and argument in mapping.entries:
        if value is GONE:
            return [entry_removed(spans, mapping, argument)]
        return changes_of(spans, mapping.entries[argument], value)
    if value is GONE:
        return []
    if mapping is not None:
        return [entry_added(spans, mapping, argument, value)]
    arguments = flow({argument: value})
    if step.body is not None:  # `Name:` with nothing behind it, or null
        span = spans.span(step.body)
        return [TextEdit(span, f" {arguments}" if span.start == span.end else arguments)]
    name = spans.text[step.span.start : step.span.end]
    if spans.span(step.parent).flow:
        return [TextEdit(step.span, f"{{{name}: {arguments}}}")]
    return [TextEdit(TextSpan(step.span.end, step.span.end), f": {arguments}")]


def _in_variant(
    bench: Workbench, spans: Spans, top: MappingNode, path: str, argument: str, value: Any
) -> list[TextEdit]:
    """A step that is inherited is changed by `set:`."""
    recipe = bench.recipe(spans.text)
    steps = steps_by_path(recipe)
    if path not in steps:
        raise Refused(404, "path", f"there is no step {path!r:.80}")
    address = f"{_address(steps, path)}.{argument}"
    changes = top.entries.get("set")
    if isinstance(changes, MappingNode) and (changes.entries or spans.span(changes).flow):
        if address in changes.entries:
            gone = value is GONE
            edits = (
                [entry_removed(spans, changes, address)] if gone else changes_of(spans, changes.entries[address], value)
            )
        elif value is GONE:
            raise Refused(422, "layout", f"{argument} is given by what this extends; give it a value instead")
        else:
            edits = [entry_added(spans, changes, address, value)]
    elif value is GONE:
        raise Refused(422, "layout", f"{argument} is given by what this extends; give it a value instead")
    else:
        edits = [_set_added(spans, top, address, value)]
    _tried(bench, recipe, applied(spans.text, edits), path, argument, value)
    return edits


def _set_added(spans: Spans, top: MappingNode, address: str, value: Any) -> TextEdit:
    entry, text = spans.entry(top, "extends"), spans.text
    end = text.find("\n", entry.end)
    end = len(text) if end < 0 else end
    return TextEdit(TextSpan(end, end), f"\nset: {flow({address: value})}")


def _tried(bench: Workbench, before: Recipe, text: str, path: str, argument: str, value: Any) -> None:
    """Refused where a variant does not become what was meant, or more of it changes."""
    try:
        after = steps_by_path(bench.recipe(text))
    except RecipeError as error:
        raise Refused(422, "layout", str(error), "change it by hand") from None
    for other, step in steps_by_path(before).items():
        if other != path and not path.startswith(other) and after.get(other) != step:
            raise Refused(422, "layout", f"the change would reach {step.name} too", "change it by hand")
    if value is not GONE and not same(_values(after[path]).get(argument), value):
        raise Refused(422, "layout", "this is written in a way that cannot be changed in place", "change it by hand")


def _values(step: Step) -> dict[str, Any]:
    return {**step.args.plain(), **({} if step.p is None else {"p": step.p})}


def _address(steps: dict[str, Step], path: str) -> str:
    """The address of a step among those of its section: its id, or its class and how many of it there are."""
    step = steps[path]
    if step.id:
        return step.id
    section = path.partition(".")[0]
    names = [one for where, one in steps.items() if where.partition(".")[0] == section and one.name == step.name]
    prefix = "eval." if section == "eval" else ""
    number = next(k for k, one in enumerate(names, start=1) if one is step)
    return f"{prefix}{step.name}" if len(names) == 1 else f"{prefix}{step.name}#{number}"


def _meaning(top: Node) -> dict[str, Any]:
    """A document as plain values, keys sorted; steps however they are written as `{Name: {arguments}}`."""
    found: dict[str, Any] = plain(top)
    return _sorted({key: _steps(value) if key in SECTIONS else value for key, value in found.items()})


def _steps(steps: Any) -> Any:
    if not isinstance(steps, list):
        return steps
    return [_step(step) for step in steps]


def _step(step: Any) -> Any:
    if isinstance(step, str):
        return {step: {}}
    if not isinstance(step, dict) or len(step) != 1:
        return step
    ((name, body),) = step.items()
    body = {} if body is None else body
    return {name: {**body, "steps": _steps(body["steps"])} if isinstance(body, dict) and "steps" in body else body}


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(one) for one in value] if isinstance(value, list) else value


def _assign(document: dict[str, Any], path: str, argument: str, value: Any) -> None:
    """The same change of what a document means."""
    place: Any = document
    for word in path.split("."):
        if word.isdigit():
            ((_, place),) = place[int(word)].items()
        else:
            place = place[word]
    if value is GONE:
        place.pop(argument, None)
    else:
        place[argument] = value


def _plain(value: Any, depth: int = 0) -> Any:
    """A value of the page: numbers as short as they are meant."""
    if depth > _MOST_DEPTH:
        raise Refused(400, "value", "the value nests too deeply")
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Refused(400, "value", "the value is no number")
        return float(f"{value:.10g}")
    if isinstance(value, list):
        return [_plain(one, depth + 1) for one in value]
    if isinstance(value, dict):
        return {key: _plain(one, depth + 1) for key, one in value.items()}
    return value
