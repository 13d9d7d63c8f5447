"""Glass stays white under HEStain and StainJitter, however samples are made, and images without tissue come back."""

from typing import Any

import albumentations as A
import numpy as np
import pytest
from kernel_sets import KERNEL_SETS, using

import augrecipes as ar
from augrecipes.ops.registry import construct
from augrecipes.ops.step import Step
from augrecipes.recipe.model import Arguments

METHODS = ("preset", "random_preset", "vahadane", "macenko")
STEPS: dict[str, tuple[str, dict[str, Any]]] = {
    "StainJitter": ("StainJitter", {"sigma": 0.2, "bias": [0.05, 0.2]}),
    **{f"HEStain {method}": ("HEStain", {"method": method}) for method in METHODS},
    "the background, too": ("HEStain", {"augment_background": True, "intensity_shift_range": [0.1, 0.2]}),
}
EACH = pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
SIZE = (60, 70)


def tile(seed: int, least: int = 225) -> np.ndarray:
    """Tissue, and about half of it under glass, which is not all of one level."""
    rng = np.random.default_rng(seed)
    tissue = np.clip(rng.normal((150, 90, 160), 30, (*SIZE, 3)), 0, 255)
    glass = rng.integers(least, 256, (*SIZE, 3))
    return np.where(rng.random((*SIZE, 1)) < 0.5, glass, tissue).astype(np.uint8)


def of(image: np.ndarray, dtype: str) -> np.ndarray:
    return image if dtype == "uint8" else image.astype(np.float32) / np.float32(255)


def recipe(step: tuple[str, dict[str, Any]], **more: Any) -> ar.Recipe:
    name, args = step
    steps = [{name: {**args, "p": 1.0}}]
    output = {"dtype": "uint8", "layout": "hwc"}
    return ar.load({"version": 1, "recipe": "t", "steps": steps, "eval": [], "output": output} | more)


def glass_stays(image: np.ndarray, made: np.ndarray) -> None:
    glass = image.min(axis=-1) >= 217
    assert 0.4 < glass.mean() < 0.6
    np.testing.assert_array_equal(made[glass], image[glass])
    assert (made[~glass] != image[~glass]).any(axis=-1).mean() > 0.9


@EACH
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
@pytest.mark.parametrize("kernels", KERNEL_SETS, ids=lambda kernels: kernels.isa if kernels else "none")
def test_glass_stays(step: tuple[str, dict[str, Any]], optimize: Any, dtype: str, kernels: Any) -> None:
    output = {"dtype": dtype, "layout": "hwc"}
    plain = recipe(step, output=output).compile(optimize="none", seed=2)
    for index in range(3):
        image = of(tile(index), dtype)
        with using(kernels):
            one = recipe(step, output=output).compile(optimize=optimize, seed=2)
            made = one.at(index)(image=image.copy())["image"]
        glass_stays(image if dtype == "uint8" else tile(index), np.round(made * (1 if dtype == "uint8" else 255)))
        if optimize == "exact":
            np.testing.assert_array_equal(made, plain.at(index)(image=image)["image"])


@EACH
@pytest.mark.parametrize("optimize", ["exact", "fast"])
def test_glass_stays_in_batches_and_bags(step: tuple[str, dict[str, Any]], optimize: Any) -> None:
    tiles = np.stack([tile(seed) for seed in range(6)])
    data = ar.Samples([{"image": each} for each in tiles], recipe(step), optimize=optimize)
    batches = [np.asarray(batch["image"]) for batch in ar.loader(data, 3, shuffle=False)]
    name, args = step
    bag = recipe((name, {**args, "share": "bag"}), kind="bag").compile(optimize=optimize).at(0)(images=tiles)["image"]
    for made in (np.concatenate(batches), bag):
        for image, one in zip(tiles, made, strict=True):
            glass_stays(image, one)


@EACH
def test_what_is_no_glass_is_as_it_was_without_the_argument(step: tuple[str, dict[str, Any]]) -> None:
    name, args = step
    for seed in range(3):
        image = tile(seed)
        made = []
        for more in ({}, {"white_threshold": None}):
            one = construct(Step(name, Arguments(args | more), p=1.0))
            one.set_random_seed(seed)
            made.append(one(image=image)["image"])
        if name == "HEStain":  # albumentations' own bits
            theirs = A.HEStain(**{k: tuple(v) if isinstance(v, list) else v for k, v in args.items()}, p=1.0)
            theirs.set_random_seed(seed)
            np.testing.assert_array_equal(made[1], theirs(image=image)["image"])
        glass = image.min(axis=-1) >= 217
        np.testing.assert_array_equal(made[0][~glass], made[1][~glass])
        assert (made[1][glass] != image[glass]).any()


@EACH
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize("least", [255, 218])
def test_an_image_without_tissue_comes_back(step: tuple[str, dict[str, Any]], least: int, dtype: str) -> None:
    image = of(np.random.default_rng(least).integers(least, 256, (*SIZE, 3), np.uint8), dtype)
    (name, args), output = step, {"dtype": dtype, "layout": "hwc"}
    for optimize in ("none", "exact", "fast"):
        made = recipe(step, output=output).compile(optimize=optimize).at(1)(image=image.copy())["image"]
        np.testing.assert_allclose(made, image, rtol=0, atol=1e-6 * (dtype == "float32"))
    white = np.full_like(image, image.max())
    if args.get("method") in ("vahadane", "macenko"):  # there are no stains to be found, glass or not
        one = construct(Step(name, Arguments({**args, "white_threshold": None}), p=1.0))
        np.testing.assert_array_equal(one(image=white)["image"], white)


@pytest.mark.parametrize("level", [0, 128])
def test_stains_that_cannot_be_told_apart_change_nothing(level: int) -> None:
    image = np.full((*SIZE, 3), level, np.uint8)
    np.testing.assert_array_equal(
        construct(Step("HEStain", Arguments({"method": "macenko"}), p=1.0))(image=image)["image"], image
    )


@pytest.mark.parametrize("method", METHODS)
def test_stains_of_several_images_are_those_of_the_first_with_tissue(method: str) -> None:
    white, stained = np.full((*SIZE, 3), 250, np.uint8), tile(1)
    one = construct(Step("HEStain", Arguments({"method": method}), p=1.0))
    first, second = one(images=np.stack([white, stained]))["images"]
    np.testing.assert_array_equal(first, white)
    glass_stays(stained, second)
