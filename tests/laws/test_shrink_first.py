"""Colour steps that change places with a downscale change by what rounding says, and no more."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from random_recipes import Pool, build, photo, pool, recipes
from support.checks import SEEDS, claimed, holds, planted_faults
from test_fast import run, with_border

from augrecipes.compiler.rewrite import Compiled, Plan
from augrecipes.compiler.rewrite.rule import apply_rules
from augrecipes.compiler.rewrite.rules import shrink_first
from augrecipes.errors import DataError
from augrecipes.flow import Flow
from augrecipes.kinds.image.pipeline import ImagePipeline
from augrecipes.recipe.model import Arguments, Output, Recipe, Step, label

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # some classes warn on every call

LEAST = (60, 70)

LINEAR: Pool = pool("""
    InvertImg, ToGray, ChannelShuffle, ChannelDropout: {fill: 90}, ToGray: {method: max}, RandomGamma
""")
SHRINKS: Pool = pool("""
    Resize: {height: 41, width: 33}, Resize: {height: 30, width: 35, interpolation: area},
    Resize: {height: 20, width: 21, interpolation: nearest},
    Resize: {height: 19, width: 40, interpolation: linear_exact}, RandomResizedCrop: {size: [28, 24]},
    RandomSizedCrop: {min_max_height: [20, 40], size: [25, 26]}, LongestMaxSize: {max_size: 44},
    RandomScale: {scale_limit: [-0.5, -0.2]}, RandomCrop: {height: 17, width: 18},
    Resize: {height: 33, width: 30, interpolation: cubic}, HorizontalFlip
