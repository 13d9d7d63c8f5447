"""The fixes that problems carry: each is an edit of the text after which the problem is gone. Every name that
albumentations has dropped since 0.3, and every one of other libraries, has a fix that is valid.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.checks import rows, table
from support.files import parse_file
from support.lint_examples import example
from test_recipe_malformed import STEPS, TOP, one

from augrecipes.errors import Diagnostic, Fix, RecipeError
from augrecipes.lint import lint, lints
from augrecipes.ops import registry
from augrecipes.ops.groups import GROUPS
from augrecipes.ops.refused import REFUSED
from augrecipes.recipe import document, history
from augrecipes.recipe.codes import CODES
from augrecipes.recipe.edit import applied, quick_fix, read_spans
from augrecipes.recipe.parse import parse_text
from augrecipes.recipe.write import flow

TEXTS = [one(step) for step, *_ in STEPS] + [text for text, *_ in TOP] + [example(CODES[code]) for code in lints()]


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


START = "version: 1  # the head\nrecipe: t\nsteps:\n"
EDITS = {
    "a word in quotes": (START + "- 'Rotte'", 4, 3, Fix("word", "Rotate"), START + "- 'Rotate'"),
    "a step": (START + "- Flip: {p: 1}  # a\n- D4", 4, 3, Fix("step", "D4: {p: 1}"), START + "- D4: {p: 1}  # a\n- D4"),
    "a step in brackets": ("steps: [Flip, D4]", 1, 9, Fix("step", "D4: {p: 1}"), "steps: [{D4: {p: 1}}, D4]"),
    "an argument": (START + "- Blur: {a: 1,  b: 2}", 4, 10, Fix("entry", "p: 1"), START + "- Blur: {p: 1,  b: 2}"),
    "an argument more": (START + "- Blur:\n    a: 1  # x\n- D4", 4, 3, Fix("set", "p: 1"),
                         START + "- Blur:\n    a: 1  # x\n    p: 1\n- D4"),
    "an argument of a bare name": (START + "- Blur  # x", 4, 3, Fix("set", "p: 1"), START + "- Blur: {p: 1}  # x"),
    "a key": (START + "- D4  # x\n", 4, 3, Fix("key", "eval: derived"), START + "- D4  # x\neval: derived\n"),
    "a key of a document in braces": ("{steps: [D4]}", 1, 1, Fix("key", "eval: []"), "{steps: [D4], eval: []}"),
    "an argument less": (START + "- Blur: {a: 1,  b: 2}", 4, 10, Fix("remove"), START + "- Blur: {b: 2}"),
    "a step less": (START + "- D4:\n    p: 1  # x\n- Blur\n", 4, 3, Fix("remove"), START + "- Blur\n"),
    "the last step": (START + "- D4\neval: []\n", 4, 3, Fix("remove"), START + "  []\neval: []\n"),
    "a step in a list in brackets": ("steps: [D4, Blur]", 1, 13, Fix("remove"), "steps: [D4]"),
    "a silenced lint": (START + "- D4\r\n- Blur", 4, 3, Fix("silence", "L1"),
                        START + "- D4  # augrecipes: ignore[L1]\r\n- Blur"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "line", "col", "fix", "expected"), EDITS.values(), ids=EDITS)
def test_an_edit_changes_nothing_else(text: str, line: int, col: int, fix: Fix, expected: str) -> None:
    found = quick_fix(read_spans(text), line, col, fix)
    assert applied(text, found.edits) == expected


def test_a_fix_that_mends_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("augrecipes.recipe.problems.nearest", lambda name, valid: "elsewhere")
    assert unmended(one("HorizntalFlip: {p: 1}")) != []


# Arguments of 0.3 to 2.0.7 that 2.0.8 has no more, and classes that are gone, with the defaults of their time.
OLD: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "albumentations_arguments.json").read_text())
PAIRS = [(cls, name) for cls, names in OLD.items() if cls not in history.CLASSES and cls != "Flip" for name in names]
# What a class cannot be without.
NEEDED: dict[str, Any] = {"height": 8, "width": 8, "size": [8, 8], "min_max_height": [8, 9]}
ALSO: dict[str, dict[str, Any]] = {
    "CropAndPad": {"px": 3},
    "LongestMaxSize": {"max_size": 8},
    "SmallestMaxSize": {"max_size": 8},
}
HEAD = "version: 1\nrecipe: t\n"


def of_class(cls: str, given: dict[str, Any]) -> str:
    """A recipe of one step that lacks nothing."""
    schema = registry.arguments(cls) or {}
    needed = {name: NEEDED[name] for name in schema.get("required", ()) if name in NEEDED}
    return f"{HEAD}steps:\n- {cls}: {flow({**needed, **ALSO.get(cls, {}), **given})}\n"


def faults(text: str, words: str) -> list[str]:
    """What is wrong with the fixes of the problems whose message has some words: there must be one; the problem is gone
    after each, and of what a message says to write all is accepted, but for required arguments and for their ranges."""
    found = [problem for problem in problems_of(text) if words in f"{problem.name}: {problem.message}"]
    wrong = [f"no fix of {problem}" for problem in found if not after_each_fix(text, problem)]
    for problem in found:
        for after in after_each_fix(text, problem):
            codes = {p.code for p in after if p.severity == "error"} - {"E305", "E308"}
            whole = "write `" in problem.message
            wrong += [str(p) for p in after if p.code in codes and (whole or p.code == problem.code)]
    return wrong if found else ["nothing is said"]


@pytest.mark.parametrize(("cls", "name"), PAIRS, ids=lambda part: part)
def test_every_old_argument_has_a_fix_that_is_accepted(cls: str, name: str) -> None:
    default = OLD[cls][name]
    for value in [default, None, [0, 0, 0], 0.3, 4, "constant", [1, 3], {"a": 1}]:
        usual = value is default or value is None  # what people had
        (problem,) = [p for p in problems_of(of_class(cls, {name: value})) if p.code == "E304"]
        if usual:
            assert "did you mean" not in problem.message
            assert faults(of_class(cls, {name: value}), problem.message) == []
        assert re.search("; (write `|it was removed|it took|did you mean)", problem.message)


@pytest.mark.parametrize("cls", [*history.CLASSES, "Flip"])
def test_every_class_that_is_gone_has_a_fix_that_is_accepted(cls: str) -> None:
    for given in ({}, OLD[cls], {**OLD[cls], "always_apply": True}, {"limit": "x"}, {"nonsense": 1}):
        text = f"{HEAD}steps:\n- {cls}: {flow(given)}\n"
        assert faults(text, f"{cls}: unknown step") == []


# An unknown name of each table, in a recipe that has it.
UNKNOWN = [
    *((f"{HEAD}steps:\n- {name}\n", name) for name in history.STEPS if name not in REFUSED),
    *((f"{HEAD}{name}: []\n" + ("" if new == "steps" else "steps: []\n"), name) for name, new in history.KEYS.items()),
    *((of_class(cls, {name: 1}), f"'{name}'") for cls, name in (*history.ARGUMENTS_OF, *history.REMOVED)),
    *(
        (of_class(cls, {"always_apply": value}), "always_apply")
        for cls in ("Rotate", "Blur")
        for value in (True, False)
    ),
]


@pytest.mark.parametrize(("text", "name"), UNKNOWN, ids=[name for _, name in UNKNOWN])
def test_every_name_of_the_tables_has_a_fix_that_is_accepted(text: str, name: str) -> None:
    assert faults(text, name) == []


def test_no_synonym_stands_for_a_name_that_is_valid() -> None:
    assert not {*history.STEPS, *history.CLASSES} & {*registry.names(), *GROUPS}
    assert not set(history.KEYS) & set(document.KEYS)
    for cls, name in (*history.ARGUMENTS_OF, *history.REMOVED, *history.CONVERTED):
        assert name not in (registry.arguments(cls) or {"properties": ()})["properties"], (cls, name)


def test_old_names_lead_to_arguments_that_some_class_takes() -> None:
    taken = {name for cls in registry.names() for name in (registry.arguments(cls) or {})["properties"]}
    assert set(history.RENAMED.values()) <= taken
    assert set(history.ARGUMENTS.values()) <= {*taken, "id", "steps"}
    for cls, new in (*history.JOINED, *((cls, new) for (cls, _), (new, _) in history.CONVERTED.items())):
        assert new in (registry.arguments(history.CLASSES.get(cls, cls)) or {})["properties"], (cls, new)


@pytest.mark.parametrize(("table", "key", "words"), rows(__file__, "a_planted_fault_is_found"))
def test_a_planted_fault_is_found(table: str, key: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{HEAD}steps:\n- {key}\n" if isinstance(key, str) else of_class(key[0], {key[1]: 1})
    name = key if isinstance(key, str) else key[1]
    assert faults(text, name) == []
    monkeypatch.setitem(getattr(history, table), key if isinstance(key, str) else tuple(key), words)
    assert faults(text, name) != []


@table(__file__, "messages", "step", "words")
def test_messages_carry_the_values_that_were_written(step: str, words: str) -> None:
    assert words in "\n".join(p.message for p in problems_of(f"{HEAD}steps:\n- {step}\n"))


@pytest.mark.parametrize(("steps", "said"), rows(__file__, "other_defaults_of_groups_are_said_once"))
def test_other_defaults_of_groups_are_said_once(steps: str, said: int) -> None:
    found = problems_of(f"{HEAD}steps:\n{steps}\n")
    notes = [p for p in found if p.code == "L504"]
    assert [(p.line, p.severity) for p in notes] == ([(said, "warning")] if said else [])
    assert any(p.severity == "error" for p in found)


@pytest.mark.parametrize("data_format", ["json", "yaml"])
def test_a_saved_pipeline_is_recognised(data_format: str, tmp_path: Path) -> None:
    import albumentations as A

    path = tmp_path / f"saved.{data_format}"
    made = A.Compose([A.OneOf([A.Blur()]), A.Resize(64, 32, interpolation=2), A.HorizontalFlip()])
    A.save(made, path, data_format=data_format)
    recipe, (found,) = parse_file(path)
    assert recipe is None
    assert found.code == "E117"
    assert f"albumentations {A.__version__} saved this pipeline of 3 transforms" in found.message
    assert f"`augrecipes import {path} -o recipe.yaml`" in found.message
    for text in ('{"transform": 3}', '{"__version__": "1.0"}', '{"transform": {"__class_fullname__": 3}}'):
        assert problems_of(text)
