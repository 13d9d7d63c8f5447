"""Samples of policies, whatever their arguments: `exact` has the bits of `none`, and keys decide all of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.checks import tries

import augrecipes as ar
from augrecipes.recipe.model import Recipe

_MOVES = {"interpolation": st.sampled_from(["nearest", "linear"]), "fill": st.integers(0, 255)}
_ARGUMENTS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "RandAugment": {
        "n": st.integers(1, 3), "m": st.integers(0, 30), "mstd": st.sampled_from([0, 1.5, 9]),
        "ops": st.sampled_from(["torchvision", "timm", "timm-increasing"]), "op_p": st.sampled_from([0.5, 1.0]),
        **_MOVES,
    },
    "TrivialAugment": _MOVES,
    "AutoAugment": {"policy": st.sampled_from(["imagenet", "cifar10", "svhn", "original", "v0", "3a"]), **_MOVES},
    "AugMix": {"severity": st.integers(1, 10), "all_ops": st.booleans()},
}  # fmt: skip
_POLICIES = st.one_of(*(st.fixed_dictionaries({name: st.fixed_dictionaries(a)}) for name, a in _ARGUMENTS.items()))
_SIZES = st.tuples(st.integers(5, 70), st.integers(5, 70))
_OUTPUT = {"dtype": "uint8", "layout": "hwc"}


def of(step: dict[str, Any]) -> Recipe:
    return ar.load({"version": 1, "recipe": "t", "steps": [step], "eval": [], "output": _OUTPUT})


def law(
    step: dict[str, Any], size: tuple[int, int], seed: int, change: Callable[[Any], Any] = lambda made: made
) -> None:
    """`change` plants a fault in the optimised samples."""
    recipe = of(step)
    assert ar.load(recipe.to_yaml()) == recipe
    none, exact, again = (recipe.compile(optimize=how, seed=seed) for how in ("none", "exact", "exact"))
    image = np.random.default_rng(seed).integers(0, 256, (*size, 3), np.uint8)
    before = image.copy()
    found = [none.at(index, 1)(image=image)["image"] for index in range(6)]
    for index in range(6):
        np.testing.assert_array_equal(change(exact.at(index, 1)(image=image)["image"]), found[index])
    for index in (4, 0, 5, 2):
        np.testing.assert_array_equal(again.at(index, 1)(image=image)["image"], found[index])
    assert (image == before).all()


@tries(60)
@given(step=_POLICIES, size=_SIZES, seed=st.integers(0, 2**32))
def test_policies_keep_their_bits(step: dict[str, Any], size: tuple[int, int], seed: int) -> None:
    law(step, size, seed)


def test_a_planted_fault_is_caught() -> None:
    with pytest.raises(AssertionError):
        law({"RandAugment": {}}, (40, 50), 3, lambda made: np.roll(made, 1, axis=1))


@pytest.mark.parametrize("size", [(224, 224), (61, 97)])
def test_shears_and_shifts_along_an_axis_run_natively(size: tuple[int, int]) -> None:
    """Their matrices have rows that are known exactly, so the kernel refuses none of them."""
    image = np.random.default_rng(1).integers(0, 256, (*size, 3), np.uint8)
    for axis in "xy":
        for name, amount in (("shear", 5.142765), ("shear", -16.7), ("translate_percent", 0.135952)):
            rest = {"x": [0.0, 0.0], "y": [0.0, 0.0], axis: [amount, amount]}
            step = {"Affine": {name: rest, "interpolation": "nearest", "p": 1.0}}
            recipe = of(step)
            pipeline, plain = recipe.compile(optimize="exact"), recipe.compile(optimize="none")
            for index in range(3):
                ours = pipeline.at(index, 0)(image=image)["image"]
                np.testing.assert_array_equal(ours, plain.at(index, 0)(image=image)["image"])


def test_boxes_and_masks_follow_a_policy() -> None:
    text = (
        "version: 1\nrecipe: t\ninputs: {mask: required, boxes: pascal_voc}\nsteps:\n"
        "  - RandAugment: {n: 2, m: 20}\neval: []\noutput: {dtype: uint8, layout: hwc}\n"
    )
    none, exact = (ar.load(text).compile(optimize=how, seed=3) for how in ("none", "exact"))
    rng = np.random.default_rng(0)
    given_ = {
        "image": rng.integers(0, 256, (60, 80, 3), np.uint8),
        "mask": rng.integers(0, 5, (60, 80), np.uint8),
        "boxes": np.array([[10, 12, 50, 40]], np.float32),
        "box_labels": [1],
    }
    moved = 0
    for index in range(20):
        one, other = none.at(index, 0)(**given_), exact.at(index, 0)(**given_)
        np.testing.assert_array_equal(one["mask"], other["mask"])
        np.testing.assert_array_equal(one["boxes"], other["boxes"])
        moved += not np.array_equal(one["mask"], given_["mask"])
    assert moved > 3
