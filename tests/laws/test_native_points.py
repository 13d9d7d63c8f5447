"""Steps of programs that change values: their draws are the samplers', their images those of the steps."""

import ctypes
from dataclasses import replace
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import strategies as st
from kernel_sets import EACH_SET, NEEDS_KERNELS, SETS, guarded, using
from random_recipes import Pool, build, label, outcome, pool, recipes
from support.checks import SEEDS, holds
from test_native_draws import KEYS, arguments, draws_are_those
from test_native_plan import OUTPUTS, SEEDS_OF_64, image_of, recipe_of

from augrecipes.compat.albumentations import A
from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.lowering import make_program, walk
from augrecipes.compiler.lowering.walk import encode
from augrecipes.native.kernels import Library, instruction_sets, load, where
from augrecipes.native.op_numbers import EFFECTS
from augrecipes.ops import opencv_variants
from augrecipes.ops.native_op import NativeOp
from augrecipes.recipe.model import Optimize, Output, Recipe, Step

LEAST = load(instruction_sets(ctypes.CDLL(str(where())))[0]) if SETS else None
pytestmark = [NEEDS_KERNELS, pytest.mark.filterwarnings("ignore::UserWarning")]


def _range(low: float, high: float) -> st.SearchStrategy[list[float]]:
    return st.tuples(st.floats(low, high), st.floats(low, high)).map(sorted)


def _whole(low: int, high: int) -> st.SearchStrategy[list[int]]:
    return st.tuples(st.integers(low, high), st.integers(low, high)).map(sorted)


def _odd(low: int, high: int) -> st.SearchStrategy[list[int]]:
    return _whole(low, high).map(lambda ends: [2 * end + 1 for end in ends])


