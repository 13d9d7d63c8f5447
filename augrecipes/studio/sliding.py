"""Sliders and switches: an argument of a step, changed in the text that the page has, and nothing else."""

from __future__ import annotations

from typing import Any

from augrecipes.errors import RecipeError
from augrecipes.recipe.addresses import SECTIONS
from augrecipes.recipe.edit import GONE, Spans, TextEdit, applied, argument_set, override_set, read_spans, steps_of
from augrecipes.recipe.nodes import MappingNode, plain, same
from augrecipes.studio.outline import steps_by_path, values_of
from augrecipes.studio.requests import Refused, SlideRequest
from augrecipes.studio.workbench import Workbench


def slid(bench: Workbench, request: SlideRequest) -> dict[str, Any]:
    """The text with an argument of a step changed; a value of null leaves it to the class.

    Raises:
        Refused: there is no such step, or the text cannot be changed so without changing more.
        RecipeError: the text cannot be read.
    """
    value = GONE if request.value is None else request.value
    return {"text": applied(request.text, edits_for(bench, request.text, request.path, request.argument, value))}


def edits_for(bench: Workbench, text: str, path: str, argument: str, value: Any) -> list[TextEdit]:
    """What to change for an argument of a step to have a value, or to be `GONE`; tried before it is returned."""
    spans = read_spans(text)
    if not isinstance(spans.top, MappingNode):
        raise Refused(422, "text", "the text is no recipe")
    step = steps_of(spans).get(path)
    inherits = "extends" in spans.top.entries
    if inherits and (step is None or (path.startswith("steps") and "steps" not in spans.top.entries)):
        return _in_variant(bench, spans, spans.top, path, argument, value)
    if step is None:
        raise Refused(404, "path", f"there is no step {path!r:.80}")
    edits = argument_set(spans, step, argument, value)
    meant = _meaning(spans)
    if value is GONE:
        meant[path].pop(argument, None)
    else:
        meant[path][argument] = value
    try:
        found = _meaning(read_spans(applied(text, edits)))
    except RecipeError:
        raise _by_hand() from None
    if found.keys() != meant.keys() or not all(_alike(found[key], meant[key]) for key in meant):
        raise _by_hand()
    return edits


def _by_hand(why: str = "this is written in a way that cannot be changed in place") -> Refused:
    return Refused(422, "layout", why, "change it by hand")


def _meaning(spans: Spans) -> dict[str, dict[str, Any]]:
    """What a text says, however it is written: name and arguments of each step by path; other keys by an empty one."""
    assert isinstance(spans.top, MappingNode)
    found = {"": {key: plain(node) for key, node in spans.top.entries.items() if key not in SECTIONS}}
    for path, step in steps_of(spans).items():
        entries = step.arguments.entries if step.arguments else {}
        found[path] = {"": step.name, **{name: plain(node) for name, node in entries.items() if name != "steps"}}
    return found


def _alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)


def _in_variant(
    bench: Workbench, spans: Spans, top: MappingNode, path: str, argument: str, value: Any
) -> list[TextEdit]:
    """A step that is inherited is changed by `set:`; Refused where more would change, or something else."""
    before = steps_by_path(bench.recipe(spans.text))
    if path not in before:
        raise Refused(404, "path", f"there is no step {path!r:.80}")
    step, section = before[path], path.partition(".")[0]
    names = [one.name for where, one in before.items() if where.startswith(section)]
    label = step.name if names.count(step.name) == 1 and not step.id else step.site
    prefix = "eval." if section == "eval" and not step.id else ""
    edits = override_set(spans, top, f"{prefix}{label}.{argument}", value)
    if not edits and value is GONE:
        raise Refused(422, "layout", f"{argument} is given by what this extends; give it a value instead")
    try:
        after = steps_by_path(bench.recipe(applied(spans.text, edits)))
    except RecipeError as error:
        raise _by_hand(str(error)) from None
    for other, one in before.items():
        if other != path and not path.startswith(other) and after.get(other) != one:
            raise _by_hand(f"the change would reach {one.name} too")
    if value is not GONE and not same(values_of(after[path]).get(argument), value):
        raise _by_hand()
    return edits
