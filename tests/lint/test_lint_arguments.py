"""The tables of ranges agree with what albumentations makes of one number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from augrecipes.ops import registry
from augrecipes.ops.capabilities import capability
from augrecipes.ops.intervals import interval
from augrecipes.ops.ranges import NEUTRAL, ONLY_DRAWS, is_neutral, makes_draws, meaning_of
from augrecipes.recipe.model import Arguments, Step

NUMBERS = {
    "RandomGamma": 120, "Blur": 7, "MedianBlur": 7, "CLAHE": 3, "Posterize": 3, "Rotate": 20, "SafeRotate": 20,
    "HueSaturationValue": 12, "RGBShift": 12, "GaussianBlur": 5, "Pad": 3,
}  # fmt: skip
# Their attribute is not the argument, or one number is no value of theirs.
APART = {"ShiftScaleRotate", "CropAndPad", "StainJitter"}


def takes_a_number(schema) -> bool:
    return any(part.get("type") in ("number", "integer") for part in (schema, *schema.get("anyOf", ())))


def scalars():
    for name in sorted({*NEUTRAL, *ONLY_DRAWS}):
        for argument in dict.fromkeys((*NEUTRAL.get(name, ()), *ONLY_DRAWS.get(name, ()))):
            if name not in APART and takes_a_number(registry.arguments(name)["properties"][argument]):
                yield pytest.param(name, argument, meaning_of(name, argument), id=f"{name}.{argument}")


@pytest.mark.parametrize(("name", "argument", "meaning"), list(scalars()))
def test_one_number_means_the_same_range(name, argument, meaning):
    value = NUMBERS.get(name, 0.1)
    made = registry.construct(Step(name, Arguments({argument: value})))
    kept = getattr(made, argument)
    kept = kept["x"] if isinstance(kept, dict) else kept
    kept = tuple(kept) if isinstance(kept, tuple | list) else (kept, kept)
    assert interval(meaning, value) == pytest.approx(kept)


@pytest.mark.parametrize("name", [name for name in NEUTRAL if name != "StainJitter"])
def test_the_table_names_real_arguments_of_known_classes(name):
    assert capability(name) is not None
    assert set(NEUTRAL[name]) <= set(registry.arguments(name)["properties"])


@pytest.mark.parametrize(
    ("name", "arguments", "neutral", "draws"),
    [
        ("Rotate", {"limit": 0}, True, False),
        ("Rotate", {"limit": [0, 0]}, True, False),
        ("Rotate", {"limit": [-5, 5]}, False, True),
        ("Rotate", {"limit": [90, 90]}, False, False),
        ("Affine", {"translate_px": {"x": 0, "y": 0}}, True, False),
        ("Affine", {"translate_px": {"x": 0, "y": 4}}, False, False),
        ("Affine", {"translate_px": {"x": 0, "y": [4, 5]}}, False, True),
        ("Pad", {"padding": [0, 0, 0, 1]}, False, False),
        ("GaussNoise", {"std_range": [0.1, 0.1]}, False, True),
        ("HorizontalFlip", {}, False, False),
        ("SomethingRegistered", {}, False, False),
    ],
)
def test_neutral_and_draws(name, arguments, neutral, draws):
    step = Step(name, Arguments(arguments))
    assert is_neutral(step) is neutral
    assert makes_draws(step) is draws


@given(st.sampled_from(["symmetric", "around_one", "from_zero", "from_one", "from_three", "exact"]), st.floats(-9, 9))
def test_an_interval_is_ordered(meaning, value):
    low, high = interval(meaning, value)
    assert low <= high or (meaning == "around_one" and value < 0)
