"""The whole of the language, as it is written when nothing is wrong."""

from __future__ import annotations

import pickle

import pytest

from augrecipes.recipe.model import Boxes, Inputs, Keypoints, Normalize, Output, Step
from augrecipes.recipe.nodes import NumberError, resolve
from augrecipes.recipe.parse import parse_text

FULL = """\
# yaml-language-server: $schema=../augrecipes/schema/recipe.schema.json
version: 1
recipe: stained-tissue
about: Imitates staining.
kind: image
optimize: fast
inputs:
  image: {channels: 3, min_size: [256, 256]}
  mask: required
  boxes: {format: coco, labels: null, min_area: 4, min_visibility: 0.1, min_width: 2, min_height: 3, clip: true}
  keypoints: yx
steps:
  - Rotate: {limit: 25, border_mode: reflect_101, p: 1.0}
  - RandomResizedCrop: {size: [224, 224], scale: [5e-1, 1.0]}
  - HorizontalFlip     # augrecipes: ignore[L101, L203]
  - HorizontalFlip:
  - VerticalFlip: {p: 0.5, id: vflip}
  - OneOf:
      p: 0.3
      steps:
        - GaussianBlur: {blur_limit: [3, 5], p: 1.0}
        - SomeOf: {n: 1, replace: true, steps: [ISONoise, ISONoise]}
  - RandomOrder: {n: 1, steps: [Sequential: {steps: [D4]}]}
eval: []
output: {dtype: float16, layout: hwc, normalize: imagenet, color: bgr, where: device}
"""


def test_a_full_recipe() -> None:
    recipe = parse_text(FULL)
    assert recipe.name == "stained-tissue"
    assert recipe.optimize == "fast"
    assert recipe.inputs == Inputs(
        channels=3,
        min_size=(256, 256),
        mask="required",
        boxes=Boxes("coco", None, 4, 0.1, 2, 3, True),
        keypoints=Keypoints(format="yx"),
    )
    assert [step.site for step in recipe.walk()] == [
        "Rotate#1",
        "RandomResizedCrop#1",
        "HorizontalFlip#1",
        "HorizontalFlip#2",
        "vflip",
        "OneOf#1",
        "OneOf#1/GaussianBlur#1",
        "OneOf#1/SomeOf#1",
        "OneOf#1/SomeOf#1/ISONoise#1",
        "OneOf#1/SomeOf#1/ISONoise#2",
        "RandomOrder#1",
        "RandomOrder#1/Sequential#1",
        "RandomOrder#1/Sequential#1/D4#1",
    ]
    rotate, crop, flip = recipe.steps[:3]
    assert rotate.args == {"limit": 25, "border_mode": "reflect_101"}
    assert (rotate.p, flip.p) == (1.0, None)
    assert crop.args["scale"] == (0.5, 1.0)
    assert (crop.position.line, crop.position.col) == (14, 5)
    assert (crop.places["scale"].line, crop.places["scale"].col) == (14, 43)
    assert flip.ignored == {"L101", "L203"}
    assert recipe.eval == ()
    assert recipe.output == Output(
        "float16", "hwc", Normalize((0.406, 0.456, 0.485), (0.225, 0.224, 0.229)), color="bgr", where="device"
    )


@pytest.mark.parametrize("color", ["rgb", "bgr"])
@pytest.mark.parametrize("mean", [[0.485, 0.456, 0.406], [0.406, 0.456, 0.485]])
def test_lists_of_normalize_are_in_the_outputs_order(color: str, mean: list[float]) -> None:
    std = [0.229, 0.224, 0.225] if mean[0] > mean[2] else [0.225, 0.224, 0.229]
    head = "version: 1\nrecipe: a\nsteps: []\n"
    recipe = parse_text(f"{head}output: {{color: {color}, normalize: {{mean: {mean}, std: {std}}}}}")
    assert recipe.output.normalize == Normalize(tuple(mean), tuple(std))
    assert parse_text(recipe.to_yaml()) == recipe
    named = parse_text(f"{head}output: {{normalize: imagenet, color: {color}}}")
    assert (named == recipe) == ((color == "rgb") == (mean[0] > mean[2]))
    assert "imagenet" in named.to_yaml()
    assert parse_text(named.to_yaml()) == named


