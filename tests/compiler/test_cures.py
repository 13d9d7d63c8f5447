"""Where a step fails on an image the error says what helps."""

from typing import Any

import albumentations as A
import numpy as np
import pytest

import augrecipes as ar

CASES: dict[str, tuple[dict[str, Any], tuple[int, ...], str]] = {
    "small": ({"GridDistortion": {"p": 1}}, (2, 2, 3), "2×2 px with 3 channels is too small .*PadIfNeeded"),
    "short": ({"Downscale": {"p": 1}}, (1, 5, 3), "too small for this step: enlarge"),
    "long": ({"ElasticTransform": {"p": 1}}, (20, 33000, 1), "32,766 px"),
    "deep": ({"HorizontalFlip": {"p": 1}}, (30, 30, 130), "128 channels.*add_targets"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_helps_is_said(name: str) -> None:
    step, shape, said = CASES[name]
    pipeline = ar.load({"version": 1, "recipe": "t", "optimize": "none", "steps": [step], "eval": []}).compile(seed=0)
    with pytest.raises(ar.DataError, match=said):
        pipeline.at(0)(image=np.zeros(shape, np.uint8))


@pytest.mark.usefixtures("own_classes")
@pytest.mark.parametrize("base", [A.ImageOnlyTransform, A.DualTransform])
@pytest.mark.parametrize("behind", [[], ["ColorJitter"], [{"RandomCrop": {"height": 9, "width": 9}}]])
def test_an_own_step_that_returns_other_floats_is_named(base: Any, behind: list[Any]) -> None:
    own = type("Halved", (base,), {"apply": lambda self, img, **params: img * 0.5})
    ar.register(own)
    for optimize in ("none", "exact", "fast"):
        steps = [{"OneOf": {"steps": [{"Halved": {"p": 1}}]}}, *behind]
        made = {"version": 1, "recipe": "t", "optimize": optimize, "steps": steps, "eval": []}
        pipeline = ar.load(made).compile(seed=0)
        with pytest.raises(
            ar.DataError, match=r"step OneOf#1/Halved#1: .*float64.*uint8 .*float32 .*astype\(img.dtype"
        ):
            pipeline.at(0)(image=np.zeros((30, 30, 3), np.uint8))
        done = pipeline.at(0)(image=np.zeros((30, 30, 3), np.float32))  # of which the half is float32
        assert done["image"].dtype == np.float32


def test_images_of_unlike_channels_are_told_apart() -> None:
    made = {"version": 1, "recipe": "t", "steps": [{"GaussNoise": {"p": 1}}], "eval": []}
    pipeline = ar.load(made).compile(seed=0)
    pipeline.add_targets({"other": "image"})
    colour, grey = np.zeros((30, 30, 3), np.uint8), np.zeros((30, 30, 1), np.uint8)
    with pytest.raises(ar.DataError, match="goes along with one of 3 channels"):
        pipeline.at(0)(image=colour, other=grey)


def test_what_a_class_says_of_channels_is_left_alone() -> None:
    made = {"version": 1, "recipe": "t", "optimize": "none", "steps": [{"ISONoise": {"p": 1}}], "eval": []}
    with pytest.raises(ar.DataError) as caught:
        ar.load(made).compile(seed=0).at(0)(image=np.zeros((1, 1, 1), np.uint8))
    assert "too small" not in str(caught.value)


def test_pixels_that_are_no_numbers_are_refused() -> None:
    image = np.full((20, 30, 3), 0.5, np.float32)
    image[3, 4] = np.nan
    made = {"version": 1, "recipe": "t", "steps": [{"HorizontalFlip": {"p": 1}}], "eval": []}
    with pytest.raises(ar.DataError, match=r"no numbers \(NaN\).*nan_to_num"):
        ar.load(made).compile(seed=0).at(0)(image=image)
