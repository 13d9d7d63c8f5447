"""Laws of the language: what is written reads back; the schema and the rules judge as the constructors do."""

from __future__ import annotations

import pytest
from examples import DEAR
from hypothesis import given, settings
from hypothesis import strategies as st
from support.recipe_strategies import CLASSES, arguments, recipes

from augrecipes.compat.guard import albumentations
from augrecipes.ops import bounds, registry
from augrecipes.ops.constants import to_number
from augrecipes.ops.judge import verdict
from augrecipes.ops.readable import Refusal
from augrecipes.ops.rules import RULES, STRICTER
from augrecipes.recipe.arguments import check_value
from augrecipes.recipe.model import Arguments, Recipe, Step
from augrecipes.recipe.nodes import Place, from_value
from augrecipes.recipe.parse import parse_text


@DEAR
@given(recipes())
def test_what_is_written_reads_back_equal(recipe: Recipe) -> None:
    text = recipe.to_yaml()
    again = parse_text(text)
    assert again == recipe, text
    assert again.digest == recipe.digest
    assert again.to_yaml() == text


def constructor_refuses(name: str, given_arguments: dict[str, object]) -> str | None:
    keywords = {key: to_number(key, registry.tuples(value)) for key, value in given_arguments.items()}
    try:
        registry.build(registry.get_class(name), keywords)
    except Refusal as refusal:
        return refusal.message
    return None


@pytest.mark.parametrize("name", CLASSES)
@settings(max_examples=settings.default.max_examples // 10, derandomize=True)
@given(data=st.data())
def test_schema_and_rules_decide_as_the_constructor_does(name: str, data: st.DataObject) -> None:
    chosen = data.draw(arguments(name))
    schema = registry.arguments(name)
    assert schema is not None
    for key, value in chosen.items():
        assert check_value(schema["properties"][key], from_value(value, Place())) == []
    merged = {key: part.get("default") for key, part in schema["properties"].items()} | chosen
    ours = verdict(Step(name, Arguments(chosen)))
    theirs = constructor_refuses(name, chosen)
    if ours is None:
        assert theirs is None, (chosen, theirs)
    elif name not in STRICTER and bounds.fault(name, merged) is None:
        assert theirs is not None, (chosen, ours.message)


def test_rules_are_of_classes_that_exist() -> None:
    assert set(RULES) <= set(CLASSES)


# Some class has these, whatever was refused by ours must be refused by theirs, in words that differ.
WRONG = [
    ("RandomCrop", {"height": 0, "width": 5}),
    ("RandomResizedCrop", {"size": [8, 8], "scale": [0.5, 1.5]}),
    ("GaussNoise", {"std_range": [0.5, 0.1]}),
    ("CLAHE", {"clip_limit": 0.5}),
    ("CLAHE", {"tile_grid_size": [0, 3]}),
    ("ImageCompression", {"quality_range": [0, 50]}),
    ("GridDropout", {"unit_size_range": [1, 5]}),
    ("CoarseDropout", {"num_holes_range": [0, 5]}),
    ("Defocus", {"radius": 0}),
    ("Perspective", {"scale": -0.1}),
    ("RandomGamma", {"gamma_limit": [0, 5]}),
]


NOISE = [
    ("uniform", {"ranges": [[-0.1, 0.1]]}, True),
    ("uniform", {"ranges": [[-0.1, 0.1], [0, 0], [0, 1]]}, True),
    ("uniform", {"ranges": []}, False),
    ("uniform", {"ranges": [[0.1, -0.1]]}, False),
    ("uniform", {"ranges": [[-2, 2]]}, False),
    ("uniform", {"std_range": [0, 1]}, False),
    ("gaussian", {"mean_range": [0, 0], "std_range": [0.1, 0.2]}, True),
    ("gaussian", {"mean_range": [0, 0], "std_range": [-0.1, 0.2]}, False),
    ("gaussian", {"mean_range": [0, 0]}, False),
    ("gaussian", {"mean_range": [0, 0], "std_range": 0.1}, False),
    ("laplace", {"mean_range": [0, 0], "scale_range": [0, 1]}, True),
    ("laplace", {"mean_range": [0, 3], "scale_range": [0, 1]}, False),
    ("beta", {"alpha_range": [0.5, 5], "beta_range": [0.5, 5], "scale_range": [0.1, 0.3]}, True),
    ("beta", {"alpha_range": [-0.5, 5], "beta_range": [0.5, 5], "scale_range": [0.1, 0.3]}, False),
]


@pytest.mark.parametrize(("kind", "params", "fine"), NOISE)
def test_noise_params_as_the_constructor_takes_them(kind: str, params: dict[str, object], fine: bool) -> None:
    chosen = {"noise_type": kind, "noise_params": params}
    assert (verdict(Step("AdditiveNoise", Arguments(chosen))) is None) == fine
    assert (constructor_refuses("AdditiveNoise", chosen) is None) == fine


@pytest.mark.parametrize(("name", "chosen"), WRONG)
def test_what_the_schema_refuses_the_constructor_refuses(name: str, chosen: dict[str, object]) -> None:
    schema = registry.arguments(name)
    assert schema is not None
    found = [
        f for key, value in chosen.items() for f in check_value(schema["properties"][key], from_value(value, Place()))
    ]
    assert [finding.code for finding in found] == ["E307"]
    assert constructor_refuses(name, chosen) is not None


def test_defaults_are_the_constructors() -> None:
    module = albumentations()
    for name in CLASSES:
        if not hasattr(module, name) or (registry.arguments(name) or {}).get("required"):
            continue
        step = Step(name)
        if verdict(step) is None:
            assert registry.construct(step).p == registry.default_p(name), name
