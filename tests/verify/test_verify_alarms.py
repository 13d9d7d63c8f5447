"""`verify` raises no alarm over sound plans, whatever moves their pixels, and does over plans that are not."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from planted import (
    GEOMETRY,
    half_pixel_forgotten,
    image,
    labels,
    last_two_swapped,
    noop,
    planted,
    recipe,
    rewritten,
    shifted,
)

from augrecipes.flow import Dtype
from augrecipes.recipe.model import Arguments, Inputs, Keypoints, Output, Recipe, Step
from augrecipes.recipe.sites import label
from augrecipes.sources.sample import Sample
from augrecipes.verify import verify
from augrecipes.verify.compare import Build, Comparison
from augrecipes.verify.contract import Figure, Promise, SampleRef, promise_of
from augrecipes.verify.run import builder

# Some classes say that they are special cases of others.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

MASKED = "inputs: {mask: optional}"
TURN = "Rotate: {limit: [12, 30], p: 1.0, border_mode: reflect_101}"
WIDE = "Affine: {rotate: [-30, 30], p: 1.0, border_mode: reflect_101}"
CROP = "RandomResizedCrop: {size: [64, 64]}"
SOUND = {
    "a distortion": ["GridDistortion: {p: 1.0}", "ShiftScaleRotate: {p: 1.0}", "Resize: {height: 60, width: 90}"],
    "distortions between": [TURN, "ElasticTransform: {alpha: 60, sigma: 6, p: 1.0}", TURN, "RandomScale: {p: 1.0}"],
    "a shuffle": ["RandomGridShuffle: {p: 1.0}", "ShiftScaleRotate: {p: 1.0}", "Resize: {height: 60, width: 90}"],
    "the nearest pixel": ["Rotate: {limit: 20, interpolation: nearest, p: 1.0}", TURN, CROP],
    "folds": [TURN, CROP, WIDE],
    "repeated edges": ["Affine: {rotate: [-9, 9], p: 1.0}", "RandomResizedCrop: {size: [96, 128]}", TURN],
    "a coarse grid": ["Resize: {height: 32, width: 32}", TURN, "Resize: {height: 96, width: 96}"],
    "large, then small": ["Resize: {height: 187, width: 187}", "Rotate: {limit: [3, 20], crop_border: true, p: 1.0}",
                          "Resize: {height: 47, width: 47}"],
    "a fine grid": ["Resize: {height: 260, width: 260}", TURN, "Resize: {height: 48, width: 64}"],
}  # fmt: skip
MERGES = [TURN, "RandomCrop: {height: 60, width: 70}", "Resize: {height: 50, width: 50}"]


def of(steps: list[str], more: str = MASKED) -> Any:
    return recipe("\n" + "\n".join(f"  - {step}" for step in steps) + "\n", more)


@pytest.mark.parametrize("name", SOUND)
def test_what_several_resamplings_blur_is_no_fault(data: Path, name: str) -> None:
    found = verify(of(SOUND[name]), data / "list.csv", samples=8)
    assert found.ok, found.broken
    assert found.promise.geometry
    (share,) = {figure.share for figure in found.figures if figure.law == "displacement" and figure.dtype == "uint8"}
    assert share > 0.05


# Random recipes that move pixels in every way.
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
    found = Comparison(recipe, "train", "fast", make, origins, dtype, promise or promise_of(plan, dtype))
    for index in indices:
        rest: dict[str, Any] = {"mask": labels(*size, index)}
        if recipe.inputs.keypoints:
            rest["keypoints"] = np.array([[size[1] / 3, size[0] / 2], [size[1] / 1.5, size[0] / 4]], np.float32)
        given = Sample(index, 0, "", {"image": image(*size, index, channels)}, rest).of(dtype)
        found.sample(given, SampleRef(index, 0, dtype=dtype))
    return found.metrics.figures()


def alarms(seed: int, samples: int) -> list[Any]:
    """What is said to be broken in a random recipe."""
    made, channels, size = random_recipe(seed)
    dtypes: tuple[Dtype, ...] = ("uint8", "float32")
    found = [figures(made, channels, size, dtype, range(samples)) for dtype in dtypes]
    return [(seed, figure) for of_dtype in found for figure in of_dtype if not figure.ok]


@pytest.mark.parametrize(
    ("seeds", "samples"), [(range(16, 30), 2), pytest.param(range(1000, 1040), 200, marks=pytest.mark.soak)]
)
def test_sound_plans_of_random_recipes(seeds: range, samples: int) -> None:
    assert [alarm for seed in seeds for alarm in alarms(seed, samples)] == []


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize("seed", range(60, 68))
def test_a_shift_is_found_in_every_random_recipe(seed: int, dtype: Dtype) -> None:
    """What is left out of the comparison leaves enough of it: a twentieth of a pixel is seen, wherever places are."""

    def shift(done: dict[str, Any]) -> None:
        done["image"] = shifted(np.ascontiguousarray(done["image"][..., :4]), 0.05)

    made, channels, size = random_recipe(seed)
    if channels > 4:
        pytest.skip("OpenCV shifts four channels at most")
    sound = figures(made, channels, size, dtype, range(2), promise=GEOMETRY)
    (share,) = [figure.share for figure in sound if figure.law == "displacement"]
    faulty = figures(made, channels, size, dtype, range(2), planted(shift), promise=GEOMETRY)
    assert share is not None
    assert share < 0.02 or ("displacement" in {figure.law for figure in faulty if not figure.ok})


def forget(name: str) -> Any:
    return rewritten(lambda steps: tuple(noop(step) if step.name == name else step for step in steps))


def the_second_first(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    return (steps[1], steps[0], *steps[2:])


def other_folds(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Another border shows the image too, but half a pixel further."""
    return of([FOLD.replace("reflect_101", "reflect"), MERGES[-1]]).steps


