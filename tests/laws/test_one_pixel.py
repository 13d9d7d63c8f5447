"""Images of one row, of one column and of one pixel go through every class, or name it, whatever `optimize` says."""

from collections.abc import Callable
from itertools import product
from typing import Any

import cv2
import numpy as np
import pytest
from kernel_sets import NEEDS_KERNELS
from random_recipes import assert_same, build, outcome
from support.checks import in_a_soak
from support.every_class import STEPS

from augrecipes.ops import pixel_mends
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import arguments, names
from augrecipes.recipe.model import Arguments, Boxes, Inputs, Optimize, Output, Recipe, Step, label

pytestmark = [NEEDS_KERNELS, pytest.mark.filterwarnings("ignore")]
BYTES = Output(dtype="uint8", layout="hwc")
MAKES = ("ToGray", "ToRGB")  # other channels
MORE = [Step(name, Arguments({"num_output_channels": n}), p=1.0) for name in MAKES for n in (1, 2, 4, 23)]


def check(*steps: Step, channels: tuple[int, ...] = (1, 2, 3, 4, 5)) -> None:
    """Holds steps to the law. Their records say whether sizes stay; channels do, but where arguments count them."""
    about_boxes = any("BBox" in step.name for step in steps)
    inputs = Inputs(boxes=Boxes()) if about_boxes else Inputs()
    recipe = Recipe("law", steps=label(steps), inputs=inputs, output=BYTES)
    none, exact, fast = (build(recipe, optimize) for optimize in ("none", "exact", "fast"))
    records = [op_record(step.name) for step in steps]
    stays = all(record.size is None and record.action != "dihedral" for record in records)
    for seed, (rows, columns) in enumerate(((1, 1), (1, 9), (9, 1), (4, 1))):
        for count, floats in product(channels, (False, True)):
            rng = np.random.default_rng(seed)
            image = rng.integers(0, 256, (rows, columns, count), np.uint8)
            mask = rng.integers(0, 3, (rows, columns), np.uint8)
            sample: dict[str, Any] = {"image": np.float32(image / np.float32(255)) if floats else image, "mask": mask}
            if about_boxes:
                sample |= {"boxes": np.float32([[0, 0, columns, rows]]), "box_labels": [1]}
            made, same, quick = (outcome(pipeline, seed, sample) for pipeline in (none, exact, fast))
            assert_same(made, same)
            if not isinstance(made, dict):
                assert made == quick
                continue
            assert [np.shape(quick[name]) for name in sample] == [np.shape(made[name]) for name in sample]
            assert not stays or made["image"].shape[:2] == made["mask"].shape == (rows, columns)
            wanted = steps[0].args.get("num_output_channels", 3 if steps[0].name in MAKES else count)
            assert made["image"].shape[2] == wanted or (steps[0].name, count) in (("ToGray", 1), ("ToRGB", 3))


@pytest.mark.parametrize("step", [*STEPS, *MORE], ids=lambda step: f"{step.name} {step.args.plain() or ''}".strip())
def test_every_class_takes_them_or_is_named(step: Step) -> None:
    check(Step(step.name, step.args, p=1.0), channels=(1, 3))


@pytest.mark.parametrize("behind", ["SolarizeAdd", "RandomSnow", "HorizontalFlip", "Rotate"])
@pytest.mark.parametrize("step", MORE, ids=lambda step: f"{step.name} {step.args.plain() or ''}")
def test_steps_behind_other_channels_take_them_or_are_named(step: Step, behind: str) -> None:
    check(step, Step(behind, p=1.0))


@pytest.mark.parametrize("name", ["ToGray", "ToRGB", "Sharpen"])
def test_lost_axes_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(pixel_mends.GreySharpen if name == "Sharpen" else pixel_mends.NarrowGrey, "apply")
    with pytest.raises(AssertionError):
        check(Step(name, Arguments({"method": "gaussian"} if name == "Sharpen" else {}), p=1.0))


# They come back from every warp, border and interpolation, with the pixels that they have.


BORDERS = ("replicate", "reflect", "reflect_101")  # of these nothing but pixels of the image comes in
OPTIMIZE: tuple[Optimize, ...] = ("none", "exact", "fast")

