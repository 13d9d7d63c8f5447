"""Law: what the parser takes the JSON Schema takes, and what it refuses the schema refuses, but for the rules below."""

import copy
import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from typing import Any, get_args

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from support.checks import rows
from support.recipe_strategies import WHOLE, Path, all_values, at, edited, edits, places

from augrecipes.errors import Diagnostic, RecipeError
from augrecipes.ops import catalog
from augrecipes.ops.schedule import schedules_in
from augrecipes.recipe import gallery, grammar
from augrecipes.recipe.inputs import Presence
from augrecipes.recipe.model import TOP, Recipe
from augrecipes.recipe.parse import parse_text

HEAD = "version: 1, recipe: a"
PAIR = f"{HEAD}, kind: pair, scales: {{lr: 1, hr: 4}}"
VIEWS = f"{HEAD}, kind: views"
RESIZED = "steps: [ResizeToTarget]"
# What JSON Schema cannot say: code, a part of the message, and a recipe that the schema takes for that reason.
BEYOND = [*rows(__file__, "beyond"), ["E118", "at most 5,000 steps", f"{HEAD}, steps: [{'NoOp, ' * 5001}]"]]


def problems(document: Any) -> tuple[Diagnostic, ...]:
    """What the parser has to say: JSON is YAML."""
    try:
        parse_text(json.dumps(document))
    except RecipeError as error:
        return error.problems
    return ()


def beyond(problem: Diagnostic) -> bool:
    return any(problem.code == code and part in problem.message for code, part, _ in BEYOND)


def disagreement(document: Any, schema: Draft202012Validator) -> str:
    """Where the two differ, or an empty text."""
    found, taken = problems(document), schema.is_valid(document)
    if not found:
        return "" if taken else "the parser takes it, the schema does not"
    if isinstance(document, dict) and isinstance(document.get("set"), dict):
        found = problems({**document, "set": {}})  # what it sets, and where, only addresses tell
    if schedules_in(document):
        return ""  # of a step with a schedule the schema tells no more than that it has one
    plain = [problem for problem in found if not beyond(problem)]
    return f"the schema takes it, the parser does not: {plain[0]}" if plain and taken else ""


@cache
def shipped() -> Draft202012Validator:
    return Draft202012Validator(catalog.document())


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(catalog.document())
    for document in WHOLE:
        assert problems(document) == ()
        assert shipped().is_valid(document)


@pytest.mark.parametrize("name", gallery.gallery_names())
def test_the_gallery_is_valid(name: str) -> None:
    assert shipped().is_valid(yaml.safe_load(gallery.path(name).read_text(encoding="utf-8")))


@pytest.mark.parametrize(("code", "part", "text"), BEYOND, ids=[f"{code} {part}" for code, part, _ in BEYOND])
def test_each_rule_beyond_the_schema_is_one(code: str, part: str, text: str) -> None:
    """The list holds nothing that the schema does say, and nothing that no recipe meets."""
    with pytest.raises(RecipeError) as raised:
        parse_text(f"{{{text}}}")
    assert any(problem.code == code and part in problem.message for problem in raised.value.problems)
    assert all(beyond(problem) for problem in raised.value.problems), raised.value.problems
    assert shipped().is_valid(yaml.safe_load(f"{{{text}}}"))


def settled(document: Any) -> bool:
    """To this release of jsonschema [false, 255] is among [[0, 255]]."""
    return not any(isinstance(value, list) and bool in map(type, value) for value in all_values(document))


def nearby(whole: int, under: Path = ()) -> Iterator[Any]:
    """Every document that is one edit away, at a place or inside it."""
    for path in places(WHOLE[whole]):
        if path[: len(under)] == under:
            for value in edits(at(WHOLE[whole], path)):
                document = edited(WHOLE[whole], path, value)
                if settled(document):
                    yield document


def agree(documents: Iterable[Any]) -> None:
    for document in documents:
        assert not (wrong := disagreement(document, shipped())), (wrong, document)


