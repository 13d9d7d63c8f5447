"""Steps are timed as they are run, natively or not: the parts add up, and each step has what it takes itself."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from operator import itemgetter
from time import perf_counter
from typing import Any, ClassVar

import albumentations as A
import numpy as np
import pytest
from kernel_sets import using

import augrecipes as ar
from augrecipes.compiler.run import clock
from augrecipes.compiler.run.clock import DECODE, SINK, Clock, clocked
from augrecipes.compiler.timing import PlanTiming, Times, measure
from augrecipes.native.kernels import library
from augrecipes.recipe.parse import parse_text

IMAGE = np.random.default_rng(0).integers(0, 256, (160, 200, 3), np.uint8)
REST, DRY = "rest", 5e-5
OTHER = ThreadPoolExecutor(1)  # a thread, and what it keeps of a pipeline
SLOW = "MedianBlur#1"
natively = pytest.mark.skipif(library() is None, reason="no native kernels here")


class Twice(A.ImageOnlyTransform):  # type: ignore[misc]
    """Only albumentations knows it."""

    def apply(self, img: np.ndarray, **params: Any) -> np.ndarray:
        return img // 2 * 2


@pytest.fixture(autouse=True)
def twice(own_classes: None) -> None:
    ar.register(Twice)


def recipe(*steps: str, more: str = "") -> ar.Recipe:
    return parse_text(f"{{version: 1, recipe: tiny, steps: [{', '.join(steps)}], eval: [] {more}}}")


STEPS = (
    "{Rotate: {p: 1.0}}",
    "{OneOf: {p: 1.0, steps: [{Twice: {p: 1.0}}, {Sequential: {p: 1.0, steps: [HorizontalFlip, Blur]}}]}}",
    "{RandomCrop: {height: 96, width: 96}}",
    "{RandomBrightnessContrast: {p: 1.0}}",
    "{Twice: {p: 0.5, id: last}}",
)
PAIR = """
version: 1
recipe: tiny-pair
kind: pair
scales: {lr: 1, hr: 2}
steps:
  - RandomCrop: {height: 24, width: 20, at: lr}
  - D4
  - RandomBrightnessContrast: {p: 1.0, target: lr}
eval: []
"""
DEGRADED = """
version: 1
recipe: tiny-degrade
kind: pair
scales: {lr: 1, hr: 2}
steps:
  - RandomCrop: {height: 70, width: 70, at: lr}
  - Degrade:
      source: hr
      target: lr
      steps: [MedianBlur: {p: 1.0, blur_limit: [7, 7]}, Twice: {p: 1.0}, ResizeToTarget: {method: area}]
  - Twice: {p: 1.0, target: lr, id: last}
