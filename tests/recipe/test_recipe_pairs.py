"""What recipes of kind pair may say of their targets, and of Degrade; and what bags may say."""

from __future__ import annotations

from textwrap import indent

import pytest

from augrecipes.errors import Diagnostic, RecipeError
from augrecipes.recipe.model import Inputs
from augrecipes.recipe.parse import parse_text

TARGETS = "{lr: 1, x2: 2, hr: 4}"


def text(steps: str, scales: str = TARGETS, evaluation: str = "[]", more: str = "") -> str:
    head = f"version: 1\nrecipe: t\nkind: pair\nscales: {scales}\n{more}"
    return f"{head}steps:\n{indent(steps.strip(), '  ')}\neval:{evaluation and ' ' + evaluation}\n"


def problems(*args: str, **kwargs: str) -> list[Diagnostic]:
    try:
        parse_text(text(*args, **kwargs))
    except RecipeError as error:
        return list(error.problems)
    return []


def degrade(steps: str, source: str = "hr", target: str = "lr", more: str = "") -> str:
    return f"- Degrade: {{source: {source}, target: {target}, {more}steps: [{steps}]}}"


GOOD = {
    "one step": "ResizeToTarget",
    "with arguments": "Blur, ResizeToTarget: {method: area}, ImageCompression",
    "two passes": "RandomScale, ResizeToTarget, RandomScale, GaussNoise, ResizeToTarget",
    "sure branches": "OneOf: {steps: [ResizeToTarget: {method: area}, ResizeToTarget: {method: cubic}]}",
    "a weight is no gate": "OneOf: {steps: [ResizeToTarget: {method: area, p: 0.2}, ResizeToTarget: {p: 0.1}]}",
    "branch that is never taken": "OneOf: {steps: [ResizeToTarget, NoOp: {p: 0}]}",
    "sequence": "Sequential: {steps: [RandomScale, ResizeToTarget, Blur]}",
    "any order": "RandomOrder: {steps: [Blur, Sequential: {steps: [ResizeToTarget, Blur]}]}",
    "some of all": "SomeOf: {n: 2, steps: [Blur, ResizeToTarget]}",
}


@pytest.mark.parametrize("steps", GOOD.values(), ids=GOOD.keys())
def test_degrade_reaches_its_target(steps: str) -> None:
    assert problems(degrade(steps)) == []


BAD = {
    "none": "Blur",
    "perhaps": "ResizeToTarget: {p: 0.5}",
    "one branch": "OneOf: {steps: [ResizeToTarget, Blur]}",
    "a group that may not act": "Sequential: {p: 0.5, steps: [ResizeToTarget]}",
    "some of them": "SomeOf: {n: 1, steps: [Blur, ResizeToTarget]}",
    "first of a random order": "RandomOrder: {steps: [RandomScale: {p: 1}, ResizeToTarget]}",
    "not all in random order": "RandomOrder: {n: 1, steps: [Blur, ResizeToTarget]}",
    "size changed afterwards": "ResizeToTarget, RandomScale",
    "window afterwards": "ResizeToTarget, RandomCrop: {height: 8, width: 8}",
    "plain resize": "Resize: {height: 64, width: 64}",
}


@pytest.mark.parametrize("steps", BAD.values(), ids=BAD.keys())
def test_degrade_that_may_miss_its_target(steps: str) -> None:
    (problem,) = problems(degrade(steps))
    assert problem.code == "E312"
    assert "ResizeToTarget" in problem.message
    assert problem.line == 6


def test_equal_scales_need_no_resize() -> None:
    scales = "{clean: 1, noisy: 1}"
    assert problems(degrade("GaussNoise", "clean", "noisy"), scales=scales) == []
    assert problems(degrade("RandomScale, ResizeToTarget", "clean", "noisy"), scales=scales) == []
    assert [p.code for p in problems(degrade("RandomScale", "clean", "noisy"), scales=scales)] == ["E312"]