""")


def difference(recipe: Recipe, seed: int, dtype: Any) -> tuple[float, float]:
    """The largest difference that the rule alone makes, in levels, and what it promises."""
    flow = Flow(dtype, least=LEAST)
    changed, fired = apply_rules(recipe.steps, flow, (shrink_first.shrink_first,))
    image = photo(seed, 3, dtype, (LEAST[0] + seed % 3, LEAST[1] + seed // 3 % 4))
    if seed % 2:
        image = (image > image.mean()).astype(image.dtype) * image.max()
    made = []
    for steps in (recipe.steps, changed):
        plans = {"uint8": Plan(steps), "float32": Plan(steps)}
        try:
            made.append(
                ImagePipeline(Compiled(recipe, "train", "fast", seed, False, plans)).at(0)(image=image)["image"]
            )
        except DataError:  # a window that is larger than what a foolish recipe has left
            made.append(None)
    if any(one is None for one in made):
        assert made[0] is made[1]
        return 0.0, 0.0
    scale = 1 if dtype == "uint8" else 255
    return scale * float(np.abs(made[0].astype(np.float64) - made[1]).max()), sum(f.levels for f in fired)


def law(recipe: Recipe, seed: int, dtype: Any) -> None:
    output = Output(dtype=dtype, layout="hwc")
    found, promised = difference(replace(recipe, output=output), seed, dtype)
    assert found <= promised


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_within_its_levels(dtype: str) -> None:
    holds(law, recipes(LINEAR + SHRINKS, boxes=False, max_steps=5), SEEDS, st.just(dtype))


RESIZE, INVERT = Step("Resize", Arguments({"height": 30, "width": 30})), Step("InvertImg")
CUBIC = Step("Resize", Arguments({"height": 33, "width": 30, "interpolation": "cubic"}))
# Of each class that saturates, or is curved, what shows it; and which record lets the rule take it for one that is not.
SHOWN = {
    "RGBShift": Step("RGBShift", Arguments({"r_shift_limit": [90, 90], "g_shift_limit": [-90, -90]})),
    "RandomGamma": Step("RandomGamma", Arguments({"gamma_limit": [30, 40]})),
}


def keeps_within(step: Step, downscale: Step, _: Any = None) -> None:
    for seed in range(20):
        law(Recipe("law", steps=label((replace(step, p=1.0), downscale))), seed, "uint8")


@pytest.mark.parametrize(("step", "downscale"), [*((step, RESIZE) for step in SHOWN.values()), (Step("ToGray"), CUBIC)])
def test_what_the_rule_leaves_alone(step: Step, downscale: Step) -> None:
    keeps_within(step, downscale)


def amplified(_: Any) -> None:
    steps = label((replace(INVERT, p=1.0), RESIZE, Step("Posterize", Arguments({"num_bits": 1}), p=1.0)))
    recipe = Recipe("law", steps=steps, output=Output(dtype="uint8", layout="hwc"))
    for seed in range(0, 40, 2):
        found, promised = difference(recipe, seed, "uint8")
        assert found <= promised


test_planted_faults_are_caught = planted_faults(
    {
        **{
            f"{name} is believed to commute with means": (
                partial(keeps_within, step, RESIZE),
                claimed(name, averages=2),
            )
            for name, step in SHOWN.items()
        },
        "a resize overshoots": (
            partial(keeps_within, Step("ToGray"), CUBIC),
            (shrink_first, "_MEANS", (*shrink_first._MEANS, "cubic")),
        ),
        "rounding that a later step enlarges": (
            amplified,
            (shrink_first, "obstacles_from", lambda steps, *_: [None] * (len(steps) + 1)),
        ),
    }
)


PADDED = {"height": 9, "width": 9, "pad_if_needed": True}
MOVED: tuple[tuple[tuple[Step, ...], Flow, bool], ...] = (
    ((INVERT, RESIZE), Flow(least=LEAST), True),
    ((INVERT, RESIZE, Step("HorizontalFlip"), Step("ToGray")), Flow(least=LEAST), True),
    ((INVERT, Step("RandomCrop", Arguments({"height": 30, "width": 30}))), Flow(), True),
    ((INVERT, RESIZE), Flow(), False),
    ((INVERT, RESIZE), Flow(least=(20, 20)), False),
    ((INVERT, RESIZE), Flow(least=LEAST, boxes=True), False),
    ((INVERT, Step("Resize", Arguments({"height": 3, "width": 3, "interpolation": "cubic"}))), Flow(), False),
    ((Step("ToSepia"), RESIZE), Flow(least=LEAST), False),
    ((Step("ToGray", Arguments({"method": "max"})), RESIZE), Flow(least=LEAST), False),
    ((INVERT, RESIZE, Step("Posterize")), Flow(least=LEAST), False),
    ((INVERT, Step("RandomCrop", Arguments(PADDED))), Flow(), False),
)


@pytest.mark.parametrize(("steps", "flow", "moved"), MOVED)
def test_what_is_moved(steps: tuple[Step, ...], flow: Flow, moved: bool) -> None:
    assert bool([*shrink_first.shrink_first.rewrite(label(steps), flow)]) == moved


# Detail that a narrower grid in the middle has lost stays lost: simulated low resolution is meant.


SIZE = (112, 128)
POOL: Pool = pool("""
    Resize: {height: 28, width: 32}, Resize: {height: 28, width: 128}, Resize: {height: 112, width: 30},
    Resize: {height: 112, width: 128}, Resize: {height: 150, width: 170}, RandomScale: {scale_limit: [-0.75, -0.5]},
    RandomScale: {scale_limit: [0.8, 2.0]}, Affine: {scale: [0.25, 0.5]},
    Affine: {scale: {x: [0.25, 0.4], y: [0.9, 1.1]}}, Affine: {scale: [2.0, 4.0]}, Rotate: {limit: 45},
    SafeRotate: {limit: 45}, Perspective: {scale: [0.05, 0.1]}, Transpose, RandomRotate90,
    RandomCropFromBorders: {crop_left: 0.1, crop_right: 0.1, crop_top: 0.1, crop_bottom: 0.1},
    RandomResizedCrop: {size: [90, 100], scale: [0.2, 0.6]}
