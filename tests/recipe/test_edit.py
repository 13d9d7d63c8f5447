"""The fixes that problems carry: each is an edit of the text after which the problem is gone."""

from __future__ import annotations

import pytest
from test_recipe_malformed import STEPS, TOP, one

from augrecipes.errors import Diagnostic, RecipeError
from augrecipes.lint import lint, lints
from augrecipes.recipe.codes import CODES
from augrecipes.recipe.edit import applied, quick_fix, read_spans
from augrecipes.recipe.parse import parse_text
from augrecipes.recipe.problems import Fix

TEXTS = [one(step) for step, *_ in STEPS] + [text for text, *_ in TOP] + [CODES[code].example for code in lints()]


def problems_of(text: str) -> tuple[Diagnostic, ...]:
    try:
        return lint(parse_text(text))
    except RecipeError as error:
        return error.problems


def after_each_fix(text: str, problem: Diagnostic) -> list[tuple[Diagnostic, ...]]:
    """What is wrong with the text after each of the problem's fixes that can be made in it."""
    made = [quick_fix(read_spans(text), problem.line, problem.col, fix) for fix in problem.fixes]
    return [problems_of(applied(text, fixed.edits)) for fixed in made if fixed is not None]


def unmended(text: str) -> list[str]:
    """The problems that stay, whichever of their fixes is made; those of text that is no YAML have none."""
    left = []
    for problem in problems_of(text):
        after = after_each_fix(text, problem)
        if problem.fixes and all((problem.code, problem.message) in [(p.code, p.message) for p in a] for a in after):
            left.append(f"{problem}: {problem.fixes}")
    return left


@pytest.mark.parametrize("text", TEXTS, ids=[text[-45:] for text in TEXTS])
def test_one_of_the_fixes_mends_the_problem(text: str) -> None:
    assert unmended(text) == []


HEAD = "version: 1  # the head\nrecipe: t\nsteps:\n"
EDITS = {
    "a word in quotes": (HEAD + "- 'Rotte'", 4, 3, Fix("word", "Rotate"), HEAD + "- 'Rotate'"),
    "a step": (HEAD + "- Flip: {p: 1}  # a\n- D4", 4, 3, Fix("step", "D4: {p: 1}"), HEAD + "- D4: {p: 1}  # a\n- D4"),
    "a step in brackets": ("steps: [Flip, D4]", 1, 9, Fix("step", "D4: {p: 1}"), "steps: [{D4: {p: 1}}, D4]"),
    "an argument": (HEAD + "- Blur: {a: 1,  b: 2}", 4, 10, Fix("entry", "p: 1"), HEAD + "- Blur: {p: 1,  b: 2}"),
    "an argument more": (HEAD + "- Blur:\n    a: 1  # x\n- D4", 4, 3, Fix("set", "p: 1"),
                         HEAD + "- Blur:\n    a: 1  # x\n    p: 1\n- D4"),
    "an argument of a bare name": (HEAD + "- Blur  # x", 4, 3, Fix("set", "p: 1"), HEAD + "- Blur: {p: 1}  # x"),
    "a key": (HEAD + "- D4  # x\n", 4, 3, Fix("key", "eval: derived"), HEAD + "- D4  # x\neval: derived\n"),
    "a key of a document in braces": ("{steps: [D4]}", 1, 1, Fix("key", "eval: []"), "{steps: [D4], eval: []}"),
    "an argument less": (HEAD + "- Blur: {a: 1,  b: 2}", 4, 10, Fix("remove"), HEAD + "- Blur: {b: 2}"),
    "a step less": (HEAD + "- D4:\n    p: 1  # x\n- Blur\n", 4, 3, Fix("remove"), HEAD + "- Blur\n"),
    "the last step": (HEAD + "- D4\neval: []\n", 4, 3, Fix("remove"), HEAD + "  []\neval: []\n"),
    "a step in a list in brackets": ("steps: [D4, Blur]", 1, 13, Fix("remove"), "steps: [D4]"),
    "a silenced lint": (HEAD + "- D4\r\n- Blur", 4, 3, Fix("silence", "L1"),
                        HEAD + "- D4  # augrecipes: ignore[L1]\r\n- Blur"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "line", "col", "fix", "expected"), EDITS.values(), ids=EDITS)
def test_an_edit_changes_nothing_else(text: str, line: int, col: int, fix: Fix, expected: str) -> None:
    found = quick_fix(read_spans(text), line, col, fix)
    assert found is not None
    assert applied(text, found.edits) == expected


def test_a_fix_that_mends_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("augrecipes.recipe.problems.nearest", lambda name, valid: "elsewhere")
    assert unmended(one("HorizntalFlip: {p: 1}")) != []
