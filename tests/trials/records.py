"""Records of trials that no network has run: a realistic one of each task, and random ones."""

import math
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from hypothesis import strategies as st

from augrecipes.trials.record import (
    NO_DIFFERENCE,
    CurvePoint,
    RecipeResult,
    ScoreVerdict,
    SeedEstimate,
    Trial,
    TrialPlan,
    WorstSample,
)

HOSTILE = "</style><script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{ 7 * 7 }}"
PLAN = TrialPlan(
    minutes=10, seeds=8, asked=8, epochs=12.5, steps=390, batch_size=32, train=1024, valid=256, points=10,
    rehearsal=9.0, seconds=71.2, detectable=0.0141, device="cpu", threads=2,
)  # fmt: skip


def estimate(values: np.ndarray) -> SeedEstimate:
    """A mean and an interval around it; how that is computed is for other tests."""
    half = 2 * float(values.std()) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return SeedEstimate(mean := float(values.mean()), mean - half, mean + half)


def result(
    name: str, level: float, *, classes: int = 4, seeds: int = 8, unit: str = "", worst: int = 8, seed: int = 0
) -> RecipeResult:
    """What a network might have learned, around a level of its score."""
    draw, spread = np.random.default_rng([seed, len(name), int(level * 1e4)]), 0.3 if unit else 0.01
    scores = draw.normal(level, spread, seeds)
    labels = ("cat", "dog") if classes else ("", "")
    return RecipeResult(
        name=name, digest="0f" * 32, text=f"version: 1\nrecipe: {name}\nsteps: [HorizontalFlip]\n",
        score=estimate(scores), scores=tuple(scores.tolist()),
        affinity=estimate(draw.normal(0.9, 0.02, seeds)), diversity=estimate(draw.normal(1.4, 0.1, seeds)),
        curve=tuple(
            CurvePoint(12.5 * t, 2.0 * math.exp(-3 * t) + draw.normal(0, 0.02), level * (1 - math.exp(-4 * t)))
            for t in np.linspace(0.1, 1, 10).tolist()
        ),
        samples_per_second=1234.5, waiting=0.034,
        classes={f"class {k}": float(draw.uniform(0.5, 1)) for k in range(classes)},
        worst=tuple(WorstSample(k, f"valid/cat/{k:03}.png", k / 8, 3.0 - k / 10, *labels) for k in range(worst)),
    )  # fmt: skip


def compared(a: RecipeResult, b: RecipeResult, needed: int = 6, decided: float = 0.01) -> ScoreVerdict:
    """Two results compared, by how far their means are apart."""
    difference, seeds = a.score.mean - b.score.mean, len(a.scores)
    verdict: Any = NO_DIFFERENCE if abs(difference) < decided else "a" if difference > 0 else "b"
    return ScoreVerdict(
        a=a.name, b=b.name, verdict=None if seeds < needed else verdict, difference=difference,
        low=difference - 0.009, high=difference + 0.0095, p=0.0078 if verdict != NO_DIFFERENCE else 0.62,
        smallest=0.0141, seeds=seeds, needed=needed,
    )  # fmt: skip


def trial_of(*recipes: RecipeResult, ablated: bool = False, needed: int = 6, **more: Any) -> Trial:
    """A trial with these results."""
    pairs = [(recipes[0], other) for other in recipes[1:]] if ablated else combinations(recipes, 2)
    usual = {
        "task": "classify", "metric": "accuracy", "unit": "", "data": "1,280 images of 4 classes in photos/",
        "valid": "every fifth image of each class, by a hash of its name",
        "network": "small-convnet, 288,554 parameters",
        "machine": "Intel Xeon, 2 cores, Linux, Python 3.11.2", "seconds": 569.0,
        "plan": replace(PLAN, seeds=len(recipes[0].scores)),
        "verdicts": tuple(compared(*pair, needed) for pair in pairs),
    }  # fmt: skip
    return Trial(recipes=recipes, **{**usual, **more})


def two() -> Trial:
    """Two recipes, one of which is better."""
    return trial_of(result("strong", 0.873), result("weak", 0.852))


def ablation(steps: int = 12) -> Trial:
    """A recipe without each of its steps: some help, one hurts."""
    levels = [0.84 if k < 2 else 0.9 if k == 5 else 0.873 for k in range(steps)]
    results = [result(f"without Step{k}#1", level, seed=k) for k, level in enumerate(levels)]
    return trial_of(result("whole", 0.873), *results, ablated=True)


floats = st.floats(allow_nan=True, allow_infinity=True) | st.floats(0, 1)
names = st.text(min_size=1, max_size=60) | st.sampled_from([HOSTILE, "a" * 300, "without Flip", "x\x1b[31m", "é 名前"])


@st.composite
def trials(draw: Any) -> Trial:
    """Any trial: numbers that are none, names that are markup, no classes or many, too few seeds."""
    taken = draw(st.lists(names, min_size=1, max_size=6, unique=True))
    classes, seeds = draw(st.sampled_from([0, 2, 12, 60])), draw(st.sampled_from([1, 2, 5, 8]))
    estimates = st.none() | st.builds(SeedEstimate, floats, floats, floats)

    def recipe(name: str, level: float) -> RecipeResult:
        usual = result(name, level, classes=classes, seeds=seeds, worst=draw(st.sampled_from([0, 3])))
        more, scores = draw(names), draw(st.lists(floats, min_size=3, max_size=3))
        points = [CurvePoint(*values) for values in draw(st.lists(st.tuples(floats, floats, floats), max_size=4))]
        return replace(
            usual, affinity=draw(estimates), diversity=draw(estimates), curve=tuple(points * draw(st.integers(1, 4))),
            score=draw(estimates) or usual.score, samples_per_second=draw(st.floats(0, 1e6)),
            classes={f"{more}{k}{key}": scores[k % 3] for k, key in enumerate(usual.classes)},
        )  # fmt: skip

    recipes = [recipe(name, draw(st.floats(0.1, 0.9))) for name in taken]
    unit = draw(st.sampled_from(["", "dB"]))
    odd = {key: draw(floats) for key in ("p", "difference", "low", "high", "smallest")}
    trial = trial_of(*recipes, ablated=draw(st.booleans()), unit=unit, notes=tuple(draw(st.lists(names, max_size=2))))
    verdicts = tuple(replace(one, **odd) if draw(st.booleans()) else one for one in trial.verdicts)
    plan = replace(trial.plan, detectable=draw(floats), asked=seeds + draw(st.integers(0, 3)))
    return replace(trial, verdicts=verdicts, plan=plan)