""")
# In cycles a pixel. A bilinear sample keeps 0.93 to 0.74 of these on the whole, four in a row at least 0.3.
LENGTHS = (0.15, 0.2, 0.25, 0.3)
MORE = 0.45  # of a wave that one resampling may keep more of than four


def shown(recipe: Recipe, optimize: Any, seed: int, image: np.ndarray) -> np.ndarray | None:
    out = run(build(recipe, optimize, seed), 0, image=image)
    return None if out is None else out["image"]


def regained(recipe: Recipe, seed: int) -> float:
    """How much more `fast` keeps of some wave than `none`: of 1, by least squares, where all is inside."""
    recipe = replace(recipe, steps=with_border(recipe.steps, "constant"), output=Output(layout="hwc"))
    y, x = np.mgrid[: SIZE[0], : SIZE[1]].astype(np.float32)
    where = shown(recipe, "none", seed, np.dstack([(y + 8) / 256, (x + 8) / 256, np.full_like(y, 0.5)]))
    if where is None:
        return 0.0
    inside = np.abs(where[..., 2] - 0.5) < 1e-6
    rows, columns = where[..., 0] * 256 - 8, where[..., 1] * 256 - 8
    rows[~inside], columns[~inside] = np.nan, np.nan
    # Where a resize repeats its edge nothing moves on, and least squares would be misled.
    inside &= (rows > 2) & (rows < SIZE[0] - 3) & (columns > 2) & (columns < SIZE[1] - 3)
    if inside.sum() < 300:
        return 0.0
    worst = 0.0
    for number, length in enumerate(LENGTHS):
        angle = (seed % 8 + number) * np.pi / 8
        fy, fx = length * np.sin(angle), length * np.cos(angle)
        steps = [fy * np.diff(rows, axis=axis) + fx * np.diff(columns, axis=axis) for axis in (0, 1)]
        if max(float(np.nanmax(np.abs(step))) for step in steps) > 0.45:
            continue  # more than what comes out can hold: it would come out as another wave
        wave = 0.5 + 0.3 * np.cos(2 * np.pi * (fy * y + fx * x))[..., None]
        image = np.rint(np.repeat(wave, 3, axis=2) * 255).astype(np.uint8)
        phase = 2 * np.pi * (fy * rows[inside] + fx * columns[inside])
        basis = np.stack([np.cos(phase), np.sin(phase), np.ones_like(phase)], axis=1)
        kept = []
        for optimize in ("none", "fast"):
            out = shown(recipe, optimize, seed, image)
            assert out is not None
            found = np.linalg.lstsq(basis, out[..., 0][inside], rcond=None)[0]
            kept.append(float(np.hypot(*found[:2])) / 0.3)
        worst = max(worst, kept[1] - kept[0])
    return worst


def law_narrow(recipe: Recipe, seed: int) -> None:
    assert regained(recipe, seed) <= MORE


def test_what_is_lost_stays_lost() -> None:
    holds(law_narrow, recipes(POOL, boxes=False, max_steps=4), SEEDS)


def chain(*steps: tuple[str, dict[str, Any]]) -> Recipe:
    return Recipe("law", steps=label([Step(name, Arguments(args), p=1.0) for name, args in steps]))


WHOLE = ("Resize", {"height": SIZE[0], "width": SIZE[1]})
CUT = ("CenterCrop", {"height": 100, "width": 110})
LOW = [
    chain(("Resize", {"height": 28, "width": 32}), WHOLE),
    chain(("RandomScale", {"scale_limit": [-0.75, -0.75]}), WHOLE),
    chain(("Affine", {"scale": 0.25}), ("Affine", {"scale": 4.0}), CUT),
    chain(("Resize", {"height": 28, "width": SIZE[1]}), WHOLE),
    chain(("Resize", {"height": SIZE[0], "width": 32}), ("Transpose", {}), ("Resize", {"height": 128, "width": 112})),
    chain(("Rotate", {"limit": [30, 30]}), ("Affine", {"scale": 0.3}), ("Affine", {"scale": 3.0}), CUT),
    chain(("Perspective", {"scale": 0.05}), ("Affine", {"scale": 0.3}), ("Affine", {"scale": 3.0}), CUT),
    chain(("Affine", {"scale": 0.3}), ("Perspective", {"scale": 0.05}), ("Affine", {"scale": 3.0}), CUT),
    chain(("Affine", {"scale": 0.3}), ("Affine", {"scale": 1.6}), ("Affine", {"scale": 1.6}), CUT),
]


@pytest.mark.parametrize("recipe", LOW, ids=lambda recipe: " ".join(step.site for step in recipe.steps))
def test_low_resolution_is_kept(recipe: Recipe) -> None:
    for seed in range(4):
        law_narrow(recipe, seed)


honest = shown


def _ends_alone(recipe: Recipe, optimize: Any, seed: int, image: np.ndarray) -> np.ndarray | None:
    """As if an image had never been made small in between."""
    return honest(replace(recipe, steps=recipe.steps[optimize == "fast" :]), optimize, seed, image)


test_a_merge_that_looks_at_its_ends_alone_is_caught = planted_faults(
    {"low resolution": (lambda _: law_narrow(LOW[0], 0), (f"{__name__}.shown", _ends_alone))}
)
