"""`eval: derived`: what each step of training becomes, what is refused, and what else the recipe may say."""

from __future__ import annotations

from dataclasses import replace
from textwrap import indent

import albumentations as A
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.recipe_strategies import CLASSES, arguments

import augrecipes as ar
from augrecipes.compiler.explain import explain
from augrecipes.errors import RecipeError
from augrecipes.lint import lint
from augrecipes.ops import judge, registry
from augrecipes.ops.ranges import makes_draws
from augrecipes.ops.registry import construct
from augrecipes.recipe import gallery
from augrecipes.recipe.derive import derive, steps_of
from augrecipes.recipe.model import Arguments, Recipe, Step
from augrecipes.recipe.parse import parse_text

PAIR = "kind: pair\nscales: {lr: 1, hr: 4}\n"


def recipe(steps: str, head: str = "", evaluation: str = "derived") -> Recipe:
    return parse_text(f"version: 1\nrecipe: t\n{head}steps:\n{indent(steps.strip(), '  ')}\neval: {evaluation}\n")


def derived(steps: str, head: str = "") -> str:
    """The evaluation as one line a step."""
    found = recipe(steps, head).eval
    assert found is not None
    return "; ".join(_told(step) for step in found)


def _told(step: Step) -> str:
    more = {"target": list(step.target), "at": step.at, "p": step.p}
    told = {**step.args.plain(), **{key: value for key, value in more.items() if value}}
    inner = [_told(child) for child in step.steps]
    return f"{step.name} {' '.join([*(f'{key}={value}' for key, value in told.items()), *inner])}".strip()


