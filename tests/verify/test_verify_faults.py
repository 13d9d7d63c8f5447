"""KindsAndMessages that `verify` must find, and sound plans over which it must raise no alarm."""

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
import pytest
from planted import (
    COLOURS,
    EXACT,
    GEOMETRY,
    MOVES,
    Fault,
    image,
    labels,
    last_two_swapped,
    noop,
    planted,
    recipe,
    rewritten,
    shifted,
)
from support.every_class import Pool, pool

from augrecipes.compiler.rewrite.rule import Edit, Rule
from augrecipes.compiler.rewrite.rules import RULES
from augrecipes.errors import DataError
from augrecipes.recipe.model import Arguments, Inputs, Keypoints, Output, Recipe, Step, label
from augrecipes.sources.files import read_image
from augrecipes.sources.sample import Sample
from augrecipes.verify import Verification, render_worst, replay, verify
from augrecipes.verify.compare import Build, Comparison
from augrecipes.verify.contract import Promise, SampleRef, promise_of
from augrecipes.verify.run import builder

# Some classes say that they are special cases of others.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

BOXES = "inputs: {boxes: {format: pascal_voc, labels: box_labels}, keypoints: {format: xy}}"
ALL = f"{BOXES[:-1]}, mask: optional}}"
MASKED = "inputs: {mask: required}"
HIDES = """
  - Resize: {height: 80, width: 100}
  - CenterCrop: {height: 60, width: 60}
  - Rotate: {limit: [20, 40], border_mode: constant, p: 1.0}
"""
HIDDEN = "\n  - CenterCrop: {height: 60, width: 60}\n  - Rotate: {limit: [20, 40], border_mode: constant, p: 1.0}\n"
RESIZED = "\n  - RandomCrop: {height: 64, width: 80}\n  - Resize: {height: 48, width: 60}\n"
WINDOW = "\n  - RandomCrop: {height: 64, width: 80}\n  - HorizontalFlip\n"
TABLES = "\n  - RandomGamma: {p: 1.0}\n  - Solarize: {p: 1.0}\n"
JITTER = "\n  - ColorJitter: {brightness: 0.1, contrast: 0, saturation: 0.1, hue: 0, p: 1.0}\n"
LEVELS_OUT, FLOATS = "{dtype: uint8, layout: hwc}", "{dtype: float32, layout: hwc}"


def laws(measured: Verification) -> set[str]:
    return {f"{figure.target} {figure.law}" for figure in measured.broken}


def nothing(done: dict[str, Any]) -> None:
    """No fault."""


# -- sound plans ------------------------------------------------------------------------------------------------------

TURN = "Rotate: {limit: [12, 30], p: 1.0, border_mode: reflect_101}"
WIDE = "Affine: {rotate: [-30, 30], p: 1.0, border_mode: reflect_101}"
CROP = "RandomResizedCrop: {size: [64, 64]}"
TILTED = "ShiftScaleRotate: {p: 1.0}"


def lines(*steps: str) -> str:
    return "".join(f"\n  - {step}" for step in steps) + "\n"


