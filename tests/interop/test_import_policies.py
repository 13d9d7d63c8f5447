"""torchvision's policies, and timm's strings and `create_transform`, as steps that say the same."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import augrecipes as ar
from augrecipes.interop.importing import of_document
from augrecipes.interop.reading import Document

TORCHVISION = "from torchvision.transforms import v2\nfrom torchvision.transforms import AutoAugmentPolicy\n"
TIMM = "from timm.data import create_transform, rand_augment_transform, auto_augment_transform\nfrom timm.data.auto_augment import augment_and_mix_transform\n"  # noqa: E501


def draft(text: str) -> Any:
    return of_document(Document("train.py", text=text))


def steps_of(expression: str, head: str = TORCHVISION) -> list[str]:
    made = draft(f"{head}from torchvision.transforms import Compose\ntrain = Compose([{expression}])\n")
    assert not made.left_out()
    text = made.to_yaml().partition("steps:\n")[2].partition("eval:")[0].partition("output:")[0]
    return [line.partition("  # ")[0].strip().removeprefix("- ") for line in text.splitlines()]


@pytest.mark.parametrize("row", (Path(__file__).parent / "policy_calls.txt").read_text().splitlines())
def test_a_policy_is_the_step_that_says_the_same(row: str) -> None:
    """Left a call of torchvision or timm, right the step."""
    call, step = row.split(" -> ")
    assert steps_of(call, TORCHVISION if call.startswith("v2.") else TIMM) == [step]


def test_a_range_from_0_is_the_range_that_timm_draws_from() -> None:
    (step,) = draft(f"{TIMM}t = [rand_augment_transform('rand-m8-mstd101-inc1')]").recipe().steps
    rotates = [each.args["limit"] for each in step.walk() if each.name == "Rotate"]
    assert {round(abs(end), 3) for ends in rotates for end in ends} == {24}


@pytest.mark.parametrize("text", ["rand-m9-mmax20", "rand-tweights", "augmix-m3-b1", "original-m3"])
def test_what_has_no_like_is_left_out_by_name(text: str) -> None:
    (left,) = draft(f"{TIMM}t = [rand_augment_transform({text!r})]").left_out()
    assert text.rpartition("-")[2] in left.message
    assert left.line == 3


def test_an_unknown_policy_is_an_error_with_the_line_of_the_source() -> None:
    with pytest.raises(ar.RecipeError, match=r"AutoAugment\.policy") as error:
        draft(f"{TIMM}t = [auto_augment_transform('v9')]").recipe()
    assert error.value.problems[0].line == 3


def test_create_transform_for_training() -> None:
    made = draft(
        f"{TIMM}train = create_transform(224, is_training=True, auto_augment='rand-m9-mstd0.5-inc1', re_prob=0.25, "
        "interpolation='bicubic')\n"
    )
    recipe = made.recipe()
    assert [step.written.name if step.written else step.name for step in recipe.steps] == [
        "RandomResizedCrop", "HorizontalFlip", "RandAugment", "Erasing",
    ]  # fmt: skip
    crop, _, policy, erasing = recipe.steps
    assert (crop.args["size"], crop.args["interpolation"], policy.id) == ((224, 224), "cubic", "RandAugment")
    assert (erasing.p, erasing.args["fill"]) == (0.25, (124, 116, 104))
    assert recipe.output == ar.load("imagenet-train").output
    assert recipe.compile().at(0)


def test_create_transform_without_a_policy_jitters() -> None:
    recipe = draft(f"{TIMM}t = create_transform(input_size=(3, 96, 128), is_training=True, vflip=0.5)").recipe()
    assert [step.name for step in recipe.steps] == [
        "RandomResizedCrop",
        "HorizontalFlip",
        "VerticalFlip",
        "ColorJitter",
    ]
    assert recipe.steps[0].args["size"] == (96, 128)
    assert recipe.steps[3].args["brightness"] == (0.6, 1.4)


def test_create_transform_for_validation() -> None:
    recipe = draft(f"{TIMM}t = create_transform(224, crop_pct=0.95, interpolation='bicubic')").recipe()
    resize, crop = recipe.steps
    assert (resize.name, resize.args["max_size"], crop.args["height"]) == ("SmallestMaxSize", 235, 224)


def test_create_transform_says_what_it_cannot() -> None:
    (left,) = draft(f"{TIMM}t = create_transform(224, is_training=True, separate=True)").left_out()
    assert "separate=True" in left.message


def test_a_class_of_timm_is_not_torchvisions_of_that_name() -> None:
    theirs = type("RandAugment", (), {"__module__": "timm.data.auto_augment"})()
    whole = type("Compose", (), {"__module__": "torchvision.transforms", "transforms": [theirs]})()
    with pytest.raises(ar.RecipeError, match=r"no transform of timm\.data\.auto_augment"):
        ar.from_torchvision(whole)
    (left,) = draft(f"{TIMM}from timm.data.auto_augment import RandAugment\nt = [RandAugment(ops)]").left_out()
    assert left.name == "RandAugment"


def test_objects_of_torchvision() -> None:
    try:
        v1, v2 = (import_module(f"torchvision.transforms{more}") for more in ("", ".v2"))
    except (ImportError, RuntimeError) as error:  # it was built for another torch
        pytest.skip(f"torchvision is not at hand: {error}")
    for module in (v1, v2):
        for made, written in (
            (module.RandAugment(3, 7), "RandAugment: {n: 3, m: 7}"),
            (module.TrivialAugmentWide(), "TrivialAugment"),
            (module.AutoAugment(v1.AutoAugmentPolicy.CIFAR10), "AutoAugment: {policy: cifar10}"),
            (module.AugMix(severity=4), "AugMix: {severity: 4}"),
        ):
            assert f"  - {written}\n" in ar.from_torchvision(module.Compose([made])).to_yaml()
