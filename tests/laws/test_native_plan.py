"""Samples that a program carries out are those of the steps, bit for bit; and draws are those of the samplers."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import EACH_SET, NEEDS_KERNELS, SETS, guarded, using
from random_recipes import Arguments, Pool, build, label, outcome, pool, recipes
from support.checks import DEAR, holds, planted_faults
from support.programs import a_step_too_far, before_the_last_step, by_programs, one_level_off

from augrecipes.compat import normals
from augrecipes.compiler.executor.inputs import from_bytes
from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.kernels import opencv_bits
from augrecipes.compiler.lowering import encodings, make_program, walk
from augrecipes.compiler.run import program_runner
from augrecipes.native.kernels import Library
from augrecipes.native.op_numbers import DRAWS, EFFECTS
from augrecipes.ops.constants import LINEAR
from augrecipes.ops.native_op import NativeOp
from augrecipes.recipe.model import Optimize, Output, Recipe, Step

pytestmark = NEEDS_KERNELS
NATIVE: Pool = pool("""
    HorizontalFlip, VerticalFlip, Transpose, RandomRotate90, D4, SquareSymmetry, RandomCrop: {height: 11, width: 13},
    CenterCrop: {height: 14, width: 16}, Crop: {x_min: 2, y_min: 1, x_max: 12, y_max: 13},
    Resize: {height: 33, width: 22}, Resize: {height: 16, width: 15, interpolation: nearest},
    Resize: {height: 30, width: 41, interpolation: cubic}, RandomResizedCrop: {size: [12, 18], interpolation: cubic},
    RandomScale: {scale_limit: 0.7, interpolation: cubic, area_for_downscale: image},
    RandomResizedCrop: {size: [21, 27]}, RandomResizedCrop: {size: [21, 17], scale: [0.8, 1.0], ratio: [2.0, 9.0]},
    RandomResizedCrop: {size: [11, 11], area_for_downscale: image},
    RandomSizedCrop: {min_max_height: [9, 20], size: [15, 18], w2h_ratio: 1.3}, NoOp,
    Resize: {height: 30, width: 41, area_for_downscale: image}, SmallestMaxSize: {max_size: 24, interpolation: area},
    SmallestMaxSize: {max_size: [20, 40]}, LongestMaxSize: {max_size_hw: [31, 22], interpolation: nearest},
    LongestMaxSize: {max_size: 25, area_for_downscale: image}, RandomScale: {scale_limit: [-0.6, 1.1]},
    RandomScale: {scale_limit: 0.3, interpolation: nearest, area_for_downscale: image_mask},
    PadIfNeeded: {min_height: 33, min_width: 40, fill: [3, 200, 7], position: random},
    PadIfNeeded: {min_height: null, pad_height_divisor: 16, min_width: 30, border_mode: wrap},
    Pad: {padding: [4, 90], border_mode: reflect_101}, Pad: {padding: [4, 0, 9, 1], border_mode: reflect},
    RandomCrop: {height: 24, width: 30, pad_if_needed: true, fill: 17},
    RandomCrop: {height: 9, width: 37, pad_if_needed: true, border_mode: replicate},
    CenterCrop: {height: 35, width: 8, pad_if_needed: true, pad_position: bottom_right},
    Crop: {x_min: 2, y_min: 3, x_max: 35, y_max: 30, pad_if_needed: true, pad_position: top_left}
""")
WARPED: Pool = pool("""
    ShiftScaleRotate, ShiftScaleRotate: {border_mode: reflect_101, rotate_limit: 180}, SafeRotate,
    Rotate: {limit: 40, border_mode: wrap}, Rotate: {limit: [0, 0], fill: 7.0},
    Affine: {scale: [0.8, 1.2], rotate: [-20, 20], shear: [-30, 30], fill: [9, 80, 200]},
    Affine: {translate_px: [-9, 9], rotate: 90, border_mode: replicate},
    SafeRotate: {limit: 30, border_mode: reflect_101, interpolation: nearest}, Perspective,
    Perspective: {scale: [0.1, 0.3], keep_size: false, border_mode: wrap}
""")
BENT: Pool = pool("""
    GridDistortion,
    GridDistortion: {num_steps: 9, distort_limit: [-1, 1], normalized: false, border_mode: reflect_101},
    GridDistortion: {num_steps: 60}, GridDistortion: {num_steps: 1, border_mode: wrap, interpolation: nearest},
    OpticalDistortion, OpticalDistortion: {distort_limit: 2, fill: [9, 80, 200], fill_mask: 7},
    OpticalDistortion: {distort_limit: [-0.9, 0.1], border_mode: replicate}
