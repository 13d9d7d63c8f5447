"""What is cut off of resized and padded pictures is not made, and what is left has the bits of all steps in turn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from examples import DEAR, PLANTED
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import KERNEL_SETS
from random_recipes import assert_same, picture
from test_exact_equals_none import build, outcome

from augrecipes.compiler.kernels import unmade
from augrecipes.compiler.kernels.moves import Moved
from augrecipes.compiler.kernels.resize_native import NativeResize
from augrecipes.compiler.native_plan.carrying_out import NativePlan
from augrecipes.compiler.plan.nodes import Fused
from augrecipes.native.kernels import using
from augrecipes.recipe.model import Arguments, Boxes, Inputs, Keypoints, Recipe, Step
from augrecipes.recipe.parse import parse_text

SIDE = st.integers(1, 40)


@pytest.fixture(autouse=True, scope="module")
def _whatever_its_size():
    """No picture is too small to be left unmade: the laws' pictures are small ones."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(unmade, "SMALL", 0)
        yield


INTERPOLATIONS = ["nearest", "linear", "linear", "linear", "cubic", "area", "area", "lanczos4", "nearest_exact"]
SAMPLED = {
    "interpolation": st.sampled_from(INTERPOLATIONS),
    "mask_interpolation": st.sampled_from(INTERPOLATIONS),
    "area_for_downscale": st.sampled_from([None, "image", "image_mask"]),
}
BORDERS = st.sampled_from(["constant", "constant", "constant", "reflect_101", "replicate", "wrap"])
FILLS = st.sampled_from([0, 7, 3.5, 300, -9, [1, 2, 3], [9]])
FILL = {"border_mode": BORDERS, "fill": FILLS, "fill_mask": st.sampled_from([0, 255, 2.5])}
POSITION = st.sampled_from(["center", "top_left", "bottom_right", "random"])
RESIZES = [
    ("Resize", {"height": SIDE, "width": SIDE, **SAMPLED}),
    ("SmallestMaxSize", {"max_size": st.one_of(SIDE, st.lists(SIDE, min_size=2, max_size=2)), **SAMPLED}),
    ("LongestMaxSize", {"max_size": SIDE, **SAMPLED}),
    ("RandomScale", {"scale_limit": st.sampled_from([0.5, [-0.7, 1.0], [-0.5, -0.5]]), **SAMPLED}),
    ("RandomResizedCrop", {"size": st.tuples(SIDE, SIDE).map(list), **SAMPLED}),
    ("RandomSizedCrop", {"min_max_height": st.just([3, 9]), "size": st.tuples(SIDE, SIDE).map(list), **SAMPLED}),
]
PADS = [
    ("Pad", {"padding": st.one_of(st.integers(0, 9), st.lists(st.integers(0, 9), min_size=4, max_size=4)), **FILL}),
    ("PadIfNeeded", {"min_height": SIDE, "min_width": SIDE, "position": POSITION, **FILL}),
]
CUTS = [
    ("RandomCrop", {"height": st.integers(1, 20), "width": st.integers(1, 20)}),
    ("RandomCrop", {"height": SIDE, "width": SIDE, "pad_if_needed": st.just(True)}),
    ("CenterCrop", {"height": st.integers(1, 12), "width": st.integers(1, 12)}),
    ("RandomCropFromBorders", {}),
]
TURNS: Any = [("HorizontalFlip", {}), ("VerticalFlip", {}), ("Transpose", {}), ("RandomRotate90", {}), ("D4", {})]


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    """Resizes, paddings, crops and turns in any order; sometimes something behind them that reads the picture."""
    steps = []
    for number in range(draw(st.integers(2, 6))):
        pool = draw(st.sampled_from([RESIZES, RESIZES, PADS, CUTS, CUTS, TURNS]))
        name, arguments = draw(st.sampled_from(pool))
        given = {key: draw(value) for key, value in arguments.items()}
        chance = draw(st.sampled_from([1.0, 1.0, 0.5]))
        steps.append(Step(name, Arguments(given), p=chance, site=f"{name}#{number}"))
    if draw(st.booleans()):
        steps.append(Step("InvertImg", p=1.0, site="InvertImg#9"))
    points = {"boxes": Boxes("pascal_voc", "labels"), "keypoints": Keypoints()} if draw(st.booleans()) else {}
    return Recipe("law", steps=tuple(steps), inputs=Inputs(mask="optional", **points))  # type: ignore[arg-type]


