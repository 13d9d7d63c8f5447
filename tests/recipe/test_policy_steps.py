"""Policies as steps: groups to everything but the parser, one line again when written, errors with their line."""

from pathlib import Path
from typing import Any

import pytest
from support.checks import rows

import augrecipes as ar
from augrecipes.lint import lint
from augrecipes.ops.policies import POLICIES, TABLES, group_of
from augrecipes.recipe import grammar
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.write import text_of

HEAD = "version: 1\nrecipe: t\nsteps:\n"


def recipe(*steps: str, rest: str = "eval: derived\n", **changes: Any) -> Recipe:
    return ar.load(HEAD + "".join(f"  - {step}\n" for step in steps) + rest, **changes)


WRITTEN = [
    "RandAugment",
    "RandAugment: {n: 1, m: 27, ops: timm-increasing, mstd: 1.5, op_p: 0.5, fill: [124, 116, 104]}",
    "RandAugment: {m: 0, interpolation: linear, id: mine, p: 0.25}",
    "TrivialAugment",
    "TrivialAugment: {fill: 9, p: 0.5}",
    "AutoAugment",
    "AutoAugment: {policy: svhn}",
    "AutoAugment: {policy: 3a}",
    "AutoAugment: {policy: v0r, mstd: 1.5, id: pairs}",
]


@pytest.mark.parametrize("text", WRITTEN)
def test_what_is_written_is_what_was_read(text: str) -> None:
    one = recipe(text)
    assert f"\n  - {text}\n" in one.to_yaml()
    again = ar.load(one.to_yaml())
    assert again == one
    assert again.digest == one.digest


def test_a_name_alone_is_a_policy() -> None:
    assert recipe("AutoAugment: cifar10") == recipe("AutoAugment: {policy: cifar10}")
    assert recipe("AutoAugment") == recipe("AutoAugment: imagenet") != recipe("AutoAugment: v0")


@pytest.mark.parametrize("name", grammar.POLICIES)
def test_a_policy_is_the_group_that_its_table_makes(name: str) -> None:
    ((kind, group),) = group_of(name, {}).items()
    by_hand = ar.load(text_of({"version": 1, "recipe": "t", "steps": [{kind: {**group, "id": name}}], "eval": []}))
    one = recipe(name, rest="eval: []\n")
    assert one == by_hand
    assert one.digest == by_hand.digest
    assert {step.site.partition("/")[0] for step in one.walk()} == {name}


def test_a_group_that_was_changed_is_written_as_it_is() -> None:
    one = recipe("RandAugment: {n: 1}")
    (group,) = one.steps
    from dataclasses import replace

    changed = replace(one, steps=(replace(group, steps=group.steps * 2),))
    assert "RandAugment:" not in changed.to_yaml()
    assert "p: 0.125" in replace(one, steps=(replace(group, p=0.125),)).to_yaml()


def test_defaults_are_those_of_the_grammar() -> None:
    for name, schema in grammar.POLICIES.items():
        given = {key: part["default"] for key, part in schema["properties"].items() if "default" in part and key != "p"}
        assert group_of(name, given) == group_of(name, {})
    assert set(grammar.POLICIES["AutoAugment"]["properties"]["policy"]["enum"]) == {*POLICIES, "3a"}
    assert set(grammar.POLICIES["RandAugment"]["properties"]["ops"]["enum"]) == set(TABLES) - {"wide", "augmix"}


def test_several_of_one_name_have_ids_of_their_own() -> None:
    one = recipe("RandAugment", "HorizontalFlip", "RandAugment: {m: 5}", "RandAugment: {id: RandAugment-3}")
    assert [step.id for step in one.steps] == ["RandAugment", None, "RandAugment-2", "RandAugment-3"]
    assert ar.load(one.to_yaml()) == one


def test_other_steps_keep_their_draws() -> None:
    alone, beside = recipe("HorizontalFlip"), recipe("RandAugment", "HorizontalFlip")
    assert alone.steps[0].site == beside.steps[1].site


@pytest.mark.parametrize(("step", "line", "code", "said"), rows(__file__, "wrong"))
def test_what_is_wrong_is_said_with_its_line(step: str, line: int, code: str, said: str) -> None:
    with pytest.raises(ar.RecipeError) as error:
        recipe(step)
    (problem,) = error.value.problems
    assert (problem.line, problem.code) == (line, code)
    assert any(each in problem.message for each in said.split("|"))


def test_lints_speak_of_the_policy_not_of_its_table() -> None:
    behind = recipe("RandomResizedCrop: {size: [64, 64]}", "RandAugment", "AutoAugment: cifar10", "RandAugment: {m: 0}")
    assert list(lint(behind)) == []
    in_eval = recipe("HorizontalFlip", rest="eval:\n  - TrivialAugment\n")
    assert ("L101", 6, "error") in {(found.code, found.line, found.severity) for found in lint(in_eval)}


def test_a_variant_sets_what_is_written() -> None:
    assert recipe("RandAugment", overrides={"RandAugment.m": 12}) == recipe("RandAugment: {m: 12}")
    assert recipe("RandAugment", "HorizontalFlip", without=["RandAugment"]) == recipe("HorizontalFlip")


def test_nobody_registers_a_class_of_that_name() -> None:
    import albumentations as A

    cls = type("RandAugment", (A.ImageOnlyTransform,), {})
    with pytest.raises(ValueError, match="the name belongs to a class that recipes know already"):
        ar.register(cls)


def test_the_schema_takes_what_the_parser_takes() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    import json

    path = Path(ar.__file__).parent / "schema" / "recipe.schema.json"
    check = jsonschema.Draft202012Validator(json.loads(path.read_text(encoding="utf-8"))).is_valid

    def one(step: Any) -> dict[str, Any]:
        return {"version": 1, "recipe": "t", "steps": [step]}

    fine = ["RandAugment", {"AutoAugment": "svhn"}, {"AutoAugment": {"policy": "3a"}}, {"TrivialAugment": {"p": 0.5}}]
    wrong = [{"AutoAugment": "x"}, {"RandAugment": {"n": 0}}, {"RandAugment": 3}, {"TrivialAugment": {"n": 2}}]
    assert [check(one(step)) for step in fine] == [True] * 4
    assert [check(one(step)) for step in wrong] == [False] * 4


def test_in_pairs_what_moves_one_target_alone_is_a_lint_error() -> None:
    head = "kind: pair\nscales: {lr: 1, hr: 4}\neval: []\n"
    for step in ("TrivialAugment: {target: lr}", "AugMix: {target: lr}"):
        found = {(each.code, each.line) for each in lint(recipe(step, rest=head))}
        assert found == {("L206", 4)}, step
