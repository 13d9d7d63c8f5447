"""Every kind of mistake: its code, its line and column, and words that help."""

import pytest
from support.checks import rows
from support.files import parse_file

from augrecipes.errors import Diagnostic, RecipeError
from augrecipes.recipe.codes import CODES
from augrecipes.recipe.parse import parse_text

HEAD = "version: 1\nrecipe: bad\n"
PAIR = HEAD + "kind: pair\nscales: {lr: 1, hr: 4}\n"
BAG = HEAD + "kind: bag\n"
VIEWS = HEAD + "kind: views\n"


def problems_of(text: str | bytes) -> tuple[Diagnostic, ...]:
    with pytest.raises(RecipeError) as raised:
        parse_text(text)
    return raised.value.problems


def one(step: str, head: str = HEAD) -> str:
    """A recipe with one step, which stands in line 4 (line 6 of a pair, line 5 of a bag), column 3."""
    return f"{head}steps:\n- {step}\n"


# Text, code, line, column, and a part of the message.
STEPS = rows(__file__, "steps")


@pytest.mark.parametrize(("step", "code", "line", "col", "words"), STEPS, ids=[step[:50] for step, *_ in STEPS])
def test_a_wrong_step(step: str, code: str, line: int, col: int, words: str) -> None:
    found = problems_of(one(step))
    assert any((p.code, p.line, p.col) == (code, line, col) and words in p.message for p in found), found


TOP = rows(__file__, "keys")


@pytest.mark.parametrize(("text", "code", "line", "col", "words"), TOP, ids=[text[-45:] for text, *_ in TOP])
def test_a_wrong_key(text: str, code: str, line: int, col: int, words: str) -> None:
    found = problems_of(text)
    assert any((p.code, p.line, p.col) == (code, line, col) and words in p.message for p in found), found


def test_every_problem_is_reported_at_once_and_in_file_order() -> None:
    found = problems_of(HEAD + "steps:\n- Rotte\n- Blur: {blr: 3}\nouptut: 3\n")
    assert [(p.code, p.line) for p in found] == [("E302", 4), ("E304", 5), ("E202", 6)]
    assert str(found[0]).startswith("<recipe>:4:3: E302 Rotte: ")


def test_problems_are_counted_out_at_a_hundred() -> None:
    found = problems_of(HEAD + "steps:\n" + "- Rotte\n" * 5000)
    assert len(found) == 101
    assert found[-1].code == "E116"


def test_every_code_that_the_language_uses_is_documented() -> None:
    used = {code for _, code, *_ in (*STEPS, *TOP)}
    assert used <= set(CODES)
    assert all(entry.title and entry.why and entry.fix for entry in CODES.values())


def test_parse_file_returns_what_parse_text_raises(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "bad.yaml"
    path.write_text(one("Rotte"))
    recipe, problems = parse_file(path)
    assert recipe is None
    assert [str(p) for p in problems] == [f"{path}:4:3: E302 Rotte: unknown step; did you mean 'Rotate'?"]


def test_one_placed_problem_for_a_value_wrong_in_a_union() -> None:
    assert len(problems_of(one("CropAndPad: {px: [1, [2, x], 3, 4]}"))) == 1
