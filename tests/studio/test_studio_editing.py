"""The recipe's text: problems stand at their words, fixes fix, sliders change their own words; in every layout."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from studio_pages import Page
from support.checks import DEAR
from support.lint_examples import example
from support.recipe_strategies import steps

from augrecipes.errors import RecipeError
from augrecipes.lint import lints
from augrecipes.ops.step import Arguments
from augrecipes.recipe.codes import CODES
from augrecipes.recipe.edit import TextEdit, TextSpan, applied
from augrecipes.recipe.model import Recipe, Step, label
from augrecipes.recipe.parse import parse_text
from augrecipes.recipe.write import flow
from augrecipes.studio.editing import PageText, check_text, slider_changed, steps_by_path
from augrecipes.studio.requests import RecipeRequest, SlideRequest
from augrecipes.studio.studio import Studio

Slide = Callable[[str, str, str, Any], str]
STUDIO = Studio()
COMMENTS = ("", "", "  # strong", "   # 𝄞 {not: yaml}", "  # é 5 0.5")


@st.composite
def layouts(draw: st.DrawFn, recipe: Recipe) -> str:
    """A recipe's steps as somebody may have written them: in braces and lines, bare and in quotes, with comments."""

    def pick(*options: Any) -> Any:
        return draw(st.sampled_from(options))

    def written(value: Any) -> str:
        gap = pick(", ", ",  ", " , ")
        return f"[{gap.join(map(flow, value))}]" if isinstance(value, list) and value else flow(value)

    def lines_of(step: Step, indent: str) -> list[str]:
        keys = {"p": step.p, "id": step.id}
        arguments = {**step.args.plain(), **{key: value for key, value in keys.items() if value is not None}}
        name, comment = pick(step.name, f'"{step.name}"', f"'{step.name}'"), pick(*COMMENTS)
        lines = pick([], [f"{indent}# {pick('above', '- Rotate: {limit: 3}', '𝄞')}"])
        if not step.steps and not arguments:
            return [*lines, f"{indent}- {name}{pick('', ':', ': {}')}{comment}"]
        if not step.steps and pick(True, False):
            inside = ", ".join(f"{key}: {written(value)}" for key, value in arguments.items())
            return [*lines, f"{indent}- {name}: {{{pick('', ' ')}{inside}}}{comment}"]
        inner = indent + pick("    ", "      ")
        lines = [*lines, f"{indent}- {name}:{comment}"]
        for key, value in arguments.items():
            if isinstance(value, list) and value and pick(True, False):
                lines.append(f"{inner}{key}:{pick(*COMMENTS)}")
                lines += [f"{inner}  - {flow(one)}{pick(*COMMENTS)}" for one in value]
            else:
                lines.append(f"{inner}{key}: {written(value)}{pick(*COMMENTS)}")
        children = [line for child in step.steps for line in lines_of(child, f"{inner}  ")]
        return [*lines, *([f"{inner}steps:", *children] if children else [])]

    head = ["# 𝄞 mine", "version: 1", f"recipe: {recipe.name or 'x'}{pick(*COMMENTS)}", "", f"steps:{pick(*COMMENTS)}"]
    steps = [line for step in recipe.steps for line in lines_of(step, "  ")]
    return str(pick("\n", "\r\n").join([*head, *steps, "eval: derived  # the same", ""]))


STEPS = (
    Step("Rotate", Arguments({"limit": [-10, 20], "border_mode": "reflect_101"}), p=1.0),
    Step("RandomResizedCrop", Arguments({"size": [64, 64], "scale": [0.5, 1.0]})),
    Step("OneOf", steps=(Step("GaussianBlur", Arguments({"blur_limit": [3, 5]}), p=1.0), Step("ToGray", p=1.0))),
    Step("HorizontalFlip"),
)
WORDS = ("Rotate", "limit", "border_mode", "reflect_101", "RandomResizedCrop", "scale", "GaussianBlur", "blur_limit",
         "ToGray", "HorizontalFlip")  # fmt: skip


def problems_of(text: str) -> list[dict[str, Any]]:
    """What the page underlines."""
    return list(check_text(STUDIO, RecipeRequest(text=text))["problems"])


def shown(text: str, problem: dict[str, Any]) -> str:
    """The words that the page underlines: it counts lines as browsers do, and columns in UTF-16 units."""
    lines = re.split("\r\n|[\n\r]", text)
    (line, start), (last, end) = problem["from"], problem["to"]
    assert line == last
    return lines[line - 1].encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le")


