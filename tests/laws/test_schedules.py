"""Law: in each epoch a recipe with schedules is the recipe that has these numbers written down."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from random_recipes import assert_same, build, outcome, recipes, steps_for, targets
from support.checks import SEEDS, in_threads, planted_faults, tries

import augrecipes as ar
from augrecipes.compiler import rewrite
from augrecipes.compiler.compile import pipeline_of
from augrecipes.compiler.rewrite import Compiled, flow_of
from augrecipes.compiler.rewrite import rule as rule_module
from augrecipes.compiler.rewrite.rules import rules_for
from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.errors import RecipeError
from augrecipes.interop.plain import to_albumentations
from augrecipes.lint import lint
from augrecipes.ops import schedule
from augrecipes.ops.step import Arguments
from augrecipes.recipe.model import Recipe, Step
from augrecipes.recipe.parse import parse_text
from augrecipes.recipe.write import flow

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # some classes warn on every call
SHARES = st.sampled_from([0.0, 0.2, 0.5, 1.0])
RAMPS = st.builds(
    lambda start, end, epochs, curve: {"from": start, "to": end, "epochs": epochs, "curve": curve},
    SHARES, SHARES, st.integers(1, 6), st.sampled_from(["linear", "cosine", "step"]),
)  # fmt: skip
SCHEDULES = RAMPS | st.lists(SHARES, min_size=1, max_size=5).map(lambda values: {"by_epoch": values})


def expected(written: dict[str, Any], epoch: int) -> float:
    """What a schedule gives, worked out in another way."""
    if "by_epoch" in written:
        return float(([*written["by_epoch"]] + [written["by_epoch"][-1]] * 100)[epoch])
    share = np.interp(epoch, [0, written["epochs"]], [0, 1])
    if written["curve"] == "cosine":
        share = math.sin(share * math.pi / 2) ** 2
    if written["curve"] == "step":
        share = math.floor(share)
    return float(written["from"] * (1 - share) + written["to"] * share)


@st.composite
def scheduled(draw: st.DrawFn) -> Recipe:
    """A random recipe some of whose steps, in groups too, have a `p` that changes."""

    def with_p(step: Step) -> Step:
        made = replace(step, steps=tuple(map(with_p, step.steps)))
        if step.name in ("OneOf", "SomeOf", "RandomOrder") or draw(st.booleans()):
            return made
        written = draw(SCHEDULES)
        return replace(made, p=expected(written, 99), schedule=Arguments({"p": written}))

    recipe = draw(recipes(steps_for(3), max_steps=4))
    return replace(recipe, steps=tuple(map(with_p, recipe.steps)))


def afresh(recipe: Recipe, optimize: str, seed: int, epoch: int) -> Any:
    """The pipeline of a recipe that has the numbers of an epoch written down; in `fast` with the plan of all epochs."""
    if optimize == "fast":
        return pipeline_of(build(recipe, optimize, seed).compiled.in_epoch(epoch))
    return build(recipe.in_epoch(epoch), optimize, seed)


def check(recipe: Recipe, optimize: str, seed: int, epochs: Sequence[int] = (0, 5, 1, 40, 0)) -> None:
    """Samples of any epochs in turn, and of threads at different epochs at once, are those of the epoch's numbers."""
    sample, pipeline = targets(recipe, seed, 3, "uint8"), build(recipe, optimize, seed)
    for epoch in epochs:
        now = recipe.in_epoch(epoch)
        assert not any(step.schedule for step in now.walk())
        for was, step in zip(recipe.walk(), now.walk(), strict=True):
            if "p" in was.schedule:
                assert step.p == pytest.approx(expected(was.schedule.plain()["p"], epoch))
        plain = afresh(recipe, optimize, seed, epoch)
        for index in range(2):
            assert_same(outcome(pipeline, index, sample, epoch), outcome(plain, index, sample, epoch))

    def work(k: int) -> None:
        mine = [*epochs[k:], *epochs[:k]]
        found = [outcome(pipeline, 3, sample, epoch) for epoch in mine]
        for epoch, one in zip(mine, found, strict=True):
            assert_same(one, outcome(afresh(recipe, optimize, seed, epoch), 3, sample, epoch))

    in_threads(work, 2)


EPOCHS = st.lists(st.integers(0, 7), min_size=2, max_size=5)


@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
@tries(30)
@given(scheduled(), SEEDS, EPOCHS)
def test_each_epoch_is_the_recipe_with_its_numbers(optimize: str, recipe: Recipe, seed: int, epochs: list[int]) -> None:
    check(recipe, optimize, seed, epochs)


