"""Fields drawn on a coarse grid: distributed as albumentations draws them, told by the key, the same for all targets.

Their covariance is held to that of OpenCV's blur number by number; what is drawn, to albumentations' own draws.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import albumentations as A
import cv2
import numpy as np
import pytest
from albumentations.augmentations.geometric.functional import generate_displacement_fields
from hypothesis import example, given
from hypothesis import strategies as st
from kernel_sets import EACH_SET, NEEDS_KERNELS, using

from augrecipes.compiler.kernels import coarse_fields
from augrecipes.compiler.kernels.coarse_fields import Axis, RowMix, axis, maximum_quantile
from augrecipes.compiler.rewrite.nodes import CounterNoiseStep
from augrecipes.compiler.run.draws import Draws
from augrecipes.native.kernels import Library, library
from augrecipes.ops.places import inverse_places
from augrecipes.ops.registry import construct
from augrecipes.recipe.model import Arguments, Recipe, Step
from augrecipes.recipe.parse import parse_text

IMAGE = np.random.default_rng(0).integers(0, 256, (70, 90, 3), np.uint8)
MASK = np.arange(70 * 90).reshape(70, 90).astype(np.int32).astype(np.uint8)


def dense(mixture: RowMix, columns: int) -> np.ndarray:
    made = np.zeros((len(mixture.starts), columns))
    for row, (start, weights) in enumerate(zip(mixture.starts, mixture.weights, strict=True)):
        made[row, start : start + len(weights)] = weights
    return made


def apart(pixels: int, deviation: float, make: Callable[[int, float], Axis] = axis) -> float:
    """How far the covariance along an axis is from that of OpenCV's blur, as a part of the variances."""
    found = make(pixels, deviation)
    ours = dense(found.upsamples, found.nodes) @ dense(found.smooths, found.cells)
    each = np.eye(pixels, dtype=np.float64)
    blur = cv2.GaussianBlur(
        each, (1, round(8 * deviation + 1) | 1), 1, sigmaY=deviation, borderType=cv2.BORDER_REPLICATE
    )
    (covariance, wanted), deviations = (one @ one.T for one in (ours, blur)), np.sqrt((blur**2).sum(axis=1))
    return float((np.abs(covariance - wanted) / deviations / deviations[:, None]).max())


@given(st.integers(16, 400), st.floats(4, 80))
@example(16, 4.0)
@example(17, 4.0)
@example(512, 50.0)
@example(400, 4.0)
def test_covariance_is_that_of_the_blur(pixels: int, deviation: float) -> None:
    assert apart(pixels, deviation) < 0.01


@pytest.mark.parametrize("pixels", [16, 100, 400])
@pytest.mark.parametrize("deviation", [4.0, 12.5, 50.0])
def test_the_law_of_covariance_finds_faults(pixels: int, deviation: float) -> None:
    def louder(pixels: int, deviation: float) -> Axis:
        found = axis(pixels, deviation)
        return replace(found, smooths=RowMix(found.smooths.weights * np.float32(1.015), found.smooths.starts))

    def bare_borders(pixels: int, deviation: float) -> Axis:
        found = axis(pixels, deviation)
        weights = found.smooths.weights.copy()
        weights[found.smooths.starts == 0, 0] = 0
        return replace(found, smooths=RowMix(weights, found.smooths.starts))

    assert apart(pixels, deviation, louder) > 0.01
    assert apart(pixels, deviation, bare_borders) > 0.01
    if pixels > deviation:  # in smaller ones all pixels move together anyway
        assert apart(pixels, deviation, lambda pixels, deviation: axis(pixels, 1.05 * deviation)) > 0.01


@given(st.integers(1, 10**7), st.floats(1e-6, 1 - 1e-6))
def test_the_greatest_of_many_normal_numbers(count: int, share: float) -> None:
    """The chance that all stay below is the share."""
    beyond = math.erfc(maximum_quantile(count, share) / math.sqrt(2))
    assert math.exp(count * math.log1p(-beyond)) == pytest.approx(share, rel=1e-5, abs=1e-9)


# Height, width and arguments of a step.
CASES: list[tuple[int, int, dict[str, Any]]] = [
    (40, 64, {"alpha": 60, "sigma": 4}),
    (64, 40, {"alpha": 9, "sigma": 6.5}),
    (48, 48, {"alpha": 30, "sigma": 5, "same_dxdy": True}),
    (30, 36, {"alpha": 100, "sigma": 50}),
]
FEW = [pytest.param(*case, marks=() if k in (1, 2) else pytest.mark.soak) for k, case in enumerate(CASES)]
DRAWS = 1500