def sample_of(recipe: Recipe, channels: int, dtype: str, labels: Any, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    height, width = (int(side) for side in rng.integers(1, 71, 2))
    made: dict[str, Any] = {"image": picture(seed, channels, dtype, (height, width))}
    if labels is not None:
        made["mask"] = rng.integers(0, 9, (height, width)).astype(labels)
    if recipe.inputs.boxes:
        sides = np.array([width, height])
        corner = rng.uniform(0, 0.6, (4, 2)) * sides
        made["boxes"] = np.hstack([corner, corner + 0.3 * sides]).astype(np.float32)
        made["labels"] = [3, 1, 4, 1]
        made["keypoints"] = (rng.uniform(0, 1, (5, 2)) * (sides - 1)).astype(np.float32)
    for value in made.values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    return made


def check(recipe: Recipe, channels: int, dtype: str, labels: Any, seed: int, kernels: Any) -> None:
    sample = sample_of(recipe, channels, dtype, labels, seed)
    plain = build(recipe, "none", seed)
    with using(kernels):
        exact = build(recipe, "exact", seed)
        for index in range(3):
            a, b = outcome(plain, index, sample), outcome(exact, index, sample)
            if isinstance(a, dict):
                assert isinstance(b, dict), b
                assert_same(a, b)
            else:
                assert a == b


LAW = given(
    recipes(),
    st.sampled_from([1, 3, 3, 3, 4, 5]),
    st.sampled_from(["uint8", "uint8", "float32"]),
    st.sampled_from([None, np.uint8, np.uint8, np.uint16, np.int32, np.float32]),
    st.integers(0, 2**32),
    st.sampled_from(KERNEL_SETS),
)


@DEAR
@LAW
def test_bits_are_those_of_all_steps_in_turn(
    recipe: Recipe, channels: int, dtype: str, labels: Any, seed: int, kernels: Any
) -> None:
    check(recipe, channels, dtype, labels, seed, kernels)


def broken() -> None:
    """The law over the examples that find planted faults; AssertionError where one breaks it."""

    @PLANTED
    @LAW
    def law(recipe: Recipe, channels: int, dtype: str, labels: Any, seed: int, kernels: Any) -> None:
        check(recipe, channels, dtype, labels, seed, kernels)

    law()


def test_the_law_sees_a_window_one_pixel_off(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = unmade._cut

    def careless(window: Any, by: Any) -> Any:
        y0, x0, y1, x1 = cut(window, by)
        return (y0 - 1, x0, y1 - 1, x1) if y0 else (y0, x0, y1, x1)

    monkeypatch.setattr(unmade, "_cut", careless)
    with pytest.raises(AssertionError):
        broken()


def test_the_law_sees_a_border_of_another_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    line = unmade._line
    monkeypatch.setattr(unmade, "_line", lambda value, *more: line(value if value == 0 else 0, *more))
    with pytest.raises(AssertionError):
        broken()


def test_the_law_sees_turns_that_a_resize_forgets(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = unmade.realised
    monkeypatch.setattr(unmade, "realised", lambda p, s=None: whole(p.base if isinstance(p, Moved) else p, s))
    with pytest.raises(AssertionError):
        broken()


@pytest.mark.skipif(KERNEL_SETS[-1] is None, reason="no native kernels")
def test_the_law_sees_a_kernel_that_is_one_bit_off(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = "[{Resize: {height: 40, width: 50}}, {CenterCrop: {height: 9, width: 9}}]"
    recipe, forced = parse_text(f"version: 1\nrecipe: law\nsteps: {steps}\n"), NativeResize.forced
    monkeypatch.setattr(NativePlan, "sample", lambda *_: None)  # which resizes by itself
    check(recipe, 3, "uint8", None, 0, KERNEL_SETS[-1])

    def spoilt(*given: Any) -> Any:
        made = forced(*given)
        assert made is not None
        made[-1, -1, -1] ^= 1
        return made

    monkeypatch.setattr(NativeResize, "forced", spoilt)
    with pytest.raises(AssertionError):
        check(recipe, 3, "uint8", None, 0, KERNEL_SETS[-1])


@pytest.mark.soak
def test_soak() -> None:
    for _ in range(30):
        LAW(check)()


@pytest.mark.parametrize(
    ("steps", "joined"),
    [
        ("[RandomScale, {PadIfNeeded: {min_height: 9, min_width: 9}}, {RandomCrop: {height: 9, width: 9}}]", True),
        ("[{LongestMaxSize: {max_size: 20}}, {PadIfNeeded: {min_height: 20, min_width: 20}}, Blur]", True),
        ("[{PadIfNeeded: {min_height: 20, min_width: 20}}, {RandomCrop: {height: 9, width: 9}}]", True),
        ("[{RandomCrop: {height: 9, width: 9}}, {Resize: {height: 20, width: 20}}, HorizontalFlip, Blur]", False),
        ("[{PadIfNeeded: {min_height: 20, min_width: 20}}, HorizontalFlip, Blur]", False),
    ],
)  # fmt: skip
def test_steps_are_joined_where_something_is_saved(steps: str, joined: bool) -> None:
    recipe = parse_text(f"version: 1\nrecipe: law\nsteps: {steps}\n")
    for level in ("exact", "fast"):
        plan = build(recipe, level).compiled.plans["uint8"].steps  # type: ignore[arg-type]
        first = plan[0]
        assert (isinstance(first, Fused) and first.kernel in ("JoinedResize", "IntoSink")) == joined


def test_only_the_window_is_made() -> None:
    """Of a picture that is resized and padded before it is cropped, as many pixels as are left."""
    made: list[int] = []
    image = np.zeros((64, 64, 3), np.uint8)

    class Counted(unmade.Resizing):
        __slots__ = ()

        def array(self, scratch: Any = None) -> np.ndarray:
            made.append(self.shape[0] * self.shape[1])
            return super().array(scratch)

    whole = Counted(image, (200, 200), 1, (0, 0, 200, 200))
    padded = unmade.pad_with_params(whole, 10, 10, 10, 10, 0, 0)
    found = unmade.realised(Moved(padded).cut(5, 6, 9, 8))
    assert found.shape == (2, 4, 3)
    assert not made  # the border alone is left
    part = padded[20:30, 20:40]
    assert isinstance(part, unmade.Resizing)
    assert part.window == (10, 10, 20, 30)


def test_a_turn_of_what_padding_has_left_of_a_turned_picture() -> None:
    steps = "Transpose, {PadIfNeeded: {min_height: 1, min_width: 22}}, Transpose, {RandomCrop: {height: 20, width: 20}}"
    recipe = parse_text(f"version: 1\nrecipe: law\nsteps: [{steps}]\n")
    for seed in range(8):
        sample = {"image": picture(seed, 3, "uint8", (25, 20)), "mask": picture(seed, 1, "uint8", (25, 20))[..., 0]}
        assert_same(build(recipe, "none", seed).at(0)(**sample), build(recipe, "exact", seed).at(0)(**sample))
