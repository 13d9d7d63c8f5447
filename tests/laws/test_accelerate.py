"""What `ar.accelerate` makes of a Compose: the samples of albumentations under the same draws, in its own types."""

import copy
from dataclasses import replace
from functools import partial
from typing import Any

import albumentations as A
import numpy as np
import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st
from random_recipes import MASKS, MOVES, photo, recipes, sampled, steps_for, targets
from support.checks import SEEDS, holds, planted, planted_faults
from support.programs import with_results

import augrecipes as ar
from augrecipes.accelerate import pipeline
from augrecipes.accelerate.pipeline import ComposePipeline, ComposeRunner
from augrecipes.accelerate.steps import flat, part_sites, sites_of
from augrecipes.compat.guard import collected
from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.lowering.lower import lower, parts_of
from augrecipes.compiler.run.draws import Draws
from augrecipes.compiler.run.program_runner import ProgramRunner
from augrecipes.errors import RecipeError
from augrecipes.ops.records import op_record
from augrecipes.recipe.model import Recipe

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def compose_of(recipe: Recipe) -> Any:
    """The recipe as albumentations has it."""
    try:
        with collected():
            return recipe.to_albumentations("train")
    except RecipeError:
        return None


def sample_of(recipe: Recipe, seed: int, channels: int, dtype: str, mask: str) -> dict[str, Any]:
    sample = targets(recipe, seed, channels, dtype, mask, (37, 52))
    if "boxes" in sample:
        sample["bboxes"] = sample.pop("boxes")
    return sample


def attempt(compose: Any, sample: dict[str, Any]) -> Any:
    """What a call gives, or that it fails."""
    try:
        return compose(**copy.deepcopy(sample))
    except Exception:
        return "fails"


def forms(value: Any) -> Any:
    """Types, dtypes and numbers of axes."""
    if isinstance(value, np.ndarray | torch.Tensor):
        return type(value), value.dtype, value.ndim
    return {key: forms(each) for key, each in value.items()} if isinstance(value, dict) else type(value)


def assert_alike(a: Any, b: Any, rtol: float = 0.0) -> None:
    assert (type(a), getattr(a, "keys", list)()) == (type(b), getattr(b, "keys", list)())
    for key in a if isinstance(a, dict) else ():
        assert forms(a[key]) == forms(b[key]), key
        np.testing.assert_allclose(np.asarray(a[key]), np.asarray(b[key]), rtol=rtol, atol=rtol, err_msg=key)


def check(recipe: Recipe, seed: int, mask: str = "uint8", *, channels: int = 3, dtype: str = "uint8") -> None:
    """`exact` makes the samples of `none`, and either has the keys and types of the Compose."""
    compose = compose_of(recipe)
    if compose is None:
        return
    none, exact = (ar.accelerate(compose, optimize, seed) for optimize in ("none", "exact"))
    sample = sample_of(recipe, seed, channels, dtype, mask)
    for _ in range(3):
        a, b, theirs = (attempt(each, sample) for each in (none, exact, compose))
        assert_alike(a, b)
        if isinstance(a, dict) and isinstance(theirs, dict):
            assert a.keys() == theirs.keys()
            for key in a:
                turns = key == "image" and any(op_record(step.name).changes_dtype for step in recipe.walk())
                by_chance = (
                    turns or key in ("bboxes", "keypoints") or (key == "mask" and sample[key].dtype.itemsize == 8)
                )
                if (
                    not by_chance
                ):  # as a step acts or does not; float64 there where a flip acts, else float32; int32 where OpenCV does
                    assert forms(a[key]) == forms(theirs[key]), key
    assert not exact.why_not


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_exact_is_none(channels: int, dtype: str) -> None:
    made = recipes(steps_for(channels)).flatmap(sampled)
    holds(partial(check, channels=channels, dtype=dtype), made, SEEDS, st.sampled_from(MASKS))


def keyed(compose: Any, seed: int) -> tuple[Any, Draws]:
    """A copy of a Compose whose transforms have the generators that those of `ar.accelerate` have."""
    made, draws = copy.deepcopy(compose), Draws(0)
    transforms = flat(made.transforms)
    for each, site in zip(transforms, sites_of(transforms), strict=True):
        for part, label in zip([each, *parts_of(each)], [site, *part_sites(each, site)], strict=True):
            part.random_generator, part.py_random = draws.add(label)
    return made, draws


def check_albumentations(recipe: Recipe, seed: int, optimize: str = "exact", channels: int = 3) -> None:
    """The image is that of albumentations under the same draws: the same bits, but for the last of a normalisation."""
    compose = compose_of(recipe)
    if compose is None:
        return
    ours = ar.accelerate(compose, optimize, seed)
    theirs, draws = keyed(compose, seed)
    image = photo(seed, channels, "uint8")
    for index in range(3):
        draws.position(ours._stream, index)
        a, b = attempt(ours, {"image": image}), attempt(theirs, {"image": image})
        assert_alike(a, b, rtol=2e-6)


def test_pixels_are_those_of_albumentations() -> None:
    holds(check_albumentations, recipes(steps_for(3), boxes=False).flatmap(sampled), SEEDS)


SIZES: dict[str, dict[str, Any]] = {
    "RandomCrop": {"height": 20, "width": 24}, "CenterCrop": {"height": 20, "width": 24},
    "RandomResizedCrop": {"size": (20, 24)}, "Resize": {"height": 20, "width": 30}, "SmallestMaxSize": {"max_size": 30},
    "RandomSizedCrop": {"min_max_height": (10, 30), "size": (20, 20)}, "LongestMaxSize": {"max_size": 30},
}  # fmt: skip