TORN = ("GridDistortion", "ElasticTransform", "RandomGridShuffle")
FOLD = "Affine: {rotate: [25, 25], scale: [0.6, 0.6], p: 1.0, border_mode: reflect_101}"
HIDES = ["Resize: {height: 80, width: 100}", "CenterCrop: {height: 60, width: 60}"]
HIDES = [*HIDES, "Rotate: {limit: [20, 40], p: 1.0}"]
SHUFFLE = "RandomGridShuffle: {p: 1.0}"
HALF, HIDDEN = planted(half_pixel_forgotten), rewritten(last_two_swapped)
CUT = ["RandomCrop: {height: 64, width: 80}", "Resize: {height: 48, width: 60}"]
# Behind each thing that is no fault, one that is: what the plan runs instead; the steps; the law.
PLANTED: list[tuple[Any, list[str], str]] = [
    *((HALF, [f"{name}: {{p: 1.0}}", TURN, *CUT], "displacement") for name in TORN),
    (HIDDEN, [SHUFFLE, *HIDES], "hidden"),
    (rewritten(lambda steps: (steps[0], steps[2], steps[1], *steps[3:])), [*HIDES, SHUFFLE], "hidden"),
    *((forget(name), [TURN, f"{name}: {{p: 1.0}}", *MERGES], "colours") for name in TORN),
    *((rewritten(lambda steps: steps, seed=1), [MERGES[-1], f"{name}: {{p: 1.0}}"], "colours")
      for name in (*TORN, "PiecewiseAffine")),
    (rewritten(the_second_first), [TURN, "GridDistortion: {p: 1.0}", MERGES[-1]], "displacement"),
    (rewritten(other_folds), [FOLD, MERGES[-1]], "displacement"),
]  # fmt: skip


@pytest.mark.parametrize(("build", "steps", "law"), PLANTED)
def test_faults_beside_what_is_none_are_found(data: Path, build: Any, steps: list[str], law: str) -> None:
    found = verify(of(steps), data / "list.csv", samples=3, build=build, promise=GEOMETRY)
    assert law in {figure.law for figure in found.broken}


def test_ramps_go_through_the_plan_of_the_dtype(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan for uint8 is measured with float ramps, which a plan of its own would be made for."""
    from augrecipes.compiler.rewrite.rule import Edit, Rule
    from augrecipes.compiler.rewrite.rules import RULES

    def careless(steps: Any, flow: Any) -> Any:
        turns = [place for place, step in enumerate(steps) if step.name == "Rotate"]
        return [Edit(place, place + 1, ()) for place in turns if flow.dtype == "uint8"]

    rule = Rule("forget_turns", "", "GEOMETRY", "", "", careless)
    monkeypatch.setitem(RULES, "fast", (rule,))
    found = verify(of(MERGES), data / "list.csv", samples=2)
    assert {figure.dtype for figure in found.broken if figure.law == "displacement"} == {"uint8"}
