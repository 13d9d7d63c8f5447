"""Random recipes that move pixels in every way, and one sample of each compared: what `verify` says of sound plans."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from planted import image, labels

from augrecipes.flow import Dtype
from augrecipes.recipe.model import Arguments, Inputs, Keypoints, Output, Recipe, Step, label
from augrecipes.sources.sample import Sample
from augrecipes.verify.compare import Build, Comparison
from augrecipes.verify.contract import Figure, Promise, SampleRef, promise_of
from augrecipes.verify.run import builder

BORDERS = ("constant", "replicate", "reflect", "reflect_101", "wrap")
SIZES = ((96, 128), (131, 97), (160, 160), (200, 150), (256, 256))


def warps(rng: random.Random) -> tuple[str, dict[str, Any]]:
    """A step that resamples by one matrix."""
    border = {"border_mode": rng.choice(BORDERS)}
    low, high = rng.choice(((0.8, 1.25), (0.5, 1.0), (1.0, 2.0), (0.25, 0.5), (0.6, 1.6)))
    small, large = rng.randint(24, 64), rng.randint(70, 260)
    return rng.choice(
        (
            ("Rotate", {"limit": rng.choice((5, 30, 90)), **border}),
            ("Rotate", {"limit": 20, "crop_border": True, **border}),
            ("SafeRotate", {"limit": 30, **border}),
            ("Affine", {"scale": [low, high], "rotate": [-20, 20], "translate_percent": [-0.1, 0.1], **border}),
            ("Affine", {"shear": [-12, 12], "rotate": [-45, 45], "fit_output": rng.random() < 0.5, **border}),
            ("Affine", {"scale": {"x": [low, high], "y": [0.8, 1.2]}, "keep_ratio": False, **border}),
            ("ShiftScaleRotate", border),
            ("Perspective", {"scale": [0.02, 0.1], "keep_size": rng.random() < 0.7, **border}),
            ("RandomResizedCrop", {"size": [small, large], "scale": [0.08, 1.0]}),
            ("RandomResizedCrop", {"size": [large, large], "scale": [0.3, 1.0]}),
            ("RandomSizedCrop", {"min_max_height": [24, 80], "size": [rng.choice((small, large)), large]}),
            ("Resize", {"height": small, "width": rng.choice((small, large))}),
            ("Resize", {"height": large, "width": large}),
            ("SmallestMaxSize", {"max_size": rng.choice((small, large))}),
            ("LongestMaxSize", {"max_size": rng.choice((small, large))}),
            ("RandomScale", {"scale_limit": [low - 1, high - 1]}),
            ("Resize", {"height": large, "width": small, "interpolation": rng.choice(("nearest", "cubic", "area"))}),
            ("Rotate", {"limit": 30, "interpolation": rng.choice(("nearest", "cubic", "lanczos4")), **border}),
        )
    )


def moves(rng: random.Random) -> tuple[str, dict[str, Any]]:
    """A window, a turn, or padding."""
    border = {"border_mode": rng.choice(BORDERS)}
    pads = {"pad_if_needed": True, **border}
    return rng.choice(
        (
            ("HorizontalFlip", {}),
            ("VerticalFlip", {}),
            ("Transpose", {}),
            ("RandomRotate90", {}),
            ("D4", {}),
            ("RandomCrop", {"height": rng.randint(40, 90), "width": rng.randint(40, 90), **pads}),
            ("CenterCrop", {"height": rng.randint(40, 90), "width": rng.randint(40, 90), **pads}),
            ("RandomCropFromBorders", {}),
            ("PadIfNeeded", {"min_height": 120, "min_width": 100, **border}),
            ("CropAndPad", {"percent": [-0.1, 0.1], "keep_size": rng.random() < 0.5}),
        )
    )


def tears(rng: random.Random) -> tuple[str, dict[str, Any]]:
    """A step that is no matrix."""
    border = {"border_mode": rng.choice(BORDERS[:4])}
    return rng.choice(
        (
            ("GridDistortion", {}),
            ("ElasticTransform", {"alpha": rng.choice((1, 30, 120)), "sigma": rng.choice((4, 12)), **border}),
            ("OpticalDistortion", {"distort_limit": 0.3, **border}),
            ("RandomGridShuffle", {}),
            ("ThinPlateSpline", {}),
            ("GridElasticDeform", {"num_grid_xy": [4, 4], "magnitude": 5}),
        )
    )


def colours(rng: random.Random) -> tuple[str, dict[str, Any]]:
    """A step that leaves pixels in their place."""
    return rng.choice(
        (
            ("RandomBrightnessContrast", {}),
            ("RandomGamma", {}),
            ("GaussNoise", {}),
            ("GaussianBlur", {}),
            ("CoarseDropout", {}),
            ("InvertImg", {}),
            ("NoOp", {}),
        )
    )


def step(rng: random.Random, channels: int, depth: int = 1) -> Step:
    """One step, or a group of some."""
    if depth and rng.random() < 0.15:
        name = rng.choice(("OneOf", "SomeOf", "Sequential", "RandomOrder"))
        children = tuple(step(rng, channels, depth - 1) for _ in range(rng.randint(2, 3)))
        return Step(name, Arguments({"n": 2} if name == "SomeOf" else {}), p=rng.choice((None, 0.7)), steps=children)
    kind = rng.choices((warps, moves, tears, colours), (6, 3, 1, 1))[0]
    name, args = kind(rng)
    if name == "GridElasticDeform" and channels not in (1, 3):
        name, args = "GridDistortion", {}
    return Step(name, Arguments(args), p=rng.choice((1.0, 1.0, 0.8)))


def random_recipe(seed: int) -> tuple[Recipe, int, tuple[int, int]]:
    """A recipe of up to five steps, and the channels and size of its images."""
    rng = random.Random(seed)
    channels = rng.choice((3, 3, 3, 1, 4, 5))
    steps = label([step(rng, channels) for _ in range(rng.randint(2, 5))])
    points = Keypoints(remove_invisible=False) if rng.random() < 0.2 else None
    inputs = Inputs(channels=channels, keypoints=points)
    return (
        Recipe("random", steps=steps, inputs=inputs, output=Output(dtype="uint8", layout="hwc")),
        channels,
        rng.choice(SIZES),
    )


def figures(
    recipe: Recipe, channels: int, size: tuple[int, int], dtype: Dtype, indices: range, build: Build | None = None,
    promise: Promise | None = None,
) -> tuple[Figure, ...]:  # fmt: skip
    """What `verify` measures of the optimiser's plan on some samples; [] where the recipe refuses them all."""
    make = build or builder("train", 0)
    plan = make(recipe, "fast")
    origins = {"image": "image"}
    found = Comparison(recipe, "train", "fast", 0, make, origins, dtype, promise or promise_of(plan, dtype))
    for index in indices:
        rest: dict[str, Any] = {"mask": labels(*size, index)}
        if recipe.inputs.keypoints:
            rest["keypoints"] = np.array([[size[1] / 3, size[0] / 2], [size[1] / 1.5, size[0] / 4]], np.float32)
        given = Sample(index, 0, "", {"image": image(*size, index, channels)}, rest).of(dtype)
        found.sample(given, SampleRef(index, 0, dtype=dtype))
    return found.metrics.figures()
