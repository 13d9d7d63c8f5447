"""Law: the matrix of a view says where its pixels come from, to 0.02 px, as coordinate ramps show it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_recipes import Pool, build, pool, step
from support.checks import SEEDS, planted, planted_faults, tries
from support.ramps import map_of, only_moves, ramps

from augrecipes.compiler.run import draw_without_pixels
from augrecipes.errors import DataError, RecipeError
from augrecipes.ops import matrices
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import names
from augrecipes.recipe.model import Arguments, NamedView, Recipe, Step, label
from augrecipes.recipe.parse import parse_text

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # some classes warn on every call
SIZE, BOUND = (150, 201), 0.02
RAMPS = ramps(*SIZE)
# Every class that `correspondence` takes and that moves pixels; images stay large enough to tell places by.
MOVES: Pool = pool("""
    HorizontalFlip, VerticalFlip, Transpose, RandomRotate90, D4, SquareSymmetry, TimeReverse,
    RandomCrop: {height: 90, width: 120, pad_if_needed: true, pad_position: random},
    CenterCrop: {height: 120, width: 100, pad_if_needed: true},
    Crop: {x_min: 5, y_min: 7, x_max: 100, y_max: 90, pad_if_needed: true},
    RandomCropFromBorders: {crop_left: 0.1, crop_right: 0.1, crop_top: 0.1, crop_bottom: 0.2},
    PadIfNeeded: {min_height: 170, min_width: 230, position: random}, Pad: {padding: [3, 9]},
    CropAndPad: {percent: [-0.1, 0.1]}, CropAndPad: {px: [-9, 9]}, CropAndPad: {px: 7, keep_size: false},
    RandomResizedCrop: {size: [90, 80], scale: [0.4, 0.9]},
    RandomSizedCrop: {min_max_height: [60, 80], size: [90, 80]},
    Resize: {height: 111, width: 99}, RandomScale: {scale_limit: 0.3},
    SmallestMaxSize: {max_size: [100, 127]}, LongestMaxSize: {max_size: 140},
    Affine: {scale: [0.8, 1.2], rotate: [-20, 20], shear: [-8, 8], translate_percent: [-0.1, 0.1]},
    CornerAffine: {scale: [0.8, 1.2], rotate: [-20, 20], shear: [-8, 8]},
    Affine: {rotate: [-20, 20], fit_output: true}, Rotate: {limit: 30}, Rotate: {limit: 20, crop_border: true},
    SafeRotate: {limit: 30}, ShiftScaleRotate, Perspective, Perspective: {keep_size: false},
    Perspective: {fit_output: true}
""")
LAST = Step("Resize", Arguments({"height": 96, "width": 80}), p=1.0)
OTHERS: Pool = pool("ColorJitter, ToGray, GaussianBlur, CoarseDropout, Solarize, NoOp")


@st.composite
def placed(draw: st.DrawFn) -> Recipe:
    """A random recipe of views, of steps with matrices alone."""
    lists = st.lists(step((*MOVES, *MOVES, *OTHERS), depth=1), max_size=2)
    steps = tuple(once(one) for one in (*draw(lists), *draw(lists)))
    views = (NamedView("a", 3, None, label((*steps, LAST), "a")),)
    shared = tuple(once(one) for one in draw(lists))
    return Recipe("law", kind="views", steps=label(shared), views=views, correspondence=True)


def once(step: Step) -> Step:
    """A group that runs no step twice."""
    return replace(step, args=Arguments({**step.args.plain(), "replace": False})) if step.name == "SomeOf" else step


def check(recipe: Recipe, optimize: str, seed: int) -> None:
    image = np.full((*SIZE, 3), 128, np.uint8)
    made = build(recipe, optimize, seed).at(3, 1)(image=image)
    for view in recipe.views:
        moves = only_moves(build(recipe.view(view.name, shares=True), optimize, seed), "uint8")
        matrices = made[f"{view.name}_matrix"]
        assert matrices.dtype == np.float64
        assert matrices.shape == (view.count, 3, 3)
        for k, matrix in enumerate(matrices):
            found = map_of(moves.at(3, 1, k)(image=RAMPS)["image"], SIZE)
            rows, columns = np.mgrid[: found.x.shape[0], : found.x.shape[1]]
            x, y, w = np.moveaxis(np.stack([columns, rows, np.ones_like(rows)], -1) @ matrix.T, 2, 0)
            away = np.hypot(x / w - found.x, y / w - found.y)[found.certain]
            assert away.size == 0 or away.max() < BOUND


@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
@tries(60)
@given(placed(), SEEDS)
def test_a_matrix_says_where_pixels_come_from(optimize: str, recipe: Recipe, seed: int) -> None:
    check(recipe, optimize, seed)


@pytest.mark.parametrize("k", range(len(MOVES)), ids=[name for name, _ in MOVES])
def test_every_class_is_right(k: int) -> None:
    check(one(k), "none", 5)


def one(k: int) -> Recipe:
    """A recipe of one class."""
    name, arguments = MOVES[k]
    steps = label((Step(name, Arguments(arguments), p=1.0), LAST), "a")
    return Recipe("law", kind="views", views=(NamedView("a", 4, None, steps),), correspondence=True)


def test_no_class_with_a_matrix_is_left_out() -> None:
    """But the class with a box of its own, and the one that Degrade alone may have."""
    records = [op_record(name) for name in names()]
    moving = {record.name for record in records if record is not None and record.moves and record.is_matrix}
    assert moving == {name for name, _ in MOVES} | {"NoOp"}


DINO = """
version: 1
recipe: dense
kind: views
correspondence: true
shared: [HorizontalFlip, {%s: %s}]
views:
  global: {count: 2, steps: [RandomResizedCrop: {size: [24, 24]}]}
  local: {count: 3, steps: [RandomResizedCrop: {size: [12, 12]}, D4: {p: 1.0}]}