""")
LEFT: Pool = pool("""
    Spatter, OpticalDistortion: {mode: fisheye}, PixelDropout: {dropout_prob: 0.3},
    XYMasking: {mask_x_length: 3, mask_y_length: 2}
""")
ON_MASKS: Pool = pool("""
    PadIfNeeded: {min_height: 43, min_width: 30, fill: [3, 200, 7], fill_mask: 9},
    Pad: {padding: 7, fill_mask: 255.0}, RandomCrop: {height: 34, width: 30, pad_if_needed: true, fill_mask: 4},
    RandomScale: {scale_limit: [-0.6, 0.4], area_for_downscale: image_mask},
    Resize: {height: 30, width: 21, mask_interpolation: linear}, LongestMaxSize: {max_size: 45},
    CoarseDropout: {fill_mask: 3, hole_height_range: [0.1, 0.4], hole_width_range: [0.1, 0.4]},
    CoarseDropout: {hole_height_range: [0.1, 0.4], hole_width_range: [0.1, 0.4]},
    GridDropout: {fill_mask: 3, holes_number_xy: [3, 2]}, RandomBrightnessContrast, GaussNoise
""")
WARPED_MASKS: Pool = pool("""
    ShiftScaleRotate: {fill_mask: 77},
    Affine: {rotate: [-40, 40], shear: [-20, 20], fill_mask: 255, border_mode: constant},
    Rotate: {mask_interpolation: linear}, SafeRotate: {fill_mask: 77, limit: 170}
""")
NOT_HERE = ("resizes", "no native", "SomeOf is made")  # with OpenCV; kernels; of one that may run a step twice
OUTPUTS = (
    Output(),
    Output(dtype="uint8"),
    Output(dtype="uint8", layout="hwc"),
    Output(layout="hwc", color="bgr"),
    Output(range=(-1.0, 1.0), where="device"),
)


def image_of(seed: int, channels: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (*rng.integers(1, 70, 2), channels), np.uint8)


def labels(seed: int, image: np.ndarray, dtype: Any = np.uint8) -> np.ndarray:
    """A mask of an image, whose values need all bytes of its dtype."""
    values = np.random.default_rng(seed + 1).integers(0, 256, image.shape[:2], np.uint8)
    return values.astype(dtype) if np.dtype(dtype).itemsize == 1 else (values.astype(np.int64) * 127).astype(dtype)


def check(
    recipe: Recipe,
    image: np.ndarray,
    seed: int,
    kernels: Any,
    but: tuple[str, ...] = NOT_HERE,
    mask: np.ndarray | None = None,
) -> int:
    """How many samples had a mask that the program carried out."""
    plain = build(recipe, "none", seed)
    with using(kernels):
        exact = build(recipe, "exact", seed)
        native, on_masks = exact.native, exact.programs.masks()
    assert isinstance(native, Program) or any(why in native for why in but), native
    given = {"image": image} if mask is None else {"image": image, "mask": mask}
    assert mask is None or not isinstance(native, Program) or isinstance(on_masks, Program)
    count = 0
    for index in range(4):
        a, b = outcome(plain, index, given), outcome(exact, index, given)
        if isinstance(a, dict):
            assert isinstance(b, dict)
            for what in given:
                assert a[what].dtype == b[what].dtype
                assert b[what].flags.c_contiguous
                np.testing.assert_array_equal(a[what], b[what])
        else:
            assert a == b
        if mask is not None and on_masks is not None:
            count += by_programs(exact, index, given) is not None
    return count


def warps(kernels: Library) -> bool:
    return opencv_bits.NativeWarp(kernels).body("affine", LINEAR) > 0


def pool_of(kernels: Library, *more: Pool) -> Pool:
    return sum(more, NATIVE) + (WARPED + BENT) * 2 if warps(kernels) else sum(more, NATIVE)


SEEDS_OF_64 = st.integers(0, 2**64 - 1)


@EACH_SET
def test_samples_are_those_of_the_steps(kernels: Library) -> None:
    def law(recipe: Recipe, seed: int, output: Output, channels: int, at_end: bool) -> None:
        if channels != 3 and output.color == "bgr":
            output = Output()
        check(replace(recipe, output=output), guarded(image_of(seed, channels), at_end), seed, kernels)

    made = recipes(pool_of(kernels), boxes=False)
    holds(law, made, SEEDS_OF_64, st.sampled_from(OUTPUTS), st.sampled_from((1, 3, 4)), st.booleans())


def same_levels_in_every_layout(recipe: Recipe, image: np.ndarray, seed: int, optimize: Optimize) -> None:
    """Only a result of H×W×C is written to by steps, and not by the sink alone: of the ops of an output of floats."""
    compiled = build(recipe, optimize, seed)
    outputs = [replace(recipe, output=Output("uint8", layout)) for layout in ("hwc", "chw")]
    made = [compiled.again(replace(compiled.compiled, recipe=output)) for output in outputs]
    for index in range(3):
        rows, planes = (outcome(pipeline, index, {"image": image}) for pipeline in made)
        if isinstance(rows, dict):
            np.testing.assert_array_equal(rows["image"], planes["image"].transpose(1, 2, 0))
        else:
            assert rows == planes


@DEAR
@given(recipes(NATIVE + (WARPED + BENT) * 2, boxes=False), SEEDS_OF_64, st.sampled_from(["exact", "fast"]))
def test_levels_are_the_same_in_every_layout(recipe: Recipe, seed: int, optimize: Optimize) -> None:
    same_levels_in_every_layout(recipe, image_of(seed), seed, optimize)


@pytest.mark.parametrize("last", ["NoOp", "HorizontalFlip", "InvertImg"])
def test_what_is_made_in_between_is_not_made_in_the_result(last: str) -> None:
    """An image that is enlarged, and of the result's size, before it is warped."""
    letterbox = ("LongestMaxSize", {"max_size": 128}), ("PadIfNeeded", {"min_height": 128, "min_width": 128})
    affine = {"scale": [0.7, 1.3], "translate_percent": [-0.1, 0.1], "keep_ratio": True, "fill": 114, "p": 1.0}
    recipe = recipe_of(*letterbox, ("Affine", affine), (last, {"p": 1.0}))
    same_levels_in_every_layout(recipe, image_of(3, 3)[:16, :16].copy(), 0, "fast")


