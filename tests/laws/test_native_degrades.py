"""What resamples in pairs, shared by targets or inside a Degrade, has the bits of `none`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import KERNEL_SETS
from random_pairs import SCALES, Scales, pair, unit_of

from augrecipes.compiler.executor.program_memory import ProgramMemory
from augrecipes.compiler.rewrite import ARRIVALS, Compiled, plan
from augrecipes.compiler.run.degrade import Degrade, Degrading
from augrecipes.compiler.run.exits import NotHereError, OnTheWay
from augrecipes.compiler.run.scene_plans import ScenePlans
from augrecipes.kinds.pair.pipeline import PairPipeline
from augrecipes.native.kernels import using
from augrecipes.recipe.model import Arguments, Optimize, Recipe, Step
from augrecipes.recipe.parse import parse_text

PAIRED: Scales = {"lr": 1, "hr": 4}


def step(name: str, p: float | None = 1.0, **arguments: Any) -> Step:
    return Step(name, Arguments(arguments), p=p)


WARPS = (
    step("Rotate", limit=40, border_mode="reflect_101"),
    step("Rotate", limit=40, crop_border=True),
    step("SafeRotate", limit=40),
    step("Affine", scale=[0.7, 1.3], rotate=[-20, 20], shear=[-9, 9], border_mode="replicate"),
    step("Affine", shear=[-10, 10], fit_output=True),
    step("ShiftScaleRotate", rotate_limit=30, interpolation="nearest"),
)
SIZES = (
    step("Resize", height=36, width=28),
    step("RandomScale", scale_limit=[-0.4, 0.6]),
    step("RandomScale", scale_limit=[-0.5, -0.1], area_for_downscale="image"),
    step("SmallestMaxSize", max_size=36),
    step("LongestMaxSize", max_size=36),
    step("RandomResizedCrop", size=[36, 36], scale=[0.3, 1.0]),
    step("RandomSizedCrop", min_max_height=[12, 24], size=[20, 20]),
)
# Inside Degrade, before the target's size is reached.
WORSE = (
    step("ImageCompression", quality_range=[10, 95]), step("GaussNoise"), step("RandomScale", scale_limit=[-0.5, 0.5]),
    step("RandomScale", scale_limit=[-0.5, 0.5], interpolation="area"),
    step("Affine", rotate=[-20, 20]), step("HueSaturationValue"), step("Sharpen"), step("Blur", p=0.5),
)  # fmt: skip
METHODS = st.sampled_from(["area", "linear", "cubic", "matlab_bicubic"])


def build(recipe: Recipe, optimize: Optimize, seed: int) -> PairPipeline:
    plans = {arrival: plan(recipe, recipe.steps, optimize, arrival) for arrival in ARRIVALS}
    return PairPipeline(Compiled(recipe, "train", optimize, seed, False, plans))


def check(recipe: Recipe, level: Any, seed: int, dtype: str = "uint8") -> None:
    """Holds `exact` to `none`, for a few samples."""
    rng = np.random.default_rng(seed)
    with using(level):
        plain, exact = (build(recipe, optimize, seed) for optimize in ("none", "exact"))
        for index in range(3):
            given = {}
            for name in plain.targets:
                k = unit_of(dict(recipe.scales))[name]
                image = rng.integers(0, 256, (40 * k, (34 + index) * k, 3), np.uint8)
                given[name] = image if dtype == "uint8" else image.astype(np.float32) / np.float32(255)
            asked, found = (pipeline.at(index)(**given) for pipeline in (plain, exact))
            for name in recipe.scales:
                np.testing.assert_array_equal(found[name], asked[name], err_msg=f"{name} of {recipe.steps}")


@given(
    scales=st.sampled_from(SCALES), shared=st.sampled_from([*WARPS, *SIZES]), level=st.sampled_from(KERNEL_SETS),
    seed=st.integers(0, 99), dtype=st.sampled_from(["uint8", "uint8", "float32"]),
)  # fmt: skip
def test_what_targets_share(scales: Scales, shared: Step, level: Any, seed: int, dtype: str) -> None:
    check(pair(scales, [shared], allow_resampling=True), level, seed, dtype)


@pytest.mark.parametrize("shared", [*WARPS, *SIZES], ids=lambda step: step.name)
def test_every_step_that_targets_can_share(shared: Step) -> None:
    check(pair({"a": 2, "b": 3}, [shared], allow_resampling=True), KERNEL_SETS[-1], 0)


def degrading(steps: list[Step], method: str) -> Recipe:
    inside = (*steps, step("ResizeToTarget", method=method))
    degrade = Step("Degrade", Arguments({"source": "hr", "target": "lr"}), steps=inside)
    return pair(PAIRED, [step("RandomCrop", None, height=16, width=16), degrade])


@given(
    steps=st.lists(st.sampled_from(WORSE), max_size=3), method=METHODS, level=st.sampled_from(KERNEL_SETS),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_what_degrades(steps: list[Step], method: str, level: Any, seed: int) -> None:
    check(degrading(steps, method), level, seed)


QUICK = [level for level in KERNEL_SETS if level is not None and level.isa != "base"]


def natively(recipe: Recipe, level: Any) -> tuple[tuple[str, ...], int]:
    """The steps at which samples stop, and how many of ten go through Degrade natively."""
    with using(level):
        pipeline = build(recipe, "exact", 0)
        native = pipeline.native
    assert isinstance(native, ScenePlans)
    given = {"hr": np.random.default_rng(0).integers(0, 256, (160, 136, 3), np.uint8)}
    act, by_python = Degrade.act, list[Degrade]()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Degrade, "act", lambda self, *given: (by_python.append(self), act(self, *given))[1])
        made = [native.sample((0, index, 0), given, lambda _: np.empty) for index in range(10)]
    return native.stops, sum(one is not None for one in made) - len(by_python)


@pytest.mark.parametrize("level", QUICK, ids=lambda level: level.isa)
@pytest.mark.parametrize(
    ("steps", "method", "stops"),
    [
        ([*WORSE[:3], *WORSE[4:]], "area", ()),
        ([WORSE[0]], "linear", ()),
        ([step("Defocus"), WORSE[0]], "matlab_bicubic", ("Degrade#1/Defocus#1", "Degrade#1/ResizeToTarget#1")),
    ],
)
def test_samples_go_through_degrade_natively(
    level: Any, steps: list[Step], method: str, stops: tuple[str, ...]
) -> None:
    assert natively(degrading(steps, method), level) == (stops, 10)


LARGER = step("RandomScale", scale_limit=[-0.5, 0.5], interpolation="area")


def test_samples_stop_where_kernels_lack_a_size() -> None:
    recipe = degrading([LARGER, WORSE[0]], "area")
    assert natively(recipe, QUICK[-1]) == ((), 10)
    check(recipe, QUICK[-1], 0)


def test_a_size_that_was_not_told_makes_samples_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped, act = [], Degrading._act
    monkeypatch.setattr(Degrading, "_act", lambda self, place, data: (stopped.append(place), act(self, place, data))[1])
    assert natively(degrading([], "area"), QUICK[-1])[1] == 10
    assert not stopped
    monkeypatch.setattr(ProgramMemory, "resize_to", lambda *_: None)
    check(degrading([], "area"), QUICK[-1], 0)
    assert stopped


def test_what_a_plan_does_not_take_degrades_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Degrading, "made", nowhere)
    recipe = degrading([WORSE[1], WORSE[0]], "area")
    check(recipe, QUICK[-1], 0)
    assert natively(recipe, QUICK[-1])[1] == 0


def nowhere(*_: Any, **__: Any) -> Any:
    raise NotHereError


def test_a_copy_that_goes_on_from_the_picture_itself_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OnTheWay, "behind", lambda self, data: None)
    with pytest.raises(AssertionError):
        check(degrading([step("Defocus"), WORSE[0]], "area"), QUICK[-1], 0)


def parsed(steps: str) -> Recipe:
    return parse_text(f"{{version: 1, recipe: law, kind: pair, scales: {{lr: 1, hr: 2}}, steps: {steps}}}")


CROP = "{RandomCrop: {height: 8, width: 8, at: lr}}"


@pytest.mark.parametrize(
    ("steps", "stops"),
    [
        (f"[{CROP}, D4]", ()),
        (f"[{CROP}, {{OneOf: {{steps: [HorizontalFlip, Transpose]}}}}]", ()),
        (f"[{CROP}, {{InvertImg: {{target: lr}}}}]", ()),
        (f"[{CROP}, {{Affine: {{p: 1.0}}}}]", ("Affine#1",)),
        ("[{Perspective: {target: hr, p: 1.0}}, D4]", ("Perspective#1",)),
        ("[{OneOf: {steps: [{ColorJitter: {}}, D4]}}]", ("OneOf#1/ColorJitter#1",)),
        ("[{Degrade: {source: hr, target: lr, steps: [{ResizeToTarget: {method: area}}]}}]", ()),
        ("[{Degrade: {source: hr, target: lr, steps: [Defocus, ResizeToTarget]}}]", (
            "Degrade#1/Defocus#1", "Degrade#1/ResizeToTarget#1",
        )),
    ],
)  # fmt: skip
def test_where_samples_stop(steps: str, stops: tuple[str, ...]) -> None:
    with using(QUICK[-1]):
        pipeline = build(parsed(steps), "exact", 0)
        native = pipeline.native
    assert isinstance(native, ScenePlans)
    assert native.stops == stops
    scene = {
        name: np.zeros((24 * k, 29 * k, 3), np.uint8) for name, k in pipeline.units.items() if name in pipeline.targets
    }
    for index in range(8):
        assert native.sample((0, index, 0), scene, lambda _: np.empty) is not None


def test_a_group_that_only_albumentations_knows_keeps_pairs_plain() -> None:
    with using(QUICK[-1]):
        native = build(parsed("[{SomeOf: {n: 2, replace: true, steps: [D4, Transpose]}}]"), "exact", 0).native
    assert native == "SomeOf#1 chooses as only albumentations knows"