eval: []
"""


def test_they_come_with_any_mode_and_size_and_not_without_the_key() -> None:
    recipe = parse_text(DINO % ("Rotate", "{p: 1.0}"))
    gray = np.zeros((40, 50), np.uint8)
    for optimize in ("none", "exact", "fast"):
        made = build(recipe, optimize, 1).at(2)(image=gray)
        assert made["local_matrix"].shape == (3, 3, 3)
        np.testing.assert_array_equal(made["local_matrix"], build(recipe, "none", 1).at(2)(image=gray)["local_matrix"])
    without = build(replace(recipe, correspondence=False), "exact", 1).at(2)(image=gray)
    assert without.keys() == {"global", "local"}
    np.testing.assert_array_equal(without["local"], build(recipe, "exact", 1).at(2)(image=gray)["local"])


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("ElasticTransform", "{p: 1.0}", "it moves pixels by no 3×3 matrix"),
        ("RandomGridShuffle", "{}", "it moves pixels by no 3×3 matrix"),
        ("AtLeastOneBBoxRandomCrop", "{height: 8, width: 8}", "it moves pixels by no 3×3 matrix that follows"),
        ("OneOf", "{steps: [D4, GridDistortion]}", "leave out the step or that key"),
        ("SomeOf", "{n: 2, replace: true, steps: [D4, D4]}", "may run a step twice"),
    ],
)
def test_steps_without_a_matrix_are_an_error_with_their_line(name: str, arguments: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message) as found:
        parse_text(DINO % (name, arguments))
    assert [(problem.code, problem.line) for problem in found.value.problems] == [("E407", 6)]
    parse_text((DINO % (name, arguments)).replace("correspondence: true\n", ""))


def no_half(y: float, x: float, *, centres: bool = True) -> Any:
    return SCALED(y, x, centres=False)


def test_a_step_that_fails_before_there_is_a_pixel_is_named() -> None:
    step = Step("CenterCrop", Arguments({"height": 400, "width": 400}), p=1.0)
    views = (NamedView("a", 1, None, label((step,), "a")),)
    made = build(Recipe("law", kind="views", views=views, correspondence=True), "none", 1)
    with pytest.raises(DataError, match=r"step a/CenterCrop#1: .*exceeds image dimensions"):
        made.at(0)(image=np.zeros((*SIZE, 3), np.uint8))


def first_key(self: Any, key: Any, shape: Any) -> Any:
    return AT(self, (*key[:2], 0), shape)


def unpadded(name: str, params: Any, before: Any, after: Any) -> Any:
    return OF(name, {key: value for key, value in params.items() if key not in ("pad_top", "pad_left")}, before, after)


def of_class(name: str) -> Callable[[Any], None]:
    return lambda _: check(one([other for other, _ in MOVES].index(name)), "none", 5)


SCALED, AT, OF = matrices.scaling, draw_without_pixels.StepMatrices.at, matrices.matrix_of
test_planted_faults_are_found = planted_faults(
    {
        "resizes without the half pixel": (of_class("Resize"), (matrices, "scaling", no_half)),
        "all views where the first is": (of_class("D4"), (draw_without_pixels.StepMatrices, "at", first_key)),
        "no padding": (of_class("PadIfNeeded"), (draw_without_pixels, "matrix_of", unpadded)),
        "one matrix for all": (
            planted(check, placed(), st.just("fast"), SEEDS),
            (draw_without_pixels, "matrix_of", lambda *_: np.eye(3)),
        ),
    }
)