def ours(height: int, width: int, step: Any) -> np.ndarray:
    """Fields of x and of y, 2×H×W, for each index."""
    draws = Draws(3)
    step.random_generator, _ = draws.add("ElasticTransform#1")
    kernels: Any = library()
    across, down = np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32)[:, None]
    made = np.empty((DRAWS, 2, height, width), np.float32)
    for index in range(DRAWS):
        draws.position(0, index)
        x, y = map(np.asarray, coarse_fields.field(kernels, step, height, width))
        made[index] = x - across, y - down
    return made


def its(height: int, width: int, step: Any) -> np.ndarray:
    random = np.random.default_rng(5)
    how = {name: getattr(step, name) for name in ("alpha", "sigma", "same_dxdy", "noise_distribution")}
    return np.array(
        [
            generate_displacement_fields((height, width), **how, kernel_size=(0, 0), random_generator=random)
            for _ in range(DRAWS)
        ]
    )


def measured(fields: np.ndarray, sigma: float) -> np.ndarray:
    """What is looked at in each draw, draws × measures: means, variances in the middle, along borders and in corners;
    products with what lies further right and further down; those of both fields, and of their seam."""
    height, width = fields.shape[2:]
    r, c = height // 4, width // 4
    squares = fields**2
    found = [fields.mean((2, 3)), squares[:, :, r:-r, c:-c].mean((2, 3))]
    found += [squares[:, :, [0, -1]].mean(3).reshape(DRAWS, 4), squares[..., [0, -1]].mean(2).reshape(DRAWS, 4)]
    found += [squares[:, :, [0, 0, -1, -1], [0, -1, 0, -1]].reshape(DRAWS, 8)]
    for lag in {1, min(round(sigma), r), min(round(2 * sigma), 2 * r)}:
        found += [(fields[..., lag:] * fields[..., :-lag]).mean((2, 3))]
        found += [(fields[:, :, lag:] * fields[:, :, :-lag]).mean((2, 3))]
    both = (fields[:, 0] * fields[:, 1]).mean((1, 2)), (fields[:, 0, -1] * fields[:, 1, 0]).mean(1)
    return np.concatenate([*found, *(one[:, None] for one in both)], axis=1)


def errors(one: np.ndarray, other: np.ndarray, sigma: float) -> float:
    """By how many standard errors two sets of draws differ: in a mean, or in how the greatest ways are distributed."""
    sides = [measured(fields.astype(np.float64), sigma) for fields in (one, other)]
    off = sides[0].mean(0) - sides[1].mean(0)
    least = np.sqrt(sum(side.var(0) for side in sides) / DRAWS)
    greatest = [np.sort(np.abs(fields).max((1, 2, 3))) for fields in (one, other)]
    levels = np.concatenate(greatest)
    below = [np.searchsorted(found, levels, side="right") / DRAWS for found in greatest]
    # Smirnov's distance; of 2.3 it is as seldom as of 4.5 errors that a normal number is.
    smirnov = np.abs(below[0] - below[1]).max() * math.sqrt(DRAWS / 2)
    return max(float(np.abs(off / least).max()), smirnov * 4.5 / 2.3)


@NEEDS_KERNELS
@pytest.mark.parametrize(("height", "width", "arguments"), FEW)
def test_fields_are_distributed_as_albumentations_draws_them(
    height: int, width: int, arguments: dict[str, Any]
) -> None:
    step = A.ElasticTransform(**arguments)
    wanted, found = its(height, width, step), ours(height, width, step)
    assert errors(found, wanted, step.sigma) < 4.5
    assert errors(1.15 * found, wanted, step.sigma) > 4.5
    if not step.same_dxdy:  # the other way round they meet no seam
        assert errors(found[:, ::-1], wanted, step.sigma) > 4.5
    if step.sigma < height / 4:
        longer = A.ElasticTransform(**{**arguments, "sigma": 1.2 * step.sigma, "alpha": 1.2 * step.alpha})
        assert errors(ours(height, width, longer), wanted, step.sigma) > 4.5


def recipe(steps: str, more: str = "inputs: {mask: optional}") -> Recipe:
    return parse_text(
        f"version: 1\nrecipe: test\n{more}\noptimize: fast\nsteps:{steps}\neval: []\n"
        "output: {dtype: uint8, layout: hwc}\n"
    )


ELASTIC = """
  - ElasticTransform: {alpha: 80, sigma: 5, p: 0.7}
  - RandomCrop: {height: 60, width: 60}
"""


