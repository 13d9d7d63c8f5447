"""Merged warps and colours run natively, whatever lies beside images, and alike on every instruction set."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count, product
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from kernel_sets import EACH_SET, NEEDS_KERNELS, SETS, guarded, using
from random_recipes import Arguments, Picture, Pool, build, label, pool, recipes
from support.checks import holds
from support.programs import by_programs, with_results
from test_native_plan import SEEDS_OF_64, recipe_of

from augrecipes.compat import normals
from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.lowering import walk
from augrecipes.compiler.lowering.walk import encode
from augrecipes.compiler.run.targets import arrival_of
from augrecipes.native.kernels import Library
from augrecipes.ops.records import op_record
from augrecipes.recipe.model import Recipe, Step

pytestmark = NEEDS_KERNELS
TILTED = pytest.mark.skipif(not normals(), reason="numpy does not tell where it makes normal numbers")
MERGED: Pool = pool("""
    Rotate: {limit: 25, border_mode: reflect_101}, Rotate: {limit: [-180, 180], fill: [3, 80, 255]},
    Affine: {scale: [0.6, 1.9], rotate: [-20, 20], border_mode: wrap},
    Affine: {translate_px: {x: [-9, 9], y: [0, 5]}, shear: {x: [-9, 9], y: [-4, 12]}},
    Affine: {translate_percent: {x: [-0.2, 0.1], y: [0, 0.3]}, keep_ratio: true, border_mode: reflect},
    ShiftScaleRotate: {border_mode: replicate}, SafeRotate: {limit: [-60, 90], fill: [3, 80, 255]}, Perspective,
    Perspective: {scale: [0.1, 0.3], keep_size: false, border_mode: reflect_101},
    RandomResizedCrop: {size: [21, 27]}, RandomResizedCrop: {size: [40, 33], scale: [0.9, 1.0]},
    RandomSizedCrop: {min_max_height: [9, 20], size: [15, 18], w2h_ratio: 1.3}, Resize: {height: 29, width: 30},
    Resize: {height: 90, width: 101}, Resize: {height: 21, width: 27}, SmallestMaxSize: {max_size: [40, 90]},
    LongestMaxSize: {max_size: 70}, RandomScale: {scale_limit: [-0.6, 0.7]}, RandomCrop: {height: 15, width: 17},
    CenterCrop: {height: 14, width: 16}, Pad: {padding: [3, 9, 0, 14], fill: [3, 80, 255]},
    PadIfNeeded: {min_height: 130, min_width: 150}, HorizontalFlip, VerticalFlip, Transpose, RandomRotate90, D4,
    ColorJitter: {brightness: 0.3, contrast: [0.5, 1.4], saturation: 0.3, hue: 0.03},
    RandomBrightnessContrast: {brightness_limit: [-0.7, 0.4]}, ToGray, ToSepia, HueSaturationValue,
    HueSaturationValue: {hue_shift_limit: [-180, 180], val_shift_limit: [0, 0]}, StainJitter,
    StainJitter: {sigma: 0.4, bias: [0.0, 0.2]}, StainJitter: {basis: [[1, 1, 0.4], [0.1, 0.9, 0.3]], sigma: 0.4},
    CLAHE, CoarseDropout: {fill: [4, 90, 200]}, GaussNoise,
    ColorJitter: {brightness: [1.0, 1.0], contrast: [1.0, 1.0], saturation: [0.0, 2.0], hue: 0.5}
