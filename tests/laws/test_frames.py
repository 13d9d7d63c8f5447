"""Frames of one scene share one draw: each is what the recipe makes of it alone, under the same draw."""

from dataclasses import replace
from typing import Any

import albumentations as A
import numpy as np
import pytest
from support.checks import planted_faults
from support.every_class import EACH, STEPS, mask_of, pictures

import augrecipes as ar
from augrecipes.compiler.run import extra_targets
from augrecipes.kinds.image import pipeline
from augrecipes.recipe.model import Output, Recipe, Step
from augrecipes.recipe.parse import parse_text

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
MODES: Any = ("none", "exact", "fast")
TEXT = """
version: 1
recipe: frames
inputs: {mask: optional, boxes: pascal_voc, stack: frames}
output: {dtype: uint8, layout: hwc}
steps: []
"""
BASE = parse_text(TEXT)
FRAMES = [*pictures(4, "uint8")][:3]
MASKS = [mask_of(k) for k in range(3)]
SCENE: dict[str, Any] = {"boxes": np.array([[10.0, 12, 60, 64]]), "box_labels": np.array([3])}
NOT_ALONE = ("ResizeToTarget", "FromFloat")  # of pairs; leaves no image


def recipe_of(step: Step) -> Recipe:
    return replace(BASE, steps=(step,))


def outcome(recipe: Recipe, mode: Any, key: tuple[int, int], section: Any = "train", **given: Any) -> dict[str, Any]:
    made = recipe.compile(section, optimize=mode, seed=5, save_applied_params=True)
    beside = {"cropping_bbox": [10, 10, 60, 60]} if "NearBBox" in str(recipe.steps) else {}
    return dict(made.at(*key)(**SCENE, **beside, **given))


def drawn(value: Any) -> Any:
    """What was drawn, to be compared by `==`: arrays by their bytes."""
    match value:
        case np.ndarray():
            return value.dtype.str, value.shape, value.tobytes()
        case dict():
            return [(key, drawn(each)) for key, each in value.items()]
        case list() | tuple():
            return [drawn(each) for each in value]
    return repr(value)


def law(recipe: Recipe, mode: Any, key: tuple[int, int] = (0, 0), section: Any = "train") -> None:
    """Each frame is what the recipe makes of it alone wherever that draws the same, and so is each mask."""
    frames, masks = np.stack([*FRAMES, FRAMES[0]]), np.stack([*MASKS, MASKS[0]])
    found = outcome(recipe, mode, key, section, images=frames, masks=masks, mask=MASKS[0])
    np.testing.assert_array_equal(found["images"][3], found["images"][0])
    np.testing.assert_array_equal(found["masks"][3], found["masks"][0])
    same, draws = 0, drawn(found["applied"])
    for k, (frame, mask) in enumerate(zip(FRAMES, MASKS, strict=True)):
        alone = outcome(recipe, "none", key, section, image=frame, mask=mask)
        if not k or drawn(alone["applied"]) == draws:
            np.testing.assert_array_equal(found["images"][k], alone["image"])
            np.testing.assert_array_equal(found["masks"][k], alone["mask"])
            np.testing.assert_array_equal(found["boxes"], alone["boxes"])
            same += 1
    assert same


@EACH
def test_every_step(step: Step) -> None:
    if step.name in NOT_ALONE:
        return
    kind = len(str(step.args))
    law(recipe_of(step), MODES[1 + kind % 2], (kind % 5, 0))  # `none` is what alone is compared with


POLICIES = (
    "RandAugment: {n: 3, m: 9}", "TrivialAugment", "AutoAugment: imagenet",
    "OneOf: {steps: [Rotate, GaussNoise, {CoarseDropout: {fill: random}}, RandomFog]}",
    "SomeOf: {n: 2, steps: [HorizontalFlip, ISONoise, {Resize: {height: 30, width: 31}}, ShotNoise]}",
    "RandomOrder: {steps: [D4, {GridDropout: {fill: random}}, ColorJitter]}",
    "Sequential: {p: 0.7, steps: [{OneOf: {steps: [PixelDropout, {XYMasking: {num_masks_x: 1, num_masks_y: 1, "
    "mask_x_length: 9, mask_y_length: 9, fill: random}}]}}, Affine]}",
    "Rotate: {limit: {from: 0, to: 60, epochs: 4}, p: 1.0}", "AugMix",
)  # fmt: skip


@pytest.mark.parametrize("text", POLICIES)
@pytest.mark.parametrize("mode", MODES)
def test_policies_groups_and_schedules(text: str, mode: Any) -> None:
    recipe = parse_text(TEXT.replace("steps: []", f"steps: [{{{text}}}]" if ":" in text else f"steps: [{text}]"))
    for index in range(2):
        law(recipe, mode, (index, 3))


