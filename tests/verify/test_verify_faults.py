"""Faults that `verify` must find, and sound plans that it must let pass."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import albumentations as A
import cv2
import numpy as np
import pytest
from planted import (
    COLOURS,
    EXACT,
    GEOMETRY,
    MOVES,
    Fault,
    half_pixel_forgotten,
    in_programs,
    last_two_swapped,
    noop,
    of_dtype,
    planted,
    recipe,
    rewritten,
    shifted,
)

from augrecipes.compiler.executor.op import Op
from augrecipes.compiler.rewrite.rule import Edit, Rule
from augrecipes.compiler.rewrite.rules import RULES
from augrecipes.errors import DataError
from augrecipes.native.op_numbers import EFFECTS
from augrecipes.ops.native_op import NativeOp
from augrecipes.recipe.model import Arguments, Step
from augrecipes.verify import Verification, render_worst, replay, verify
from augrecipes.verify.compare import Build
from augrecipes.verify.contract import Promise

BOXES = "inputs: {boxes: {format: pascal_voc, labels: box_labels}, keypoints: {format: xy}}"
ALL = f"{BOXES[:-1]}, mask: optional}}"
KEPT = "inputs: {mask: required}"
HIDES = """
  - Resize: {height: 80, width: 100}
  - CenterCrop: {height: 60, width: 60}
  - Rotate: {limit: [20, 40], border_mode: constant, p: 1.0}