def changing(least: float, most: float, *, whole: bool = False) -> Any:
    """A number between two, or a schedule of such numbers."""
    numbers = st.integers(int(least), int(most)) if whole else st.floats(least, most).map(lambda n: round(n, 3))
    curves = st.sampled_from(["linear", "cosine", "step"])
    ramps = st.fixed_dictionaries({"from": numbers, "to": numbers, "epochs": st.integers(1, 6), "curve": curves})
    return numbers | ramps | st.lists(numbers, min_size=1, max_size=5).map(lambda values: {"by_epoch": values})


def of(name: str, **arguments: Any) -> Any:
    """A class with arguments, a `p`, and all of these changing."""
    return st.fixed_dictionaries({name: st.fixed_dictionaries({"p": changing(0, 1), **arguments})})


def between(least: float, middle: float, most: float) -> Any:
    return st.tuples(changing(least, middle), changing(middle, most)).map(list)


ARGUMENTS = st.one_of(
    of("Rotate", limit=between(-60, 0, 60)),
    of("Affine", scale=between(0.5, 1, 1.5), shear=between(-20, 0, 20)),
    of("RandomScale", scale_limit=between(-0.4, 0, 0.4)),
    of("ColorJitter", brightness=between(0.4, 1, 1.5), contrast=between(0.4, 1, 1.5), hue=between(-0.4, 0, 0.4)),
    of("RandomBrightnessContrast", brightness_limit=between(-0.4, 0, 0.4)),
    of("RandomGamma", gamma_limit=between(40, 100, 150)),
    of("GaussNoise", std_range=between(0, 0.1, 0.5)),
    of("GaussianBlur", sigma_limit=between(0.1, 1, 4), blur_limit=st.just(0)),
    of("ElasticTransform", alpha=changing(0, 40), sigma=changing(2, 8)),
    of("Posterize", num_bits=changing(1, 7, whole=True)),
    of("RandomCrop", height=changing(9, 30, whole=True), width=changing(9, 30, whole=True)),
    of("Resize", height=changing(9, 50, whole=True), width=st.just(24)),
    of("HorizontalFlip"),
    of("SaltAndPepper", amount=between(0.01, 0.05, 0.2)),
    of("RandAugment", m=changing(5, 9), n=st.just(1)),
)
RARE = {"VerticalFlip": {"p": {"by_epoch": [0, 0.5, 1, 0]}}}  # so that nothing is left to draw in epoch 0
GROUPED = st.lists(ARGUMENTS, min_size=2, max_size=3).flatmap(
    lambda steps: st.one_of(
        of("Sequential", steps=st.just(steps)),
        of("SomeOf", n=changing(1, 2, whole=True), steps=st.just(steps)),
        of("RandomOrder", steps=st.just(steps)),
        of("OneOf", steps=st.just([{"Sequential": {"p": {"by_epoch": [0, 1]}, "steps": steps}}, RARE])),
    )
)


HEAD: dict[str, Any] = {"version": 1, "recipe": "a", "eval": []}


def loaded(steps: list[Any]) -> Recipe:
    return ar.load({**HEAD, "steps": steps})


@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
@tries(20)
@given(st.lists(ARGUMENTS | GROUPED, min_size=1, max_size=3), SEEDS, EPOCHS)
def test_so_it_is_with_arguments_too(optimize: str, steps: list[Any], seed: int, epochs: list[int]) -> None:
    recipe = loaded(steps)
    assert ar.load(recipe.to_yaml()) == recipe
    assert ar.load(recipe.in_epoch(epochs[0]).to_yaml()) == recipe.in_epoch(epochs[0])
    check(recipe, optimize, seed, epochs)


def check_rules(recipe: Recipe, epochs: Sequence[int]) -> None:
    """What one plan of all epochs does is what rules do with the numbers of each, at the same places."""
    flow, rules = flow_of(recipe, "uint8"), rules_for(recipe, "fast")
    for rule in rules:
        for edit in rule_module._common_edits(rule, recipe.steps, flow):
            for epoch in epochs:
                now = recipe.in_epoch(epoch).steps
                made = [rule_module._shape(one) for one in rule.rewrite(now, flow)]
                assert rule_module._shape(edit) in made, (rule.name, epoch)


@tries(60)
@given(st.lists(ARGUMENTS, min_size=1, max_size=4), EPOCHS)
def test_what_rules_do_is_right_in_every_epoch(steps: list[Any], epochs: list[int]) -> None:
    check_rules(loaded(steps), epochs)