BESIDE: dict[str, tuple[dict[str, Any], ...]] = {  # in place of no arguments
    "Affine": ({"rotate": [-40, 40], "scale": [0.5, 2.0]}, {"shear": [-20, 20], "fit_output": True}),
    "CropAndPad": ({"px": 1}, {"px": 1, "keep_size": False}),
    "GridDistortion": ({"num_steps": 1},),
    "Perspective": ({}, {"keep_size": False}, {"scale": [0.2, 0.3]}),
    "Rotate": ({}, {"crop_border": True}),
}


def warps() -> list[tuple[str, dict[str, Any]]]:
    """All classes that sample an image and look beyond it."""
    looking = {"border_mode", "interpolation"}
    found = [name for name in names() if looking <= ((arguments(name) or {}).get("properties") or {}).keys()]
    return [(name, args) for name in found for args in BESIDE.get(name, ({},))]


def coming_back(call: Callable[..., Any], interpolation: str) -> Callable[..., Any]:
    """A function of OpenCV that says where it would not come back."""

    def safely(image: np.ndarray, *args: Any, **how: Any) -> Any:
        sampling = how.get(interpolation, 0) & ~cv2.WARP_INVERSE_MAP
        hangs = 1 in image.shape[:2] and (sampling, how.get("borderMode")) == (cv2.INTER_CUBIC, cv2.BORDER_REFLECT_101)
        if hangs:
            pytest.fail("OpenCV would not come back")  # no Exception: those of steps become DataErrors
        return call(image, *args, **how)

    return safely


@pytest.fixture
def nothing_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, interpolation in (("warpAffine", "flags"), ("warpPerspective", "flags"), ("remap", "interpolation")):
        monkeypatch.setattr(cv2, name, coming_back(getattr(cv2, name), interpolation))


def comes_back(name: str, args: dict[str, Any], border: str, sampling: str, times: int) -> None:
    """The law: what `none` makes `exact` makes too, `fast` as large; and of one pixel nothing but that pixel comes.

    `fast` makes one warp of those that come `times` over.
    """
    given = {**args, "border_mode": border, "interpolation": sampling, "mask_interpolation": sampling}
    recipe = Recipe("law", steps=label((Step(name, Arguments(given), p=1.0),) * times), output=BYTES)
    pipelines = [build(recipe, optimize) for optimize in OPTIMIZE]
    for index, shape in enumerate(product((1, 2, 3), repeat=2)):
        rng = np.random.default_rng(index)
        sample = {"image": rng.integers(0, 256, (*shape, 3), np.uint8), "mask": rng.integers(0, 9, shape, np.uint8)}
        none, exact, fast = (outcome(pipeline, index, sample) for pipeline in pipelines)
        assert_same(none, exact)
        if not isinstance(none, dict):  # a crop leaves nothing of it
            assert none == fast
            assert "crop" in str(args) or "Crop" in name
            continue
        for target, came in sample.items():
            assert none[target].shape == fast[target].shape
            if shape == (1, 1):
                assert (none[target] == came).all()
                assert (fast[target] == came).all()


@pytest.mark.usefixtures("nothing_hangs")
@in_a_soak("how", (("linear", "cubic"), (1,)), (("nearest", "linear", "cubic", "area", "lanczos4"), (1, 2)))
@pytest.mark.parametrize(("name", "args"), warps())
def test_lines_come_back_from_every_warp(name: str, args: dict[str, Any], how: Any) -> None:
    for border, sampling, times in product(BORDERS, *how):
        comes_back(name, args, border, sampling, times)


@pytest.mark.usefixtures("nothing_hangs")
@pytest.mark.parametrize("name", ["Affine", "Perspective", "ElasticTransform"])
def test_a_warp_that_does_not_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pixel_mends.cv2, "BORDER_REFLECT", cv2.BORDER_REFLECT_101)
    with pytest.raises(pytest.fail.Exception, match="would not come back"):
        comes_back(name, BESIDE.get(name, ({},))[0], "reflect_101", "cubic", 1)