CASES = {
    "a window": ("- RandomCrop: {height: 8, width: 9}", "CenterCrop height=8 width=9"),
    "a window that pads": (
        "- RandomCrop: {height: 8, width: 9, pad_if_needed: true, fill: 7, pad_position: random}",
        "CenterCrop height=8 width=9 pad_if_needed=True fill=7",
    ),
    "a window that pads at a corner": (
        "- RandomCrop: {height: 8, width: 9, pad_if_needed: true, pad_position: top_left}",
        "CenterCrop height=8 width=9 pad_if_needed=True pad_position=top_left",
    ),
    "the norm of ImageNet": (
        "- RandomResizedCrop: {size: [224, 224], interpolation: cubic}\n- HorizontalFlip",
        "SmallestMaxSize max_size=256 interpolation=cubic; CenterCrop height=224 width=224",
    ),
    "crops of nearly everything": (
        "- RandomResizedCrop: {size: [224, 224], scale: [0.9, 1.0]}",
        "SmallestMaxSize max_size=236; CenterCrop height=224 width=224",
    ),
    "small crops": (
        "- RandomResizedCrop: {size: [64, 64], scale: [0.1, 0.25]}",
        "SmallestMaxSize max_size=128; CenterCrop height=64 width=64",
    ),
    "a wide crop": (
        "- RandomResizedCrop: {size: [96, 112]}",
        "SmallestMaxSize max_size_hw=[110, 128]; CenterCrop height=96 width=112",
    ),
    "a crop that is always stretched": (
        "- RandomResizedCrop: {size: [64, 128], ratio: [1.0, 1.0], scale: [0.2, 1.0]}",
        "SmallestMaxSize max_size=104; CenterCrop height=91 width=91; Resize height=64 width=128",
    ),
    "a sized crop": (
        "- RandomSizedCrop: {min_max_height: [40, 60], size: [32, 32]}",
        "CenterCrop height=50 width=50; Resize height=32 width=32",
    ),
    "a crop that keeps boxes": (
        "- RandomSizedBBoxSafeCrop: {height: 64, width: 96}\n- BBoxSafeRandomCrop",
        "Resize height=64 width=96",
    ),
    "a crop at a box, one at a mask": (
        "- AtLeastOneBBoxRandomCrop: {height: 8, width: 9}\n- CropNonEmptyMaskIfExists: {height: 4, width: 4}",
        "CenterCrop height=8 width=9; CenterCrop height=4 width=4",
    ),
    "many sizes": ("- SmallestMaxSize: {max_size: [480, 256, 320]}", "SmallestMaxSize max_size=320"),
    "any scale": ("- RandomScale: {scale_limit: 0.5, p: 1.0}", ""),
    "always smaller": (
        "- RandomScale: {scale_limit: [-0.5, -0.25], p: 1.0}",
        "RandomScale scale_limit=[-0.375, -0.375] p=1.0",
    ),
    "a random place": (
        "- PadIfNeeded: {min_height: 9, min_width: 9, position: random}",
        "PadIfNeeded min_height=9 min_width=9 position=center",
    ),
    "geometry and noise": ("- Rotate: {p: 1}\n- Affine: {rotate: [-5, 5], p: 1}\n- D4\n- GaussNoise: {p: 1}", ""),
    "always turned": ("- Rotate: {limit: [10, 20], p: 1}", "Rotate limit=[15, 15] p=1.0"),
    "a fixed turn": ("- Rotate: {limit: [90, 90], p: 1}", "Rotate limit=[90, 90] p=1.0"),
    "colour for all": (
        "- ToGray: {p: 1}\n- Equalize: {p: 1}\n- CLAHE: {clip_limit: [2, 2], p: 1}",
        "ToGray p=1.0; Equalize p=1.0; CLAHE clip_limit=[2, 2] p=1.0",
    ),
    "CLAHE draws its strength": ("- CLAHE: {p: 1}", "CLAHE clip_limit=[2.5, 2.5] p=1.0"),
    "colour for some": ("- ToGray: {p: 0.9}\n- CLAHE", ""),
    "always brighter": (
        "- RandomBrightnessContrast: {brightness_limit: [0.1, 0.3], p: 1}",
        "RandomBrightnessContrast brightness_limit=[0.2, 0.2] contrast_limit=[0, 0] p=1.0",
    ),
    "nothing at all": ("- NoOp: {p: 1}\n- Rotate: {limit: 0, p: 1}", ""),
    "one of several resizes": (
        "- OneOf:\n    steps:\n"
        "      - Resize: {height: 8, width: 8, interpolation: area, p: 0.3}\n"
        "      - Resize: {height: 8, width: 8, interpolation: cubic, p: 0.7}",
        "Resize height=8 width=8 interpolation=cubic",
    ),
    "one of them does nothing": ("- OneOf: {steps: [ToGray: {p: 0.9}, NoOp: {p: 0.1}]}", ""),
    "one of two flips": ("- OneOf: {steps: [HorizontalFlip, VerticalFlip]}", ""),
    "a group for some": ("- Sequential: {p: 0.5, steps: [Resize: {height: 8, width: 8}]}", ""),
    "some of them": (
        "- SomeOf: {n: 2, steps: [ToGray: {p: 1}, GaussNoise: {p: 1}, Equalize: {p: 1}]}",
        "ToGray p=1.0",
    ),
    "all of them in any order": (
        "- RandomOrder: {steps: [ToGray: {p: 1}, RandomCrop: {height: 8, width: 8}]}",
        "ToGray p=1.0; CenterCrop height=8 width=8",
    ),
    "crops inside out": (
        "- CropAndPad: {px: [-20, -10]}\n- CropAndPad: {percent: 0.1}\n- CropAndPad: {px: [-3, 4]}",
        "CropAndPad px=[-15, -15, -15, -15]; CropAndPad percent=0.1",
    ),
}


@pytest.mark.parametrize(("steps", "expected"), CASES.values(), ids=CASES)
def test_what_it_becomes(steps, expected):
    assert derived(steps) == expected
    for step in recipe(steps).eval:
        assert (registry.default_p(step.name) if step.p is None else step.p) == 1