eval: []
"""


def timed(pipeline: ar.Pipeline, run: Callable[[], object]) -> tuple[list[str], list[tuple[float, dict[str, float]]]]:
    """Labels; and of several runs, the quickest first, the seconds of all and of each part."""
    clock = Clock()
    labels = clocked(pipeline, clock)
    run()  # plans are made
    runs = []
    for _ in range(5):
        clock.take()
        start = perf_counter()
        with clock.stage(REST):
            run()
        runs.append((perf_counter() - start, clock.take()))
    return labels, sorted(runs, key=itemgetter(0))


def check_sum(pipeline: ar.Pipeline, run: Callable[[], object]) -> set[str]:
    """Names of the parts."""
    labels, runs = timed(pipeline, run)
    whole, parts = runs[0]
    assert {*parts} <= {*labels, SINK, DECODE, REST}
    assert min(parts.values()) >= 0
    assert 0.5 * whole < sum(parts.values()) <= whole
    return {*labels} & {*parts}


@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
@pytest.mark.parametrize("beside", ["nothing", "mask", "boxes"])
def test_parts_are_none_below_zero_and_add_up(optimize: Any, beside: str) -> None:
    more = {"mask": ", inputs: {mask: optional}", "boxes": ", inputs: {boxes: {format: pascal_voc}}"}.get(beside, "")
    given = {
        "mask": {"mask": IMAGE[..., 0] // 16},
        "boxes": {"boxes": np.array([[3.0, 5.0, 90.0, 80.0]], np.float32), "box_labels": ["it"]},
    }.get(beside, {})
    made = recipe(*STEPS, more=more)
    pipeline = made.compile(optimize=optimize)

    def run() -> None:
        for index in range(8):
            pipeline.at(index)(image=IMAGE, **given)

    assert {"OneOf#1", "OneOf#1/Twice#1", "OneOf#1/Sequential#1/Blur#1", "last"} <= check_sum(pipeline, run)


@pytest.mark.parametrize("kernels", [library(), None])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_parts_of_merged_steps_are_one(kernels: Any, dtype: Any) -> None:
    warps = ("{Rotate: {p: 1.0, border_mode: reflect_101}}", "{RandomResizedCrop: {size: [64, 64]}}")
    with using(kernels):
        pipeline = recipe("{Twice: {p: 1.0}}", *warps, "HorizontalFlip").compile(optimize="fast")
        image = (IMAGE / np.float32(255)).astype(np.float32) if dtype == np.float32 else IMAGE
        found = check_sum(pipeline, lambda: pipeline.at(0)(image=image))
    assert found == {"JoinedWarps(Rotate#1 + RandomResizedCrop#1 + HorizontalFlip#1)", "Twice#1"}


@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
def test_parts_of_pairs_add_up(optimize: Any) -> None:
    pipeline = parse_text(PAIR).compile(optimize=optimize)
    found = check_sum(pipeline, lambda: pipeline.at(3)(hr=IMAGE, lr=IMAGE[::2, ::2]))
    assert "RandomBrightnessContrast#1" in found


@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
def test_parts_of_what_a_degrade_does_add_up(optimize: Any) -> None:
    pipeline = parse_text(DEGRADED).compile(optimize=optimize)
    labels = ["Degrade#1", "Degrade#1/MedianBlur#1", "Degrade#1/Twice#1", "Degrade#1/ResizeToTarget#1", "last"]
    assert {*labels} <= check_sum(pipeline, lambda: pipeline.at(3)(hr=IMAGE))
    runs = timed(pipeline, lambda: pipeline.at(3)(hr=IMAGE))[1]
    least = {label: min(parts[label] for _, parts in runs) for label in labels}
    assert least["Degrade#1/MedianBlur#1"] > DRY
    assert min(least["Degrade#1/Twice#1"], least["last"]) > 1e-6


@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
def test_the_clock_changes_no_sample(optimize: Any) -> None:
    plain, pipeline = (recipe(*STEPS).compile(optimize=optimize) for _ in range(2))
    clocked(pipeline, Clock())
    for index in range(8):
        np.testing.assert_array_equal(plain.at(index)(image=IMAGE)["image"], pipeline.at(index)(image=IMAGE)["image"])


def test_what_is_called_between_steps_ends_a_sample() -> None:
    class Ended(BaseException):
        pass

    def between() -> None:
        raise Ended

    for optimize in ("none", "fast"):
        pipeline = recipe("HorizontalFlip", "{Twice: {p: 1.0}}").compile(optimize=optimize)
        clocked(pipeline, Clock(), between=between)
        with pytest.raises(Ended):
            pipeline.at(0)(image=IMAGE)


# -- each has its own, and planted faults ------------------------------------------------------------------------------

UNEVEN = recipe("{HorizontalFlip: {p: 1.0}}", "{MedianBlur: {p: 1.0, blur_limit: [7, 7]}}", "{InvertImg: {p: 1.0}}")


def slowest_of(run: Callable[[ar.Pipeline], object], optimize: Any = "exact") -> str:
    """The step that takes most, if that is more than a look at it without pixels takes."""
    pipeline = UNEVEN.compile(optimize=optimize)
    labels, runs = timed(pipeline, lambda: run(pipeline))
    least = {label: min(parts.get(label, -1.0) for _, parts in runs) for label in labels}
    assert min(least.values()) >= 0, "steps without times"
    slowest = max(labels, key=least.__getitem__)
    return slowest if least[slowest] > DRY else "none"


def one(pipeline: ar.Pipeline) -> object:
    return pipeline.at(0)(image=IMAGE)


def in_another_thread(pipeline: ar.Pipeline) -> object:
    return OTHER.submit(one, pipeline).result()


def many(pipeline: Any) -> object:
    return pipeline.batch([IMAGE] * 8, threads=3)


@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
@pytest.mark.parametrize("run", [one, in_another_thread, many])
def test_the_slow_step_is_the_slowest(run: Callable[[ar.Pipeline], object], optimize: Any) -> None:
    assert slowest_of(run, optimize) == SLOW


@natively
def test_planted_times_of_another_step_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    filled = clock._step_labels
    monkeypatch.setattr(clock, "_step_labels", lambda labels: filled([*labels[1:], labels[0]]))
    assert slowest_of(one) != SLOW


def test_planted_copies_without_a_clock_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    again = ar.Pipeline.again

    def forgetful(self: Any, *more: Any, **named: Any) -> Any:
        dress, self.dressing = self.dressing, None
        made = again(self, *more, **named)
        self.dressing = dress
        return made

    monkeypatch.setattr(ar.Pipeline, "again", forgetful)
    with pytest.raises(AssertionError, match="steps without times"):
        slowest_of(in_another_thread)


# Every step's time, taken while the pipeline runs as it always does.


NAP = 0.005
TICK, NATIVELY = 1e-6, 1e-8


CHARGE = clock.Clock.charge


class MovedClock:
    """Time passes where a nap takes it, and a little at every look."""

    now = 0.0

    def __call__(self) -> float:
        self.now += TICK
        return self.now


class Nap(A.ImageOnlyTransform):  # type: ignore[misc]
    """Takes a while by the clock of this file."""

    clock: ClassVar[MovedClock]

    def apply(self, img: np.ndarray, **params: Any) -> np.ndarray:
        Nap.clock.now += NAP
        return img


def charged(spent: clock.Clock, parts: Iterable[tuple[str, float]]) -> None:
    """What programs say of real time, by the clock of this file: next to nothing."""
    little = [(what, NATIVELY) for what, _ in parts]
    Nap.clock.now += sum(seconds for _, seconds in little)
    CHARGE(spent, little)


@pytest.fixture
def nap(monkeypatch: pytest.MonkeyPatch, own_classes: None) -> None:
    Nap.clock = MovedClock()
    monkeypatch.setattr(clock, "perf_counter", Nap.clock)
    monkeypatch.setattr(clock.Clock, "charge", charged)
    ar.register(Nap)


@pytest.mark.usefixtures("nap")
def test_a_step_counts_where_it_acts() -> None:
    found = measure(recipe("{Nap: {p: 0.5, id: half}}", "{Nap: {p: 0, id: never}}"), {"image": IMAGE}, seconds=5)
    assert found.samples == 64
    assert found.before.steps["half"] == pytest.approx(0.5e3 * NAP, rel=0.4)
    assert found.before.steps["never"] < 2e3 * TICK
    assert found.after.steps["never"] < 2e3 * TICK


@pytest.mark.usefixtures("nap")
def test_what_is_wrong_with_a_step_is_said() -> None:
    with pytest.raises(ar.DataError, match="RandomCrop#1"):
        measure(recipe("{RandomCrop: {height: 500, width: 500}}"), {"image": IMAGE}, seconds=0.1)


@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
@pytest.mark.parametrize("name", ar.gallery_names())
def test_what_is_explained_is_what_is_timed(name: str, optimize: Any) -> None:
    for made in ar.load(name).parts():
        for arrival in ("uint8", "encoded"):
            told = ar.explain(made, optimize=optimize, arrival=arrival)  # type: ignore[arg-type]
            assert [row.label for row in told.plan] == [
                node.site for node in made.compile(optimize=optimize).compiled.plans[arrival].steps
            ]


@pytest.mark.usefixtures("nap")
def test_an_explanation_with_times() -> None:
    made = recipe("{Nap: {p: 1.0}}", "{Rotate: {border_mode: reflect_101}}", "{RandomResizedCrop: {size: [32, 32]}}")
    times = Times({"Nap#1": 5.0, "Rotate#1": 0.01, "RandomResizedCrop#1": 0.02}, 0.01, 0.001, 6.0)
    joined = "JoinedWarps(Rotate#1 + RandomResizedCrop#1)"
    planned = Times({"Nap#1": 5.0, joined: 0.01}, 0.01, 0.001, 5.5)
    told = ar.explain(made, optimize="fast").with_times(PlanTiming(times, planned, 1.1, 0.1, 8, 7), "a.png").to_json()
    assert [row["ms"] for row in told["steps"]] == [5.0, 0.01, 0.02]
    assert [row["ms"] for row in told["plan"]] == [5.0, 0.01]
    assert told["timing"]["before"] == {"sink": 0.01, "overhead": 0.001, "whole": 6.0}
    bare = ar.explain(made).to_json()
    assert "timing" not in bare
    assert "ms" not in bare["steps"][0]
