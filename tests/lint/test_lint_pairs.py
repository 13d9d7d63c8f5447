"""What the lints say of pairs."""

from textwrap import indent

import pytest

from augrecipes.lint import lint
from augrecipes.recipe.parse import parse_text


def recipe(steps: str, evaluation: str = "eval: []", **keys: str):
    head = "".join(f"{key}: {value}\n" for key, value in keys.items())
    return parse_text(f"version: 1\nrecipe: t\n{head}steps:\n{indent(steps.strip(), '  ')}\n{evaluation}\n")


def codes(*args, **kwargs) -> list[str]:
    return [problem.code for problem in lint(recipe(*args, **kwargs))]


DEGRADE = "- Degrade: {source: hr, target: lr, steps: [%s]}\n"
PAIR = {
    "window and dihedral": ("- RandomCrop: {height: 48, width: 48, at: lr}\n- D4\n- RandomRotate90", []),
    "resize": ("- Resize: {height: 9, width: 9}", ["L204"]),
    "elastic": ("- ElasticTransform", ["L204"]),
    "inside a group": ("- OneOf:\n    steps:\n      - Rotate: {p: 1}\n      - Blur: {p: 1}", ["L204", "L209"]),
    "noise of one": ("- GaussNoise: {target: lr}", []),
    "noise of both": ("- GaussNoise", ["L208"]),
    "noise of a group of one": ("- OneOf:\n    target: lr\n    steps:\n      - GaussNoise: {p: 1}", []),
    "noise elementwise": ("- MultiplicativeNoise: {elementwise: true}", ["L208"]),
    "one factor": ("- MultiplicativeNoise", []),
    "noise before lr is there": ("- GaussNoise\n" + DEGRADE % "ResizeToTarget", []),
    "noise when lr is there": (DEGRADE % "ResizeToTarget" + "- GaussNoise", ["L208"]),
    "noise that never acts": ("- GaussNoise: {p: 0}", ["L103"]),
    "flip of one": ("- HorizontalFlip: {target: hr}", ["L206"]),
    "warp of one": ("- Rotate: {target: hr}", ["L206"]),
    "flip in a group of one": ("- Sequential: {target: hr, steps: [HorizontalFlip]}", ["L206"]),
    "tiles of one": ("- RandomGridShuffle: {target: hr}", ["L206"]),
    "flip in Degrade": (DEGRADE % "HorizontalFlip, ResizeToTarget", ["L206"]),
    "sizes in Degrade": (DEGRADE % "RandomScale: {p: 1}, Resize: {height: 9, width: 9}, ResizeToTarget", []),
    "noise in Degrade": (DEGRADE % "GaussNoise, ResizeToTarget, CoarseDropout", []),
    "colour of both": ("- RandomGamma\n- ColorJitter: {brightness: 0.1, contrast: 0.1, saturation: 0, hue: 0}", []),
    "statistics of both": ("- Equalize", ["L209"]),
    "blur of both": ("- Blur", ["L209"]),
    "JPEG of both": ("- ImageCompression", ["L209"]),
    "blur of one": ("- Blur: {target: hr}", []),
    "holes": ("- CoarseDropout", ["L208"]),
    "holes of one": ("- CoarseDropout: {target: lr}", []),
    "pad by itself": ("- PadIfNeeded: {min_height: 64, min_width: 64}", ["L208"]),
    "padded by reflection": (
        "- RandomCrop: {height: 8, width: 8, at: lr, pad_if_needed: true, border_mode: reflect}",
        [],
    ),
    "padded in one colour": ("- RandomCrop: {height: 8, width: 8, pad_if_needed: true}", []),
    "padded by wrapping": ("- CenterCrop: {height: 8, width: 8, pad_if_needed: true, border_mode: wrap}", []),
    "padded by replication": ("- Crop: {x_max: 8, y_max: 8, pad_if_needed: true, border_mode: replicate}", ["L207"]),
    "border that is not asked for": ("- RandomCrop: {height: 8, width: 8, border_mode: reflect_101}", []),
    "crop behind Degrade": (
        DEGRADE % "ResizeToTarget" + "- Sequential: {steps: [CenterCrop: {height: 8, width: 8}]}",
        ["L402"],
    ),
    "flip behind Degrade": (DEGRADE % "ResizeToTarget" + "- HorizontalFlip", []),
    "ragged": ("- RandomCrop: {height: 64, width: 48}\n- D4", ["L205"]),
    "the same size in other pixels": (
        "- RandomCrop: {height: 16, width: 16, at: lr}\n- CenterCrop: {height: 64, width: 64, at: hr}",
        ["L104"],
    ),
    "box that nobody has": ("- BBoxSafeRandomCrop", ["L208", "L601"]),
}


@pytest.mark.parametrize(("steps", "expected"), PAIR.values(), ids=PAIR.keys())
def test_pairs(steps, expected):
    assert codes(steps, kind="pair", scales="{lr: 1, hr: 4}") == expected


def test_resampling_can_be_allowed():
    keys = {"kind": "pair", "scales": "{lr: 1, hr: 4}", "allow_resampling": "true"}
    assert codes("- Rotate: {border_mode: reflect_101}", **keys) == []
    assert codes("- ElasticTransform", **keys) == ["L208"]
    assert codes("- Perspective: {border_mode: reflect_101}", **keys) == ["L208"]


def test_declared_sizes_of_a_pair_count_on_the_coarsest_target():
    keys = {"kind": "pair", "scales": "{hr: 4, lr: 1}", "inputs": "{hr: {min_size: [253, 400]}}"}
    assert codes("- RandomCrop: {height: 64, width: 100}", **keys) == []
    assert codes("- RandomCrop: {height: 256, width: 400, at: hr}", **keys) == []
    problems = lint(recipe("- RandomCrop: {height: 260, width: 400, at: hr}", **keys))
    assert [problem.code for problem in problems] == ["L203"]
    assert "64 px of lr" in problems[0].message
    assert codes("- ISONoise: {target: lr}", kind="pair", scales="{lr: 1, hr: 4}", inputs="{image: {channels: 1}}") == [
        "L302"
    ]


def test_eval_of_a_pair_is_fixed_inside_degrade_too():
    keys = {"kind": "pair", "scales": "{lr: 1, hr: 4}"}
    degrade = "eval:\n  - Degrade: {source: hr, target: lr, steps: [%s]}"
    assert codes("- D4", degrade % "ResizeToTarget", **keys) == []
    assert codes("- D4", degrade % "ResizeToTarget, GaussNoise: {p: 1}", **keys) == ["L101"]


def test_a_warp_that_no_grid_can_take_over_names_those_that_can():
    keys = {"kind": "pair", "scales": "{lr: 1, hr: 4}", "allow_resampling": "true"}
    (problem,) = lint(recipe("- ElasticTransform", **keys))
    assert "what can: Affine, " in problem.message
    assert "Perspective" not in problem.message


def test_masks_are_no_matter_of_pairs():
    keys = {"kind": "pair", "scales": "{lr: 1, hr: 4}", "allow_resampling": "true"}
    assert codes("- Rotate: {limit: 9, border_mode: reflect, mask_interpolation: cubic}", **keys) == []