def test_evaluation() -> None:
    recipe = parse_text(TEXT + "eval: [{SmallestMaxSize: {max_size: 50}}, {CenterCrop: {height: 40, width: 44}}]")
    for mode in MODES:
        law(recipe, mode, section="eval")


def test_many_frames_and_grey_ones() -> None:
    """OpenCV takes images of 512 channels; so many frames do not lie side by side in one."""
    steps = "steps: [{Affine: {rotate: [-20, 20], p: 1.0}}, {GaussianBlur: {p: 1.0}}, {CoarseDropout: {p: 1.0}}]"
    recipe = replace(parse_text(TEXT.replace("steps: []", steps)), output=Output())
    grey = np.stack([FRAMES[k % 3][:20, :24, k % 2] for k in range(700)])
    given = {"boxes": np.zeros((0, 4)), "box_labels": np.zeros(0)}
    out = recipe.compile(optimize="fast").at(0)(images=grey, masks=grey % 3, **given)
    assert out["images"].shape == (700, 1, 20, 24)
    assert out["masks"].shape == (700, 20, 24)
    alone = recipe.compile().at(0)(image=grey[699], mask=grey[699] % 3, **given)
    np.testing.assert_array_equal(out["images"][699], alone["image"])
    np.testing.assert_array_equal(out["masks"][699], alone["mask"])


def test_masks_of_frames_stay_beside_boxes_that_go() -> None:
    """Boxes are of the scene: one that is cropped away takes no mask along."""
    recipe = parse_text(TEXT.replace("steps: []", "steps: [{Crop: {x_max: 30, y_max: 30}}]"))
    boxes = {"boxes": np.array([[2.0, 2, 9, 9], [40, 40, 60, 60]]), "box_labels": np.array([1, 2])}
    out = recipe.compile().at(0)(images=np.stack(FRAMES), masks=np.stack(MASKS), **boxes)
    assert (out["box_labels"].tolist(), out["masks"].shape) == ([1], (3, 30, 30))
    with pytest.raises(ar.DataError, match="2 masks for 3 frames"):
        recipe.compile().at(0)(images=np.stack(FRAMES), masks=np.stack(MASKS[:2]), **boxes)


class Grain(A.ImageOnlyTransform):  # type: ignore[misc]
    """Somebody's own step, which draws while it acts."""

    def apply(self, img: np.ndarray, **_: Any) -> np.ndarray:
        grain = self.random_generator.integers(0, 9, img.shape) * (self.py_random.random() < 2)
        return np.clip(img + grain, 0, 255).astype(img.dtype)


class Mean(A.ImageOnlyTransform):  # type: ignore[misc]
    """Somebody's own step, which looks at all frames at once."""

    def apply(self, img: np.ndarray, **_: Any) -> np.ndarray:
        return img

    def apply_to_images(self, images: np.ndarray, **_: Any) -> np.ndarray:
        return np.broadcast_to(images.mean(0), images.shape).astype(images.dtype)


@pytest.fixture
def grainy(own_classes: Any) -> Recipe:
    ar.register(Grain)
    return recipe_of(Step("Grain", p=1.0, site="Grain#1"))


def test_own_classes_draw_once_and_may_act_on_all_frames(grainy: Recipe) -> None:
    for index in range(3):
        law(grainy, MODES[index], (index, 0))
    ar.register(Mean)
    found = outcome(recipe_of(Step("Mean", p=1.0, site="Mean#1")), "none", (0, 0), images=np.stack(FRAMES))["images"]
    np.testing.assert_array_equal(found[0], np.stack(FRAMES).mean(0).astype(np.uint8))


def _by_name(name: str, **args: Any) -> Step:
    return next(step for step in STEPS if step.name == name and args.items() <= step.args.plain().items())


def _skips(act: Any, axes: int, stack: np.ndarray, **params: Any) -> Any:
    """A step that skips a frame."""
    done = [act(part, **params) for part in stack]
    done[1] = stack[1]
    return np.stack(done)


def _draws_again(step: Any, drawn: Any, act: Any, image: np.ndarray, **params: Any) -> Any:
    return act(image, **params)


test_planted_faults_are_caught = planted_faults(
    {
        "a draw for each frame": (
            lambda _: law(recipe_of(_by_name("CoarseDropout", fill="random")), "none"),
            (pipeline, "act_part_by_part", lambda steps, likes: None),
        ),
        "a draw for each frame, of a class that draws while it acts": (
            lambda request: law(request("grainy"), "none"),
            (extra_targets, "_act_as_drawn", _draws_again),
        ),
        "a frame is skipped": (
            lambda _: law(recipe_of(_by_name("InvertImg")), "exact"),
            (extra_targets, "_act_on_parts", _skips),
        ),
        "geometry of one frame alone": (
            lambda _: law(recipe_of(_by_name("Rotate")), "fast"),
            (extra_targets, "_act_on_parts", _skips),
        ),
    }
)
