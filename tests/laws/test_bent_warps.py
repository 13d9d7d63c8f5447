"""A field that bends the image is sampled in one pass with what is behind it, and shows what the steps show."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_exact_equals_none import build
from test_lone_warps import kernels_of, recipe_of

from augrecipes.compiler.lowering import walk
from augrecipes.native.kernels import library
from augrecipes.recipe.model import Recipe

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # some classes warn on every call
    pytest.mark.skipif(library() is None, reason="no native kernels"),
]

BENDS = st.sampled_from(
    [
        ("GridDistortion", {"distort_limit": [-0.5, 0.5]}),
        ("OpticalDistortion", {"distort_limit": [-1.5, 1.5]}),
        ("OpticalDistortion", {"distort_limit": [-0.2, 0.2]}),
    ]
)
BEHIND = st.lists(
    st.sampled_from(
        [
            ("HorizontalFlip", {}),
            ("Transpose", {}),
            ("RandomCrop", {"height": 40, "width": 44}),
            ("Resize", {"height": 41, "width": 47}),
            ("Rotate", {"limit": [-30, 30]}),
        ]
    ),
    min_size=1,
    max_size=3,
)


def slopes_of(height: int, width: int) -> np.ndarray:
    """Levels that tell columns, rows and both, a level to a pixel or less: sampled twice they are what they were."""
    y, x = np.mgrid[:height, :width]
    return np.stack([10 + x, 240 - y, 20 + (x + y) // 2], -1).astype(np.uint8)


def check(recipe: Recipe, image: np.ndarray, seed: int) -> None:
    """`fast` beside `none`, which rounds once more."""
    plain, fast = (build(recipe, how, seed) for how in ("none", "fast"))
    for index in range(3):
        wanted, found = (pipeline.at(index)(image=image)["image"] for pipeline in (plain, fast))
        assert found.shape == wanted.shape
        assert np.abs(found - wanted).mean() <= 0.4


def bent(*named: tuple[str, dict[str, Any]], border: str) -> Recipe:
    warps = {"GridDistortion", "OpticalDistortion", "Rotate"}
    return recipe_of(*((name, {**args, "border_mode": border} if name in warps else args) for name, args in named))


@given(
    before=st.sampled_from([[], [("Rotate", {"limit": 30})], [("HorizontalFlip", {})]]),
    bend=BENDS,
    behind=BEHIND,
    border=st.sampled_from(["replicate", "reflect_101"]),
    sides=st.tuples(st.integers(64, 140), st.integers(64, 140)),
    seed=st.integers(0, 2**31),
)
def test_what_is_behind_a_field_is_sampled_with_it(
    before: Any, bend: Any, behind: Any, border: str, sides: tuple[int, int], seed: int
) -> None:
    check(bent(*before, bend, *behind, border=border), slopes_of(*sides), seed)


def test_the_law_sees_a_lens_that_bends_more(monkeypatch: pytest.MonkeyPatch) -> None:
    named = ("OpticalDistortion", {"distort_limit": [0.9, 1.0]}), ("Resize", {"height": 90, "width": 80})
    recipe = bent(*named, border="reflect_101")
    assert kernels_of(recipe) == ["JoinedWarps"]
    check(recipe, slopes_of(140, 120), 1)
    own = walk.encode

    def another(step: Any, **how: bool) -> Any:
        found = own(step, **how)
        return replace(found, arguments=(1.2, 1.2)) if type(step).__name__ == "OpticalDistortion" else found

    monkeypatch.setattr(walk, "encode", another)
    with pytest.raises(AssertionError):
        check(recipe, slopes_of(140, 120), 1)
