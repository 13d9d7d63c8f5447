"""Images of 16 bits and floats of a range of their own: each step does to them what it does to floats of 0..1, what
moves pixels moves them to the bit, and pixels of no data mean nothing to any step.
"""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import albumentations as A
import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_recipes import MOVES, OTHERS, assert_same, build, outcome, recipes
from support.checks import SEEDS, in_a_soak, planted_faults, tries
from support.every_class import EACH, SLOW, STEPS, mask_of

import augrecipes as ar
from augrecipes.compiler.run import deep_images
from augrecipes.images.encoded import Encoded
from augrecipes.kinds.image import steps as of_images
from augrecipes.ops import fills
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import record_of
from augrecipes.recipe.model import Arguments, Boxes, Inputs, Normalize, Output, Recipe, Step

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

_FULL, _RANGE = 65535, (100.0, 300.0)
_DEEP = {"uint16": Inputs(dtype="uint16"), "float32": Inputs(dtype="float32", range=_RANGE)}
_LEVELS = 1.02  # of 65535, by which two ways of rounding may differ
# These count, or compare, values that differ by a last bit.
_JUMPS = {"PoissonNoise", "ShotNoise", "UnsharpMask", "Solarize", "SolarizeAdd"}
_STILL = ("HorizontalFlip", "VerticalFlip", "Transpose", "RandomRotate90", "D4", "SquareSymmetry")


@cache
def smooth(seed: int, channels: int, size: tuple[int, int] = (68, 76)) -> np.ndarray:
    """An image of 16 bits of which all levels are used."""
    noise = np.random.default_rng(seed).random((*size, channels), np.float32)
    image = np.dstack([cv2.GaussianBlur(noise[..., k], (0, 0), 2) for k in range(channels)])
    return np.asarray((image - image.min()) / np.ptp(image) * _FULL, np.uint16)


def as_floats(image: np.ndarray, full_range: tuple[float, float] = (0.0, 1.0)) -> np.ndarray:
    low, high = full_range
    return image.astype(np.float32) / np.float32(_FULL) * np.float32(high - low) + np.float32(low)


def made(step: Step, inputs: Inputs, image: np.ndarray, index: int) -> Any:
    """What a step makes of an image, clipped to 0..1, as 16 bits are; or why it makes nothing."""
    boxes = Boxes() if record_of(step).needs == "boxes" else None
    sample: dict[str, Any] = {"image": image, "mask": mask_of(index)}
    sample |= {"boxes": np.array([[5, 5, 40, 40]], np.float32), "box_labels": [1]} if boxes else {}
    recipe = Recipe("t", steps=(step,), inputs=replace(inputs, boxes=boxes), eval=())
    try:
        return np.clip(recipe.compile().at(index)(**sample)["image"], 0, 1)
    except ar.AugrecipesError as error:
        return str(error)


_CHANNELS = (1, 2, 3, 4, 5, 9)


def check_step(step: Step, dtype: str, *, draws: int = 2, counts: tuple[int, ...] = _CHANNELS) -> None:
    for channels in counts:
        image = smooth(channels, channels)
        given = image if dtype == "uint16" else as_floats(image, _RANGE)
        for index in range(draws):
            deep, floats = made(step, _DEEP[dtype], given, index), made(step, Inputs(), as_floats(image), index)
            if isinstance(floats, str) or isinstance(deep, str):
                assert deep == floats
            else:
                assert deep.shape == floats.shape
                assert np.abs(deep - floats).max() * _FULL <= _LEVELS, channels


@EACH
@in_a_soak("draws", 1, 2)
def test_each_step_does_what_it_does_to_floats(step: Step, draws: int) -> None:
    turn = STEPS.index(step) % 2  # each number of channels is tried in one of both, and all in both in a soak
    for k, dtype in enumerate(_DEEP):
        counts = _CHANNELS if draws > 1 else _CHANNELS[(turn + k) % 2 :: 2]
        if not record_of(step).in_levels and step.name not in {*_JUMPS, "FromFloat", "ResizeToTarget"}:
            check_step(step, dtype, draws=1 if step.name in SLOW else draws, counts=counts)


def test_what_knows_256_levels_is_an_error_of_check() -> None:
    for step in STEPS:
        recipe = Recipe("t", steps=(step,), inputs=Inputs(dtype="uint16", boxes=Boxes()), eval=())
        if record_of(step).in_levels or step.name == "FromFloat":
            with pytest.raises(ar.LintError, match="L305 levels-at-depth"):
                recipe.compile()
        else:
            recipe.compile()


