"""A recipe's text in the editor: its problems and their fixes, its steps, and changes by sliders."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from augrecipes.errors import AugrecipesError, Diagnostic, RecipeError
from augrecipes.interop.draft import LEFT_OUT
from augrecipes.lint import lint
from augrecipes.ops import registry
from augrecipes.recipe import addresses, codes, edit, model, nodes
from augrecipes.studio.requests import RecipeRequest, Refused, SlideRequest, no_step
from augrecipes.studio.studio import Studio

_BREAK = re.compile("\r\n|[\n\r]")
_YAML_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_WORD = re.compile(r"[\w.#/-]+|\S")
_MOST_FIXED = 12  # problems of one text for which a fix is looked for


class PageText:
    """Convert offsets of a text to lines and columns: the page's, with columns in UTF-16 units, and YAML's.

    >>> page = PageText("a: é\\nb: 𝄞x")
    >>> page.of(9), page.offset(2, 5), page.between(edit.TextSpan(5, 9))
    ([2, 5], 9, {'from': [2, 0], 'to': [2, 5]})
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(match.end() for match in _BREAK.finditer(text))]
        self._yaml = [0, *(match.end() for match in _YAML_BREAK.finditer(text))]

    def of(self, offset: int) -> list[int]:
        """Line from 1 and column from 0 of an offset, for the page."""
        line = bisect_right(self._starts, offset)
        before = self.text[self._starts[line - 1] : offset]
        return [line, len(before) + sum(ord(c) > 0xFFFF for c in before)]

    def offset(self, line: int, column: int) -> int:
        """The offset of a line and column as messages have them: both from 1, in characters."""
        start = self._yaml[min(max(line, 1), len(self._yaml)) - 1]
        return min(start + max(column, 1) - 1, len(self.text))

    def between(self, span: edit.TextSpan | nodes.Place) -> dict[str, Any]:
        """`from` and `to` of a span."""
        return {"from": self.of(span.start), "to": self.of(span.end)}


def check_text(studio: Studio, request: RecipeRequest) -> dict[str, Any]:
    """Check a text as `augrecipes check` does, and list its steps, for the page."""
    page = PageText(request.text)
    recipe, problems = _diagnose(studio, request.text)
    spans, extends = None, None
    try:
        spans = edit.read_spans(request.text)
        if isinstance(spans.top, nodes.MappingNode) and "extends" in spans.top.entries:
            extends = spans.entry(spans.top, "extends")
    except RecipeError:
        pass  # the problems say why
    shown = []
    for number, problem in enumerate(problems):
        here = problem.file == studio.name
        file = "" if here else f"{Path(problem.file).name}:{problem.line}:{problem.col}"
        message = ": ".join(filter(None, (file, problem.name, problem.message)))
        said = {
            "severity": problem.severity,
            "code": problem.code,
            "message": message,
            "more": _explain(problem.code),
        }
        # A problem in a file that this one extends is shown at `extends`.
        where = page.between(_span_of(problem, spans, page) if here else extends or edit.TextSpan(0, 0))
        fix = _fix_of(studio, problem, spans, problems) if spans and here and number < _MOST_FIXED else None
        edits = [{**page.between(each.span), "text": each.text} for each in fix.edits] if fix else []
        shown.append({**where, **said, "fix": fix and {"title": fix.title, "edits": edits}})
    shown = sorted([*shown, *_gaps(page)], key=lambda problem: problem["from"])
    resolved = recipe.to_yaml() if recipe is not None and extends else None
    steps = [] if spans is None else _outline(spans, page, recipe, extends=extends is not None)
    name, kind, last = (None, None, 0) if recipe is None else (recipe.name, recipe.kind, recipe.last_epoch)
    known = {"name": name, "kind": kind, "last_epoch": last}
    return {"problems": shown, "resolved": resolved, **known, "steps": steps}


def _gaps(page: PageText) -> Iterator[dict[str, Any]]:
    """Yield a warning for each comment that marks what an import left out; deleting the comment settles it."""
    for gap in LEFT_OUT.finditer(page.text):
        line = page.between(edit.TextSpan(gap.start(), min(gap.end() + 1, len(page.text))))
        fix = {"title": "Delete this comment", "edits": [{**line, "text": ""}]}
        said = {"severity": "warning", "code": "E602", "message": gap[1], "more": _explain("E602"), "fix": fix}
        yield {**page.between(edit.TextSpan(*gap.span(1))), **said}