@pytest.mark.parametrize("step", [293, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("whole", range(len(WHOLE)))
def test_they_agree_on_documents_that_are_one_edit_away(whole: int, step: int) -> None:
    agree(islice(nearby(whole), step // 2, None, step))


@st.composite
def documents(draw: st.DrawFn) -> Any:
    """A recipe of the gallery, or one of every key, with a few edits."""
    document = draw(st.sampled_from([*WHOLE, *gallery_documents()]))
    for _ in range(draw(st.integers(1, 4))):
        path = draw(st.sampled_from(list(places(document))))
        document = edited(document, path, draw(st.sampled_from(edits(at(document, path)))))
    return document


@cache
def gallery_documents() -> list[Any]:
    return [yaml.safe_load(gallery.path(name).read_text(encoding="utf-8")) for name in gallery.gallery_names()]


@given(documents().filter(settled))
def test_they_agree_after_several_edits(document: Any) -> None:
    agree([document])


def test_a_default_of_the_schema_is_what_is_taken_where_nothing_is_written() -> None:
    for kind, section, mapping in (
        ("image", "inputs.boxes", grammar.BOXES),
        ("image", "inputs.keypoints", grammar.KEYPOINTS),
        ("image", "inputs", grammar.INPUTS),
        ("image", "output", grammar.OUTPUT),
        ("bag", "bag", grammar.BAG),
    ):
        outer, _, inner = section.partition(".")
        for key, schema in mapping["properties"].items():
            if "default" in schema:
                body = {key: schema["default"]}
                written = {outer: {inner: body} if inner else body}
                bare = {outer: {inner: {}} if inner else {}}
                head = {"version": 1, "recipe": "a", "kind": kind, "steps": []}
                assert parse_text(json.dumps({**head, **written})) == parse_text(json.dumps({**head, **bare})), key


def test_the_classes_of_the_grammar_have_its_words_and_defaults() -> None:
    assert list(get_args(Presence)) == grammar.BOXES["properties"]["presence"]["enum"]
    given = {key: schema["default"] for key, schema in TOP["properties"].items() if "default" in schema}
    assert given == {
        key: getattr(Recipe(""), key) for key in ("kind", "optimize", "allow_resampling", "correspondence", "max_bytes")
    }


Change = Callable[[dict[str, Any]], object]
PLANTED: dict[str, tuple[Change, int, Path]] = {
    "bag: max_tiles may not be null": (
        lambda s: s["properties"]["bag"]["properties"].update(max_tiles={"type": "integer", "minimum": 1}), 2, ("bag",)
    ),
    "a name is text": (lambda s: s["properties"]["recipe"].update(type="string"), 0, ("recipe",)),
    "a name starts with a letter": (lambda s: s["properties"]["recipe"].update(pattern="^[a-z]"), 2, ("recipe",)),
    "recipe may be missing": (lambda s: s.pop("else"), 0, ("recipe",)),
    "any range": (
        lambda s: s["properties"]["output"]["properties"].update(range={"type": "array"}), 1, ("output", "range")
    ),
    "std may be 0": (
        lambda s: s["properties"]["output"]["properties"]["normalize"]["anyOf"][1]["properties"].update(std={}),
        0,
        ("output", "normalize", "std"),
    ),
    "a mean of nothing": (
        lambda s: s["properties"]["output"]["properties"]["normalize"]["anyOf"][1]["properties"].update(mean={}),
        0,
        ("output", "normalize", "mean"),
    ),
    "unknown keys of a group": (
        lambda s: s["$defs"]["stepMapping"]["properties"]["OneOf"].pop("additionalProperties"), 0, ("steps", 2, "OneOf")
    ),
    "a kind more": (lambda s: s["properties"]["kind"]["enum"].append("x"), 0, ("kind",)),
    "a target's grid of 1000": (
        lambda s: s["properties"]["scales"]["additionalProperties"].pop("maximum"), 1, ("scales",)
    ),
    "an argument of another type": (
        lambda s: s["$defs"]["stepMapping"]["properties"]["RandomCrop"]["properties"].update(height={}),
        1,
        ("steps", 0, "RandomCrop", "height"),
    ),
    "a share more": (lambda s: s["$defs"]["share"]["enum"].append("x"), 2, ("steps", 0, "ColorJitter", "share")),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_drift_is_found(name: str) -> None:
    change, whole, under = PLANTED[name]
    schema = copy.deepcopy(catalog.document())
    change(schema)
    drifted = Draft202012Validator(schema)
    assert any(disagreement(document, drifted) for document in nearby(whole, under)), name


@pytest.mark.parametrize(
    ("part", "key", "changed"),
    [
        (grammar.BAG["properties"], "min_tiles", {"type": "integer"}),
        (grammar.OUTPUT["properties"], "layout", {"type": "string"}),
        (grammar.STEP_KEYS, "share", {"type": "string"}),
    ],
    ids=["bag", "output", "step"],
)
def test_a_parser_that_reads_another_table_is_found(
    part: dict[str, Any], key: str, changed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(part, key, changed)
    under: Path = {"min_tiles": ("bag",), "layout": ("output",), "share": ("steps", 0, "ColorJitter", "share")}[key]
    assert any(disagreement(document, shipped()) for document in nearby(2, under))