def test_a_recipe_is_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = build(GROWS, "fast", 0)
    monkeypatch.setattr(rule_module, "apply_rules", None)
    monkeypatch.setattr(rewrite, "apply_rules", None)
    first, second = pipeline.in_epoch(0), pipeline.in_epoch(1)
    assert [type(step).__name__ for step in first.transforms] == ["Rotate", "OneOf"]
    rotate, one_of = first.transforms[0], first.transforms[1]
    assert (rotate.limit, second.transforms[0].limit) == ((-5, 5), (-13.75, 13.75))
    assert one_of.transforms[0].blur_limit[1] == 3
    assert pipeline.in_epoch(5) is pipeline.in_epoch(6)  # the same numbers


GROWS = parse_text("""
version: 1
recipe: grows
steps:
  - Rotate: {limit: [{from: -5, to: -40, epochs: 4}, {from: 5, to: 40, epochs: 4}], p: 1.0}
  - OneOf:
      p: {by_epoch: [0, 1]}
      steps:
        - MedianBlur: {blur_limit: {from: 3, to: 7, epochs: 2}, p: 1}
        - GaussNoise: {std_range: [0.1, {from: 0.1, to: 0.4, epochs: 3}], p: 1}
eval: []
""")


def test_arguments_change_too_and_batches_follow() -> None:
    image = np.random.default_rng(0).integers(0, 256, (48, 60, 3), np.uint8)
    for optimize in ("none", "exact", "fast"):
        pipeline = build(GROWS, optimize, 1)
        for epoch in (0, 1, 2, 9):
            expected = afresh(GROWS, optimize, 1, epoch).batch([image] * 4, [3, 1, 4, 1], epoch)
            np.testing.assert_array_equal(pipeline.batch([image] * 4, [3, 1, 4, 1], epoch), expected)
    assert GROWS.last_epoch == 4
    assert GROWS.in_epoch(2).steps[0].args["limit"] == (-22.5, 22.5)
    assert GROWS.in_epoch(1).steps[1].steps[0].args["blur_limit"] == 5


PAIR = parse_text("""
version: 1
recipe: pair
kind: pair
scales: {lr: 1, hr: 4}
steps:
  - RandomCrop: {height: {from: 9, to: 7, epochs: 2}, width: 8, at: lr}
  - OneOf: {steps: [HorizontalFlip: {p: {by_epoch: [1, 0.2]}}, VerticalFlip: {p: 0.5}]}
  - RandomBrightnessContrast: {brightness_limit: {from: 0.1, to: 0.4, epochs: 3}, p: 0.8}
  - Degrade:
      source: hr
      target: lr
      steps:
        - OneOf: {steps: [GaussianBlur: {sigma_limit: [1, {from: 1, to: 3, epochs: 3}]}, Sequential: {steps: [Blur]}]}
        - ResizeToTarget: {method: area}
        - GaussNoise: {std_range: [0.1, 0.2], p: {by_epoch: [0, 0.5, 1]}}
eval: []
output: {dtype: uint8, layout: hwc}
""")
BAG = parse_text("""
version: 1
recipe: bag
kind: bag
steps:
  - Rotate: {limit: {from: 5, to: 40, epochs: 4}, p: 1.0, share: bag}
  - RandomCrop: {height: 20, width: 20}
  - ColorJitter: {hue: {from: 0, to: 0.2, epochs: 4}, p: {by_epoch: [0.5, 1]}}
eval: []
""")


@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
def test_so_it_is_with_pairs_bags_and_more_targets(optimize: str) -> None:
    rng = np.random.default_rng(0)
    tiles = rng.integers(0, 256, (5, 48, 60, 3), np.uint8)
    given = {PAIR: {"hr": tiles[0]}, BAG: {"images": tiles}, GROWS: {"image": tiles[0], "other": tiles[1]}}
    for recipe, sample in given.items():
        made = [build(recipe, optimize, 1), *(afresh(recipe, optimize, 1, epoch) for epoch in range(4))]
        for pipeline in made if recipe is GROWS else ():
            pipeline.add_targets({"other": "image"})
        for epoch in (1, 0, 3, 2, 2, 1):
            for index in range(2):
                assert_same(outcome(made[0], index, sample, epoch), outcome(made[1 + epoch], index, sample, epoch))


def test_epochs_may_be_a_whole_number_with_a_point() -> None:
    """JSON Schema calls it an integer, and editors write it."""
    written = "{version: 1, recipe: t, steps: [HorizontalFlip: {p: {from: 0.1, to: 0.5, epochs: %s}}], eval: []}"
    first, second = (parse_text(written % epochs) for epochs in ("4.0", "4"))
    assert [first.in_epoch(k).steps for k in range(6)] == [second.in_epoch(k).steps for k in range(6)]