WRONG = {
    "p": (degrade("ResizeToTarget", more="p: 0.5, "), "p is always 1, got 0.5"),
    "at": (degrade("ResizeToTarget", more="at: lr, "), "'at' has no meaning"),
    "in a group": (f"- OneOf:\n    steps:\n      {degrade('ResizeToTarget')}", "stands at the top"),
    "made twice": (degrade("ResizeToTarget") + "\n" + degrade("ResizeToTarget", "x2"), "line 6"),
    "source made later": (
        degrade("ResizeToTarget", "x2", "lr") + "\n" + degrade("ResizeToTarget", "hr", "x2"),
        "line 7 makes it",
    ),
    "step before it is there": ("- Blur: {target: lr}\n" + degrade("ResizeToTarget"), "put this step after it"),
    "step in a group before": (
        "- Sequential:\n    steps: [Blur: {target: [hr, lr]}]\n" + degrade("ResizeToTarget"),
        "lr is not there yet",
    ),
}


@pytest.mark.parametrize(("steps", "says"), WRONG.values(), ids=WRONG.keys())
def test_wrong_degrades(steps: str, says: str) -> None:
    (problem,) = problems(steps)
    assert problem.code == "E312"
    assert says in problem.message


def test_degrades_in_a_row_and_in_eval() -> None:
    row = degrade("ResizeToTarget", "hr", "x2") + "\n" + degrade("ResizeToTarget", "x2", "lr")
    assert problems(row) == []
    assert problems("- RandomCrop: {height: 8, width: 8, at: lr}\n" + row + "\n- Blur: {target: lr}") == []
    # What training makes, evaluation may read from files, and the other way round.
    assert problems(row, evaluation="[]") == []
    assert problems("- D4", evaluation="\n  " + degrade("ResizeToTarget")) == []
    (problem,) = problems("- D4", evaluation="\n  - Blur: {target: lr}\n  " + degrade("ResizeToTarget"))
    assert "not there yet" in problem.message


GRID = {
    "coarsest by default": ("RandomCrop: {height: 7, width: 5}", TARGETS, ""),
    "finest, whole cells": ("RandomCrop: {height: 8, width: 48, at: hr}", TARGETS, ""),
    "finest, off the grid": (
        "RandomCrop: {height: 48, width: 50, at: hr}",
        TARGETS,
        "50 px of hr are 12.5 px of lr; use a multiple of 4, such as 48 or 52",
    ),
    "middle": ("CenterCrop: {height: 7, width: 8, at: x2}", TARGETS, "use a multiple of 2, such as 6 or 8"),
    "two and three": ("RandomCrop: {height: 9, width: 8, at: b}", "{a: 2, b: 3}", "such as 6 or 9"),
    "two and three, coarse": ("RandomCrop: {height: 4, width: 5}", "{a: 2, b: 3}", "5 px of a are 7.5 px of b"),
    "common divisor": ("RandomCrop: {height: 5, width: 3}", "{lr: 2, hr: 4}", ""),
    "cells of three": ("RandomCrop: {height: 6, width: 3, at: a}", "{a: 6, b: 10, c: 15}", "a multiple of 6"),
    "box": ("Crop: {x_min: 2, x_max: 8, y_max: 8, at: hr}", TARGETS, "2 px of hr"),
    "box by default": ("Crop: {at: b}", "{a: 2, b: 3}", "1024 px of b"),
    "limited to one": ("RandomCrop: {height: 7, width: 5, at: hr, target: hr}", TARGETS, ""),
    "resize": ("Resize: {height: 6, width: 8, at: hr}", TARGETS, "6 px of hr"),
    "size in a list": ("RandomResizedCrop: {size: [8, 6], at: hr}", TARGETS, "6 px of hr"),
    "in a group": ("Sequential: {steps: [RandomCrop: {height: 6, width: 8, at: hr}]}", TARGETS, "6 px of hr"),
}


@pytest.mark.parametrize(("step", "scales", "says"), GRID.values(), ids=GRID.keys())
def test_shared_sizes_are_whole_cells(step: str, scales: str, says: str) -> None:
    found = problems(f"- {step}", scales=scales)
    assert {p.code for p in found} == ({"E313"} if says else set())
    assert says in "".join(p.message for p in found)


def test_a_group_lends_its_target() -> None:
    assert problems("- OneOf:\n    target: [lr, hr]\n    steps: [Blur: {target: lr, p: 1}, Solarize: {p: 1}]") == []
    (problem,) = problems("- OneOf:\n    target: lr\n    steps: [Blur: {target: hr, p: 1}]")
    assert (problem.code, problem.name) == ("E309", "Blur.target")
    assert "limited to lr" in problem.message
    # A window in a group of one target counts that target's pixels.
    assert problems("- Sequential:\n    target: hr\n    steps: [RandomCrop: {height: 7, width: 7}]") == []