_SIDES = st.one_of(st.tuples(_range(0, 0.9375), _range(0, 0.9375)), st.tuples(_whole(1, 60), _whole(1, 60)))
_FILL = st.one_of(st.integers(0, 255), st.lists(st.integers(0, 255), min_size=3, max_size=3))
_NINE = st.tuples(st.integers(1, 9), st.integers(1, 9))
_BITS = st.one_of(st.integers(1, 7), _whole(1, 7), st.lists(_whole(1, 7), min_size=3, max_size=3))
ARGUMENTS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "RandomBrightnessContrast": arguments(brightness_limit=_range(-1, 1), contrast_limit=_range(-1, 2)),
    "RandomGamma": arguments(gamma_limit=_range(1, 400)),
    "InvertImg": arguments(),
    "Solarize": arguments(threshold_range=_range(0, 1)),
    "Posterize": arguments(num_bits=_BITS),
    "MultiplicativeNoise": arguments(multiplier=_range(0, 3), per_channel=st.booleans()),
    "RGBShift": arguments(**{f"{c}_shift_limit": _range(-255, 255) for c in "rgb"}),
    "AdditiveNoise": arguments(
        noise_params=st.lists(_range(-1, 1), min_size=1, max_size=3)
        .filter(lambda given: len(given) != 2)
        .map(lambda given: {"ranges": given})
    ),
    "AutoContrast": arguments(method=st.sampled_from(["cdf", "pil"])),
    "HueSaturationValue": arguments(**{f"{name}_shift_limit": _range(-255, 255) for name in ("hue", "sat", "val")}),
    "ColorJitter": arguments(
        hue=_range(-0.5, 0.5), **{name: _range(0, 3) for name in ("brightness", "contrast", "saturation")}
    ),
    "ToGray": arguments(),
    "ChannelShuffle": arguments(),
    "Equalize": arguments(),
    "ChannelDropout": arguments(channel_drop_range=_whole(1, 2), fill=st.integers(0, 255)),
    "GaussNoise": arguments(std_range=_range(0, 1), mean_range=_range(-1, 1)),
    "ISONoise": arguments(color_shift=_range(0, 1), intensity=_range(0, 3)),
    "RandomToneCurve": arguments(scale=st.floats(0, 1), per_channel=st.booleans()),
    "Downscale": arguments(
        scale_range=st.one_of(_range(0.02, 0.99), st.just([0.5, 0.5])),
        interpolation_pair=arguments(downscale=st.sampled_from([0, 0, 1, 3]), upscale=st.sampled_from([0, 0, 1, 2, 3])),
    ),
    "CoarseDropout": st.builds(
        lambda count, sides, fill: {
            "num_holes_range": count, "hole_height_range": sides[0], "hole_width_range": sides[1], "fill": fill,
        },
        _whole(1, 20), _SIDES, _FILL,
    ),
    "GridDropout": st.fixed_dictionaries(
        {"ratio": st.floats(0.05, 1), "random_offset": st.booleans(), "shift_xy": st.tuples(*[st.integers(0, 9)] * 2),
         "fill": _FILL},
        optional={"holes_number_xy": _NINE, "unit_size_range": st.just([8, 15])},
    ),
    "Blur": arguments(blur_limit=_odd(1, 7)),
    "Sharpen": arguments(alpha=_range(0, 1), lightness=_range(0, 3)),
    "Emboss": arguments(alpha=_range(0, 1), strength=_range(0, 3)),
    "MotionBlur": arguments(
        blur_limit=_odd(1, 5), angle_range=_range(0, 360), direction_range=_range(-1, 1)
    ),
    "GaussianBlur": arguments(sigma_limit=_range(0.1, 4), blur_limit=st.one_of(st.just([0, 0]), _whole(0, 15))),
    "MedianBlur": arguments(blur_limit=_odd(1, 4)),
    "RandomShadow": arguments(
        shadow_roi=st.tuples(*[st.floats(0, 0.5)] * 2, *[st.floats(0.5, 1)] * 2), num_shadows_limit=_whole(1, 4),
        shadow_dimension=st.integers(3, 9), shadow_intensity_range=_range(0, 1),
    ),
    "ImageCompression": arguments(quality_range=_whole(1, 100)),
    "CLAHE": arguments(clip_limit=_range(1, 20), tile_grid_size=_NINE),
}  # fmt: skip
WARPS = ("Affine", "GridDistortion", "OpticalDistortion", "Perspective", "Rotate")
MOVED: Pool = pool("""
    HorizontalFlip, Transpose, RandomRotate90, RandomCrop: {height: 11, width: 13},
    CenterCrop: {height: 9, width: 8}, Resize: {height: 33, width: 22}, RandomResizedCrop: {size: [21, 27]}
""")


@st.composite
def mixed(draw: st.DrawFn) -> Recipe:
    """A recipe of moves and of steps that change values, with random arguments."""
    names = draw(st.lists(st.sampled_from(sorted(ARGUMENTS)), min_size=1, max_size=4))
    points = tuple((name, draw(ARGUMENTS[name])) for name in names)
    return draw(recipes(MOVED + points * 3, boxes=False).filter(lambda r: not any(step.is_group for step in r.steps)))