def test_it_is_written_as_it_was_and_its_digest_knows() -> None:
    again = parse_text(GROWS.to_yaml())
    assert again == GROWS
    assert again.digest == GROWS.digest != replace(GROWS, steps=GROWS.in_epoch(99).steps).digest


def test_a_policy_is_written_as_it_is_in_the_epoch() -> None:
    recipe = parse_text("version: 1\nrecipe: a\nsteps:\n  - RandAugment: {p: {from: 0, to: 1, epochs: 4}}\neval: []")
    assert parse_text(recipe.to_yaml()) == recipe
    assert parse_text(recipe.in_epoch(2).to_yaml()) == recipe.in_epoch(2) != recipe


def test_one_compose_cannot_have_it() -> None:
    with pytest.raises(RecipeError, match=r"in_epoch\(0\)"):
        to_albumentations(GROWS)
    to_albumentations(GROWS.in_epoch(0))


@pytest.mark.parametrize("weights", [[0, 1, 0.5], [1, 0, 0], {"from": 0, "to": 1, "epochs": 2}])
def test_one_of_nothing_does_nothing_in_that_epoch(weights: Any) -> None:
    written = {"p": weights if isinstance(weights, dict) else {"by_epoch": weights}}
    inner = {"OneOf": {"steps": [{"InvertImg": written}, {"Transpose": written}]}}
    image = np.random.default_rng(0).integers(0, 256, (9, 9, 3), np.uint8)
    for step in (inner, {"OneOf": {"steps": [inner]}}, {"SomeOf": {"steps": [inner]}}):
        recipe = ar.load({**HEAD, "steps": [step], "output": {"dtype": "uint8", "layout": "hwc"}})
        for epoch in range(3):
            now, p = recipe.in_epoch(epoch), schedule.value_in(written, epoch)["p"]
            assert ar.load(now.to_yaml()) == now
            for optimize in ("none", "exact", "fast"):
                made = recipe.compile("train", optimize).at(0, epoch)(image=image)["image"]
                assert np.array_equal(made, image) == (p == 0)
            assert np.array_equal(to_albumentations(now)(image=image)["image"], image) >= (p == 0)


@pytest.mark.parametrize("epoch", [-1, 1.5, 1.0, True, "a", None, torch.tensor(1), np.ones(2), 1 << 63])
def test_what_is_no_epoch_is_refused(epoch: Any) -> None:
    for recipe in (GROWS, loaded(["Blur"]), ar.load({**HEAD, "steps": [], "batch": ["MixUp"]})):
        with pytest.raises(RecipeError, match="an epoch is a whole number from 0"):
            recipe.in_epoch(epoch)
    assert GROWS.in_epoch(np.int64(1)) == GROWS.in_epoch(1)  # type: ignore[arg-type]


CROP = """
version: 1
recipe: a
inputs: {image: {min_size: [64, 64]}}
eval: []
steps:
  - RandomCrop: {height: %s, width: 32}
"""


def test_lints_look_at_both_ends() -> None:
    assert [found.code for found in lint(CROP % "{from: 80, to: 32, epochs: 3}")] == ["L203"]
    assert not lint(CROP % "{from: 16, to: 32, epochs: 3}")
    assert not lint("version: 1\nrecipe: a\nsteps: [Blur: {p: {from: 0, to: 1, epochs: 3}}]\neval: []")


