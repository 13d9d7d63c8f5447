"""`eval: derived`: what each step of training becomes, what is refused, and what else the recipe may say."""

from dataclasses import replace
from textwrap import indent

import albumentations as A
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.checks import table
from support.recipe_strategies import CLASSES, arguments

import augrecipes as ar
from augrecipes.compiler.explain import explain
from augrecipes.errors import LintError, RecipeError
from augrecipes.lint import lint
from augrecipes.ops import bounds, registry
from augrecipes.ops.matlab_bicubic import imresize
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
    return "; ".join(_shown(step) for step in found)


def _shown(step: Step) -> str:
    more = {"target": list(step.target), "at": step.at, "p": step.p}
    shown = {**step.args.plain(), **{key: value for key, value in more.items() if value}}
    inner = [_shown(child) for child in step.steps]
    return f"{step.name} {' '.join([*(f'{key}={value}' for key, value in shown.items()), *inner])}".strip()


@table(__file__, "single", "steps", "becomes")
def test_what_it_becomes(steps, becomes):
    assert derived(steps) == becomes
    for step in recipe(steps).eval:
        assert (registry.default_p(step.name) if step.p is None else step.p) == 1


@table(__file__, "pairs", "steps", "becomes")
def test_what_it_becomes_in_a_pair(steps, becomes):
    head = PAIR.replace("lr: 1", "lr: 1, x2: 2") + "allow_resampling: true\n"
    assert derived(steps, head) == becomes


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
@settings(max_examples=max(1, settings.default.max_examples // 20))
@given(data=st.data())
def test_the_counterpart_of_any_arguments_is_a_step_that_draws_nothing(name, data):
    """Whatever a class accepts, what stands for it is accepted too, and draws nothing."""
    step = Step(name, Arguments(data.draw(arguments(name))), p=1.0)
    if bounds.verdict(step) is not None:
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


def test_wrong_steps_are_reported_and_not_derived_from():
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
        rows = explain(made, mode).to_json()["derived"]
        assert [(row["site"], row["becomes"]) for row in rows] == [
            ("RandomCrop#1", ["CenterCrop(height: 8, width: 8)"]), ("OneOf#1", [])
        ]  # fmt: skip
        assert all(row["why"] for row in rows)
    assert "derived" not in explain(ar.load("imagenet-train"), "eval").to_json()


# The gallery's recipes of pairs and bags give what their headers promise.


def scene(height: int, width: int, seed: int = 0) -> np.ndarray:
    """A soft image with noise of its own."""
    coarse = np.random.default_rng(seed).integers(40, 216, (6, 8, 3), dtype=np.uint8)
    return imresize(coarse, height, width, round_between=False)


@pytest.mark.parametrize("name", ["real-esrgan-x4", "bsrgan-x4"])
def test_a_degradation_is_worse_than_bicubic_and_still_the_same_scene(name: str) -> None:
    loaded = ar.load(name)
    train, fixed = loaded.compile(), loaded.compile("eval")
    errors, means = [], []
    for index in range(24):
        out = train.at(index)(hr=scene(300, 400, index))
        high = np.ascontiguousarray(out["hr"].transpose(1, 2, 0))
        low, clean = out["lr"].transpose(1, 2, 0), imresize(high, 64, 64)
        errors.append(float(np.sqrt(((low - clean) ** 2).mean())))
        means.append(float((low - clean).mean()))
    assert len(set(errors)) == 24
    assert 0.02 < np.median(errors) < 0.1
    assert max(errors) < 0.2
    assert abs(np.median(means)) < 0.03
    whole = scene(300, 400)
    out = fixed.at(0)(hr=whole)
    levels = np.round(out["lr"] * 255).astype(np.uint8).transpose(1, 2, 0)
    np.testing.assert_array_equal(levels, imresize(whole, 75, 100, round_between=True))


@pytest.mark.parametrize("step", ["GaussNoise", "CoarseDropout", "Rotate", "HorizontalFlip: {target: lr}"])
def test_what_cannot_be_shared_is_refused_before_it_runs(step: str) -> None:
    with pytest.raises(LintError):
        recipe(f"- {step}", PAIR, "[]").compile()