@pytest.mark.parametrize(
    "steps",
    ["- HorizontalFlip: {at: lr}", "- Sequential:\n    at: hr\n    steps: [RandomCrop: {height: 8, width: 8}]"],
)
def test_at_stands_where_pixels_are_counted(steps: str) -> None:
    (problem,) = problems(steps)
    assert (problem.code, problem.name.endswith(".at")) == ("E309", True)


@pytest.mark.parametrize(
    "name", ["image", "window", "bboxes", "mask", "path", "dtype", "weight", "split", "group", "self", "class", "out"]
)
def test_targets_leave_the_names_of_a_sample_alone(name: str) -> None:
    assert [p.code for p in problems("- D4", scales=f"{{{name}: 1, hr: 4}}")] == ["E403"]


def test_inputs_count_on_the_coarsest_target() -> None:
    def inputs(given: str, scales: str = TARGETS) -> Inputs:
        return parse_text(text("- D4", scales=scales, more=f"inputs: {given}\n")).inputs

    assert inputs("{image: {min_size: [48, 64]}}").min_size == (48, 64)
    assert inputs("{hr: {min_size: [190, 64]}}").min_size == (48, 16)
    assert inputs("{image: {min_size: [10, 90]}, hr: {min_size: [190, 64]}}").min_size == (48, 90)
    assert inputs("{b: {min_size: [10, 9]}}", "{a: 2, b: 3}").min_size == (8, 6)
    assert inputs("{lr: {channels: 1}, hr: {channels: 1}}").channels == 1
    (problem,) = problems("- D4", more="inputs: {lr: {channels: 1}, hr: {channels: 3}}\n")
    assert (problem.code, problem.name) == ("E402", "inputs.hr.channels")


@pytest.mark.parametrize("kind", ["pair", "bag"])
@pytest.mark.parametrize("key", ["mask: optional", "boxes: coco", "keypoints: xy"])
def test_only_images_have_something_lying_on_them(kind: str, key: str) -> None:
    name = key.split(":", 1)[0]
    scales = "scales: {lr: 1, hr: 4}\n" if kind == "pair" else ""
    head = f"version: 1\nrecipe: t\nkind: {kind}\n{scales}steps: [D4]\n"
    with pytest.raises(RecipeError, match=r"E402.*images only"):
        parse_text(f"{head}inputs: {{{key}}}\n")
    assert parse_text(f"{head}inputs: {{{name}: absent}}\n").kind == kind


def test_share_of_groups_and_children() -> None:
    recipe = parse_text(
        "version: 1\nrecipe: t\nkind: bag\nbag: {max_tiles: 9, min_tiles: 9, pick: stride}\n"
        "steps:\n  - OneOf:\n      share: bag\n      steps: [Blur: {p: 1}, Solarize: {share: tile, p: 1}]\n"
    )
    assert [step.share for step in recipe.steps[0].walk()] == ["bag", None, "tile"]


def test_a_targets_output_inherits_what_is_said_for_all() -> None:
    text = (
        "{version: 1, recipe: a, kind: pair, scales: {lr: 1, x2: 2, hr: 4}, steps: [D4], eval: [], output: {lr: "
        "{dtype: uint8}, hr: {range: [0, 255]}, layout: hwc, normalize: {mean: 0.5, std: 0.5}}}"
    )
    recipe = parse_text(text)
    assert (recipe.outputs["lr"].dtype, recipe.outputs["lr"].layout, recipe.outputs["lr"].normalize) == (
        "uint8",
        "hwc",
        None,
    )
    assert (recipe.outputs["hr"].layout, recipe.outputs["hr"].range) == ("hwc", (0.0, 255.0))
    assert recipe.outputs["hr"].normalize is None
    assert recipe.output.normalize is not None
    assert parse_text(recipe.to_yaml()) == recipe


def test_a_target_named_twice() -> None:
    with pytest.raises(RecipeError, match="named twice"):
        parse_text(
            "{version: 1, recipe: a, kind: pair, scales: {lr: 1, hr: 4}, steps: [ToGray: {target: [lr, lr]}], eval: []}"
        )