def _diagnose(studio: Studio, text: str) -> tuple[model.Recipe | None, Sequence[Diagnostic]]:
    """Parse a text: the recipe, or None; and the problems that `check` finds."""
    try:
        recipe = studio.recipe(text)
    except RecipeError as error:
        return None, error.problems or (Diagnostic(str(error), 1, 1, file=studio.name),)
    return recipe, lint(recipe)


def _fix_of(
    studio: Studio, problem: Diagnostic, spans: edit.Spans, problems: Sequence[Diagnostic]
) -> edit.QuickFix | None:
    """Find the first fix that removes a problem without adding an error."""

    def keys(problems: Sequence[Diagnostic]) -> set[tuple[str, str, str]]:
        return {(problem.code, problem.name, problem.message) for problem in problems}

    before = keys(problems)
    for offered in problem.fixes:
        if (fix := edit.quick_fix(spans, problem.line, problem.col, offered)) is None:
            continue
        after = keys(_diagnose(studio, edit.applied(spans.text, fix.edits))[1])
        worse = any(code.startswith("E1") for code, _, _ in after - before)
        if not keys([problem]) & after and (len(after) < len(before) or not worse):
            return fix
    return None


def _span_of(problem: Diagnostic, spans: edit.Spans | None, page: PageText) -> edit.TextSpan:
    """Find the text to underline for a problem: the key or value that begins at its place, or the word there."""
    offset = page.offset(problem.line, problem.col)
    span = spans.starting_at(offset) if spans is not None else None
    if span is not None and span.end > span.start:
        line_end = page.text.find("\n", span.start, span.end)
        return span if line_end < 0 else edit.TextSpan(span.start, line_end)
    if (word := _WORD.match(page.text, offset)) is not None:
        return edit.TextSpan(word.start(), word.end())
    before = len(page.text[:offset].rstrip())  # nothing here: underline the word before
    start = max((word.start() for word in _WORD.finditer(page.text, max(before - 80, 0), before)), default=offset)
    return edit.TextSpan(start, max(before, start))


def _explain(code: str) -> str:
    """Explain a code: what it means, why it matters, and how to fix it."""
    if (entry := codes.CODES.get(code)) is None:
        return ""
    silence = f"\n\nSilence it on the step's line: # augrecipes: ignore[{code}]" if entry.diff else ""
    return f"{entry.title}\n\n{entry.why}\n\n{entry.fix}{silence}"


def steps_by_path(recipe: model.Recipe) -> dict[str, model.Step]:
    """Map paths such as `steps.2.steps.0` to every step of a recipe, inherited ones too, but not of `eval: derived`."""

    def paths(steps: tuple[model.Step, ...], path: str) -> Iterator[tuple[str, model.Step]]:
        for number, step in enumerate(steps):
            yield f"{path}.{number}", step
            yield from paths(step.steps, f"{path}.{number}.steps")

    evaluation = () if recipe.derived else recipe.eval or ()
    pairs = [*paths(recipe.steps, "shared" if recipe.views else "steps")]
    pairs += [pair for view in recipe.views for pair in paths(view.steps, f"views.{view.name}.steps")]
    return dict([*pairs, *paths(evaluation, "eval")])


def _values_of(step: model.Step) -> dict[str, Any]:
    """The arguments that the recipe gives to a step, `p` among them."""
    return {**step.args.plain(), **({} if step.p is None else {"p": step.p})}


def _outline(spans: edit.Spans, page: PageText, recipe: model.Recipe | None, *, extends: bool) -> list[dict[str, Any]]:
    """List the steps for the page: those of the text with their spans, inherited ones with the line in their file."""
    known = steps_by_path(recipe) if recipe is not None else {}
    outline = []
    if extends and known:
        for path, step in known.items():
            line = [max(step.position.line, 1), 0]
            place = {"from": line, "to": line}
            values = {name: _argument(step, name, value, place) for name, value in _values_of(step).items()}
            outline.append({"path": path, "name": step.name, **place, "key": place, "arguments": values})
        return outline
    for path, written in edit.steps_of(spans).items():
        if written.section == "batch":  # the page draws no batches
            continue
        entries = written.arguments.entries if written.arguments else {}
        values = {
            name: _argument(known.get(path), name, nodes.plain(node), page.between(node.place))
            for name, node in entries.items()
            if name != "steps"
        }
        key, place = page.between(written.key), page.between(written.item.place)
        outline.append({"path": path, "name": written.name, **place, "key": key, "arguments": values})
    return outline


