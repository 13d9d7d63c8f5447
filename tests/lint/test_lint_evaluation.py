"""Training and evaluation: which differences the lints of evaluation report, and which they leave alone."""

from __future__ import annotations

import pytest

from augrecipes.lint import lint
from augrecipes.recipe.parse import parse_text

CROP = "RandomResizedCrop: {size: [224, 224]}"
NORM = "SmallestMaxSize: {max_size: 256}, CenterCrop: {height: 224, width: 224}"
DEGRADE = "Degrade: {source: hr, target: lr, steps: [ResizeToTarget: {method: METHOD}]}"
PAIR = "kind: pair\nscales: {lr: 1, hr: 4}\n"


def drift(steps: str, evaluation: str, head: str = "") -> list[str]:
    text = f"version: 1\nrecipe: t\n{head}steps: [{steps}]\neval: [{evaluation}]\n"
    return [problem.code for problem in lint(parse_text(text)) if problem.code.startswith("L7")]


# Training, evaluation, more of the recipe.
CLEAN = {
    "the norm": (CROP, NORM),
    "the norm with flips and colours": (f"{CROP}, HorizontalFlip, ColorJitter: {{hue: 0}}", NORM),
    "whole images": (CROP, ""),
    "padded whole images": ("RandomCrop: {height: 64, width: 64}", "PadIfNeeded: {min_height: 64, min_width: 64}"),
    "a network for any size": ("RandomCrop: {height: 64, width: 64}", "CenterCrop: {height: 96, width: 96}",
                               "inputs: {mask: required}\n"),
    "boxes at a larger size": ("LongestMaxSize: {max_size: 64}, PadIfNeeded: {min_height: 64, min_width: 64}",
                               "LongestMaxSize: {max_size: 96}, PadIfNeeded: {min_height: 96, min_width: 96}",
                               "inputs: {boxes: coco}\n"),
    "pairs cut to other sizes": ("RandomCrop: {height: 16, width: 16}", "CenterCrop: {height: 32, width: 32}", PAIR),
    "another degradation": (DEGRADE.replace("METHOD", "area"), DEGRADE.replace("METHOD", "cubic"), PAIR),
    "one of several interpolations": (
        "OneOf: {steps: [RandomResizedCrop: {size: [224, 224], interpolation: cubic}, " + CROP + "]}", NORM),
    "area where training shrinks by area": (
        "RandomResizedCrop: {size: [224, 224], area_for_downscale: image}",
        "SmallestMaxSize: {max_size: 256, interpolation: area}, CenterCrop: {height: 224, width: 224}"),
    "colour in both": ("CLAHE: {clip_limit: [2, 2], p: 1}", "CLAHE: {clip_limit: [2, 2], p: 1}"),
    "colour that training knows": ("CLAHE: {p: 0.5}", "CLAHE: {clip_limit: [2, 2], p: 1}"),
    "colour for some": ("ToGray: {p: 0.2}, RandomGamma: {p: 1}", "CenterCrop: {height: 4, width: 4}"),
    "a dtype for some": ("OneOf: {steps: [NoOp: {p: 1}, FromFloat]}", "CenterCrop: {height: 4, width: 4}"),
    "one of two in evaluation": ("OneOf: {steps: [ToGray: {p: 1}, ToSepia: {p: 1}]}", "ToSepia: {p: 1}"),
}  # fmt: skip
TOLD = {
    "another size": (CROP, "SmallestMaxSize: {max_size: 292}, CenterCrop: {height: 256, width: 256}", ["L701"]),
    "another size and a squash": (CROP, "Resize: {height: 320, width: 640}", ["L701"]),
    "a letterbox that is squashed": (
        "LongestMaxSize: {max_size: 64}, PadIfNeeded: {min_height: 64, min_width: 64}",
        "LongestMaxSize: {max_size: 64}, PadIfNeeded: {min_height: 64, min_width: 64}, Resize: {height: 64, width: 32}",
        ["L701"]),
    "another interpolation": ("RandomResizedCrop: {size: [224, 224], interpolation: cubic}", NORM, ["L703"]),
    "area in one": (CROP, NORM.replace("256", "256, area_for_downscale: image"), ["L703"]),
    "a dtype in one": ("FromFloat", "CenterCrop: {height: 4, width: 4}", ["L704"]),
    "a dtype in the other": ("RandomCrop: {height: 4, width: 4}",
                             "FromFloat, CenterCrop: {height: 4, width: 4}", ["L704"]),
    "a dtype before whole images": ("FromFloat", "", ["L704"]),
    "grey in training": ("ToGray: {p: 1}", "", ["L705"]),
    "grey in evaluation": ("HorizontalFlip", "ToGray: {p: 1}", ["L705"]),
    "always one of two": ("OneOf: {steps: [ToGray: {p: 1}, ToSepia: {p: 1}]}", "", ["L705"]),
    "all of a group": ("Sequential: {steps: [ToGray: {p: 1}, Equalize: {p: 1}]}", "ToGray: {p: 1}", ["L705"]),
    "always brighter": ("RandomGamma: {gamma_limit: [120, 150], p: 1}", "", ["L705"]),
    "a fixed blur": ("GaussianBlur: {sigma_limit: [1, 1], blur_limit: [5, 5], p: 1}", "", ["L705"]),
}  # fmt: skip


@pytest.mark.parametrize("case", CLEAN.values(), ids=CLEAN)
def test_what_is_left_alone(case):
    assert drift(*case) == []


@pytest.mark.parametrize(("steps", "evaluation", "expected"), TOLD.values(), ids=TOLD)
def test_what_is_told(steps, evaluation, expected):
    assert drift(steps, evaluation) == expected


@pytest.mark.parametrize(("steps", "evaluation", "expected"), TOLD.values(), ids=TOLD)
def test_derived_mends_it(steps, evaluation, expected):
    assert not [found for found in lint(parse_text(f"version: 1\nrecipe: t\nsteps: [{steps}]\neval: derived\n"))
                if found.code in expected]  # fmt: skip


def test_messages_name_both_sides_and_stand_at_the_step():
    steps = f"steps:\n  - {CROP}\neval:\n  - Resize: {{height: 320, width: 640}}\n"
    text = f"version: 1\nrecipe: t\n{steps}"
    (size,) = lint(parse_text(text))
    assert (size.line, size.message.partition(";")[0]) == (6, "evaluation ends at 320 × 640 px, training at 224 × 224")
    assert lint(parse_text(text.replace("640}", "640}  # augrecipes: ignore[L301, L701]"))) == ()