def misplaced(text: str, word: str) -> list[str]:
    """What is underlined for a misspelt word, where it is not that word."""
    found = problems_of(text)
    named = [shown(text, problem) for problem in found if word in problem["message"]]
    return [one for one in named if one.strip("'\"") != word] if named else ["nothing"]


@settings(max_examples=40)
@given(st.data(), layouts(Recipe("x", steps=STEPS)), st.sampled_from(WORDS))
def test_a_misspelt_word_is_underlined(data: st.DataObject, text: str, word: str) -> None:
    places = [found.start() for found in re.finditer(rf"(?<!\w){word}\b(?=[\"']?[:\r\n ,}}]|$)", text)]
    comment = [place for place in places if "#" in text[text.rfind("\n", 0, place) + 1 : place]]
    place = data.draw(st.sampled_from([one for one in places if one not in comment]))
    wrong = f"{word}qx"
    assert misplaced(text[:place] + wrong + text[place + len(word) :], wrong) == []


def test_lines_and_columns_count_as_browsers_do(monkeypatch: pytest.MonkeyPatch) -> None:
    for ends in ("\n", "\r\n", "\r"):
        assert misplaced(ends.join(["version: 1", "recipe: x", "steps:", "  - Blur", "  - Rotateqx"]), "Rotateqx") == []
    text = '{version: 1, recipe: x, about: "𝄞𝄞 é", steps: [Rotateqx]}'
    assert misplaced(text, "Rotateqx") == []
    monkeypatch.setattr(PageText, "of", lambda self, offset: [1, offset])  # planted: characters are counted
    assert misplaced(text, "Rotateqx") != []


@pytest.mark.parametrize("code", sorted(lints()))
def test_fixes_fix(code: str) -> None:
    """Of each lint's own example: whatever is offered leaves nothing of the problem."""
    text = example(CODES[code])
    for problem in problems_of(text):
        assert problem["more"]
        page, edits = PageText(text), []
        for edit in (problem["fix"] or {"edits": ()})["edits"]:
            start, end = (page.offset(line, column + 1) for line, column in (edit["from"], edit["to"]))
            edits.append(TextEdit(TextSpan(start, end), edit["text"]))
        if not edits:
            continue
        after = problems_of(applied(text, edits))
        assert (problem["code"], problem["message"]) not in [(one["code"], one["message"]) for one in after]


def test_spans_are_the_words(page: Page) -> None:
    found = page.post("/api/check", text="version: 1\nrecipe: x\nsteps:\n  - Rotate: {limit: [1,  2]}  # a\neval: []\n")
    (step,) = found["steps"]
    assert (step["path"], step["key"]) == ("steps.0", {"from": [4, 4], "to": [4, 10]})
    assert step["arguments"]["limit"] == {"value": [1, 2], "from": [4, 20], "to": [4, 27]}
    text = "version: 1\nrecipe: x\nsteps: [ColorJitter: {brightness: 0.2, hue: 0.03}]\neval: []\n"
    arguments = page.post("/api/check", text=text)["steps"][0]["arguments"]  # of one number what it stands for
    assert (arguments["brightness"]["ends"], arguments["hue"]["ends"]) == ([0.8, 1.2], [-0.03, 0.03])
    text = "version: 1\nrecipe: mine\nsteps:\n  - RandomRotation: {degrees: 25}\neval: derived\n"
    problem = page.post("/api/check", text=text)["problems"][0]
    assert (problem["from"], problem["to"], problem["severity"]) == ([4, 4], [4, 18], "error")
    assert problem["fix"]["edits"] == [{"from": [4, 4], "to": [4, 18], "text": "Rotate"}]
    assert "step" in problem["more"]


def slide(text: str, path: str, argument: str, value: Any) -> str:
    """As the studio does it."""
    return str(slider_changed(STUDIO, SlideRequest(text=text, path=path, argument=argument, value=value))["text"])


def comments(text: str) -> list[str]:
    """What stands behind a #, but for those inside of quotes: the layouts have none."""
    return re.findall(r"#[^\r\n]*", text)


def changed(recipe: Recipe, path: str, argument: str, value: Any) -> Recipe:
    """The recipe as it should be afterwards."""

    def walk(steps: tuple[Step, ...], above: str) -> Iterator[Step]:
        for number, step in enumerate(steps):
            here, args, p = f"{above}.{number}", step.args.plain(), step.p
            if here == path and argument == "p":
                p = float(value)
            elif here == path:
                args[argument] = value
            yield replace(step, args=Arguments(args), p=p, steps=tuple(walk(step.steps, f"{here}.steps")))

    return replace(recipe, steps=tuple(walk(recipe.steps, "steps")), eval=None)


