"""Laws of the language: what is written reads back; schema and rules judge as the constructors do. The registry of
classes, constants and the schema file.
"""

import subprocess
import sys
from dataclasses import replace
from typing import Any

import cv2
import pytest
import recipe_schema
from hypothesis import given, settings
from hypothesis import strategies as st
from support.checks import DEAR, rows, table
from support.recipe_strategies import CLASSES, arguments, recipes

from augrecipes.compat.guard import albumentations
from augrecipes.errors import RecipeError
from augrecipes.ops import bounds, registry
from augrecipes.ops.bounds import verdict
from augrecipes.ops.constants import BORDER, INTERPOLATION, to_number
from augrecipes.ops.readable import Refusal
from augrecipes.ops.record import OpRecord
from augrecipes.ops.records import op_record
from augrecipes.ops.refused import REFUSED
from augrecipes.recipe.arguments import check_value
from augrecipes.recipe.model import GROUPS, Arguments, Recipe, Step
from augrecipes.recipe.nodes import Place, from_value
from augrecipes.recipe.parse import parse_text

# Classes whose rule refuses more than the constructor does. Bounds do so of every class.
STRICTER = frozenset(
    {
        *("AdditiveNoise", "Affine", "CoarseDropout", "ColorJitter", "LongestMaxSize", "Posterize", "RandomScale"),
        *("ImageCompression", "KernelBlur", "RandomShadow", "RandomSizedCrop", "SmallestMaxSize"),
    }
)


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


# Limits of records that are the constructor's own, and what bounds these arguments besides: what such a limit refuses
# the constructor refuses.
MIRRORED: dict[str, dict[str, tuple[float, float] | None]] = {
    **{
        name: {"blur_limit": None} for name in ("AdvancedBlur", "Blur", "MotionBlur", "RingingOvershoot", "UnsharpMask")
    },
    "MedianBlur": {"blur_limit": (0, 255)},
    "GridDistortion": {"distort_limit": None},
    "RGBShift": dict.fromkeys(("r_shift_limit", "g_shift_limit", "b_shift_limit")),
    "StainJitter": dict.fromkeys(("sigma", "bias")),
}


def without_mirrored(name: str) -> OpRecord:
    record, mirrored = op_record(name), MIRRORED.get(name, {})
    others = {key: limit for key, limit in mirrored.items() if limit is not None}
    return replace(
        record,
        limits={key: limit for key, limit in record.limits.items() if key not in mirrored} | others,
        rising={key: more for key, more in record.rising.items() if key not in mirrored},
        unsigned=tuple(key for key in record.unsigned if key not in mirrored),
    )