"""
HIDDEN = "\n  - CenterCrop: {height: 60, width: 60}\n  - Rotate: {limit: [20, 40], border_mode: constant, p: 1.0}\n"
RESIZED = "\n  - RandomCrop: {height: 64, width: 80}\n  - Resize: {height: 48, width: 60}\n"
WINDOW = "\n  - RandomCrop: {height: 64, width: 80}\n  - HorizontalFlip\n"


def laws(found: Verification) -> set[str]:
    return {f"{figure.target} {figure.law}" for figure in found.broken}


def nothing(done: dict[str, Any]) -> None:
    """No fault."""


# -- sound plans ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("optimize", ["none", "exact"])
def test_plans_that_change_no_bit(data: Path, optimize: Any) -> None:
    found = verify(recipe(MOVES + COLOURS, BOXES), data / "list.csv", samples=6, optimize=optimize)
    assert found.ok
    assert str(found.promise) == "EXACT"
    assert {figure.worst for figure in found.figures} == {0.0}
    assert {figure.target for figure in found.figures} == {"sample", "image", "mask", "boxes", "keypoints"}


@pytest.mark.parametrize("border", ["constant", "reflect_101", "replicate", "wrap"])
def test_a_recipe_against_itself_as_if_warps_were_merged(data: Path, border: str) -> None:
    text = MOVES.replace("constant", border) + COLOURS
    found = verify(recipe(text, BOXES), data / "list.csv", samples=6, build=planted(nothing), promise=GEOMETRY)
    assert found.ok
    assert {figure.law for figure in found.figures} == {
        "outcome", "levels", "colours", "displacement", "hidden", "truth", "labels", "nearest", "equal",
    }  # fmt: skip
    both = [figure for figure in found.figures if figure.law == "displacement"]
    assert [(figure.dtype, figure.share is not None and figure.share > 0.5) for figure in both] == [
        ("uint8", True), ("float32", True),
    ]  # fmt: skip


@pytest.mark.parametrize("border", ["constant", "reflect_101", "replicate"])
def test_merged_warps_keep_their_contract(data: Path, border: str) -> None:
    found = verify(recipe(MOVES.replace("constant", border) + COLOURS, ALL), data / "list.csv", samples=12)
    assert found.promise.geometry
    assert found.ok, found.broken


@pytest.mark.parametrize("steps", [HIDES, WINDOW + "  - Resize: {height: 48, width: 60}\n"])
def test_what_fast_makes_of_windows_is_sound(data: Path, steps: str) -> None:
    found = verify(recipe(steps, ALL), data / "list.csv", samples=6)
    assert found.ok, found.broken


@pytest.mark.parametrize("channels", [1, 4])
def test_other_numbers_of_channels(tmp_path: Path, channels: int) -> None:
    made = np.random.default_rng(0).integers(0, 256, (70, 90, channels), np.uint8)
    (tmp_path / "a.png").write_bytes(cv2.imencode(".png", made)[1].tobytes())
    chosen = recipe(MOVES, f"inputs: {{image: {{channels: {channels}}}}}")
    found = verify(chosen, tmp_path / "a.png", samples=3, build=planted(nothing), promise=GEOMETRY)
    assert (found.ok, found.samples) == (True, 3)


# -- faults -----------------------------------------------------------------------------------------------------------


def made(name: str, how: Callable[[Any], Any]) -> Build:
    """Pipelines of which the optimised one makes another thing of a target."""

    def fault(done: dict[str, Any]) -> None:
        done[name] = how(done[name])

    return planted(fault)


def at(*place: int, by: Callable[[Any], Any]) -> Build:
    """Of an image one value is another."""

    def fault(done: dict[str, Any]) -> None:
        done["image"][place] = by(done["image"][place])

    return planted(fault)


def fails(of: Any = None) -> Build:
    """It refuses samples of a dtype."""

    def fault(done: dict[str, Any]) -> None:
        if of is None or done["image"].dtype == of:
            raise DataError("not for these")

    return planted(fault)


def one_box_less(done: dict[str, Any]) -> None:
    done["boxes"], done["box_labels"] = done["boxes"][1:], done["box_labels"][1:]


def forget(name: str) -> Build:
    return rewritten(lambda steps: tuple(noop(step) if step.name == name else step for step in steps))


def off(pixels: float) -> Fault:
    return lambda done: done.update(image=shifted(done["image"], pixels))


def crop_first(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    return steps[::-1]


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
    output: str = "{dtype: uint8, layout: hwc}"


LEVEL, LEVELS, PLACE = Promise(levels=1), "image levels", "+image displacement"
TWO_OFF = made("image", lambda image: image + image.dtype.type(2 / 255))
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
    "half a pixel": Case(planted(off(0.5)), PLACE, GEOMETRY, MOVES),
    "a part of a pixel": Case(planted(off(0.05)), PLACE, GEOMETRY, MOVES),
    "nothing": Case(planted(off(0.0)), "", GEOMETRY, MOVES),
    "a forgotten window": Case(forget("RandomCrop"), PLACE, GEOMETRY, MOVES),
    # Turned before it is cut, the image fills the corners. Both turn about their middle, which is the same.
    "a border that shows what was hidden": Case(rewritten(crop_first), "+image hidden", GEOMETRY, HIDDEN),
    "a window is a pixel off": Case(made("image", lambda image: np.roll(image, 1, axis=1)), LEVELS, EXACT, WINDOW),
    "a matrix without the half pixel": Case(planted(half_pixel_forgotten), PLACE, GEOMETRY, RESIZED),
    "a window that is forgotten": Case(rewritten(last_two_swapped), "+image hidden", GEOMETRY, HIDES),
    "draws of warps": Case(OTHER_DRAWS, PLACE, GEOMETRY, MOVES),
    "softer than need be": Case(
        made("image", lambda image: cv2.blur(image, (3, 3))), "image truth", GEOMETRY,
        "\n  - Resize: {height: 48, width: 60}\n",
    ),
    "labels that are invented": Case(made("mask", smeared), "+mask labels", GEOMETRY, MOVES, KEPT),
    "labels elsewhere": Case(
        made("mask", lambda mask: np.roll(mask, 6, axis=1)), "+mask nearest", GEOMETRY, MOVES, KEPT
    ),
    "labels along edges": Case(
        made("mask", lambda mask: np.hstack([mask[:, :1], mask[:, :-1]])), "", GEOMETRY, WINDOW, KEPT
    ),
    "labels along edges, exact": Case(
        made("mask", lambda mask: np.hstack([mask[:, :1], mask[:, :-1]])), "mask labels", EXACT, WINDOW, KEPT
    ),
    "boxes": Case(made("boxes", lambda a: a + np.float32(0.75)), "boxes equal", GEOMETRY, MOVES, BOXES),
    "boxes, exact": Case(made("boxes", lambda a: a + np.float32(0.75)), "boxes equal", EXACT, MOVES, BOXES),
    "keypoints": Case(
        made("keypoints", lambda a: a + np.float32(0.75)), "keypoints equal", GEOMETRY, MOVES, BOXES
    ),
    "a box too few": Case(planted(one_box_less), "boxes equal", EXACT, MOVES, BOXES),
    "one refuses": Case(fails(), "sample outcome"),
    "one refuses floats": Case(fails(np.float32), "sample outcome", GEOMETRY, MOVES),
    "the recipe alone refuses": Case(rewritten(lambda steps: ()), "sample outcome", steps=HUGE),
    "another size": Case(made("image", lambda image: image[1:]), "sample outcome"),
    "another dtype": Case(made("image", lambda image: image.astype(np.float32)), "sample outcome"),
    "a target is missing": Case(planted(lambda done: done.pop("mask")), "sample outcome", more=KEPT),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_faults_are_found(data: Path, name: str) -> None:
    case = CASES[name]
    where = data / ("list.csv" if case.more else "images")
    chosen = recipe(case.steps, case.more, case.output)
    found = laws(verify(chosen, where, samples=4, build=case.build, promise=case.promise))
    wanted = {law for law in case.wanted.removeprefix("+").split(", ") if law}
    assert wanted <= found if case.wanted.startswith("+") else wanted == found, found
    if "hidden" in case.wanted:
        assert "image displacement" not in found


@pytest.mark.parametrize("pixels", [1.0, 0.5, 0.05])
@pytest.mark.parametrize(
    "steps", [MOVES, "\n  - Resize: {height: 48, width: 32}\n", "\n  - Resize: {height: 180, width: 200}\n"]
)
def test_how_far_it_is_off_is_measured(data: Path, steps: str, pixels: float) -> None:
    """In pixels of the output, however large these are."""
    found = verify(recipe(steps), data / "images", samples=4, build=planted(off(pixels)), promise=GEOMETRY)
    # cv2 may round positions to 1/32 px.
    assert all(abs(figure.mean - pixels) < 0.02 for figure in found.figures if figure.law == "displacement")


def test_both_refuse_every_sample(data: Path) -> None:
    with pytest.raises(DataError, match=r"no sample of 3 could be compared; the first: .*0\.png"):
        verify(recipe(HUGE), data / "images", samples=3)


def forget_turns(steps: Any, flow: Any) -> list[Edit]:
    del flow
    return [Edit(place, place + 1, ()) for place, step in enumerate(steps) if getattr(step, "name", "") == "Rotate"]


def test_a_rule_that_forgets_a_step(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RULES, "fast", (Rule("forget_turns", "", "GEOMETRY", "", "", forget_turns),))
    found = verify(recipe(MOVES + COLOURS, ALL), data / "list.csv", samples=6)
    assert {"image displacement", "image truth"} <= laws(found)
    assert found.promises["uint8"] == Promise(True, 0, ("forget_turns",))
    assert "image colours" not in laws(found)


def of_warps(steps: list[Op], change: Callable[[NativeOp], NativeOp]) -> list[Op]:
    """The steps, with other numbers of those that warp."""
    warps = (EFFECTS.WARPS, EFFECTS.MERGES + EFFECTS.WARPS)
    return [replace(one, numbers=change(one.numbers)) if one.numbers.effect in warps else one for one in steps]


def too_far(steps: list[Op], labels: bool) -> list[Op]:
    del labels
    return of_warps(steps, lambda one: replace(one, arguments=tuple(1.01 * limit for limit in one.arguments)))


def other_border(steps: list[Op], labels: bool) -> list[Op]:
    del labels
    return of_warps(
        steps, lambda one: replace(one, effect_arguments=(cv2.BORDER_REFLECT_101, *one.effect_arguments[1:]))
    )


def other_order(steps: list[Op], labels: bool) -> list[Op]:
    del labels
    return [steps[1], steps[0], *steps[2:]]


def mask_forgets(steps: list[Op], labels: bool) -> list[Op]:
    return [one for one in steps if "Flip" not in one.label] if labels else steps


# Of the programs themselves: what they get to do, in which recipe, and the laws that are broken then.
NATIVE: dict[str, tuple[Any, str, str]] = {
    "a turn that goes too far": (too_far, MOVES, "image displacement"),
    "a border that shows the image": (other_border, MOVES, "image hidden"),
    "steps in the wrong order": (other_order, MOVES, "image displacement"),
    "a mask that is not mirrored": (mask_forgets, MOVES, "mask nearest"),
}


@pytest.mark.parametrize("name", NATIVE)
def test_faults_of_programs_are_found(data: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change, steps, wanted = NATIVE[name]
    in_programs(monkeypatch, change)
    found = verify(recipe(steps, KEPT), data / "list.csv", samples=6, dtypes=("uint8",))
    assert wanted in laws(found)


# -- both dtypes of images --------------------------------------------------------------------------------------------

TABLES = "\n  - RandomGamma: {p: 1.0}\n  - Solarize: {p: 1.0}\n"
JITTER = "\n  - ColorJitter: {brightness: 0.1, contrast: 0, saturation: 0.1, hue: 0, p: 1.0}\n"
FLOATS = "{dtype: float32, layout: hwc}"


def test_both_plans_are_compared(data: Path) -> None:
    found = verify(recipe(JITTER), data / "images", samples=3)
    assert found.ok
    assert "join_colours" in found.promises["uint8"].rules
    assert {figure.dtype for figure in found.figures} == set(found.promises) == {"uint8", "float32"}
    assert found.samples == 3
    alone = verify(recipe(TABLES), data / "images", samples=2, dtypes=("float32",))
    assert {figure.dtype for figure in alone.figures} == {"float32"}
    assert alone.promise.rules == ()


@pytest.mark.parametrize(
    ("steps", "more", "output"),
    [
        (MOVES + COLOURS, ALL, FLOATS),
        (TABLES + JITTER, "", FLOATS),
        (JITTER, "", "{dtype: uint8, layout: hwc}"),  # a float that is rounded to another level is no fault
    ],
)
def test_what_fast_makes_is_sound_for_either(data: Path, steps: str, more: str, output: str) -> None:
    found = verify(recipe(steps, more, output), data / ("list.csv" if more else "images"), samples=6)
    assert found.ok, found.broken


def test_floats_are_held_to_a_part_of_a_level(data: Path) -> None:
    """Some levels are allowed where steps round to levels; floats are not rounded."""
    found = verify(recipe(JITTER, output=FLOATS), data / "images", samples=3)
    limits: Any = {figure.dtype: figure.limit for figure in found.figures if figure.law == "levels"}
    assert limits["uint8"] > 4
    assert limits["float32"] < 0.03
    one_level = made("image", lambda image: image + np.float32(1 / 255))
    found = verify(recipe(JITTER, output=FLOATS), data / "images", samples=2, build=one_level)
    assert [(figure.law, figure.dtype) for figure in found.broken] == [("levels", "float32")]


def test_a_step_that_is_lost_on_floats_alone(data: Path) -> None:
    build = of_dtype("float32", forget("Solarize"))
    found = verify(recipe(TABLES, output=FLOATS), data / "images", samples=3, build=build)
    assert [(figure.target, figure.law, figure.dtype) for figure in found.broken] == [("image", "levels", "float32")]
    worst = found.worst[0].place
    assert worst.dtype == "float32"
    again = replay(found.recipe, data / "images", worst.number, epoch=worst.epoch, dtype=worst.dtype, build=build)
    assert again.given.images["image"].dtype == np.float32
    assert np.abs(again.plain["image"] - again.fast["image"]).max() > 0.01
    assert render_worst(found, data / "images", build=build).dtype == np.uint8


def test_a_step_that_takes_no_floats(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both refuse such samples: they are left out, and uint8 is compared all the same."""
    apply = A.ISONoise.apply

    def picky(self: Any, img: np.ndarray, **params: Any) -> Any:
        if img.dtype != np.uint8:
            raise ValueError("not for floats")
        return apply(self, img, **params)

    monkeypatch.setattr(A.ISONoise, "apply", picky)
    found = verify(recipe("\n  - ISONoise: {p: 1.0}\n"), data / "images", samples=3)
    assert found.ok
    assert found.samples == len(found.left_out) == 3
    assert {figure.dtype for figure in found.figures} == {"uint8"}
    assert "not for floats" in str(found.left_out[0])
