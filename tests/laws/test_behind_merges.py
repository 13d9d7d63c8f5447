"""Every class behind every kind of merge: the draws of `none`, and its picture within what the merge promises."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest
from every_class import EACH, SIZE, SLOW, STEPS, mask_of, pictures, states
from test_exact_equals_none import build

from augrecipes.compiler.rewrite import contracts
from augrecipes.compiler.rewrite.rules import join_colours, join_warps, shrink_first
from augrecipes.errors import DataError
from augrecipes.recipe.model import Arguments, Inputs, Output, Recipe, Step
from augrecipes.recipe.sites import label

pytestmark = pytest.mark.filterwarnings("ignore")  # some classes warn on every call


def sure(name: str, **arguments: Any) -> Step:
    return Step(name, Arguments(arguments), p=1.0)


JITTER = sure("ColorJitter", brightness=0.1, contrast=0.1, saturation=0.1, hue=0.02)
RESIZED = sure("Resize", height=62, width=65)
TURNED = (sure("Rotate", limit=20), sure("RandomResizedCrop", size=[60, 64], scale=[0.5, 1.0]))
# What the rule merges, by its name.
MERGES: dict[str, tuple[Step, ...]] = {
    "join_colours": (JITTER, sure("ToSepia")),
    "join_colours in a group": (Step("Sequential", p=0.9, steps=(JITTER, sure("ToSepia"))),),  # p = 1: it is opened
    "shrink_first": (sure("InvertImg"), sure("ToGray"), RESIZED),
    "crop_first": (sure("RandomGamma"), sure("RandomCrop", height=61, width=64)),
    "join_warps": TURNED,
}
ACTS = pytest.mark.parametrize("merge", MERGES)


def recipe_of(merge: str, *behind: Step) -> Recipe:
    output = Output(dtype="uint8", layout="hwc")
    steps = label((*MERGES[merge], *behind))
    # Noise of our own is no merge, and no two pictures with it are near each other.
    return Recipe("law", without_rules=("own_noise",), steps=steps, inputs=Inputs(min_size=SIZE), output=output)


def is_called(pipeline: Any, site: str) -> bool:
    """Whether albumentations runs a step, so that there are generators to look at."""
    native = pipeline.coming("uint8").native
    return isinstance(native, str) or site in native.stops


def law(merge: str, step: Step, seeds: range, every: int = 1) -> None:
    recipe = recipe_of(merge, step)
    none, fast = build(recipe, "none"), build(recipe, "fast")
    site, fired = recipe.steps[-1].site, fast.compiled.plans["uint8"].fired
    promised = sum(firing.levels for firing in fired)
    for seed in seeds:
        for image in islice(pictures(seed, "uint8"), 0, None, every):
            made: list[dict[str, Any]] = []
            drawn: list[list[bytes]] = []
            for pipeline in (none, fast):
                with states() as drawn_here:
                    try:
                        made.append(pipeline.at(seed)(image=image, mask=mask_of(seed)))
                    except DataError as error:  # a key of its own that is not there: both must say so
                        made.append({"image": np.zeros(0), "mask": np.array(str(error))})
                drawn.append(drawn_here)
            if is_called(fast, site):
                assert drawn[0] == drawn[1], "draws something else"
            one, other = (sample["image"].astype(np.float64) for sample in made)
            assert one.shape == other.shape
            assert made[0]["mask"].shape == made[1]["mask"].shape
            if one.size and all(firing.contract != "GEOMETRY" for firing in fired):
                assert np.abs(one - other).max() <= promised
                np.testing.assert_array_equal(made[0]["mask"], made[1]["mask"])


@EACH
def test_behind_one_merge(step: Step) -> None:
    """Which merge goes by the class, so that each kind meets many of them; the soak has all."""
    kinds = sorted(MERGES)
    place = STEPS.index(step)
    for merge in {"join_colours", kinds[place % len(kinds)]}:
        law(merge, step, range(1), every=3)


@pytest.mark.soak
@ACTS
@EACH
def test_behind_every_merge(step: Step, merge: str) -> None:
    law(merge, step, range(1 if step.name in SLOW else 6))


@pytest.mark.parametrize("merge", MERGES)
def test_each_merge_is_made(merge: str) -> None:
    """Otherwise the law above compares nothing."""
    fired = [f.rule for f in build(recipe_of(merge, sure("Blur")), "fast").compiled.plans["uint8"].fired]
    assert merge.partition(" ")[0] in fired


def faults(merge: str, *names: str, seeds: int = 4) -> list[str]:
    found = []
    for name in names:
        step = next(one for one in STEPS if one.name == name)
        try:
            law(merge, step, range(seeds))
        except AssertionError:
            found.append(name)
    return found


@pytest.mark.parametrize(
    ("merge", "names"),
    [
        (
            "join_colours",
            ("ShotNoise", "RandomSnow", "ISONoise", "Superpixels", "HEStain", "Equalize", "CLAHE"),
        ),
        ("join_colours in a group", ("ShotNoise", "CLAHE")),
        ("shrink_first", ("ShotNoise", "Posterize", "Equalize")),
        ("join_warps", ("ShotNoise",)),
    ],
)
def test_without_the_barrier_the_law_fails(merge: str, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    assert faults(merge, *names, seeds=1) == []
    for rule in (join_colours, shrink_first, join_warps):
        monkeypatch.setattr(rule, "held_from", lambda steps, *_: [None] * (len(steps) + 1))
    assert faults(merge, *names) == list(names)


def test_a_group_that_comes_before_is_held_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert faults("join_colours in a group", "ShotNoise") == []
    monkeypatch.setattr("augrecipes.compiler.rewrite.rule.before_each", lambda steps, flow: [flow] * len(steps))
    assert faults("join_colours in a group", "ShotNoise") == ["ShotNoise"]


def rules_of(*steps: Step) -> set[str]:
    recipe = Recipe("law", steps=label(steps), inputs=Inputs(min_size=SIZE))
    return {firing.rule for firing in build(recipe, "fast").compiled.plans["uint8"].fired}


def test_where_merges_stop() -> None:
    noise = Step("ShotNoise")
    group = Step("Sequential", steps=(JITTER, sure("ToSepia")))
    assert "join_colours" in rules_of(JITTER, sure("Blur"))
    assert "join_colours" in rules_of(noise, JITTER)
    assert "join_colours" in rules_of(JITTER, replace(noise, p=0.0))  # it never acts
    assert "join_colours" not in rules_of(JITTER, noise)
    assert "join_colours" not in rules_of(JITTER, Step("OneOf", steps=(noise, sure("Blur"))))
    assert "join_colours" in rules_of(Step("OneOf", steps=(group, noise)))  # one or the other
    assert "join_colours" not in rules_of(Step("RandomOrder", steps=(noise, group)))  # noise may come second
    assert "join_colours" not in rules_of(Step("Sequential", steps=(group,)), noise)
    assert "join_warps" not in rules_of(*TURNED, noise)
    assert "join_warps" in rules_of(*TURNED, sure("CLAHE"))  # its draws are its own
    assert "join_warps" not in rules_of(*TURNED, sure("CropNonEmptyMaskIfExists", height=30, width=30))
    assert "join_colours" in rules_of(JITTER, sure("CropNonEmptyMaskIfExists", height=30, width=30))  # masks stay


def test_nothing_known_is_a_barrier() -> None:
    unknown = Step("Unheard", site="Unheard#1")
    for contract in contracts.INEXACT:
        assert contracts.held((unknown,), contracts.Flow(), contract)
