"""Promise 2: `exact` makes the draws of `none` and gives its bits."""

from functools import partial

import numpy as np
import pytest
from hypothesis import strategies as st
from kernel_sets import NEEDS_KERNELS
from random_recipes import (
    MASKS,
    MOVES,
    OTHERS,
    SIZES,
    TABLES,
    Pool,
    assert_same,
    build,
    outcome,
    pool,
    recipes,
    sampled,
    step,
    steps_for,
    targets,
)
from support.checks import SEEDS, holds, planted, planted_faults
from support.programs import with_results

from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.lowering import make_program
from augrecipes.recipe.model import Arguments, Boxes, Inputs, Recipe, Step, label

# Grey images make some colour steps warn on every call.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def check(
    recipe: Recipe, seed: int, mask: str = "uint16", size: tuple[int, int] = (37, 52), *, channels: int = 3,
    dtype: str = "uint8",
) -> None:  # fmt: skip
    sample = targets(recipe, seed, channels, dtype, mask, size)
    before = {k: np.array(v) for k, v in sample.items()}
    plain, exact = build(recipe, "none", seed), build(recipe, "exact", seed)
    for index in range(3):
        a, b = outcome(plain, index, sample), outcome(exact, index, sample)
        assert_same(a, b)
    for key, value in before.items():
        np.testing.assert_array_equal(value, sample[key], err_msg=f"{key} was written to")


CHANNELS: Pool = pool("ToGray: {num_output_channels: 2}, ToGray: {num_output_channels: 4}, ToRGB")


# Steps of groups that always act stand among those around them, and every sample is what it was.


_LEAVES = step((*MOVES, *TABLES, *OTHERS), depth=0)


@st.composite
def nested(draw: st.DrawFn, depth: int = 3) -> Step:
    """Groups in groups, most of them sequences that always act."""
    if depth == 0 or draw(st.integers(0, 2)) == 0:
        return draw(_LEAVES)
    inside = tuple(draw(st.lists(nested(depth - 1), min_size=1, max_size=3)))
    name = draw(st.sampled_from(("Sequential", "Sequential", "OneOf", "SomeOf", "RandomOrder")))
    if all(child.p == 0 for child in inside):
        name = "Sequential"
    args = Arguments({"n": draw(st.integers(1, len(inside)))} if name == "SomeOf" else {})
    return Step(name, args, p=draw(st.sampled_from((None, 1.0, 1.0, 0.6))), steps=inside)


@st.composite
def recipes_groups(draw: st.DrawFn) -> Recipe:
    steps = label(tuple(draw(st.lists(nested(), min_size=1, max_size=4))))
    boxes = Boxes(min_visibility=draw(st.sampled_from((0.0, 1.0)))) if draw(st.integers(0, 3)) == 0 else None
    return Recipe("law", steps=steps, inputs=Inputs(boxes=boxes))


JOINING = {"moves": recipes(MOVES), "moves and tables": recipes(TABLES + MOVES), "nested groups": recipes_groups()}


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_on_random_recipes(channels: int, dtype: str) -> None:
    made = recipes(steps_for(channels) + CHANNELS).flatmap(sampled)
    holds(partial(check, channels=channels, dtype=dtype), made, SEEDS, st.sampled_from(MASKS), st.sampled_from(SIZES))


@NEEDS_KERNELS
@pytest.mark.parametrize("name", ["Affine", "Perspective", "Rotate", "SafeRotate", "ShiftScaleRotate"])
def test_two_channels_are_warped_as_opencv_warps_them(name: str) -> None:
    """It takes pixels of two bytes by an older way: in nearly every sample some are others."""
    args = {"interpolation": "nearest", **({"rotate": [20, 30]} if name == "Affine" else {})}
    for seed in range(5):
        check(Recipe("law", steps=label((Step(name, Arguments(args), p=1.0),))), seed, channels=2)


@pytest.mark.parametrize("made", JOINING.values(), ids=JOINING)
def test_on_recipes_that_join_everywhere(made: st.SearchStrategy[Recipe]) -> None:
    holds(check, made, SEEDS)


def _a_level_off(result: np.ndarray) -> None:
    if result.dtype == np.float32:
        result[..., -1, -1] += np.float32(1 / 255)


BLENDED = pool("Resize: {height: 37, width: 26, mask_interpolation: area}")
test_planted_faults_are_caught = planted_faults(
    {
        "moves a level off": (
            planted(check, recipes(MOVES), SEEDS),
            (Program, "run_batch", with_results(_a_level_off)),
        ),
        "tables a level off": (
            planted(check, recipes(TABLES), SEEDS),
            (Program, "run_batch", with_results(_a_level_off)),
        ),
        "bytes of masks are blended": (
            planted(check, recipes(BLENDED), SEEDS),
            (make_program, "why_mask_not_native", lambda *_, **__: None),
        ),
    },
)
