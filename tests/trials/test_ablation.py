"""What each step brings: arms draw as the whole recipe does, and halving finds what is planted and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

import augrecipes as ar
from augrecipes.compiler import compile as compiler
from augrecipes.errors import DataError
from augrecipes.ops.step import label
from augrecipes.recipe.model import Recipe, Step
from augrecipes.trials import ablation, statistics
from augrecipes.trials.ablation import arms, most_runs, rungs, survivors
from augrecipes.trials.statistics import compare, seeds_needed, smallest_difference
from augrecipes.trials.trainees import read_some
from augrecipes.verify import variants

POOL: tuple[dict[str, Any], ...] = (
    {"HorizontalFlip": {}}, {"Rotate": {"limit": 20}}, {"Rotate": {"limit": 9, "p": 1.0}}, {"D4": {"p": 1.0}},
    {"RandomBrightnessContrast": {}}, {"GaussianBlur": {"sigma_limit": [0.4, 2.0]}}, {"GaussNoise": {"p": 0.7}},
    {"CoarseDropout": {}}, {"HueSaturationValue": {"p": 0.3}},
)  # fmt: skip
GROUPS: dict[str, dict[str, Any]] = {
    "OneOf": {"p": 0.8},
    "SomeOf": {"n": 2, "p": 0.9},
    "Sequential": {},
    "RandomOrder": {"n": 2},
}


def parsed(steps: list[Any], **keys: Any) -> Recipe:
    return ar.load({"version": 1, "recipe": "whole", "steps": steps, "eval": [], **keys})


def random_recipe(key: int) -> Recipe:
    """Steps whose draws go by neither pixels nor earlier steps, equal classes among them, in groups up to two deep."""
    numbers = np.random.default_rng((51, key))

    def steps(depth: int, least: int) -> list[Any]:
        return [step(depth) for _ in range(numbers.integers(least, 5))]

    def step(depth: int) -> Any:
        if depth and numbers.random() < 0.4:
            name = str(numbers.choice(list(GROUPS)))
            return {name: {**GROUPS[name], "steps": steps(depth - 1, 2)}}
        return POOL[numbers.integers(len(POOL))]

    return parsed(steps(2, 2))


def outcomes(recipe: Recipe, optimize: Any = "exact", samples: int = 6) -> Iterator[tuple[bytes, dict[str, str]]]:
    """What comes out of each sample, and what was drawn for it, by label."""
    pipeline = compiler.build(recipe, "train", optimize, 7, save_applied_params=True)
    for index in range(samples):
        image = np.random.default_rng(index).integers(0, 256, (24, 24, 3), np.uint8)
        sample = pipeline.at(index, 3)(image=image)
        yield sample["image"].tobytes(), {site: repr(params) for site, _, params in sample["applied"]}


def changes(whole: Recipe, arm: Recipe, site: str) -> int:
    """Samples in which the arm does more than to leave a step out."""
    count = 0
    for (image, drawn), (other, redrawn) in zip(outcomes(whole), outcomes(arm), strict=True):
        inside = {label for label in drawn if label == site or label.startswith(f"{site}/")}
        rest = {label: params for label, params in drawn.items() if label not in inside}
        count += {label: params for label, params in redrawn.items() if label != site} != rest
        count += not inside and image != other
    return count


@pytest.mark.parametrize("key", range(5))
def test_steps_that_stay_draw_as_before(key: int) -> None:
    recipe = random_recipe(key)
    recipes, obstacles = arms(recipe)
    labels = [step.site for step in recipe.walk()]
    assert next(iter(recipes)) == "whole" and recipes["whole"] is recipe
    assert sorted([*(name.removeprefix("without ") for name in list(recipes)[1:]), *dict(obstacles)]) == sorted(labels)
    for name, arm in list(recipes.items())[1:]:
        assert changes(recipe, arm, name.removeprefix("without ")) == 0, name
        assert arm.digest != recipe.digest


def planted(arm: Callable[[Recipe, Step], Recipe]) -> int:
    count = 0
    for key in (0, 2, 4):
        recipe = random_recipe(key)
        for step in recipe.walk():
            count += changes(recipe, arm(recipe, step), step.site)
    return count


def test_arms_that_draw_anew_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def relabelled(recipe: Recipe, out: Step) -> Recipe:
        arm = variants.without_step(recipe, "train", out)
        return replace(arm, steps=label(arm.steps))

    assert planted(lambda recipe, out: variants.without_step(recipe, "train", out)) == 0
    assert planted(relabelled) > 10
    monkeypatch.setattr(variants, "_RUN_ALL", ("OneOf", "Sequential", "Degrade"))
    assert planted(lambda recipe, out: variants.without_step(recipe, "train", out)) > 2


@pytest.mark.parametrize("key", range(5, 8))
def test_the_step_that_is_left_out_never_acts(key: int) -> None:
    recipe = random_recipe(key)
    for name, arm in list(arms(recipe)[0].items())[1:]:
        site = name.removeprefix("without ")
        acted = {label for _, drawn in outcomes(arm) for label in drawn}
        names = {step.site: step.name for step in arm.walk()}
        assert not any(label.startswith(f"{site}/") for label in acted)
        assert site not in acted or names[site] == "NoOp"


def test_arms_are_optimised_bit_for_bit() -> None:
    for name, arm in arms(random_recipe(3))[0].items():
        assert [image for image, _ in outcomes(arm, "none")] == [image for image, _ in outcomes(arm)], name


def test_equal_classes_keep_their_numbers_and_ids_their_names() -> None:
    recipe = parsed(["Rotate", {"Rotate": {"id": "tilt"}}, "Rotate", {"Rotate": {"limit": 3}}])
    recipes, obstacles = arms(recipe)
    assert obstacles == []
    assert {name: [step.site for step in arm.steps] for name, arm in recipes.items()} == {
        "whole": ["Rotate#1", "tilt", "Rotate#2", "Rotate#3"],
        "without Rotate#1": ["tilt", "Rotate#2", "Rotate#3"],
        "without tilt": ["Rotate#1", "Rotate#2", "Rotate#3"],
        "without Rotate#2": ["Rotate#1", "tilt", "Rotate#3"],
        "without Rotate#3": ["Rotate#1", "tilt", "Rotate#2"],
    }


def test_evaluation_stays_as_it_is() -> None:
    resize = {"Resize": {"height": 16, "width": 16}}
    for evaluation in ("derived", [resize, {"HorizontalFlip": {"p": 1.0}}]):
        recipe = parsed([resize, {"HorizontalFlip": {"p": 1.0}}, "Rotate"], eval=evaluation)
        assert {arm.eval for arm in arms(recipe)[0].values()} == {recipe.eval}


def test_steps_that_cannot_be_left_out_are_told_with_their_reason() -> None:
    resize = {"Resize": {"height": 16, "width": 16}}
    steps = [
        {"Resize": {"height": 24, "width": 24}}, "Rotate", {"Blur": {"p": 0}}, "NoOp", {"OneOf": {"steps": ["Blur"]}},
        {"OneOf": {"p": 0, "steps": ["Blur", "GaussNoise"]}}, "RandAugment", resize,
    ]  # fmt: skip
    recipes, obstacles = arms(parsed(steps))
    assert list(recipes) == [
        "whole", "without Resize#1", "without Rotate#1", "without OneOf#1", "without RandAugment",
    ]  # fmt: skip
    assert obstacles == [
        ("Blur#1", "it never does anything"),
        ("NoOp#1", "it never does anything"),
        ("OneOf#1/Blur#1", "it is all that OneOf#1 does"),
        ("OneOf#2", "it never does anything"),
        ("Resize#2", "images would have another size without it"),
    ]
    assert arms(parsed([resize])) == ({"whole": parsed([resize])}, [("Resize#1", SEVERAL)])
    assert arms(parsed([])) == ({"whole": parsed([])}, [])
    turn = {"Transpose": {"p": 1.0}}
    assert arms(parsed([{"Resize": {"height": 8, "width": 16}}, turn]))[1][1] == (
        "Transpose#1", "images would have another size without it",
    )  # fmt: skip


SEVERAL = "images would have several sizes without it"


def test_a_random_crop_is_cut_in_the_centre_instead() -> None:
    """What its chance brings can be told, though nothing could be trained without its size."""
    crops: list[Any] = [
        {"RandomCrop": {"height": 16, "width": 16}},
        {"RandomResizedCrop": {"size": [16, 16]}},
        {"Sequential": {"steps": ["GaussNoise", {"RandomCrop": {"height": 16, "width": 16}}]}},
    ]
    for crop in crops:
        recipe = parsed(["HorizontalFlip", crop, {"Rotate": {"limit": 20, "p": 1.0}}])
        recipes, obstacles = arms(recipe)
        site = next(step.site for step in recipe.walk() if "Crop" in step.name)
        assert obstacles == [] or "Sequential" in site
        arm, flips = recipes[f"without {site}"], [step.site for step in recipe.steps if step.name != "Sequential"]
        for (_, drawn), (image, redrawn) in zip(outcomes(recipe), outcomes(arm), strict=True):
            assert len(image) == 16 * 16 * 3 * 4
            same = [label for label in (*flips, "Sequential#1/GaussNoise#1") if label in drawn and label != site]
            assert all(redrawn[label] == drawn[label] for label in same) and "Rotate#1" in same
            assert site in drawn and site not in redrawn
    # One of several: a step that does nothing would leave some images larger, and others would be picked instead.
    crop = {"OneOf": {"p": 1.0, "steps": [{"CenterCrop": {"height": 16, "width": 16}}, crops[0]]}}
    assert [reason for _, reason in arms(parsed([crop]))[1]] == [SEVERAL, SEVERAL]


def test_steps_of_batches_are_left_out_too() -> None:
    crop = {"RandomCrop": {"height": 16, "width": 16}}
    batch: list[Any] = [{"OneOf": {"steps": ["MixUp", "CutMix"]}}, {"MixUp": {"p": 0.1}}]
    recipe = parsed([{"OneOf": {"steps": ["HorizontalFlip", "Blur"]}}, crop], batch=batch)
    recipes, obstacles = arms(recipe)
    assert [step.site for step in recipes["without batch.OneOf#1"].batch] == ["MixUp#1"]
    assert [step.site for step in recipes["without batch.MixUp#1"].batch] == ["OneOf#1"]
    assert all(recipes[f"without batch.{site}"].steps == recipe.steps for site in ("OneOf#1", "MixUp#1"))
    assert [step.site for step in recipes["without OneOf#1"].steps] == ["RandomCrop#1"]
    assert dict(obstacles)["batch.OneOf#1/MixUp#1"] == "another step of OneOf#1 would take its place"


def test_pairs_keep_what_makes_their_targets() -> None:
    recipes, obstacles = arms(ar.load("real-esrgan-x4"))
    refused = dict(obstacles)
    degrade = next(site for site in refused if site.startswith("Degrade") and "/" not in site)
    assert refused[degrade] == "it makes a target, or gives one its size"
    assert {"without blur1", "without noise1", "without noise1-grey", "without jpeg1"} <= recipes.keys()
    assert {"final", "resize2", "Degrade#1/RandomOrder#1"} <= refused.keys()


@pytest.mark.parametrize(
    "name", ["sr-x4", "stained-tissue-bag", "segmentation", "imagenet-randaugment", "dino-multicrop"]
)
def test_no_step_of_the_gallery_is_lost(name: str) -> None:
    recipe = ar.load(name)
    recipes, obstacles = arms(recipe)
    tops = [step.site for step in recipe.listed("train")] + [f"batch.{step.site}" for step in recipe.batch]
    assert {*(name.removeprefix("without ") for name in recipes), *dict(obstacles)} >= set(tops)
    for arm in recipes.values():
        for part in arm.parts():
            compiler.build(part, "train", "exact", 0)


def test_arms_that_cannot_read_samples_are_told() -> None:
    """Crops of what was not resized: only samples tell whether they are large enough."""
    recipe = parsed([{"Resize": {"height": 24, "width": 24}}, "Rotate", {"RandomCrop": {"height": 20, "width": 20}}])

    def attempt(arm: Recipe) -> None:
        compiler.build(arm, "train", "exact", 0).at(0)(image=np.zeros((12, 12, 3), np.uint8))

    recipes, obstacles = arms(recipe, attempt)
    assert list(recipes) == ["whole", "without Rotate#1", "without RandomCrop#1"]
    assert [site for site, _ in obstacles] == ["Resize#1"]
    assert "RandomCrop#1" in dict(obstacles)["Resize#1"]
    with pytest.raises(DataError):
        attempt(arms(recipe)[0]["without Resize#1"])


def test_a_trial_reads_samples_of_each_arm_first() -> None:
    """Small images are resized before they are cropped; without that nothing could be trained."""
    steps = [{"SmallestMaxSize": {"max_size": 24}}, "Rotate", {"RandomCrop": {"height": 20, "width": 20}}]
    data = [(np.full((12, 16, 3), 40 * k, np.uint8), k % 2) for k in range(4)]
    recipes, obstacles = arms(parsed(steps), lambda arm: read_some(arm, data))
    assert list(recipes) == ["whole", "without Rotate#1", "without RandomCrop#1"]
    assert [site for site, _ in obstacles] == ["SmallestMaxSize#1"] and "(20, 20)" in obstacles[0][1]


# -- halving -----------------------------------------------------------------------------------------------------------


def test_rungs_can_decide_and_double() -> None:
    for seeds in range(1, 130):
        for count in (1, 3, 5, 12):
            counts = rungs(seeds, count)
            assert counts[-1] == seeds
            assert all(2 * before <= after <= 2 * before + 1 for before, after in pairwise(counts))
            if len(counts) > 1:
                assert counts[0] >= seeds_needed(count, 0.05 / len(counts))


def ablated(scores: Mapping[str, np.ndarray], seeds: int) -> tuple[dict[str, Any], dict[str, list[float]]]:
    """An ablation as a trial runs it: the verdicts by arm, and the scores that it has taken."""
    counts, alive = rungs(seeds, len(scores) - 1), tuple(name for name in scores if name != "whole")
    taken: dict[str, list[float]] = {name: [] for name in scores}
    for rung, count in enumerate(counts):
        for name in ("whole", *alive):
            taken[name] = scores[name][:count].tolist()
        alive = survivors(taken, "whole", rung, counts)
        if not alive:
            break
    return {verdict.b: verdict for verdict in compare(taken, "whole", counts)}, taken


@cache
def arm_scores(count: int, seeds: int, trial: int, worse: float = 0.0) -> dict[str, np.ndarray]:
    """Scores of a whole recipe and its arms; without the first step the score is worse."""
    numbers = np.random.default_rng((52, count, seeds, trial))
    scores = 0.8 + numbers.normal(0, 0.03, seeds) + numbers.normal(0, 0.01, (1 + count, seeds))
    scores[1] -= worse
    return dict(zip(("whole", *(f"arm-{k}" for k in range(count))), scores, strict=True))


def trials_that_show(monkeypatch: pytest.MonkeyPatch, count: int, seeds: int, trials: int = 600) -> float:
    """The share of ablations with any verdict that is a difference."""
    monkeypatch.setattr(statistics, "bca", lambda _: (0.0, 0.0))  # no verdict goes by it
    shown = 0
    for trial in range(trials):
        verdicts, _ = ablated(arm_scores(count, seeds, trial), seeds)
        shown += any(verdict.verdict in ("a", "b") for verdict in verdicts.values())
    return shown / trials


# Ablations are drawn, so that their share scatters around the level, which is 5 % at most.
ERROR = 1.65 * (0.05 * 0.95 / 600) ** 0.5


@pytest.mark.parametrize(("count", "seeds"), [(1, 28), (3, 16), (6, 20)])
def test_steps_that_do_nothing_show_no_difference(monkeypatch: pytest.MonkeyPatch, count: int, seeds: int) -> None:
    assert trials_that_show(monkeypatch, count, seeds) <= 0.05 + ERROR


def unpaid(differences: list[float], rungs: tuple[int, ...]) -> float:
    return min(statistics.sign_flip(differences[:rung]) for rung in rungs if rung <= len(differences))


def test_looks_that_are_not_paid_for_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "_smallest_p", unpaid)
    assert trials_that_show(monkeypatch, 1, 28) > 0.05 + ERROR
    assert level_of_looks() > 0.05


def level_of_looks() -> float:
    """The share of all flips of some differences that any look shows, without chance."""
    sizes = np.abs(np.random.default_rng(53).normal(size=11))
    flips = (sizes * signs for signs in product((1, -1), repeat=11))
    return float(np.mean([statistics._smallest_p(flip.tolist(), (7, 9, 11)) <= 0.05 for flip in flips]))


def test_looks_keep_the_level() -> None:
    assert 0.02 < level_of_looks() <= 0.05


def test_what_matters_is_found_early_and_costs_less() -> None:
    seeds, count = 20, 4
    worse = 2 * smallest_difference(0.01 * 2**0.5, 10, count, 0.025)
    runs, found = [], 0
    for trial in range(60):
        verdicts, taken = ablated(arm_scores(count, seeds, trial, worse), seeds)
        found += verdicts["arm-0"].verdict == "a" and verdicts["arm-0"].seeds == 10
        lengths = sorted(len(values) for name, values in taken.items() if name != "whole")
        assert len(taken["whole"]) == lengths[-1] and lengths.count(20) <= 2
        runs.append(sum(map(len, taken.values())))
    assert found >= 55
    assert max(runs) <= most_runs(rungs(seeds, count), count) < seeds * (count + 1)


def test_half_of_what_is_undecided_goes_on() -> None:
    scores = {name: values[:10].tolist() for name, values in arm_scores(5, 20, 1, 0.2).items()}
    counts = rungs(20, 5)
    alive = survivors(scores, "whole", 0, counts)
    assert counts == (10, 20) and len(alive) == 2 and "arm-0" not in alive
    clarity = {
        name: abs(np.mean(difference)) / np.std(difference)
        for name, values in scores.items()
        if name not in ("whole", "arm-0")
        for difference in [np.subtract(scores["whole"], values)]
    }
    assert set(alive) == set(sorted(clarity, key=clarity.__getitem__)[-2:])
    assert survivors(scores, "whole", 0, counts) == alive
    assert survivors(scores, "whole", 1, counts) == ()
    # What has stopped stays out, and a missing seed is no seed less.
    scores = {name: values if name not in alive else values + values for name, values in scores.items()}
    scores["whole"] = scores["whole"] * 2
    scores[alive[0]][3] = float("nan")
    assert set(survivors(scores, "whole", 1, (10, 20, 40))) <= set(alive)


def test_decisions_stand_when_others_go_on() -> None:
    """An arm that is decided at a rung is decided in the end: more looks of others make no p larger."""
    for trial in range(8):
        scores = {name: values.tolist() for name, values in arm_scores(3, 40, trial, 0.012).items()}
        counts = rungs(40, 3)
        early = compare({name: values[: counts[0]] for name, values in scores.items()}, "whole", counts)
        late = compare({**scores, "arm-0": scores["arm-0"][: counts[0]]}, "whole", counts)
        assert late[0].p <= early[0].p
        assert {each.needed for each in early} == {seeds_needed(3, 0.05 / len(counts))}


def test_arms_whose_scores_never_vary_are_no_trouble() -> None:
    scores = {"whole": [0.5] * 10, "same": [0.5] * 10, "missing": [float("nan")] * 10, "worse": [0.4] * 10}
    assert set(survivors(scores, "whole", 0, (10, 20))) <= {"same", "missing"}
    verdicts = {verdict.b: verdict.verdict for verdict in compare(scores, "whole", (10, 20))}
    assert verdicts == {"same": statistics.NO_DIFFERENCE, "missing": None, "worse": "a"}
    assert ablation.rungs(5, 3) == (5,) and survivors(scores, "whole", 0, (10,)) == ()