# Steps, inputs, and what comes out.
SOUND: dict[str, tuple[str, str, str]] = {
    **{border: (MOVES.replace("constant", border) + COLOURS, ALL, LEVELS_OUT)
       for border in ("constant", "reflect_101", "replicate")},
    "hides": (HIDES, ALL, LEVELS_OUT),
    "a window": (WINDOW + "  - Resize: {height: 48, width: 60}\n", ALL, LEVELS_OUT),
    "floats": (MOVES + COLOURS, ALL, FLOATS),
    "tables of floats": (TABLES + JITTER, "", FLOATS),
    "levels that are rounded otherwise": (JITTER, "", LEVELS_OUT),
    "a distortion": (lines("GridDistortion: {p: 1.0}", TILTED, "Resize: {height: 60, width: 90}"), MASKED, LEVELS_OUT),
    "distortions between": (
        lines(TURN, "ElasticTransform: {alpha: 60, sigma: 6, p: 1.0}", TURN, "RandomScale: {p: 1.0}"), "", LEVELS_OUT,
    ),
    "a shuffle": (lines("RandomGridShuffle: {p: 1.0}", TILTED, "Resize: {height: 60, width: 90}"), MASKED, LEVELS_OUT),
    "the nearest pixel": (
        lines("Rotate: {limit: 20, interpolation: nearest, p: 1.0}", TURN, CROP), MASKED, LEVELS_OUT,
    ),
    "folds": (lines(TURN, CROP, WIDE), MASKED, LEVELS_OUT),
    "a coarse grid": (
        lines("Resize: {height: 32, width: 32}", TURN, "Resize: {height: 96, width: 96}"), MASKED, LEVELS_OUT,
    ),
    "a fine grid": (
        lines("Resize: {height: 260, width: 260}", TURN, "Resize: {height: 48, width: 64}"), MASKED, LEVELS_OUT,
    ),
    "colours before a window": (
        lines(WIDE, "HueSaturationValue: {p: 1.0}", "RandomCrop: {height: 60, width: 70}"), MASKED, LEVELS_OUT,
    ),
    "colours of several": (
        lines(TURN, "OneOf: {p: 0.9, steps: [ToSepia, InvertImg]}", "SmallestMaxSize: {max_size: 64}",
              "CenterCrop: {height: 56, width: 60}"), MASKED, LEVELS_OUT,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SOUND)
def test_sound_plans_raise_no_alarm(data: Path, name: str) -> None:
    steps, inputs, output = SOUND[name]
    measured = verify(recipe(steps, inputs, output), data / ("list.csv" if inputs else "images"), samples=8)
    assert measured.ok, measured.broken
    assert measured.promise.geometry or "levels" in name or "window" in name or "tables" in name


@pytest.mark.parametrize("optimize", ["none", "exact"])
def test_plans_that_change_no_bit(data: Path, optimize: Any) -> None:
    measured = verify(recipe(MOVES + COLOURS, BOXES), data / "list.csv", samples=6, optimize=optimize)
    assert measured.ok
    assert str(measured.promise) == "EXACT"
    assert {figure.worst for figure in measured.figures} == {0.0}
    assert {figure.target for figure in measured.figures} == {"sample", "image", "mask", "boxes", "keypoints"}


def test_a_recipe_against_itself_as_if_warps_were_merged(data: Path) -> None:
    measured = verify(
        recipe(MOVES + COLOURS, BOXES), data / "list.csv", samples=6, build=planted(nothing), promise=GEOMETRY
    )
    assert measured.ok
    assert {figure.law for figure in measured.figures} == {
        "outcome", "levels", "colours", "motion", "content", "labels", "elsewhere", "equal",
    }  # fmt: skip


@pytest.mark.parametrize("channels", [1, 4])
def test_other_numbers_of_channels(tmp_path: Path, channels: int) -> None:
    (tmp_path / "a.png").write_bytes(cv2.imencode(".png", image(70, 90, 0, channels))[1].tobytes())
    chosen = recipe(MOVES, f"inputs: {{image: {{channels: {channels}}}}}")
    measured = verify(chosen, tmp_path / "a.png", samples=3)
    assert (measured.ok, measured.samples) == (True, 3), measured.broken


ANY_MOVE: Pool = pool("""
    Rotate: {limit: 90}, Rotate: {limit: 20, crop_border: true, border_mode: wrap}, SafeRotate: {limit: 30},
    Affine: {scale: [0.5, 1.6], rotate: [-20, 20], translate_percent: [-0.1, 0.1], border_mode: reflect},
    Affine: {shear: [-12, 12], rotate: [-45, 45], fit_output: true}, ShiftScaleRotate: {border_mode: replicate},
    Perspective: {scale: [0.02, 0.1], keep_size: false}, RandomResizedCrop: {size: [37, 111], scale: [0.08, 1.0]},
    RandomSizedCrop: {min_max_height: [24, 80], size: [40, 180]}, Resize: {height: 50, width: 180},
    SmallestMaxSize: {max_size: 37}, RandomScale: {scale_limit: [-0.5, 0.6]}, HorizontalFlip, Transpose, D4,
    Rotate: {limit: 30, interpolation: cubic, border_mode: reflect_101}, Resize: {height: 70, width: 64,
    interpolation: area}, RandomCrop: {height: 57, width: 73, pad_if_needed: true}, RandomCropFromBorders,
    PadIfNeeded: {min_height: 120, min_width: 100, border_mode: wrap}, CropAndPad: {percent: [-0.1, 0.1]},
    GridDistortion, OpticalDistortion: {distort_limit: 0.3}, RandomGridShuffle, RandomBrightnessContrast,
    GaussNoise, GaussianBlur, CoarseDropout, InvertImg
""")


def random_recipe(seed: int) -> tuple[Recipe, tuple[int, int]]:
    """A recipe of up to five steps, some in groups, and the size of its images."""
    rng = random.Random(seed)

    def step(depth: int = 1) -> Step:
        if depth and rng.random() < 0.15:
            name = rng.choice(("OneOf", "SomeOf", "Sequential", "RandomOrder"))
            inside = tuple(step(depth - 1) for _ in range(rng.randint(2, 3)))
            return Step(name, Arguments({"n": 2} if name == "SomeOf" else {}), p=rng.choice((None, 0.7)), steps=inside)
        name, args = rng.choice(ANY_MOVE)
        return Step(name, Arguments(args), p=rng.choice((1.0, 1.0, 0.8)))

    steps = label([step() for _ in range(rng.randint(2, 5))])
    inputs = Inputs(keypoints=Keypoints(remove_invisible=False) if rng.random() < 0.2 else None)
    size = rng.choice(((96, 128), (131, 97), (160, 160), (256, 256)))
    return Recipe("random", steps=steps, inputs=inputs, output=Output(dtype="uint8", layout="hwc")), size


def broken_laws(seed: int, samples: int, build: Build | None = None, promise: Promise | None = None) -> set[str]:
    """What is said to be broken in a random recipe."""
    chosen, size = random_recipe(seed)
    build = build or builder("train", 0)
    asked = promise or promise_of(build(chosen, "fast"), "uint8")
    comparison = Comparison(chosen, "train", "fast", build, {"image": "image"}, "uint8", asked)
    for index in range(samples):
        rest: dict[str, Any] = {"mask": labels(*size, index)}
        if chosen.inputs.keypoints:
            rest["keypoints"] = np.array([[size[1] / 3, size[0] / 2]], np.float32)
        comparison.sample(Sample(index, 0, "", {"image": image(*size, index)}, rest), SampleRef(index, 0))
    return {f"{seed} {figure.law}" for figure in comparison.metrics.figures() if not figure.ok}


@pytest.mark.parametrize(
    ("seeds", "samples"), [(range(16, 32), 2), pytest.param(range(1000, 1040), 100, marks=pytest.mark.soak)]
)
def test_sound_plans_of_random_recipes(seeds: range, samples: int) -> None:
    assert [broken_laws(seed, samples) for seed in seeds] == [set()] * len(seeds)


@pytest.mark.parametrize("seed", range(60, 68))
def test_a_shift_is_found_in_every_random_recipe(seed: int) -> None:
    def shift(done: dict[str, Any]) -> None:
        done["image"] = shifted(np.ascontiguousarray(done["image"]), 1.5)

    assert f"{seed} motion" in broken_laws(seed, 2, planted(shift), GEOMETRY)


# -- faults -----------------------------------------------------------------------------------------------------------


def changed(name: str, change: Callable[[Any], Any]) -> Build:
    """Pipelines of which the optimised one makes another thing of a target."""

    def fault(done: dict[str, Any]) -> None:
        done[name] = change(done[name])

    return planted(fault)


def at(*place: int, by: Callable[[Any], Any]) -> Build:
    """Of an image one value is another."""

    def fault(done: dict[str, Any]) -> None:
        done["image"][place] = by(done["image"][place])

    return planted(fault)


def refuse(done: dict[str, Any]) -> None:
    raise DataError("not for these")


def one_box_less(done: dict[str, Any]) -> None:
    done["boxes"], done["box_labels"] = done["boxes"][1:], done["box_labels"][1:]


def forget(name: str) -> Build:
    return rewritten(lambda steps: tuple(noop(step) if step.name == name else step for step in steps))


def off(pixels: float) -> Fault:
    return lambda done: done.update(image=shifted(done["image"], pixels))


def brighter(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Three levels are added to whatever is drawn."""
    other = Arguments({"brightness_limit": [-0.2 + 3 / 255, 0.2 + 3 / 255]})
    return tuple(replace(step, args=other) if step.name == "RandomBrightnessContrast" else step for step in steps)


def smeared(mask: Any) -> Any:
    return np.rint(shifted(mask.astype(np.float32), 0.5)).astype(mask.dtype)


class Case(NamedTuple):
    """What is wrong; which laws are broken, `+` before those beside which others may be; and of what recipe."""

    build: Build
    wanted: str
    promise: Promise | None = None
    steps: str = COLOURS
    more: str = ""
    output: str = LEVELS_OUT


LEVEL, LEVELS, MOTION, CONTENT = Promise(levels=1), "image levels", "+image motion", "+image content"
TWO_OFF = changed("image", lambda image: image + image.dtype.type(2 / 255))
OTHER_DRAWS = rewritten(lambda steps: steps, seed=1)
HUGE = "\n  - RandomCrop: {height: 500, width: 500}\n"
CASES = {
    "one level": Case(at(3, 4, 1, by=lambda value: value ^ 1), LEVELS),
    "one level, allowed": Case(at(3, 4, 1, by=lambda value: value ^ 1), "", LEVEL),
    "two levels": Case(at(0, 0, 0, by=lambda value: value ^ 2), LEVELS, LEVEL),
    "imagenet": Case(TWO_OFF, LEVELS, EXACT, output="{dtype: float32, layout: chw, normalize: imagenet}"),
    "signed": Case(TWO_OFF, LEVELS, EXACT, output="{dtype: float32, layout: hwc, range: [-1, 1]}"),
    "half": Case(TWO_OFF, LEVELS, EXACT, output="{dtype: float16, layout: chw}"),
    "colours beside warps": Case(rewritten(brighter), "image colours", GEOMETRY, MOVES + COLOURS),
    "draws": Case(OTHER_DRAWS, LEVELS),
    "not a number": Case(at(0, 0, 0, by=lambda value: np.nan), LEVELS, output="{dtype: float32}"),
    "not a number beside warps": Case(at(0, 0, 0, by=lambda value: np.nan), CONTENT, GEOMETRY, MOVES, output=FLOATS),
    "half a pixel": Case(planted(off(0.5)), MOTION, GEOMETRY, MOVES),
    "a part of a pixel": Case(planted(off(0.15)), MOTION, GEOMETRY, MOVES),
    "nothing": Case(planted(off(0.0)), "", GEOMETRY, MOVES),
    "a forgotten window": Case(forget("RandomCrop"), CONTENT, GEOMETRY, MOVES),
    # Turned before it is cut, the image fills the corners. Both turn about their middle, which is the same.
    "a border that shows what was hidden": Case(rewritten(lambda steps: steps[::-1]), CONTENT, GEOMETRY, HIDDEN),
    "a window is a pixel off": Case(changed("image", lambda image: np.roll(image, 1, axis=1)), LEVELS, EXACT, WINDOW),
    "a matrix without the half pixel": Case(planted(off(0.125)), MOTION, GEOMETRY, RESIZED),
    "a window that is forgotten": Case(rewritten(last_two_swapped), CONTENT, GEOMETRY, HIDES),
    "draws of warps": Case(OTHER_DRAWS, CONTENT, GEOMETRY, MOVES),
    "labels that are invented": Case(changed("mask", smeared), "+mask labels", GEOMETRY, MOVES, MASKED),
    "labels elsewhere": Case(
        changed("mask", lambda mask: np.roll(mask, 9, axis=1)), "mask elsewhere", GEOMETRY, MOVES, MASKED
    ),
    "a mask that is not mirrored": Case(changed("mask", np.fliplr), "mask elsewhere", GEOMETRY, MOVES, MASKED),
    "labels along edges": Case(
        changed("mask", lambda mask: np.hstack([mask[:, :1], mask[:, :-1]])), "", GEOMETRY, WINDOW, MASKED
    ),
    "labels along edges, exact": Case(
        changed("mask", lambda mask: np.hstack([mask[:, :1], mask[:, :-1]])), "mask labels", EXACT, WINDOW, MASKED
    ),
    "boxes": Case(changed("boxes", lambda a: a + np.float32(0.75)), "boxes equal", GEOMETRY, MOVES, BOXES),
    "boxes, exact": Case(changed("boxes", lambda a: a + np.float32(0.75)), "boxes equal", EXACT, MOVES, BOXES),
    "keypoints": Case(changed("keypoints", lambda a: a + np.float32(0.75)), "keypoints equal", GEOMETRY, MOVES, BOXES),
    "a box too few": Case(planted(one_box_less), "boxes equal", EXACT, MOVES, BOXES),
    "one refuses": Case(planted(refuse), "sample outcome"),
    "the recipe alone refuses": Case(rewritten(lambda steps: ()), "sample outcome", steps=HUGE),
    "another size": Case(changed("image", lambda image: image[1:]), "sample outcome"),
    "another dtype": Case(changed("image", lambda image: image.astype(np.float32)), "sample outcome"),
    "a target is missing": Case(planted(lambda done: done.pop("mask")), "sample outcome", more=MASKED),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_faults_are_found(data: Path, name: str) -> None:
    case = CASES[name]
    where = data / ("list.csv" if case.more else "images")
    chosen = recipe(case.steps, case.more, case.output)
    broken = laws(verify(chosen, where, samples=4, build=case.build, promise=case.promise))
    wanted = {law for law in case.wanted.removeprefix("+").split(", ") if law}
    assert wanted <= broken if case.wanted.startswith("+") else wanted == broken, broken


@pytest.mark.parametrize("pixels", [1.0, 0.5])
@pytest.mark.parametrize(
    "steps", [MOVES, "\n  - Resize: {height: 48, width: 32}\n", "\n  - Resize: {height: 180, width: 200}\n"]
)
def test_how_far_it_is_off_is_measured(data: Path, steps: str, pixels: float) -> None:
    """In pixels of the output, however large these are."""
    measured = verify(recipe(steps), data / "images", samples=4, build=planted(off(pixels)), promise=GEOMETRY)
    assert all(abs(figure.mean - pixels) < 0.35 * pixels for figure in measured.figures if figure.law == "motion")


def test_both_refuse_every_sample(data: Path) -> None:
    with pytest.raises(DataError, match=r"no sample of 3 could be compared; the first: .*0\.png"):
        verify(recipe(HUGE), data / "images", samples=3)


def forget_turns(steps: Any, flow: Any) -> list[Edit]:
    del flow
    turns = [place for place, step in enumerate(steps) if getattr(step, "name", "") == "Rotate"]
    return [Edit(place, place + 1, ()) for place in turns]


def test_a_rule_that_forgets_a_step(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RULES, "fast", (Rule("forget_turns", "", "GEOMETRY", "", "", forget_turns),))
    measured = verify(recipe(MOVES + COLOURS, ALL), data / "list.csv", samples=6)
    assert {"image content", "mask elsewhere"} <= laws(measured)
    assert measured.promise == Promise(True, 0, ("forget_turns",))
    assert "image colours" not in laws(measured)


def test_colours_that_are_joined_may_be_some_levels_off(data: Path) -> None:
    measured = verify(recipe(JITTER), data / "images", samples=3)
    assert (measured.ok, measured.samples, measured.dtype) == (True, 3, "uint8")
    assert "join_colours" in measured.promise.rules
    (levels,) = [figure for figure in measured.figures if figure.law == "levels"]
    assert levels.limit is not None
    assert levels.limit > 4


def test_the_worst_sample_of_floats_can_be_run_again(data: Path, tmp_path: Path) -> None:
    chosen, build = recipe(TABLES, "inputs: {image: {dtype: float32}}", FLOATS), forget("Solarize")
    for file in sorted((data / "images").iterdir()):
        np.save(tmp_path / f"{file.stem}.npy", read_image(file) / np.float32(255))
    measured = verify(chosen, tmp_path, samples=3, build=build)
    assert (measured.dtype, laws(measured), measured.promise) == ("float32", {LEVELS}, EXACT)
    worst = measured.worst[0].place
    again = replay(chosen, tmp_path, worst.number, epoch=worst.epoch, build=build)
    assert again.given.images["image"].dtype == np.float32
    assert np.abs(again.plain["image"] - again.fast["image"]).max() > 0.01
    assert render_worst(measured, tmp_path, build=build).dtype == np.uint8