def broken(text: str, path: str, argument: str, value: Any, do: Slide = slide) -> str:
    """What a slider breaks; an empty text where all is well."""
    before, new = parse_text(text), do(text, path, argument, value)
    step = steps_by_path(before)[path]
    if comments(new) != comments(text):
        return "comments"
    lines, others = text.splitlines(), new.splitlines()
    apart = sum(one != other for one, other in zip(lines, others, strict=False))
    most = max(2, len(value)) if isinstance(value, list) else 2  # each number of a list may have a line of its own
    had = step.p if argument == "p" else step.args.get(argument)
    if had is not None and (len(lines) != len(others) or apart > most):
        return "other lines"
    if abs(len(lines) - len(others)) > 1:
        return "lines"
    wanted = changed(before, path, argument, value)
    try:
        after = parse_text(new)
    except RecipeError as error:  # the value may be one that the class does not take: then that alone is wrong
        words = {problem.name.partition(".")[0] for problem in error.problems}
        return "" if words <= {step.name} else str(error)
    return "" if replace(after, eval=None) == wanted else "another recipe"


@st.composite
def slides(draw: st.DrawFn) -> tuple[str, str, str, Any]:
    """A text, and an argument of one of its steps with another value: numbers where a step has some, else its `p`."""
    full = steps().filter(lambda step: any(map(_numbers, step.walk())))
    recipe = Recipe("x", steps=label(tuple(draw(st.lists(st.one_of(full, steps()), min_size=1, max_size=4)))))
    known = steps_by_path(recipe)
    slider_changed = {path: _numbers(step) for path, step in known.items()}
    path = draw(st.sampled_from([path for path in known if slider_changed[path]] or list(known)))
    argument = draw(st.sampled_from([*slider_changed[path], *slider_changed[path], "p"]))
    value = slider_changed[path].get(argument)
    text = draw(layouts(recipe))
    if value is None:
        return text, path, "p", draw(st.one_of(st.floats(0, 1).map(lambda p: round(p, 3)), st.sampled_from([0, 1])))
    return text, path, argument, [_moved(one) for one in value] if isinstance(value, list) else _moved(value)


def _numbers(step: Step) -> dict[str, Any]:
    """Its arguments that are numbers, or lists of them."""
    lists = {name: value if isinstance(value, list) else [value] for name, value in step.args.plain().items()}
    return {
        name: step.args.plain()[name] for name, some in lists.items() if some and {*map(type, some)} <= {int, float}
    }


def _moved(value: float) -> float:
    return value + 1 if isinstance(value, int) else round(value * 0.9 + 0.01, 4)


@DEAR
@given(slides())
def test_a_slider_changes_its_own_words(one: tuple[str, str, str, Any]) -> None:
    assert broken(*one) == ""


TEXT = """\
version: 1   # one
recipe: x
steps:
  # turn
  - Rotate: {limit: [-10,  20] , p: 0.3} # strong
  - RandomCrop:
      height: 50   # px
      width: 60
  - HorizontalFlip
  - OneOf:
      steps:
        - Blur
        - GaussianBlur: {}
  - "VerticalFlip"
  - ColorJitter:
eval: [CenterCrop: {height: 3, width: 3}, HorizontalFlip]
"""


@pytest.mark.parametrize(
    ("path", "argument", "value", "old", "new"),
    [
        ("steps.0", "limit", [-10, 25], "[-10,  20]", "[-10,  25]"),
        ("steps.0", "p", 1, "p: 0.3", "p: 1"),
        ("steps.0", "limit", 30, "[-10,  20]", "30"),
        ("steps.0", "border_mode", "reflect", "p: 0.3}", "p: 0.3, border_mode: reflect}"),
        ("steps.0", "p", None, "[-10,  20] , p: 0.3}", "[-10,  20]}"),
        ("steps.0", "limit", None, "{limit: [-10,  20] , p", "{p"),
        ("steps.1", "height", 70, "height: 50 ", "height: 70 "),
        ("steps.1", "p", 0.5, "width: 60\n", "width: 60\n      p: 0.5\n"),
        ("steps.1", "width", None, "      width: 60\n", ""),
        ("steps.2", "p", 0, "- HorizontalFlip\n", "- HorizontalFlip: {p: 0}\n"),
        ("steps.3", "p", 0.5, "- OneOf:\n      steps", "- OneOf:\n      p: 0.5\n      steps"),
        ("steps.3.steps.0", "p", 1, "- Blur\n", "- Blur: {p: 1}\n"),
        ("steps.3.steps.1", "blur_limit", [3, 5], "GaussianBlur: {}", "GaussianBlur: {blur_limit: [3, 5]}"),
        ("steps.4", "p", 1, '"VerticalFlip"', '"VerticalFlip": {p: 1}'),
        ("steps.5", "brightness", 0.2, "ColorJitter:\n", "ColorJitter: {brightness: 0.2}\n"),
        ("eval.0", "height", 9, "{height: 3, w", "{height: 9, w"),
        ("eval.1", "p", 0, ", HorizontalFlip]", ", {HorizontalFlip: {p: 0}}]"),
    ],
)
def test_each_layout_keeps_its_own(path: str, argument: str, value: Any, old: str, new: str) -> None:
    for ends in ("\n", "\r\n"):
        text = TEXT.replace("\n", ends)
        wanted = TEXT.replace(old, new).replace("\n", ends)
        assert slide(text, path, argument, value) == wanted