@tries(40)
@given(recipe=recipes(MOVES, boxes=False), seed=SEEDS, channels=st.integers(1, 8))
def test_pixels_move_to_the_bit(recipe: Recipe, seed: int, channels: int) -> None:
    check_moves(replace(recipe, inputs=Inputs(), output=Output(dtype="uint8", layout="hwc")), seed, channels)


def check_moves(recipe: Recipe, seed: int, channels: int) -> None:
    """The upper and the lower bytes of 16 bits go through as images of their own, which show where each value went."""
    image = np.random.default_rng(seed).integers(0, _FULL, (37, 52, channels), np.uint16, endpoint=True)
    deep = replace(recipe, inputs=Inputs(dtype="uint16"), output=Output(layout="hwc"))
    found = outcome(build(deep, "exact", seed), 0, {"image": image})
    if isinstance(found, dict):
        upper, lower = (
            outcome(build(recipe, "none", seed), 0, {"image": part.astype(np.uint8)})["image"].astype(np.float64)
            for part in (image >> 8, image & 255)
        )
        np.testing.assert_allclose(found["image"] * _FULL, upper * 256 + lower, atol=0.01)


@pytest.mark.parametrize("full_range", [None, (0.0, 4095.0), (1000.0, 20000.0)])
@pytest.mark.parametrize("channels", [1, 3, 5, 32])
def test_values_leave_as_parts_of_the_range(channels: int, full_range: Any) -> None:
    low, high = full_range or (0, _FULL)
    image = np.random.default_rng(3).integers(low, high, (9, 11, channels), np.uint16, endpoint=True)
    expected = ((image.astype(np.float64) - low) / (high - low)).transpose(2, 0, 1)
    for inputs, arriving in ((Inputs(dtype="uint16", range=full_range), image),
                          (Inputs(dtype="float32", range=(low, high)), image.astype(np.float32))):  # fmt: skip
        plain = Recipe("t", inputs=inputs, eval=()).compile().at(0)(image=arriving)["image"]
        np.testing.assert_allclose(plain, expected, atol=1e-6)
        scaled = Output(normalize=Normalize((0.4,), (0.2,)))
        other = Recipe("t", inputs=inputs, eval=(), output=scaled).compile().at(0)(image=arriving)["image"]
        np.testing.assert_allclose(other, (expected - 0.4) / 0.2, atol=1e-5)


# Pixels of no data.


@st.composite
def with_holes(draw: st.DrawFn) -> tuple[Recipe, int]:
    steps = st.sampled_from((*((name, {}) for name in _STILL), *OTHERS, *MOVES))
    pool = tuple(draw(st.lists(steps, min_size=1, max_size=3)))
    pool = tuple((name, args) for name, args in pool if not op_record(name).in_levels and name != "ResizeToTarget")
    return draw(recipes(pool or (("NoOp", {}),), boxes=False, max_steps=4)), draw(SEEDS)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
@tries(20)
@given(case=with_holes())
def test_what_stands_for_no_data_means_nothing(dtype: str, case: tuple[Recipe, int]) -> None:
    check_nodata(*case, dtype)


def check_nodata(recipe: Recipe, seed: int, dtype: str) -> None:
    """Whatever number says that there is no data: the same comes out, and 0 where nothing is known."""
    levels = smooth(seed, 3, (37, 52))
    valid = np.ones(levels.shape[:2], bool)
    valid[5:15, 8:30] = False
    results = []
    for nodata in (0, 200, *([-9999, "nan"] if dtype == "float32" else [])):
        inputs = Inputs(dtype=dtype, nodata=nodata, range=(50.0, 250.0) if dtype != "uint8" else None)  # type: ignore[arg-type]
        image = (levels >> 9).astype(dtype) + np.array(51).astype(dtype)  # no pixel is any of these numbers
        image[~valid] = np.nan if nodata == "nan" else nodata
        output = Output(normalize=Normalize((0.5,), (0.25,)))
        here = replace(recipe, inputs=inputs, output=output)
        results.append(outcome(build(here, "exact", seed), 0, {"image": image, "mask": valid.astype(np.uint8)}))
    first = results[0]
    for other in results[1:]:
        assert_same(first, other)
    if isinstance(first, dict) and not any(op_record(step.name).hides for step in recipe.walk()):
        # The mask shows what is known, but where it is filled: constant borders are 0 in it, as there is no data.
        np.testing.assert_array_equal(first["image"][:, first["mask"] == 0], 0)
        assert not first["mask"].any() or first["image"][:, first["mask"] == 1].any()


