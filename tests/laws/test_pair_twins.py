"""Twins reach whatever a pair does: on each target at its own scale and inside Degrade, with the bits of `none`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import KERNEL_SETS, counted
from random_pairs import SCALES, Scales, pair, unit_of

from augrecipes.compiler.kernels.jpeg_native import JpegRoundTrip
from augrecipes.compiler.kernels.resize_native import NativeResize
from augrecipes.compiler.kernels.warp_native import NativeWarp
from augrecipes.compiler.plan import ARRIVALS, Compiled, plan
from augrecipes.compiler.run.shared import Shared
from augrecipes.kinds.pair.pipeline import PairPipeline
from augrecipes.native.kernels import using
from augrecipes.recipe.model import Arguments, Optimize, Recipe, Step

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


@pytest.mark.parametrize("level", QUICK, ids=lambda level: level.isa)
@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
def test_kernels_do_the_work_of_every_target(level: Any, optimize: Optimize, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {name: np.zeros((40 * k, 40 * k, 3), np.uint8) for name, k in PAIRED.items()}
    expected = 0 if optimize == "none" else len(PAIRED)
    with using(level):
        pipelines = [
            build(pair(PAIRED, [s], allow_resampling=True), optimize, 0) for s in (WARPS[3], SIZES[0], SIZES[1])
        ]
        warped, resized, saved = (
            counted(monkeypatch, *method)
            for method in ((NativeWarp, "sampled"), (NativeResize, "resized"), (JpegRoundTrip, "__call__"))
        )
        for pipeline, made in zip(pipelines, (warped, resized, resized), strict=True):
            made.clear()
            pipeline.at(0)(**given)
            assert len(made) == expected
        resized.clear()
        build(degrading([WORSE[0]], "linear"), optimize, 0).at(0)(hr=given["hr"])
        assert (16, 16, 3) in resized if expected else not resized
        assert bool(saved) == bool(expected)


@pytest.mark.parametrize("shared", [WARPS[0], SIZES[1]], ids=lambda step: step.name)
def test_the_law_sees_another_twin(shared: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    def spoilt(self: Shared) -> None:
        for name, own in self.by_target.items():
            plain = own.apply
            own.apply = lambda img, *more, plain=plain, **drawn: plain(img, *more, **drawn) ^ 1
            own._set_keys()
            self.by_target[name] = own
        self._resize = lambda image, size, how: np.zeros((*size, 3), image.dtype)

    monkeypatch.setattr(Shared, "quicken", spoilt)
    with pytest.raises(AssertionError):
        check(pair(PAIRED, [shared], allow_resampling=True), None, 0)