@pytest.mark.parametrize("name", CLASSES)
@settings(max_examples=settings.default.max_examples // 10, derandomize=True)
@given(data=st.data())
def test_schema_and_checks_decide_as_the_constructor_does(name: str, data: st.DataObject) -> None:
    chosen = data.draw(arguments(name))
    schema = registry.arguments(name)
    for key, value in chosen.items():
        assert check_value(schema["properties"][key], from_value(value, Place())) == []
    merged = {key: part.get("default") for key, part in schema["properties"].items()} | chosen
    ours = verdict(Step(name, Arguments(chosen)))
    theirs = constructor_refuses(name, chosen)
    if ours is None:
        assert theirs is None, (chosen, theirs)
    elif name not in STRICTER and bounds.fault(without_mirrored(name), merged) is None:
        assert theirs is not None, (chosen, ours.message)


@table(__file__, "noise", "kind", "params", "fine")
def test_noise_params_as_the_constructor_takes_them(kind: str, params: dict[str, object], fine: bool) -> None:
    chosen = {"noise_type": kind, "noise_params": params}
    assert (verdict(Step("AdditiveNoise", Arguments(chosen))) is None) == fine
    assert (constructor_refuses("AdditiveNoise", chosen) is None) == fine


@table(__file__, "wrong", "name", "chosen")  # by ours, and by theirs in words that differ
def test_what_the_schema_refuses_the_constructor_refuses(name: str, chosen: dict[str, object]) -> None:
    schema = registry.arguments(name)
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


def test_the_shipped_schema_is_what_is_printed() -> None:
    assert recipe_schema.FILE.read_text(encoding="utf-8") == recipe_schema.text(), "run: python tests/recipe_schema.py"


def test_every_class_of_albumentations_is_a_step_or_refused() -> None:
    module: Any = albumentations()
    classes = {
        name
        for name in dir(module)
        if isinstance(cls := getattr(module, name), type) and issubclass(cls, module.BasicTransform)
    }
    assert classes <= set(registry.names()) | set(REFUSED)
    assert not set(registry.names()) & set(REFUSED)
    assert set(registry.GROUPS) == set(GROUPS)


def test_constants_are_opencvs() -> None:
    for name, number in INTERPOLATION.items():
        assert getattr(cv2, f"INTER_{name.upper()}") == number
    for name, number in BORDER.items():
        assert getattr(cv2, f"BORDER_{name.upper()}") == number


def test_construct_takes_names_and_nested_names() -> None:
    rotate = registry.construct(
        Step("Rotate", Arguments({"limit": 5, "border_mode": "wrap", "interpolation": "area"}), p=1)
    )
    assert (rotate.border_mode, rotate.interpolation, rotate.p) == (cv2.BORDER_WRAP, cv2.INTER_AREA, 1.0)
    pair = {"downscale": "area", "upscale": "cubic"}
    made = registry.construct(Step("Downscale", Arguments({"interpolation_pair": pair})))
    assert made.interpolation_pair == {"downscale": cv2.INTER_AREA, "upscale": cv2.INTER_CUBIC}


@pytest.mark.parametrize(("name", "arguments", "words"), rows(__file__, "construct_is_never_silent"))
def test_construct_is_never_silent(name: str, arguments: dict[str, object], words: str) -> None:
    with pytest.raises(RecipeError, match=words):
        registry.construct(Step(name, Arguments(arguments)))


def test_a_registered_class_is_a_step(own_classes: None) -> None:
    module: Any = albumentations()

    @registry.register
    class Brighten(module.ImageOnlyTransform):
        """Brightens."""

        class InitSchema(module.ImageOnlyTransform.InitSchema):
            by: float

        def __init__(self, by: float, p: float = 0.5):
            super().__init__(p=p)
            if by > 9:
                raise ValueError("by is too bright")
            self.by = by

    head = "version: 1\nrecipe: a\nsteps:\n- "
    assert parse_text(head + "Brighten: {by: 2, p: 1}").steps[0].name == "Brighten"
    assert registry.construct(Step("Brighten", Arguments({"by": 2}))).by == 2
    for text, code in (
        ("Brighten", "E305"),
        ("Brighten: {by: x}", "E306"),
        ("Brighten: {by: 10}", "E308"),
        ("Brightn", "E302"),
    ):
        with pytest.raises(RecipeError) as raised:
            parse_text(head + text)
        assert [problem.code for problem in raised.value.problems] == [code]
    assert registry.default_p("Brighten") == 0.5


def test_what_cannot_be_registered(own_classes: None) -> None:
    module: Any = albumentations()
    with pytest.raises(TypeError):
        registry.register(int)
    with pytest.raises(ValueError, match="belongs to"):
        registry.register(module.RandomCrop)

    class Named(module.ImageOnlyTransform):
        def __init__(self, target: str, p: float = 0.5):
            super().__init__(p=p)

    with pytest.raises(ValueError, match="reserved"):
        registry.register(Named)


def test_albumentations_without_torch_and_scipy_still_transforms() -> None:
    code = """
import sys
from augrecipes.compat.guard import albumentations, without_torch
without_torch()
A = albumentations()
assert "torch" not in sys.modules
import numpy as np
out = A.RandomToneCurve(p=1)(image=np.zeros((8, 9, 3), np.uint8))["image"]
print(out.shape, albumentations() is A)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(8, 9, 3) True"