def test_of_several_findings_at_one_place_none_is_lost() -> None:
    shrinks, grows = {"from": 90, "to": 30, "epochs": 3}, {"from": 30, "to": 99, "epochs": 3}
    crop = {"RandomCrop": {"height": shrinks, "width": grows}}  # of which neither has a line
    inputs = {"image": {"min_size": [64, 64]}}
    found = lint({"version": 1, "recipe": "a", "inputs": inputs, "steps": [crop], "eval": []})
    assert [one.message.partition(",")[0][-9:] for one in found] == ["height 90", " width 99"]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("Rotate: {limit: {from: 0, to: 30}}", "E315 Rotate.limit: key 'epochs' is missing"),
        ("Rotate: {p: {from: 0, to: 1.5, epochs: 3}}", "E309 Rotate.p: must be between 0 and 1, got 1.5"),
        ("Rotate: {p: {from: 2, to: 1, epochs: 3}}", "E309 Rotate.p: must be between 0 and 1, got 2"),
        ("Blur: {blur_limit: {from: 3, to: 7, epochs: 4}}", "E308 Blur.blur_limit: kernel sizes are odd, got 4"),
        ("Blur: {blur_limit: {by_epoch: [3, 4, 7]}}", "E308 Blur.blur_limit: kernel sizes are odd, got 4"),
        ("Blur: {p: {by_epoch: []}}", "must be a list of numbers, got an empty list"),
        (
            "RandAugment: {m: {from: 0, to: 9, epochs: 9}}",
            "E315 RandAugment.m: a policy keeps its steps: in epoch 1 it would have others than in epoch 0",
        ),
        ("RandAugment: {n: {by_epoch: [1, 2]}}", "E315 RandAugment.n: a policy keeps its steps"),
        ("RandAugment: {m: {from: 5, to: 40, epochs: 9}}", "E307 RandAugment.m: must be between 0 and 30"),
        ("RandAugment: {m: {from: 5, to: 9, epochs: 1001}}", "change over at most 1,000 epochs, got 1,001"),
        ("OneOf: {steps: [Blur: {p: {by_epoch: [0, 0]}}]}", "E310 OneOf: every step has weight p: 0"),
    ],
)
def test_what_no_epoch_may_have_is_an_error_with_its_line(step: str, message: str) -> None:
    with pytest.raises(RecipeError, match=re.escape(message)) as found:
        parse_text(f"version: 1\nrecipe: a\nsteps:\n  - {step}\neval: []")
    assert found.value.problems[0].line == 4


MAGNITUDE = "version: 1\nrecipe: a\neval: []\nsteps:\n  - RandAugment: {m: %s}"


@tries(8)
@given(changing(5, 9), st.integers(0, 7))
def test_the_magnitude_of_a_policy_may_change(m: Any, epoch: int) -> None:
    recipe = parse_text(MAGNITUDE % flow(m))
    plain = parse_text(MAGNITUDE % flow(schedule.value_in(m, epoch)))
    assert recipe.in_epoch(epoch) == plain
    assert recipe.in_epoch(epoch).digest == plain.digest
    assert parse_text(recipe.in_epoch(epoch).to_yaml()) == plain
    assert parse_text(recipe.to_yaml()) == recipe
    assert flow(m) in recipe.to_yaml()


def first_asked_for(self: Any, epoch: int) -> Any:
    return self.__dict__.setdefault("_kept", self.again(self.compiled.in_epoch(epoch)))


def case(optimize: str) -> Callable[[Any], None]:
    return lambda _: check(GROWS_P, optimize, 0)


GROWS_P = parse_text("""
version: 1
recipe: grows
steps:
  - HorizontalFlip: {p: {by_epoch: [0, 1]}}
  - InvertImg: {p: {from: 1, to: 0, epochs: 2, curve: step}}
eval: []
""")

ENDS = parse_text("version: 1\nrecipe: a\neval: []\nsteps: [ElasticTransform: {sigma: {by_epoch: [2, 50]}}]")
WEIGHED = parse_text("""
version: 1
recipe: weighed
steps:
  - OneOf: {steps: [InvertImg: {p: {by_epoch: [1, 1, 1, 1, 0]}}, HorizontalFlip: {p: 0.05}]}
eval: []
""")
in_epoch = Compiled.in_epoch


def only_p(step: Step, epoch: int) -> Step:
    return replace(step, p=schedule.in_epoch(step, epoch).p, schedule=Arguments())


test_planted_faults = planted_faults(
    {
        "the numbers of the end in all epochs": (case("none"), (Compiled, "in_epoch", lambda self, _: self)),
        "the numbers of the next epoch": (
            case("exact"),
            (Compiled, "in_epoch", lambda self, epoch: in_epoch(self, epoch + 1)),
        ),
        "the pipeline of the first epoch that was asked for": (case("exact"), (Pipeline, "in_epoch", first_asked_for)),
        "a curve that is none": (case("fast"), (schedule, "CURVES", {"step": lambda share: share})),
        "arguments of the end": (lambda _: check(GROWS, "none", 0), (rewrite, "in_epoch", only_p)),
        "weights of the end": (
            lambda _: check(WEIGHED, "exact", 0, range(4)),
            (rewrite, "in_epoch", lambda step, epoch: replace(schedule.in_epoch(step, epoch), steps=step.steps)),
        ),
        "rules that look at the end alone": (
            lambda _: check_rules(ENDS, [0]),
            (rule_module, "_common_edits", lambda rule, steps, flow: [*rule.rewrite(steps, flow)]),
        ),
    }
)