PLANTED: tuple[Slide, ...] = (
    lambda text, path, argument, value: changed(parse_text(text), path, argument, value).to_yaml(),  # written anew
    # The first of the name.
    lambda text, path, argument, value: re.sub(rf"\b{argument}: [^,}}]*", f"{argument}: {value}", text, count=1),
    lambda text, path, argument, value: slide(text, f"steps.{int(path[-1]) + 1}", argument, value),  # the next step
)


@pytest.mark.parametrize("fault", PLANTED)
def test_planted_sliders_are_noticed(fault: Slide) -> None:
    text = "version: 1\nrecipe: x\nsteps:\n  - Blur: {p: 0.1}  # a\n  - D4: {p: 0.2}\n  - Rotate: {p: 0.3}\n"
    assert broken(text, "steps.1", "p", 0.7) == ""
    assert broken(text, "steps.1", "p", 0.7, fault) != ""


VARIANT = "version: 1\nextends: stained-tissue   # all\nrecipe: y\n"


def test_a_variant_sets() -> None:
    for old, new in (
        ("", ""),
        ("set: {Rotate.limit: 30}  # x\n", "set: {Rotate.limit: 10}  # x\n"),
        ("set:\n  Rotate.p: 1.0 # x\n", "set:\n  Rotate.p: 1.0 # x\n  Rotate.limit: 10\n"),
    ):
        wanted = VARIANT + new if new else VARIANT.replace("# all\n", "# all\nset: {Rotate.limit: 10}\n")
        assert slide(VARIANT + old, "steps.0", "limit", 10) == wanted
        before, after = (steps_by_path(parse_text(one)) for one in (VARIANT + old, wanted))
        assert after.pop("steps.0").args["limit"] == 10
        assert before.pop("steps.0") and after == before


def test_what_cannot_be_slid_is_refused(page: Page) -> None:
    for body, status in (
        ({"text": TEXT, "path": "steps.9", "argument": "p", "value": 1}, 404),
        ({"text": TEXT, "path": "steps.0.limit", "argument": "p", "value": 1}, 404),
        ({"text": "[1]", "path": "steps.0", "argument": "p", "value": 1}, 422),
        ({"text": "[" * 50, "path": "steps.0", "argument": "p", "value": 1}, 422),
        ({"text": TEXT, "path": "steps.0", "argument": "p", "value": [[[[[[1]]]]]]}, 200),
        ({"text": TEXT, "path": "steps.0", "value": 1}, 400),
        ({"text": TEXT, "path": 3, "argument": "p", "value": 1}, 400),
    ):
        assert page.ask("POST", "/api/slide", body).status == status, body
    reply = page.ask("POST", "/api/slide", b'{"text": "a", "path": "steps.0", "argument": "p", "value": NaN}')
    assert reply.status in (400, 404, 422)
    found = page.post("/api/slide", text=TEXT, path="steps.0", argument="limit", value=[-10, 25])
    assert found == {"text": TEXT.replace("20]", "25]")}


def test_steps_of_batches_are_checked_and_no_sample_is_drawn_of_them(page: Page) -> None:
    text = "version: 1\nrecipe: x\nsteps: [RandomCrop: {height: 32, width: 32}]\neval: []\nbatch: [MixUp: {alpha: 0}]\n"
    (problem,) = page.post("/api/check", text=text)["problems"]
    assert (problem["code"], problem["from"]) == ("E307", [5, 23])
    fine = text.replace("0}]\n", "1}]\n")
    found = page.post("/api/check", text=fine)
    assert found["problems"] == []
    assert [step["path"] for step in found["steps"]] == ["steps.0"]
    assert page.lines("/api/draws", text=fine)[0]["pictures"]