def test_it_reads_back_and_pickles() -> None:
    recipe = parse_text(FULL)
    assert parse_text(recipe.to_yaml()) == recipe
    assert pickle.loads(pickle.dumps(recipe)) == recipe
    assert recipe.digest == parse_text(FULL.replace("optimize: fast", "optimize: none")).digest
    assert recipe.digest != parse_text(FULL.replace("limit: 25", "limit: 26")).digest


def test_pairs() -> None:
    recipe = parse_text(
        """\
version: 1
recipe: sr-x4
kind: pair
scales: {lr: 1, x2: 2, hr: 4}
allow_resampling: true
inputs: {image: {channels: 3}, hr: {min_size: [190, 64]}}
steps:
  - RandomCrop: {height: 48, width: 48, at: lr}
  - RandomCrop: {height: 50, width: 50, at: hr, target: hr}
  - D4: {p: 1.0}
  - Degrade:
      source: hr
      target: lr
      steps:
        - GaussianBlur: {sigma_limit: [0.2, 3.0], p: 1.0}
        - ResizeToTarget: {method: matlab_bicubic, round_between: true}
  - GaussNoise: {std_range: [0.01, 0.03], target: lr, p: 0.5}
  - Blur: {target: [lr, x2]}
output: {range: [0, 255], lr: {dtype: uint8, range: [0, 255]}}
"""
    )
    assert recipe.scales == {"lr": 1, "x2": 2, "hr": 4}
    assert recipe.allow_resampling
    assert recipe.inputs == Inputs(channels=3, min_size=(48, 16))  # px of lr
    assert [(step.target, step.at) for step in recipe.steps if step.name != "Degrade"] == [
        ((), "lr"),
        (("hr",), "hr"),
        ((), None),
        (("lr",), None),
        (("lr", "x2"), None),
    ]
    degrade = recipe.steps[3]
    assert degrade.args == {"source": "hr", "target": "lr"}
    assert [step.site for step in degrade.steps] == ["Degrade#1/GaussianBlur#1", "Degrade#1/ResizeToTarget#1"]
    assert recipe.output.range == (0.0, 255.0)
    assert recipe.outputs["lr"] == Output(dtype="uint8", range=(0.0, 255.0))
    assert parse_text(recipe.to_yaml()) == recipe


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True), ("False", False), ("yes", "yes"), ("no", "no"), ("on", "on"), ("y", "y"),
        ("1", 1), ("+1", 1), ("-01", -1), ("0o17", 15), ("0x1f", 31), ("1_000", "1_000"), ("0b11", "0b11"),
        ("1:30", "1:30"), ("1e-3", 1e-3), ("1E3", 1000.0), ("1.", 1.0), (".5", 0.5), ("+.5", 0.5), (".", "."),
        ("1.2.3", "1.2.3"), ("2026-11-21", "2026-11-21"), ("null", None), ("~", None), ("", None), ("None", "None"),
        ("١", "١"), ("1e", "1e"), ("0o8", "0o8"), ("-", "-"), ("=", "="), ("inf", "inf"),
        ("18446744073709551615", 2**64 - 1),
    ],
)  # fmt: skip
def test_scalars_are_yaml_1_2(text: str, value: object) -> None:
    assert resolve(text) == value
    assert type(resolve(text)) is type(value)


@pytest.mark.parametrize("text", [".inf", "-.Inf", ".NaN", "1e400", "18446744073709551616", "9" * 10_000])
def test_numbers_that_nothing_can_use(text: str) -> None:
    with pytest.raises(NumberError):
        resolve(text)


def test_adding_an_unlike_step_moves_no_site() -> None:
    head = "version: 1\nrecipe: a\nsteps: "
    before = parse_text(head + "[Blur, D4, Blur: {id: b}, Blur]").steps
    after = parse_text(head + "[Blur, Rotate, D4, Blur: {id: b}, Transpose, Blur]").steps
    sites = {step.site for step in after}
    assert {step.site for step in before} == {"Blur#1", "D4#1", "b", "Blur#2"} <= sites


def test_steps_are_values() -> None:
    assert Step("Blur") == Step("Blur")
    one, two = parse_text(FULL), parse_text("\n" + FULL)
    assert one == two
    assert one.steps[0].position != two.steps[0].position