PAIRS = {
    "windows and turns": (
        "- RandomCrop: {height: 48, width: 48, at: hr}\n- D4", "CenterCrop height=48 width=48 at=hr"
    ),
    "noise on one": (
        "- RandomCrop: {height: 8, width: 8}\n- GaussNoise: {target: lr, p: 1}", "CenterCrop height=8 width=8"
    ),
    "grey on one, out of its group": (
        "- Sequential: {target: lr, steps: [ToGray: {p: 1}, GaussNoise]}", "ToGray target=['lr'] p=1.0"
    ),
    "shared by two of three": (
        "- Sequential: {target: [x2, hr], steps: [RandomSizedCrop: {min_max_height: [10, 16], size: [10, 10]}]}",
        "CenterCrop height=12 width=12 target=['x2', 'hr']; Resize height=10 width=10 target=['x2', 'hr']",
    ),
    "degraded on the fly": (
        "- Degrade:\n    source: hr\n    target: lr\n    steps:\n      - GaussianBlur: {p: 1}\n"
        "      - OneOf: {steps: [ResizeToTarget: {method: area}, ResizeToTarget: {method: cubic}]}\n"
        "      - GaussianBlur: {sigma_limit: [1, 1], blur_limit: [5, 5], p: 1}\n      - ImageCompression: {p: 1}",
        "Degrade source=hr target=lr ResizeToTarget method=area "
        "GaussianBlur sigma_limit=[1, 1] blur_limit=[5, 5] p=1.0",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("steps", "expected"), PAIRS.values(), ids=PAIRS)
def test_what_it_becomes_in_a_pair(steps, expected):
    head = PAIR.replace("lr: 1", "lr: 1, x2: 2") + "allow_resampling: true\n"
    assert derived(steps, head) == expected


def test_sizes_of_a_pair_stay_on_the_common_grid():
    steps = (
        "- RandomResizedCrop: {size: [192, 96], at: hr}\n- RandomSizedCrop: {min_max_height: [50, 57], size: [8, 8]}"
    )
    made = recipe(steps, PAIR + "allow_resampling: true\n")
    numbers = [step.args.get("max_size_hw") for step in made.eval or () if "max_size_hw" in step.args]
    assert [tuple(pair) for pair in numbers] == [(180, 132)]  # 8/7 of 156.8 and 117.6, the least stretch, in fours


def test_a_bag_shares_no_draw_in_evaluation():
    steps = "- ToGray: {share: bag, p: 1}\n- StainJitter: {share: bag, p: 1}"
    assert derived(steps, "kind: bag\n") == "ToGray p=1.0"


@pytest.mark.parametrize("name", ["stained-tissue", "imagenet-train", "folder-128", "detection", "segmentation"])
def test_what_people_wrote_by_hand_is_what_is_derived(name):
    by_hand = ar.load(name)
    assert ar.load(name, overrides={"eval": "derived"}).eval == by_hand.eval


@pytest.mark.parametrize("name", gallery.gallery_names())
def test_the_gallery_can_be_derived_and_runs_without_a_word(name):
    made = ar.load(name, overrides={"eval": "derived"})
    assert lint(made) == ()
    written = parse_text(replace(made, derived=False).to_yaml())  # its comments are gone
    assert {problem.code for problem in lint(written)} <= {problem.code for problem in lint(replace(written, eval=()))}
    made.compile(mode="eval")


@pytest.mark.parametrize("name", [name for name in CLASSES if name != "RandomCropNearBBox"])
@settings(max_examples=settings.default.max_examples // 20)
@given(data=st.data())
def test_the_counterpart_of_any_arguments_is_a_step_that_draws_nothing(name, data):
    """Whatever a class accepts, what stands for it is accepted too, and draws nothing."""
    step = Step(name, Arguments(data.draw(arguments(name))), p=1.0)
    if judge.verdict(step) is not None:
        return
    try:
        construct(step)
    except RecipeError:
        return
    made = steps_of(derive([step]))
    for one in made:
        construct(one)
        assert not makes_draws(one)
    assert steps_of(derive(made)) == made


SIDES = st.one_of(st.integers(-9, 9), st.lists(st.integers(-9, 9), max_size=5))


@given(sides=st.lists(SIDES, min_size=4, max_size=4), name=st.sampled_from(["px", "percent"]))
def test_sides_of_any_form_are_one_number_each(sides, name):
    """CropAndPad takes a number, a range or a choice for each side; of an empty choice evaluation leaves nothing."""
    if name == "percent":
        sides = [[number / 10 for number in side] if isinstance(side, list) else side / 10 for side in sides]
    step = Step("CropAndPad", Arguments({name: sides}), p=1.0)
    for one in steps_of(derive([step])):
        assert all(isinstance(side, int | float) for side in one.args[name])


class KeptInEval(A.ImageOnlyTransform):
    in_eval = "keep"

    def apply(self, img, **params):
        return img


class DroppedInEval(KeptInEval):
    in_eval = "drop"


class OfUnknownUse(KeptInEval):
    in_eval = None


def test_classes_of_the_program_say_what_they_are_in_evaluation():
    for cls in (KeptInEval, DroppedInEval, OfUnknownUse):
        ar.register(cls)
    assert derived("- KeptInEval: {p: 1}\n- DroppedInEval: {p: 1}\n- OfUnknownUse: {p: 0.5}") == "KeptInEval p=1.0"
    with pytest.raises(RecipeError) as refused:
        recipe("- HorizontalFlip\n- Sequential: {steps: [OfUnknownUse: {p: 1}]}")
    with pytest.raises(RecipeError, match="OfUnknownUse in line 6"):  # the likeliest, and nobody knows what it does
        recipe("- OneOf:\n    steps:\n      [Sequential: {steps: [OfUnknownUse: {p: 1}]}, ToGray: {p: 0.1}]")
    (problem,) = refused.value.problems
    assert (problem.code, problem.line, problem.name) == ("E208", 6, "eval")
    assert "OfUnknownUse in line 5" in problem.message
    assert "in_eval = 'keep'" in problem.message


REFUSED = {
    "a crop about a box that the sample names": ("- RandomCropNearBBox", "", "RandomCropNearBBox in line 4"),
    "a Degrade that only draws": (
        "- Degrade: {source: clean, target: noisy, steps: [GaussNoise: {p: 1}]}",
        "kind: pair\nscales: {noisy: 1, clean: 1}\n",
        "would equal its source",
    ),
}


@pytest.mark.parametrize(("steps", "head", "words"), REFUSED.values(), ids=REFUSED)
def test_what_nothing_can_stand_for_is_refused(steps, head, words):
    with pytest.raises(RecipeError) as refused:
        recipe(steps, head)
    assert [problem.code for problem in refused.value.problems] == ["E208"]
    assert words in str(refused.value)
    assert "write the steps of `eval:` out" in str(refused.value)


def test_wrong_steps_are_told_and_not_derived_from():
    with pytest.raises(RecipeError) as refused:
        recipe("- RandomCrop: {height: 8}\n- Nonsense")
    assert {problem.code for problem in refused.value.problems} == {"E305", "E302"}


def test_other_words_are_refused():
    with pytest.raises(RecipeError, match="a list of steps, or `derived`, got text 'derive'"):
        recipe("- HorizontalFlip", evaluation="derive")


def test_variants_follow_their_own_steps(tmp_path):
    (tmp_path / "base.yaml").write_text(
        "version: 1\nrecipe: b\nsteps: [RandomCrop: {height: 8, width: 8}]\neval: derived\n"
    )
    (tmp_path / "set.yaml").write_text("version: 1\nrecipe: v\nextends: base.yaml\nset: {RandomCrop.height: 6}\n")
    (tmp_path / "own.yaml").write_text("version: 1\nrecipe: v\nextends: imagenet-train\neval: derived\n")
    assert ar.load(tmp_path / "set.yaml").eval[0].args.plain() == {"height": 6, "width": 8}
    assert ar.load(tmp_path / "base.yaml", without=["RandomCrop"]).eval == ()
    assert ar.load(tmp_path / "own.yaml").eval == ar.load("imagenet-train").eval
    with pytest.raises(RecipeError, match="follow the training steps"):
        ar.load(tmp_path / "base.yaml", overrides={"eval.CenterCrop.height": 4})


def test_explain_shows_it_in_both_modes():
    made = recipe("- RandomCrop: {height: 8, width: 8}\n- OneOf: {p: 0.5, steps: [Blur]}")
    for mode in ("train", "eval"):
        told = explain(made, mode).to_json()["derived"]
        assert [(row["site"], row["becomes"]) for row in told] == [
            ("RandomCrop#1", ["CenterCrop(height: 8, width: 8)"]), ("OneOf#1", [])
        ]  # fmt: skip
        assert all(row["why"] for row in told)
    assert "derived" not in explain(ar.load("imagenet-train"), "eval").to_json()
