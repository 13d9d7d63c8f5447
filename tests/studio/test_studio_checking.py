"""Problems stand at their words, whatever the layout, and a fix is one after which they are gone."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layouts import layouts

from augrecipes.lint import lints
from augrecipes.recipe.codes import CODES
from augrecipes.recipe.edit import TextEdit, TextSpan, applied, read_spans
from augrecipes.recipe.model import Arguments, Recipe, Step
from augrecipes.studio import checking
from augrecipes.studio.outline import PageText
from augrecipes.studio.workbench import Workbench

BENCH = Workbench()
STEPS = (
    Step("Rotate", Arguments({"limit": [-10, 20], "border_mode": "reflect_101"}), p=1.0),
    Step("RandomResizedCrop", Arguments({"size": [64, 64], "scale": [0.5, 1.0]})),
    Step("OneOf", steps=(Step("GaussianBlur", Arguments({"blur_limit": [3, 5]}), p=1.0), Step("ToGray", p=1.0))),
    Step("HorizontalFlip"),
)
WORDS = ("Rotate", "limit", "border_mode", "reflect_101", "RandomResizedCrop", "scale", "GaussianBlur", "blur_limit",
         "ToGray", "HorizontalFlip")  # fmt: skip


def shown(text: str, problem: dict[str, Any]) -> str:
    """The words that the page underlines: it counts lines as browsers do, and columns in UTF-16 units."""
    lines = re.split("\r\n|[\n\r]", text)
    (line, start), (last, end) = problem["from"], problem["to"]
    assert line == last
    return lines[line - 1].encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le")


def misplaced(text: str, word: str) -> list[str]:
    """What is underlined for a misspelt word, where it is not that word."""
    found = checking.checked(BENCH, text)["problems"]
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


def test_columns_count_as_browsers_do(monkeypatch: pytest.MonkeyPatch) -> None:
    text = '{version: 1, recipe: x, about: "𝄞𝄞 é", steps: [Rotateqx]}'
    assert misplaced(text, "Rotateqx") == []
    monkeypatch.setattr(PageText, "of", lambda self, offset: [1, offset])  # planted: characters are counted
    assert misplaced(text, "Rotateqx") != []


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_ends_of_lines_of_all_kinds(ends: str) -> None:
    text = ends.join(["version: 1", "recipe: x", "steps:", "  - Blur", "  - Rotateqx"])
    assert misplaced(text, "Rotateqx") == []


@pytest.mark.parametrize("code", sorted(lints()))
def test_fixes_fix(code: str) -> None:
    """Of each lint's own example: whatever is offered leaves nothing of the problem."""
    text = CODES[code].example
    for problem in checking.checked(BENCH, text)["problems"]:
        assert problem["more"]
        if problem["fix"] is None:
            continue
        page = PageText(text)
        edits = []
        for edit in problem["fix"]["edits"]:
            start, end = (page.offset(line, column + 1) for line, column in (edit["from"], edit["to"]))
            edits.append(TextEdit(TextSpan(start, end), edit["text"]))
        after = checking.checked(BENCH, applied(text, edits))["problems"]
        assert (problem["code"], problem["message"]) not in [(one["code"], one["message"]) for one in after]


def test_spans_are_the_words(page: Any) -> None:
    found = page.post("/api/check", text="version: 1\nrecipe: x\nsteps:\n  - Rotate: {limit: [1,  2]}  # a\neval: []\n")
    (step,) = found["steps"]
    text = "version: 1\nrecipe: x\nsteps: [ColorJitter: {brightness: 0.2, hue: 0.03}]\neval: []\n"
    arguments = page.post("/api/check", text=text)["steps"][0]["arguments"]  # of one number what it stands for
    assert (arguments["brightness"]["ends"], arguments["hue"]["ends"]) == ([0.8, 1.2], [-0.03, 0.03])
    assert (step["path"], step["key"]) == ("steps.0", {"from": [4, 4], "to": [4, 10]})
    assert step["arguments"]["limit"] == {"value": [1, 2], "from": [4, 20], "to": [4, 27]}
    assert read_spans("a: 1").top is not None
