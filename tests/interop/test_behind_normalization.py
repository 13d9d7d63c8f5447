"""Steps behind a normalisation come in where they mean the same on 0..255: within one level of the original order."""

from typing import Any

import cv2
import numpy as np
import pytest
from support.every_class import _NEEDED
from support.libraries import torchvision as library

import augrecipes as ar
from augrecipes.compat.albumentations import A
from augrecipes.interop.compose import convert
from augrecipes.interop.draft import FOREIGN, Call, RecipeDraft
from augrecipes.ops import registry
from augrecipes.ops.records import op_record
from augrecipes.ops.refused import REFUSED

MOVED: dict[str, list[str]] = FOREIGN["behind_normalization"]
SCALED = ("ToFloat", {"max_value": 255.0})
INSIDE = ("Normalize", {"mean": (-0.1,) * 3, "std": (1.3,) * 3})  # leaves 0.08..0.85, where nothing is cut
IMAGENET = ("Normalize", {})
MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
OTHERS = ("ToRGB", "Normalize", "ToFloat", "FromFloat", "ToTensorV2")
OF_VALUES = sorted(
    name
    for name, cls in vars(A).items()
    if isinstance(cls, type) and issubclass(cls, A.ImageOnlyTransform) and registry.arguments(name) is not None
    and cls.__module__.startswith("albumentations.") and name not in (*OTHERS, *REFUSED, *MOVED["unlike in floats"])
    and not op_record(name).reads  # their images come with samples, or as files
)  # fmt: skip


def image() -> np.ndarray:
    noise = np.random.default_rng(0).uniform(0, 255, (96, 112, 3)).astype(np.float32)
    return cv2.normalize(cv2.GaussianBlur(noise, (0, 0), 1.5), None, 10, 245, cv2.NORM_MINMAX).astype(np.uint8)


def worst(first: tuple[str, Any], name: str, args: Any, seeds: int = 4) -> float:
    """How many levels the recipe is from the pipeline, with the same draws."""
    steps = [getattr(A, first[0])(**first[1]), getattr(A, name)(**args, p=1.0)]
    recipe = ar.from_albumentations(A.Compose(steps))
    (made, *last) = recipe.to_albumentations().transforms
    found = []
    for seed in range(seeds):
        theirs, ours = (A.Compose(each, seed=seed)(image=image())["image"] for each in (steps, [made, *last[:1]]))
        std = 1.0 if first is SCALED else np.asarray(first[1].get("std", STD))
        found.append(np.abs((theirs - ours) * 255 * std).max())
    return float(max(found))


# Both sides are whole levels but for the floats of the pipeline: of these the nearest level is at most one away.
ONE_LEVEL = 1.5


@pytest.mark.parametrize("name", OF_VALUES)
def test_behind_to_float_every_class_means_the_same(name: str) -> None:
    assert worst(SCALED, name, _NEEDED.get(name, {})) <= ONE_LEVEL


@pytest.mark.parametrize("name", MOVED["filters"])
def test_filters_mean_the_same_behind_a_normalization(name: str) -> None:
    assert worst(INSIDE, name, {}) <= ONE_LEVEL
    if name not in MOVED["cut"]:
        assert worst(IMAGENET, name, {}) <= ONE_LEVEL


@pytest.mark.parametrize("name", MOVED["mixing of channels"])
def test_what_mixes_channels_does_where_all_are_normalized_alike(name: str) -> None:
    assert worst(INSIDE, name, {}) <= ONE_LEVEL


@pytest.mark.parametrize(
    ("first", "name"), [(INSIDE, "RandomGamma"), (INSIDE, "InvertImg"), (SCALED, "ColorJitter"), (IMAGENET, "ToGray")]
)
def test_the_law_sees_a_class_that_means_something_else(
    monkeypatch: pytest.MonkeyPatch, first: tuple[str, Any], name: str
) -> None:
    with pytest.raises(ar.RecipeError, match="stood behind the normalisation"):
        worst(first, name, {})
    monkeypatch.setitem(MOVED, "filters", [*MOVED["filters"], name])
    assert worst(first, name, {}) > ONE_LEVEL


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("PixelDropout", {"dropout_prob": 0.1}), ("PixelDropout", {"dropout_prob": 0.1, "drop_value": 0.5}),
        ("CoarseDropout", {"fill": 0}), ("GridDropout", {"fill": 0.25}), ("Rotate", {"border_mode": 0}),
        ("Affine", {"scale": 0.5}), ("HorizontalFlip", {}),
    ],
)  # fmt: skip
def test_what_fills_in_a_value_fills_in_its_level(name: str, args: Any) -> None:
    assert op_record(name).targets
    assert worst(IMAGENET, name, args) <= ONE_LEVEL


def test_what_is_cut_and_what_is_old_is_said() -> None:
    draft = RecipeDraft("t", "a test")
    old, new = Call("GaussNoise", {"var_limit": [10, 50]}), Call("GaussNoise", {"std_range": [0.1, 0.2]})
    blurred = Call("OneOf", {}, (Call("Blur"), Call("MotionBlur")))
    convert(draft, Call("Compose", {}, (Call("Normalize"), blurred)))
    assert [step.name for step in draft.recipe().steps[0].steps] == ["Blur", "MotionBlur"]
    assert any("cuts what it leaves there" in note for note in draft.notes)
    draft = RecipeDraft("t", "a test")
    convert(draft, Call("Compose", {}, (Call("ToFloat"), old, new)))
    assert [left.name for left in draft.left_out()] == ["GaussNoise"]
    assert [step.args["std_range"] for step in draft.recipe().steps] == [(0.1, 0.2)]


def test_torchvision_blurs_behind_its_normalization() -> None:
    v2 = library("torchvision.transforms.v2")
    import torch

    pixels = torch.from_numpy(image()).permute(2, 0, 1)
    steps = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN.tolist(), STD.tolist()), v2.GaussianBlur(5, 1.3)]
    expected = v2.Compose(steps)(pixels).permute(1, 2, 0).numpy()
    recipe = ar.from_torchvision(v2.Compose(steps))
    found = recipe.compile(optimize="none").at(index=0, epoch=0)(image=image())["image"].transpose(1, 2, 0)
    assert np.abs((found - expected) * 255 * STD).max() <= ONE_LEVEL