@EACH_SET
def test_masks_are_those_of_the_steps(kernels: Library) -> None:
    carried_out = []
    dtypes = st.sampled_from((np.uint8, np.uint8, np.bool_, np.uint16, np.int16, np.int64, np.float32))

    def law(recipe: Recipe, seed: int, output: Output, dtype: Any, at_end: bool) -> None:
        image = image_of(seed)
        mask = guarded(labels(seed, image, dtype), at_end)
        recipe, but = replace(recipe, output=output), (*NOT_HERE, "runs in Python")
        carried_out.append(check(recipe, guarded(image, at_end), seed, kernels, but=but, mask=mask))

    made = recipes(pool_of(kernels, ON_MASKS * 2, WARPED_MASKS * 2 if warps(kernels) else ()), boxes=False)
    holds(law, made, SEEDS_OF_64, st.sampled_from(OUTPUTS), dtypes, st.booleans())
    assert sum(carried_out)


@DEAR
@given(recipes(NATIVE[:8] + LEFT, boxes=False), SEEDS_OF_64)
def test_samples_in_which_a_step_acts_that_is_not_known_are_those_of_the_steps(recipe: Recipe, seed: int) -> None:
    check(recipe, image_of(seed), seed, SETS[-1], (*NOT_HERE, "runs in Python"))


@contextmanager
def carried_out_by_albumentations(which: int, *others: ModuleType) -> Iterator[None]:
    """Inside, some of the steps are taken to be unknown to the kernels, each by a bit of `which`.

    `others` look for them beside the usual module.
    """
    known, encode_alone = dict[int, bool](), walk.encode_alone

    def some(step: Any, interpolation: int) -> NativeOp | None:
        opaque = known.setdefault(id(step), bool(which >> len(known) & 1))
        return None if opaque else encode_alone(step, interpolation)

    with pytest.MonkeyPatch.context() as patched:
        for module in (walk, *others):
            patched.setattr(module, "encode_alone", some)
        yield


def stop_anywhere(recipe: Recipe, seed: int, which: int, masked: bool) -> None:
    """Samples that go from the kernels to albumentations and back, at any step, are those of the steps."""
    image = image_of(seed)
    with carried_out_by_albumentations(which):
        check(recipe, image, seed, SETS[-1], (*NOT_HERE, "runs in Python"), labels(seed, image) if masked else None)


@DEAR
@given(
    recipes(NATIVE + ON_MASKS + BENT + LEFT, boxes=False), SEEDS_OF_64, st.integers(0, 2**12 - 1),
    st.booleans(),
)  # fmt: skip
def test_a_sample_may_stop_at_any_step(recipe: Recipe, seed: int, which: int, masked: bool) -> None:
    stop_anywhere(recipe, seed, which, masked)