def between_pages(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Memory for a result, beside which nobody may write."""
    return guarded(np.zeros(shape, dtype), at_end=bool(shape[-1] % 2))  # type: ignore[no-any-return]


LENGTHS = st.sampled_from((3, 3, 1, 4))


def check(recipe: Recipe, optimize: Optimize, image: np.ndarray, seed: int, kernels: Library) -> int:
    """Samples of the plan beside those of the steps, or in `fast` of the least kernels; how many the plan has made."""
    before, made = image.copy(), 0
    with using(LEAST):
        plain = build(recipe, "none" if optimize == "exact" else optimize, seed)
        expected = [outcome(plain, index, {"image": image}) for index in range(4)]
    with using(kernels):
        native = build(recipe, optimize, seed)
        for index in range(4):
            a, b = expected[index], outcome(native, index, {"image": image})
            if isinstance(native.native, Program):
                made += native.native.run_one(2, index, 0, image, between_pages) is not None
            if not isinstance(a, dict):
                # Where two steps fail, a crop that was moved to the front may be the one that is named.
                assert not isinstance(b, dict) and (a == b or {a, b} <= {step.site for step in recipe.steps})
                continue
            assert isinstance(b, dict)
            assert a["image"].dtype == b["image"].dtype
            np.testing.assert_array_equal(a["image"], b["image"])
    np.testing.assert_array_equal(image, before)
    return made


@pytest.mark.parametrize("optimize", ["exact", "fast"])
@EACH_SET
def test_samples_are_those_of_the_steps(kernels: Library, optimize: Optimize) -> None:
    def law(recipe: Recipe, seed: int, output: Output, channels: int, at_end: bool) -> None:
        if channels != 3 and any(isinstance(step.args.get("num_bits"), tuple | list) for step in recipe.steps):
            channels = 3  # there are bits for three
        if channels != 3 and output.color == "bgr":
            output = Output()
        check(replace(recipe, output=output), optimize, guarded(image_of(seed, channels), at_end), seed, kernels)

    holds(law, mixed(), SEEDS_OF_64, st.sampled_from(OUTPUTS), LENGTHS, st.booleans())


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_each_class_on_images_of_every_size(name: str) -> None:
    def law(arguments: dict[str, Any], seed: int, channels: int, at_end: bool) -> None:
        channels = 3 if isinstance(arguments.get("num_bits"), list) else channels  # there are bits for three
        image = guarded(image_of(seed, channels), at_end)
        for kernels in SETS:
            check(recipe_of((name, {**arguments, "p": 1.0})), "exact", image, seed, kernels)

    holds(law, ARGUMENTS[name], SEEDS_OF_64, LENGTHS, st.booleans())


@pytest.mark.parametrize("angle", [0, 30, 45, 60, 90, 225])
@pytest.mark.parametrize("direction", [-1, 0, 0.5])
def test_lines_that_run_between_pixels_are_those_of_albumentations(angle: float, direction: float) -> None:
    """Where the last bit of a cosine decides, no kernel draws them."""
    ends = {"angle_range": [angle] * 2, "direction_range": [direction] * 2, "allow_shifted": False}
    for side in (3, 5, 7, 11):
        recipe = recipe_of(("MotionBlur", {**ends, "blur_limit": [side, side], "p": 1.0}))
        check(recipe, "exact", image_of(side), side, SETS[-1])


@pytest.mark.parametrize("name", [*sorted(ARGUMENTS), *WARPS])
def test_what_the_last_step_makes_lies_in_the_result_at_once(name: str) -> None:
    """A step before a turn, whose image is written once more, and behind it; and as the last of a group."""
    step, image = Step(name, p=1.0), image_of(8)[:41, :41].copy()
    for other in (Step(turn, p=1.0) for turn in ("VerticalFlip", "HorizontalFlip", "Transpose", "NoOp")):
        for steps in ((step, other), (other, step), (Step("Sequential", steps=(other, step), p=1.0),)):
            recipe = Recipe("law", steps=label(steps), output=Output(dtype="uint8", layout="hwc"))
            check(recipe, "exact", image, 3, SETS[-1])


def is_made(name: str, arguments: dict[str, Any], optimize: Optimize = "exact") -> bool:
    """Whether a step alone, in images of any size, is made by a plan."""
    recipe = recipe_of((name, {**arguments, "p": 1.0}))
    return check(recipe, optimize, image_of(8)[:60, :60].copy(), 3, SETS[-1]) == 4


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_draws_are_those_of_the_sampler(name: str) -> None:
    sides = st.integers(20, 90)
    same = st.just(lambda op: op)
    holds(draws_are_those, st.just(name), ARGUMENTS[name], SEEDS, KEYS, st.tuples(sides, sides), st.just(1.0), same)


USUAL: dict[str, dict[str, Any]] = {"RandomGamma": {"gamma_limit": [50, 90]}}


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_plans_make_them(name: str) -> None:
    """Not Python behind a refusal."""
    assert is_made(name, USUAL.get(name, {}))


OWN = [("GaussNoise", {}), ("GaussNoise", {"per_channel": False, "mean_range": [-0.5, 0.5]}), ("ISONoise", {})]


@pytest.mark.parametrize(("name", "arguments"), OWN)
def test_plans_make_noise_of_our_own(name: str, arguments: dict[str, Any]) -> None:
    assert is_made(name, arguments, "fast")


def _another(step: Any) -> NativeOp | None:
    found = encode(step)
    return found and replace(found, effect=EFFECTS.INVERTS if found.effect != EFFECTS.INVERTS else EFFECTS.GRAYS)


def is_left_to_albumentations(recipe: Recipe) -> None:
    with using(SETS[-1]):
        native = build(recipe, "exact").native
    assert isinstance(native, Program)
    assert native.opaque


def would_be_seen(recipe: Recipe, image: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were the probe not to look, the law would."""
    monkeypatch.setattr(make_program, "matches_reference", lambda *_, **__: True)
    with pytest.raises(AssertionError):
        check(recipe, "exact", image, 3, SETS[-1])


# What OpenCV makes of a row of equal pixels, on several processors, and what is found by it.
ROUNDINGS = [
    ("sums", "addWeighted", [59] * 255, True),
    ("sums", "addWeighted", [60] * 255, False),
    ("sums", "addWeighted", [60] * 240 + [59] * 15, None),
    ("filters", "filter2D", [6] * 252 + [7] * 3, 4),
    ("filters", "filter2D", [6] * 255, 1),
    ("filters", "filter2D", [7] * 255, 0),
    ("hsv", "cvtColor", [(60, 127, 2)] * 240 + [(60, 128, 2)] * 15, None),
]


@pytest.mark.parametrize(("variant", "function", "row", "found"), ROUNDINGS)
def test_roundings_of_other_processors_are_known(
    variant: str, function: str, row: list[Any], found: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cv2, function, lambda *_: np.array([row], np.uint8))
    assert getattr(opencv_variants, variant).__wrapped__() == found


@pytest.mark.parametrize(("name", "variant"), [("ColorJitter", "sums"), ("HueSaturationValue", "hsv")])
def test_roundings_that_no_kernel_has_are_left(name: str, variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opencv_variants, variant, lambda: None)
    is_left_to_albumentations(recipe_of((name, {"p": 1.0})))


@pytest.mark.parametrize(("side", "is_left"), [(7, False), (9, True)])
def test_filters_that_opencv_applies_by_fourier_transforms_are_left(
    side: int, is_left: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    widest = opencv_variants.widest_filter.__wrapped__
    monkeypatch.setattr(cv2, "checkHardwareSupport", lambda feature: feature == 3)
    assert widest() == 11
    monkeypatch.setattr(cv2, "checkHardwareSupport", lambda feature: False)
    monkeypatch.setattr(opencv_variants, "widest_filter", widest)
    with using(SETS[-1]):
        native = build(recipe_of(("MotionBlur", {"blur_limit": [side, side], "p": 1.0})), "exact").native
    assert isinstance(native, Program)
    assert bool(native.opaque) == is_left


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_planted_faults_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "encode", _another)
    recipe = recipe_of((name, {"p": 1.0}))
    is_left_to_albumentations(recipe)
    would_be_seen(recipe, image_of(8), monkeypatch)


def _other_apply(own: Any) -> Any:
    """As where OpenCV or numpy rounds otherwise than the kernels do: one level is another."""

    def apply(step: Any, img: np.ndarray, **drawn: Any) -> np.ndarray:
        made = own(step, img, **drawn).copy()
        made[-1, -1, 0] ^= 1
        return made

    return apply


@pytest.mark.parametrize("name", [*sorted(ARGUMENTS), *WARPS])
def test_a_class_with_other_bits_has_its_work_left(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cls: Any = getattr(A, name)
    recipe, image = recipe_of((name, {**USUAL.get(name, {}), "p": 1.0})), image_of(8)[:60, :60].copy()
    monkeypatch.setattr(cls, "apply", _other_apply(cls.apply))
    is_left_to_albumentations(recipe)
    check(recipe, "exact", image, 3, SETS[-1])
    would_be_seen(recipe, image, monkeypatch)
