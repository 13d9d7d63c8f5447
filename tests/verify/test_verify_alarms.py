"""`verify` raises no alarm over sound plans, whatever moves their pixels, and does over plans that are not."""

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
from augrecipes.recipe.model import Arguments, Inputs, Keypoints, Output, Recipe, Step, label
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
    "colours before a resize": [TURN, "ColorJitter: {hue: 0.1, p: 1.0}", "Resize: {height: 48, width: 60}"],
    "colours before a window": [WIDE, "HueSaturationValue: {p: 1.0}", "RandomCrop: {height: 60, width: 70}"],
    "colours before both": [TURN, "RGBShift: {p: 1.0}", "HorizontalFlip", "RandomGamma: {p: 1.0}", CROP],
    "colours by chance": ["ShiftScaleRotate: {p: 0.5}", "RandomBrightnessContrast", "HorizontalFlip", CROP],
    "colours of several": [TURN, "OneOf: {p: 0.9, steps: [ToSepia, InvertImg]}", "SmallestMaxSize: {max_size: 64}",
                           "CenterCrop: {height: 56, width: 60}"],
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
    assert not [one for one in found.figures if one.limit is not None and one.worst > one.limit]
    (share,) = {figure.share for figure in found.figures if figure.law == "displacement" and figure.dtype == "uint8"}
    assert share > 0.05


# Random recipes that move pixels in every way; of arguments in a tuple one is chosen.
BORDERS = ("constant", "replicate", "reflect", "reflect_101", "wrap")
SIZES = ((96, 128), (131, 97), (160, 160), (200, 150), (256, 256))
SMALL, MIDDLE, LARGE = (24, 37, 50, 64), (40, 57, 73, 90), (70, 111, 180, 259)
SCALES = ([0.8, 1.25], [0.5, 1.0], [1.0, 2.0], [0.25, 0.5], [0.6, 1.6])
BORDER: dict[str, Any] = {"border_mode": BORDERS}
PADDED = {"height": MIDDLE, "width": MIDDLE, "pad_if_needed": True, **BORDER}
WARPS: list[tuple[str, dict[str, Any]]] = [
    ("Rotate", {"limit": (5, 30, 90), **BORDER}),
    ("Rotate", {"limit": 20, "crop_border": True, **BORDER}),
    ("SafeRotate", {"limit": 30, **BORDER}),
    ("Affine", {"scale": SCALES, "rotate": [-20, 20], "translate_percent": [-0.1, 0.1], **BORDER}),
    ("Affine", {"shear": [-12, 12], "rotate": [-45, 45], "fit_output": (True, False), **BORDER}),
    ("Affine", {"scale": tuple({"x": x, "y": [0.8, 1.2]} for x in SCALES), "keep_ratio": False, **BORDER}),
    ("ShiftScaleRotate", BORDER),
    ("Perspective", {"scale": [0.02, 0.1], "keep_size": (True, True, False), **BORDER}),
    ("RandomResizedCrop", {"size": tuple([a, b] for a in SMALL for b in LARGE), "scale": [0.08, 1.0]}),
    ("RandomResizedCrop", {"size": tuple([a, a] for a in LARGE), "scale": [0.3, 1.0]}),
    ("RandomSizedCrop", {"min_max_height": [24, 80], "size": tuple([a, b] for a in (40, 180) for b in LARGE)}),
    ("Resize", {"height": SMALL, "width": SMALL + LARGE}),
    ("Resize", {"height": LARGE, "width": LARGE}),
    ("SmallestMaxSize", {"max_size": SMALL + LARGE}),
    ("LongestMaxSize", {"max_size": SMALL + LARGE}),
    ("RandomScale", {"scale_limit": tuple([low - 1, high - 1] for low, high in SCALES)}),
    ("Resize", {"height": LARGE, "width": SMALL, "interpolation": ("nearest", "cubic", "area")}),
    ("Rotate", {"limit": 30, "interpolation": ("nearest", "cubic", "lanczos4"), **BORDER}),
]
# Windows, turns, padding.
MOVES = [(name, {}) for name in ("HorizontalFlip", "VerticalFlip", "Transpose", "RandomRotate90", "D4")]
MOVES += [("RandomCrop", PADDED), ("CenterCrop", PADDED), ("RandomCropFromBorders", {})]
MOVES += [("PadIfNeeded", {"min_height": 120, "min_width": 100, **BORDER})]
MOVES += [("CropAndPad", {"percent": [-0.1, 0.1], "keep_size": (True, False)})]
# What is no matrix.
TEARS = [
    ("GridDistortion", {}),
    ("ElasticTransform", {"alpha": (1, 30, 120), "sigma": (4, 12), "border_mode": BORDERS[:4]}),
    ("OpticalDistortion", {"distort_limit": 0.3, "border_mode": BORDERS[:4]}),
    ("RandomGridShuffle", {}),
    ("ThinPlateSpline", {}),
    ("GridElasticDeform", {"num_grid_xy": [4, 4], "magnitude": 5}),
]
COLOURS = [
    "RandomBrightnessContrast",
    "RandomGamma",
    "GaussNoise",
    "GaussianBlur",
    "CoarseDropout",
    "InvertImg",
    "NoOp",
]


def random_step(rng: random.Random, channels: int, depth: int = 1) -> Step:
    """One step, or a group of some."""
    if depth and rng.random() < 0.15:
        name = rng.choice(("OneOf", "SomeOf", "Sequential", "RandomOrder"))
        children = tuple(random_step(rng, channels, depth - 1) for _ in range(rng.randint(2, 3)))
        return Step(name, Arguments({"n": 2} if name == "SomeOf" else {}), p=rng.choice((None, 0.7)), steps=children)
    pool: Any = rng.choices((WARPS, MOVES, TEARS, [(name, {}) for name in COLOURS]), (6, 3, 1, 1))[0]
    name, given = rng.choice(pool)
    if name == "GridElasticDeform" and channels not in (1, 3):
        name, given = "GridDistortion", {}
    args = {key: rng.choice(value) if isinstance(value, tuple) else value for key, value in given.items()}
    return Step(name, Arguments(args), p=rng.choice((1.0, 1.0, 0.8)))


def random_recipe(seed: int) -> tuple[Recipe, int, tuple[int, int]]:
    """A recipe of up to five steps, and the channels and size of its images."""
    rng = random.Random(seed)
    channels = rng.choice((3, 3, 3, 1, 4, 5))
    steps = label([random_step(rng, channels) for _ in range(rng.randint(2, 5))])
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