def test_no_data_is_out_of_statistics() -> None:
    step = Step("RandomBrightnessContrast", Arguments({"brightness_by_max": False, "contrast_limit": 0.5}), p=1.0)
    image = smooth(1, 3)
    whole, part = image.copy(), image[20:]
    whole[:20] = 0
    made_of = [
        Recipe("t", steps=(step,), inputs=inputs, eval=()).compile().at(0)(image=given)["image"]
        for inputs, given in ((Inputs(dtype="uint16", nodata=0), whole), (Inputs(dtype="uint16"), part))
    ]
    np.testing.assert_allclose(made_of[0][:, 20:], made_of[1], atol=2e-5)
    assert not made_of[0][:, :20].any()


_WARPS: dict[str, dict[str, Any]] = {
    "Affine": {"rotate": [20, 20], "scale": [0.8, 0.8]}, "Rotate": {"limit": [20, 20]}, "Perspective": {},
    "ElasticTransform": {"alpha": 300, "sigma": 10}, "OpticalDistortion": {"distort_limit": [0.3, 0.3]},
    "ShiftScaleRotate": {"shift_limit": [0.1, 0.1]}, "PadIfNeeded": {"min_height": 90, "min_width": 90},
}  # fmt: skip
_BORDERS = {name: {"border_mode": "constant", **args, "p": 1} for name, args in _WARPS.items()}


@pytest.mark.parametrize("name", _BORDERS)
@pytest.mark.parametrize("said", ["depth: 16, nodata: 0", "nodata: 0"])
def test_edges_of_data_are_not_mixed_with_what_fills_the_rest(name: str, said: str) -> None:
    head = f"version: 1\nrecipe: t\ninputs: {{{said}}}\noutput: {{dtype: uint16, layout: hwc}}"
    text = f"{head}\nsteps: {json.dumps([{name: _BORDERS[name]}])}\neval: []\n"
    targets = "{after: {like: image}, other: {like: image, interpolation: cubic}}"
    image = np.full((68, 76, 3), 150 if said == "nodata: 0" else 30000, np.uint16 if "16" in said else np.uint8)
    image[20:30, 20:30] = 0
    done = ar.load(f"{text}targets: {targets}\n").compile().at(0)(image=image, after=image, other=image)
    for part in (*done.values(), ar.load(text).compile().at(0)(image=image)["image"]):
        assert len(np.unique(part)) == 2, np.unique(part)


def test_numbers_that_are_none_are_refused_unless_they_are_no_data() -> None:
    image = np.full((8, 9, 2), np.nan, np.float32)
    image[:4] = 0.5
    for nodata, refused in ((None, True), (0, True), ("nan", False)):
        pipeline = Recipe("t", inputs=Inputs(dtype="float32", nodata=nodata), eval=()).compile()  # type: ignore[arg-type]
        if refused:
            with pytest.raises(ar.DataError, match="no numbers"):
                pipeline.at(0)(image=image)
        else:
            made = pipeline.at(0)(image=image)["image"]
            assert np.isfinite(made).all()
            assert (made[:, :4] == 0.5).all()
            assert not made[:, 4:].any()


@pytest.mark.parametrize("given", [np.uint8, np.float32, np.int32, np.float64])
def test_other_dtypes_than_the_declared_are_refused(given: Any) -> None:
    pipeline = ar.load("version: 1\nrecipe: t\ninputs: {depth: 16}\nsteps: []\neval: []\n").compile()
    with pytest.raises(ar.DataError, match=r"image.* uint16"):
        pipeline.at(0)(image=np.full((4, 5, 3), 200, given))
    plain = ar.load("version: 1\nrecipe: t\nsteps: []\neval: []\n").compile()
    with pytest.raises(ar.DataError, match=r"inputs: \{depth: 16\}"):
        plain.at(0)(image=np.zeros((4, 5, 3), np.uint16))


def test_any_order_of_bytes_and_of_memory_is_taken() -> None:
    pipeline = ar.load("version: 1\nrecipe: t\ninputs: {depth: 16}\nsteps: [Transpose]\neval: []\n").compile()
    image, mask = smooth(1, 3), mask_of(1).astype(np.uint16)
    want = pipeline.at(0)(image=image, mask=mask)
    for same in (image.astype(">u2"), np.asfortranarray(image), np.repeat(image, 2, axis=1)[:, ::2]):
        same.setflags(write=False)
        assert_same(pipeline.at(0)(image=same, mask=mask.astype(">u2")), want)