def _argument(step: model.Step | None, name: str, value: Any, place: dict[str, Any]) -> dict[str, Any]:
    """Describe an argument; a range written as one number gets both `ends`: brightness 0.2 is 0.8 to 1.2."""
    ends = {}
    if step is not None and not step.steps and type(value) in (int, float) and (both := _ranges(step).get(name)):
        ends = {"ends": list(both)}
    return {"value": value, **ends, **place}


@lru_cache(maxsize=512)
def _ranges(step: model.Step) -> dict[str, tuple[float, float]]:
    """The arguments that the step's class stores as two numbers."""
    ranges: dict[str, tuple[float, float]] = {}
    with suppress(AugrecipesError):
        transform = registry.construct(step)
        for name in step.args.plain():
            match getattr(transform, name, None):
                case (int() | float() as least, int() | float() as most):
                    ranges[name] = least, most
    return ranges


def slider_changed(studio: Studio, request: SlideRequest) -> dict[str, Any]:
    """Set an argument of a step in the text; a value of null removes it, so that the class's default holds.

    Raises:
        Refused: there is no such step, or the edit would change more than this argument.
        RecipeError: the text cannot be read.
    """
    text, path, argument = request.text, request.path, request.argument
    value = edit.GONE if request.value is None else request.value
    spans = edit.read_spans(text)
    if not isinstance(spans.top, nodes.MappingNode):
        raise Refused(422, "text", "the text is not a recipe")
    step = edit.steps_of(spans).get(path)
    inherits = "extends" in spans.top.entries
    if inherits and (step is None or (path.startswith("steps") and "steps" not in spans.top.entries)):
        return {"text": _in_variant(studio, spans, spans.top, path, argument, value)}
    if step is None:
        raise no_step(path)
    new = edit.applied(text, edit.argument_set(spans, step, argument, value))
    meant = _meaning(spans)
    meant[path, argument] = value
    if value is edit.GONE:
        del meant[path, argument]
    try:
        changed = _meaning(edit.read_spans(new))
    except RecipeError:
        raise _layout_refusal() from None
    if changed.keys() != meant.keys() or not all(nodes.same(changed[key], meant[key]) for key in meant):
        raise _layout_refusal()
    return {"text": new}


def _layout_refusal(why: str = "this is written in a way that cannot be changed in place") -> Refused:
    return Refused(422, "layout", why, "change it by hand")


def _meaning(spans: edit.Spans) -> dict[tuple[str, str], Any]:
    """Read what a text means, whatever its layout: arguments by (path, name); the empty name holds the step's."""
    assert isinstance(spans.top, nodes.MappingNode)
    meaning: dict[tuple[str, str], Any] = {}
    for path, step in edit.steps_of(spans).items():
        entries = step.arguments.entries if step.arguments else {}
        meaning |= {(path, name): nodes.plain(node) for name, node in entries.items() if name != "steps"}
        meaning[path, ""] = step.name
    return meaning | {
        ("", key): nodes.plain(node) for key, node in spans.top.entries.items() if key not in addresses.SECTIONS
    }


def _in_variant(studio: Studio, spans: edit.Spans, top: nodes.MappingNode, path: str, argument: str, value: Any) -> str:
    """Change an inherited step by `set:`; Refused where the edit would change anything else."""
    before = steps_by_path(studio.recipe(spans.text))
    if path not in before:
        raise no_step(path)
    step, words = before[path], path.split(".")
    section = ".".join(words[: 2 if words[0] == "views" else 1])
    names = [each.name for where, each in before.items() if where.startswith(f"{section}.")]
    view = words[1] if words[0] == "views" else "eval" if section == "eval" else ""
    label = step.name if names.count(step.name) == 1 and not step.id else step.site.removeprefix(f"{view}/")
    prefix = f"{view}." if view and not step.id else ""
    edits = edit.override_set(spans, top, f"{prefix}{label}.{argument}", value)
    if not edits and value is edit.GONE:
        raise Refused(422, "layout", f"{argument} is given by what this extends; give it a value instead")
    new = edit.applied(spans.text, edits)
    after = steps_by_path(studio.recipe(new))
    for other, inherited in before.items():
        if other != path and not path.startswith(other) and after.get(other) != inherited:
            raise _layout_refusal(f"the change would reach {inherited.name} too")
    if value is not edit.GONE and not nodes.same(_values_of(after[path]).get(argument), value):
        raise _layout_refusal()
    return new