def failing(compose: Any, sample: dict[str, Any]) -> Any:
    """The image that a call gives, or what it says is wrong."""
    try:
        return compose(**copy.deepcopy(sample))["image"]
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("channels", [1, 3, 5, *(pytest.param(n, marks=pytest.mark.soak) for n in (2, 4, 32))])
def test_images_of_16_bits_are_albumentations_own(channels: int) -> None:
    """Every class, on images that no kernel takes: what albumentations gives, or its own error.

    With 1 and 5 channels every other class each, but in a soak.
    """
    part = slice(channels == 5, None, 2) if channels in (1, 5) and settings.default.max_examples < 1000 else slice(None)
    image = np.random.default_rng(channels).integers(900, 3300, (37, 52, channels)).astype(np.uint16)
    sample = {"image": image, "mask": np.ones((37, 52), np.uint8)}
    taken = 0
    classes = [
        (name, cls)
        for name, cls in vars(A).items()
        if isinstance(cls, type) and issubclass(cls, A.ImageOnlyTransform | A.DualTransform)
    ]
    for name, cls in classes[part]:
        try:
            transform = cls(**SIZES.get(name, {}), p=1.0)
        except (TypeError, ValueError):
            continue  # it wants more arguments
        compose = A.Compose([A.HorizontalFlip(p=0.5), transform, A.RandomRotate90(p=0.5)])
        ours, (theirs, draws) = ar.accelerate(compose, seed=3), keyed(compose, 3)
        draws.position(ours._stream, 0)
        a, b = failing(ours, sample), failing(theirs, sample)
        assert type(a) is type(b), name
        if isinstance(b, tuple):
            assert a == b, name
            continue
        taken += 1
        assert (a.dtype, a.shape) == (b.dtype, b.shape), name
        np.testing.assert_array_equal(a, b, err_msg=name)
    assert taken > (60 if part == slice(None) else 25)


def flips() -> list[Any]:
    return [A.HorizontalFlip(p=0.5), A.VerticalFlip(p=0.7), A.Transpose(p=1.0)]


GROUPS = {
    "OneOf": lambda p: A.OneOf(flips(), p=p),
    "SomeOf": lambda p: A.SomeOf(flips(), n=2, p=p),
    "SomeOf, again": lambda p: A.SomeOf(flips(), n=3, replace=True, p=p),
    "RandomOrder": lambda p: A.RandomOrder(flips(), n=2, p=p),
    "RandomOrder, again": lambda p: A.RandomOrder(flips(), n=2, replace=True, p=p),
    "Sequential": lambda p: A.Sequential(flips(), p=p),
    "OneOrOther": lambda p: A.OneOrOther(A.HorizontalFlip(p=1.0), A.VerticalFlip(p=0.4), p=p),
    "in OneOf": lambda p: A.OneOf(
        [A.OneOrOther(*flips()[:2], p=0.2), A.SomeOf(flips(), n=1, p=p), A.NoOp(p=0.4)], p=1.0
    ),
    "channels": lambda p: A.SelectiveChannelTransform(flips()[:2], channels=[0, 2], p=p),
    "a Compose": lambda p: A.Compose(flips(), p=p),
    "nothing": lambda p: A.OneOf([], p=p),
}
AROUND = {
    "alone": lambda group: [group],
    "in front": lambda group: [group, A.Normalize(), A.ToTensorV2()],
    "behind": lambda group: [A.InvertImg(p=0.5), A.Normalize(), group],
    "around": lambda group: [A.Sequential([group, A.Normalize()], p=0.5), A.InvertImg(p=0.5)],
    "behind a function": lambda group: [A.InvertImg(p=0.5), A.Lambda(image=halved, p=0.5), group],
}


def halved(image: np.ndarray, **_: Any) -> np.ndarray:
    return image.astype(np.float32) / 2


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
@pytest.mark.parametrize("group", GROUPS.values(), ids=GROUPS)
def test_groups_wherever_they_stand(group: Any, around: Any) -> None:
    image = photo(0, 3, "uint8", (24, 24))
    for p in (0.5, 1.0):
        compose = A.Compose(around(group(p)))
        theirs, draws = keyed(compose, 0)
        ours = ar.accelerate(compose, "exact", 0)
        for index in range(10):
            draws.position(ours._stream, index)
            assert_alike(attempt(ours, {"image": image}), attempt(theirs, {"image": image}), rtol=2e-6)
        assert not ours.why_not


moved = ComposePipeline.position


def _a_level_on(result: np.ndarray) -> None:
    result += 1


def another_sample(self: ComposePipeline, epoch: int, index: int, tile: int) -> None:
    moved(self, epoch, index + 1, tile)


test_planted_faults_are_found = planted_faults(
    {
        "pixels of kernels": (
            planted(check, recipes(MOVES), SEEDS),
            (Program, "run_batch", with_results(_a_level_on)),
        ),
        "draws of steps": (planted(check, recipes(MOVES), SEEDS), (ComposePipeline, "position", another_sample)),
        "draws of all": (
            planted(check_albumentations, recipes(MOVES, boxes=False), SEEDS),
            (pipeline, "lower", lambda steps: lower([replace(step, site=f"{step.site}!") for step in steps])),
        ),
        "the dtype of masks": (
            planted(check, recipes(MOVES), SEEDS),
            (ComposePipeline, "masks_keep_dtype", False),
            (ComposeRunner, "mask_out", ProgramRunner.mask_out),
        ),
    }
)