def test_recipes_that_differ_in_what_no_data_is_have_digests_of_their_own() -> None:
    heads = ("", ", nodata: 0", ", nodata: 1", ", range: [0, 4095]", ", range: [0, 4095], nodata: 0")
    text = "version: 1\nrecipe: t\ninputs: {{depth: 16{}}}\nsteps: []\neval: []\n"
    assert len({ar.load(text.format(head)).digest for head in heads}) == len(heads)


@pytest.mark.parametrize("depth", ["12", "float64", "'16'", "true"])
def test_all_depths_that_there_are_stand_in_the_error_of_another(depth: str) -> None:
    with pytest.raises(ar.RecipeError, match=r"E402 inputs\.depth: must be one of 8, 16 or float32, got"):
        ar.load(f"version: 1\nrecipe: t\ninputs: {{depth: {depth}}}\nsteps: []\neval: []\n")


def _step(name: str, dtype: str) -> Any:
    return lambda _: check_step(next(step for step in STEPS if step.name == name), dtype)


_FILLED = Step("Rotate", Arguments({"limit": [30, 30], "fill": 128}), p=1.0, site="Rotate#1")


def _as_written(_: Any, apply: Any, img: Any, args: Any, drawn: Any, __: Any) -> Any:
    return apply(img, *args, **drawn)


test_planted_faults_are_caught = planted_faults({
    "eight bits on the way": (
        _step("RandomGamma", "uint16"), (deep_images, "to_unit", lambda image, full: (image >> 8) / np.float32(255)),
    ),
    "the range is forgotten": (
        _step("RandomBrightnessContrast", "float32"),
        (deep_images, "to_unit", lambda image, full: image / np.float32(300)),
    ),
    "fills of another unit": (lambda _: check_step(_FILLED, "float32"), (fills, "_with_fill", _as_written)),
    "no data in statistics": (
        lambda _: test_no_data_is_out_of_statistics(),
        (of_images, "fill_nodata", lambda image, _: (image, None)),
    ),
})  # fmt: skip


# Files.


@pytest.mark.parametrize("first", ["RandomCrop: {height: 24, width: 20}", "RandomResizedCrop: {size: [20, 24], p: 0.5}",
                                   "CenterCrop: {height: 20, width: 24}"])  # fmt: skip
@pytest.mark.parametrize("dtype", ["uint16", "float32"])
def test_a_window_of_a_file_is_all_that_is_decoded(
    first: str, dtype: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And it changes no bit, whatever lies around it."""
    for k in range(4):
        image = smooth(k, 3)
        np.save(tmp_path / f"{k}.npy", image if dtype == "uint16" else as_floats(image, _RANGE))
    said = "depth: 16" if dtype == "uint16" else "depth: float32, range: [100, 300]"
    windows, view = list[Any](), Encoded.view
    monkeypatch.setattr(Encoded, "view", lambda self, *window: (windows.append(window), view(self, *window))[1])

    def images(optimize: str) -> list[Any]:
        steps = f"[{{{first}}}, {{Resize: {{height: 9, width: 8}}}}, {{RandomGamma: {{p: 1}}}}]"
        head = f"version: 1\nrecipe: t\noptimize: {optimize}\ninputs: {{{said}}}"
        data = ar.ImageFolder(tmp_path, ar.load(f"{head}\nsteps: {steps}\neval: []\n"), seed=3)
        return [data[epoch, k]["image"].numpy() for epoch in range(3) for k in range(4)]

    plain, optimised = images("none"), images("exact")
    np.testing.assert_array_equal(plain, optimised)
    areas = [(y1 - y0) * (x1 - x0) for y0, x0, y1, x1 in windows]
    assert areas[:12] == [68 * 76] * 12
    assert min(areas[12:]) < 68 * 76
    if "p: 0.5" not in first:
        assert set(areas[12:]) == {480}


def test_albumentations_keeps_its_own_classes() -> None:
    """What stands in front of a step does not take its place where albumentations builds from dicts."""
    steps = [{"Rotate": {"p": 1.0}}, {"RandomGamma": {"p": 1.0}}, {"GaussNoise": {"channels": 0, "p": 1.0}}]
    head = {"version": 1, "recipe": "t", "steps": steps, "eval": []}
    for inputs in ({"depth": 16, "nodata": 0}, {"channels": 3}):
        ar.load({**head, "inputs": inputs}).compile()
    for name in ("Rotate", "RandomGamma", "GaussNoise"):
        assert type(A.from_dict(A.to_dict(getattr(A, name)()))) is getattr(A, name)