""")


def at_once(recipe: Recipe, pipeline: Any, images: list[np.ndarray], floats: int) -> int:
    """Holds a batch of images to each of them alone; says how many a plan has made."""
    keys = [(7 * k, k) for k in range(len(images))]
    room = np.empty((len(images), floats), np.float32)
    made: list[np.ndarray] = []

    def places(shape: tuple[int, ...], dtype: Any) -> tuple[np.ndarray, range]:
        made.append(room[:, : int(np.prod(shape))].reshape(-1, *shape))
        return made[0], range(len(images))

    left = pipeline.native.run_batch(5, keys, images, places)
    for k, (index, tile) in enumerate(keys):
        if k not in left:
            alone = pipeline.at(index, 5, tile)(image=images[k])["image"]
            np.testing.assert_array_equal(made[0][k], alone, str(recipe))
    return len(keys) - len(left)


@pytest.mark.parametrize("kernels", [one for one in SETS if one.isa != "base"], ids=lambda kernels: kernels.isa)
def test_what_is_brought_near_lies_in_its_image(kernels: Library) -> None:
    """Of large batches, whose floats go past the caches, too."""
    wide = {"size": [150, 197], "scale": [0.4, 1.0]}
    jitter = {"brightness": 0.3, "contrast": [0.5, 1.4], "saturation": 0.3, "hue": 0.03}
    count = 0
    for border, name in product(("constant", "reflect_101"), ("Rotate", "Affine")):
        turned = {"limit": [-180, 180]} if name == "Rotate" else {"rotate": [-40, 40], "scale": [0.5, 1.5]}
        steps = ((name, turned | {"border_mode": border}), ("RandomResizedCrop", wide), ("ColorJitter", jitter))
        recipe = Recipe("law", steps=label(tuple(Step(step, Arguments(given), p=1.0) for step, given in steps)))
        random = np.random.default_rng(len(name))
        images = [
            guarded(random.integers(0, 256, (*random.integers(60, 400, 2), 3), np.uint8), k % 2 == 0) for k in range(9)
        ]
        with using(kernels):
            count += at_once(recipe, build(recipe, "fast", 3), images, 3 * 150 * 197)
    assert count > 9


@pytest.mark.parametrize("name", ["RandomCrop", "StainJitter"])
@EACH_SET
def test_what_is_asked_for_of_the_next_sample_lies_in_its_image(kernels: Library, name: str) -> None:
    crop = Step("RandomCrop", Arguments({"height": 40, "width": 37}), p=1.0)
    recipe = Recipe("law", steps=label((crop,) if name == "RandomCrop" else (Step(name, p=1.0), crop)))
    random = np.random.default_rng(4)
    images = [
        guarded(random.integers(0, 256, (*random.integers(40, 90, 2), 3), np.uint8), k % 2 == 0) for k in range(9)
    ]
    with using(kernels):
        assert at_once(recipe, build(recipe, "fast", 3), images, 3 * 40 * 37)


UNGROUPED = recipes(MERGED, boxes=False, max_steps=5).filter(
    lambda recipe: not any(step.is_group for step in recipe.steps)
)


def image_of(seed: int, channels: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    height, width = rng.integers(1, 240, 2)
    slopes = np.add.outer(np.linspace(0, 150, height), np.linspace(0, 105, width))[..., None]
    return np.clip(slopes + rng.normal(0, 30, (height, width, channels)), 0, 255).astype(np.uint8)


class File(Picture):
    """An image that pretends to be a file; beside what is read of it there is nothing."""

    def view(self, y0: int, x0: int, y1: int, x1: int, reduce: int = 1) -> np.ndarray:
        return guarded(super().view(y0, x0, y1, x1, reduce), (y0 + x0) % 2 == 0)

    def array(self) -> np.ndarray:
        return guarded(super().array(), bool(self.shape[0] % 2))


def made_by(recipe: Recipe, image: Any, seed: int, kernels: Any, mask: np.ndarray | None = None) -> list[Any]:
    """What programs make of four samples; None where they do not."""
    with using(kernels):
        pipeline = build(recipe, "fast", seed).coming(arrival_of(image, recipe.inputs))
        given = {"image": image} if mask is None else {"image": image, "mask": mask}
        assert mask is None or isinstance(pipeline.native, str) or isinstance(pipeline.programs.masks(), Program)
        return [by_programs(pipeline, index, given) for index in range(4)]


def check(recipe: Recipe, image: Any, seed: int, others: Sequence[Any], mask: np.ndarray | None = None) -> int:
    """Holds what some instruction sets make to each other; says how many samples ran natively on all."""
    first, *rest = (made_by(recipe, image, seed, kernels, mask) for kernels in others)
    for second in rest:
        for one, two in zip(first, second, strict=True):
            if one is not None and two is not None:
                for name in one:
                    np.testing.assert_array_equal(one[name], two[name], f"{name} of {recipe}")
    return sum(all(one is not None for one in samples) for samples in zip(first, *rest, strict=True))


@EACH_SET
@pytest.mark.parametrize("masks", [False, True])
def test_every_instruction_set_makes_the_same(kernels: Library, masks: bool) -> None:
    carried_out: list[int] = []

    def law(recipe: Recipe, seed: int, channels: int, at_end: bool) -> None:
        image = image_of(seed, channels)
        mask = np.random.default_rng(seed).integers(0, 256, image.shape[:2], np.uint8) if masks else None
        laid = None if mask is None else guarded(mask, at_end)
        carried_out.append(check(recipe, guarded(image, at_end), seed, (SETS[-1], kernels), laid))

    holds(law, UNGROUPED, SEEDS_OF_64, st.sampled_from((1, 3, 3, 3)), st.booleans())
    assert kernels.isa == "base" or sum(carried_out)  # where resizes and warps are quick


def images_are_alike(some: list[Any], others: list[Any], recipe: Recipe) -> int:
    """Where both are made natively; how many of the first are."""
    for one, two in zip(some, others, strict=True):
        if one is not None and two is not None:
            np.testing.assert_array_equal(one["image"], two["image"], str(recipe))
    return sum(one is not None for one in some)


def test_masks_change_no_image() -> None:
    def law(recipe: Recipe, seed: int) -> None:
        image = image_of(seed)
        masked = made_by(recipe, image, seed, SETS[-1], np.zeros(image.shape[:2], np.uint8))
        images_are_alike(made_by(recipe, image, seed, SETS[-1]), masked, recipe)

    holds(law, UNGROUPED, SEEDS_OF_64)


def as_files(recipe: Recipe, image: np.ndarray, seed: int) -> int:
    """Holds images in files, of which no more is read than is needed, to the same in memory."""
    found = made_by(recipe, File(image), seed, SETS[-1])
    memory = made_by(recipe, image, seed, SETS[-1])
    # What decoding costs may decide between two ways to the same image, which round otherwise.
    return images_are_alike(found, found if recipe_resamples(recipe) else memory, recipe)


def recipe_resamples(recipe: Recipe) -> bool:
    return any(op_record(step.name).resamples or op_record(step.name).action == "warp" for step in recipe.steps)


def test_files_are_read_as_far_as_they_are_needed() -> None:
    carried_out: list[int] = []
    holds(lambda recipe, seed: carried_out.append(as_files(recipe, image_of(seed), seed)), UNGROUPED, SEEDS_OF_64)
    assert sum(carried_out)


def test_a_planted_fault_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = count()
    spoilt = with_results(lambda result: result.__iadd__(np.float32(next(calls) / 255)))
    monkeypatch.setattr(Program, "run_batch", spoilt)
    recipe = recipe_of(("Rotate", {"p": 1.0}), ("RandomResizedCrop", {"size": [30, 30]}))
    with pytest.raises(AssertionError):
        check(recipe, image_of(3), 0, (SETS[-1], SETS[-1]))


PLANS = """
    StainJitter
    Rotate, HueSaturationValue, StainJitter
    Perspective, Resize: {height: 30, width: 30}
    Perspective: {keep_size: false}, Resize: {height: 30, width: 30}
    Rotate, RandomResizedCrop: {size: [30, 30]}, CoarseDropout
    ColorJitter, RandomBrightnessContrast, GaussNoise, ToGray
    Resize: {height: 40, width: 70}, Pad: {padding: [9, 7]}, Rotate, D4
    SmallestMaxSize: {max_size: 64}, RandomCrop: {height: 40, width: 50}, Rotate
    RandomScale: {scale_limit: 0.3}, Rotate, Affine: {scale: 0.7}, Resize: {height: 30, width: 30}
    Transpose, PadIfNeeded: {fill: 9}, RandomCrop: {height: 99, width: 300}, Affine: {fill: 9, shear: 9}
    Pad: {padding: 60, fill: 9}, Crop: {x_max: 50, y_max: 50}, Affine: {fill: 9, scale: 0.4}
"""
LINES = [line.strip() for line in PLANS.strip().splitlines()]


@pytest.mark.parametrize("steps", [pytest.param(line, marks=[TILTED] * ("Perspective" in line)) for line in LINES])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_plans_make_them(steps: str) -> None:
    """Not Python behind a refusal."""
    recipe = recipe_of(*((name, {**args, "p": 1.0}) for name, args in pool(steps)))
    assert check(recipe, image_of(4), 1, SETS[-1:]) == 4


def test_stains_by_another_factor_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def another(step: Any, **how: bool) -> Any:
        found = encode(step, **how)
        return found and replace(found, arguments=(found.arguments[0] - 0.1, *found.arguments[1:]))

    monkeypatch.setattr(walk, "encode", another)
    assert "draws differently" in build(recipe_of(("StainJitter", {})), "fast").native