@NEEDS_KERNELS
def test_a_field_is_told_by_its_key_and_moves_no_other_draw() -> None:
    one, other, plain = (
        recipe(ELASTIC).compile(optimize=how, seed=2, save_applied_params=True) for how in ("fast", "fast", "none")
    )  # type: ignore[arg-type]
    seen: list[np.ndarray] = []
    for index in (4, 3, 2, 1, 0):
        made, again, none = (
            {name: params for _, name, params in pipeline.at(index)(image=IMAGE)["applied"]}
            for pipeline in (one, other, plain)
        )
        assert made.keys() == again.keys() == none.keys()
        assert made["RandomCrop"] == none["RandomCrop"]
        for axis_name in ("map_x", "map_y") if "ElasticTransform" in made else ():
            field = made["ElasticTransform"][axis_name]
            np.testing.assert_array_equal(field, again["ElasticTransform"][axis_name])
            assert not any(np.array_equal(field, earlier) for earlier in seen)
            assert not np.array_equal(field, none["ElasticTransform"][axis_name])
            seen.append(field)
    assert len(seen) >= 4


@EACH_SET
def test_image_mask_and_kernels_agree_on_the_field(kernels: Library) -> None:
    """The best kernels of this processor, and these."""
    chosen = recipe("\n  - ElasticTransform: {alpha: 80, sigma: 5, p: 1.0}")
    best = chosen.compile(save_applied_params=True).at(1)(image=IMAGE, mask=MASK)
    with using(kernels):
        made = chosen.compile().at(1)(image=IMAGE, mask=MASK)
    [(_, _, params)] = best["applied"]
    maps = np.asarray(params["map_x"]), np.asarray(params["map_y"])
    for name, how, given_image, most in (
        ("image", cv2.INTER_LINEAR, IMAGE, 2), ("mask", cv2.INTER_NEAREST, MASK, 0)
    ):  # fmt: skip
        np.testing.assert_array_equal(best[name], made[name])
        wanted = cv2.remap(given_image, *maps, how, borderMode=cv2.BORDER_CONSTANT)
        assert np.abs(best[name].astype(int) - wanted).max() <= most


@NEEDS_KERNELS
def test_boxes_and_keypoints_follow_the_same_field() -> None:
    more = "inputs: {boxes: {format: pascal_voc, labels: null}, keypoints: {format: xy, labels: null}}"
    chosen = recipe("\n  - ElasticTransform: {alpha: 200, sigma: 6, p: 1.0}", more)
    boxes, points = np.array([[10.0, 12, 50, 40], [60, 20, 80, 66]]), np.array([[20.0, 30], [70, 50]])
    made = chosen.compile(save_applied_params=True).at(3)(image=IMAGE, boxes=boxes, keypoints=points)
    [(_, _, drawn)] = made["applied"]
    step = construct(Step("ElasticTransform", Arguments({"alpha": 200, "sigma": 6})))
    maps = {name: np.asarray(drawn[name]) for name in ("map_x", "map_y")}
    wanted = step.apply_to_bboxes(boxes / [90, 70, 90, 70], **maps, shape=IMAGE.shape) * [90, 70, 90, 70]
    np.testing.assert_allclose(np.asarray(made["boxes"])[:, :4], wanted, atol=1e-3)
    wanted = inverse_places(maps["map_x"], maps["map_y"], points)
    np.testing.assert_allclose(np.asarray(made["keypoints"])[:, :2], wanted, atol=1e-3)
    assert np.abs(wanted - points).max() > 0.5


@NEEDS_KERNELS
@pytest.mark.parametrize(
    "steps",
    [
        "[{ElasticTransform: {sigma: 3.9}}]",
        "[{ElasticTransform: {approximate: true}}]",
        "[{ElasticTransform: {}}, {MaskDropout: {p: 0.5}}]",
        "[{ElasticTransform: {}}, {ShotNoise: {p: 0.5}}]",
    ],
)
def test_rough_fields_and_those_that_others_draw_by_stay_as_they_are(steps: str) -> None:
    plan = recipe(f" {steps}").compile().compiled.plans["uint8"]
    assert not any(isinstance(step, CounterNoiseStep) for step in plan.steps if step.name == "ElasticTransform")  # type: ignore[union-attr]


@NEEDS_KERNELS
@pytest.mark.parametrize("size", [(15, 40), (40, 15), (1, 1), (2, 500)])
def test_tiny_images_have_the_field_of_none(size: tuple[int, int]) -> None:
    image = np.ascontiguousarray(np.resize(IMAGE, (*size, 3)))
    plain, fast = (
        recipe("\n  - ElasticTransform: {alpha: 300, p: 1.0}").compile(optimize=how).at(5)(image=image)["image"]
        for how in ("none", "fast")
    )  # type: ignore[arg-type]
    np.testing.assert_array_equal(plain, fast)