def recipe_of(*steps: tuple[str, dict[str, Any]]) -> Recipe:
    made = (Step(name, Arguments({k: v for k, v in args.items() if k != "p"}), p=args.get("p")) for name, args in steps)
    return Recipe("law", steps=label(tuple(made)))


def held(*steps: tuple[str, dict[str, Any]], image: np.ndarray, dtype: Any = None) -> Callable[[Any], object]:
    """The law for a few steps, with a mask of some dtype."""
    mask = None if dtype is None else labels(3, image, dtype)
    return lambda _: check(recipe_of(*steps), image, 3, SETS[-1], mask=mask)


FLIP, TURN = ("HorizontalFlip", {"p": 1.0}), ("Rotate", {"limit": 45, "p": 1.0})
STOPS = [(name, {"p": 1.0}) for name in ("VerticalFlip", "Spatter", "HorizontalFlip", "InvertImg")]
test_planted_faults_are_found = planted_faults({
    "a level off": (held(FLIP, image=image_of(3)), (Program, "run_batch", one_level_off())),
    "a step is taken to do nothing": (
        held(FLIP, ("Spatter", {}), image=image_of(3)),
        (make_program, "EXIT", replace(make_program.EXIT, draw=DRAWS.NOTHING, effect=EFFECTS.KEEPS)),
    ),
    "bytes of masks are put together otherwise": (
        held(FLIP, TURN, image=image_of(3), dtype=np.uint16),
        (program_runner, "from_bytes", lambda pixels, dtype: from_bytes(pixels[..., ::-1], dtype)),
    ),
    "masks of int16 are warped as others": (  # OpenCV warps them by an older way, which takes other pixels at times
        held(TURN, image=np.zeros((150, 170, 3), np.uint8), dtype=np.int16),
        (encodings, "_BY_MATRIX", ()), (make_program, "matches_reference", lambda *_: True),
    ),
    **{f"a sample goes on {fault.__name__}, {masked}": (
        lambda _, masked=masked: stop_anywhere(recipe_of(*STOPS), 3, 0, masked),
        (Program, "run_batch", fault))
       for fault in (a_step_too_far, before_the_last_step) for masked in (False, True)},
})  # fmt: skip


def test_steps_that_do_something_else_to_masks_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encodings, "_mask_step", lambda step: step)  # as if it were an image
    pipeline = build(recipe_of(("Pad", {"padding": 7, "fill": 1, "fill_mask": 2})), "exact")
    assert isinstance(pipeline.native, Program)
    assert isinstance(pipeline.programs.masks(), str)


def test_other_draws_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    encode: Callable[[Any], NativeOp | None] = walk.encode

    def another(step: Any) -> NativeOp | None:
        found = encode(step)
        return found and replace(found, arguments=(found.arguments[0] + 0.001, *found.arguments[1:]))

    monkeypatch.setattr(walk, "encode", another)
    native = build(recipe_of(("RandomResizedCrop", {"size": [8, 8]})), "exact").native
    assert isinstance(native, Program)
    assert native.opaque


@pytest.mark.parametrize("kernels", [kernels for kernels in SETS if warps(kernels)], ids=lambda kernels: kernels.isa)
def test_warps_are_seldom_left_to_python(kernels: Library) -> None:
    image = np.random.default_rng(0).integers(0, 256, (60, 71, 3), np.uint8)
    for name, args in (*WARPED[:4], *(WARPED[-2:] if normals() else ()), *BENT):
        with using(kernels):
            pipeline = build(recipe_of((name, {**args, "p": 1.0})), "exact")
            native = pipeline.native
        assert isinstance(native, Program), native
        assert sum(native.run_one(0, index, 0, image, np.empty) is None for index in range(300)) <= 3


def test_another_matrix_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    encode: Callable[[Any], NativeOp | None] = walk.encode

    def another(step: Any) -> NativeOp | None:
        found = encode(step)
        return found and replace(
            found, arguments=(*found.arguments[:1], found.arguments[1] + 0.1, *found.arguments[2:])
        )

    monkeypatch.setattr(walk, "encode", another)
    for name in ("Rotate", "SafeRotate", "GridDistortion", "OpticalDistortion", "Perspective"):
        native = build(recipe_of((name, {})), "exact").native
        if isinstance(native, Program) and not native.opaque:
            pytest.fail(f"{name} by other numbers passed")
