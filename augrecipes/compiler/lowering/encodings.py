"""Encode groups, warps and masks as ops of a program.

A group is an op that draws which of the following ops run. A warp resamples by itself, with albumentations' bits, or
merged with others. Masks are images of one channel; masks that are only moved may have pixels of several bytes.

The costs of resampling uint8 RGB are in nanoseconds, and choose between two ways to the same image. They were measured
once and are constants, so that every machine chooses alike and a sample is the same everywhere.
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import choice_of, group_of
from augrecipes.compiler.executor.program_buffer import Op
from augrecipes.compiler.kernels import opencv_bits
from augrecipes.compiler.kernels.opencv_bits import Kind, bends_as_opencv
from augrecipes.compiler.kernels.sink import Sink
from augrecipes.native.kernels import library
from augrecipes.native.op_numbers import DRAWS, EFFECTS, LIMITS, OPTIONS
from augrecipes.ops.constants import LINEAR, NEAREST, NEAREST_MIDDLE
from augrecipes.ops.groups import SOME_OF
from augrecipes.ops.native_op import NO_DRAWS, NO_OP, NativeOp, params_getter
from augrecipes.ops.records import op_record
from augrecipes.recipe.model import UINT8_HWC

# cv2.resize interpolates along rows, then columns: each input row that is needed once, then each output pixel once.
_ROW, _COLUMN = 0.67, 0.7
_HALVED = 1.1  # an output pixel, at 2 : 1 exactly
# cv2.warpAffine on four channels: an output pixel, made RGB again; an input pixel, made RGBA first.
_WARPED, _READ = 2.6, 0.25
# Masks: one channel, nearest pixel.
_LABEL_RESIZED, _LABEL_WARPED = 0.4, 3.4
_CALL = 3000.0
COSTS = _ROW, _COLUMN, _HALVED, _WARPED, _READ, _CALL
_COSTS_OF_LABELS = 0.0, _LABEL_RESIZED, _LABEL_RESIZED, _LABEL_WARPED, 0.0, _CALL
DECODED = 3.0  # a pixel of a JPEG, in all rows down to the last that is needed


# Pairs of a transform, None between steps, and its op.
Unit = Sequence[tuple[Any, Op]]


def lower_group(group: Any, label: str, children: Sequence[Unit], *, shared: bool) -> Unit | None:
    """Encode a group: the op that chooses, then the ops of its children; None where Python must run the group.

    Args:
        group: albumentations' group.
        label: the label that keys its draws.
        children: the ops of each child.
        shared: all tiles of a bag share its draw.
    """
    units = [_as_unit(child) for child in children]
    numbers = _group_op(group, sum(map(len, units)), len(units))
    if numbers is None:
        return None
    return [(group, Op(label, shared, float(group.p), numbers)), *(pair for unit in units for pair in unit)]


def _as_unit(child: Unit) -> Unit:
    """A child as one op that a group can choose: itself, or an op in front that runs all of it."""
    span = child[0][1].numbers.effect_arguments[0] if child and child[0][1].numbers.effect == EFFECTS.GROUPS else 0
    if len(child) == span + 1:
        return child
    run_all = NativeOp(DRAWS.NOTHING, EFFECTS.GROUPS, effect_arguments=(len(child), OPTIONS.ALL_STEPS, 0))
    return [(None, Op(child[0][1].label, False, 1.0, run_all)), *child]


def _group_op(group: Any, span: int, count: int) -> NativeOp | None:
    kind, draw, chooses = group_of(group), DRAWS.NOTHING, (OPTIONS.ALL_STEPS, 0)
    arguments: tuple[float, ...] = ()
    if kind is None or (kind != "all" and count > LIMITS.MOST_CHILDREN):
        return None
    if kind == "one":
        ends = [*accumulate(group.transforms_ps)]
        shares = tuple(end / ends[-1] for end in ends)
        draw, arguments, chooses = DRAWS.BY_WEIGHT, (count, *shares), (OPTIONS.ONE_STEP, 1)
    elif kind == "some":
        ordered = range(count) if type(group).__name__ == SOME_OF else getattr(group, "kept_places", ())
        bits = sum(1 << place for place in ordered)
        draw, arguments, chooses = DRAWS.SOME, (count, group.n, bits), (OPTIONS.SOME_STEPS, group.n)
    drawn = params_getter("chosen") if arguments else NO_DRAWS
    return NativeOp(draw, EFFECTS.GROUPS, arguments, drawn, (span, *chooses))


def group_sampler(group: Any) -> Callable[[Any], dict[str, Any]]:
    """The function that draws which children a group runs, in order."""
    match group_of(group):
        case "one":
            weights, choice = group.transforms_ps, group.random_generator
            return lambda _: {"chosen": (float(choice.choice(len(weights), p=weights)),)}
        case "some":
            some = choice_of(group)
            return lambda _: {"chosen": tuple(map(float, some()))}
    return lambda _: {}


def acts(step: Any) -> bool:
    """Take the first draw of a step or group: whether it acts."""
    return bool(
        step.should_apply() if hasattr(step, "should_apply") else step.p >= 1 or step.py_random.random() < step.p
    )


_IS_NEAREST = 4  # the argument of a warp that says that it takes the nearest pixel
# The effects that resample, and how the kernel `warp` gets its coordinates.
_KINDS: dict[int, Kind] = {
    EFFECTS.WARPS: "affine",
    EFFECTS.WARPS_PERSPECTIVE: "perspective",
    EFFECTS.DISTORTS_GRID: "maps",
    EFFECTS.DISTORTS_LENS: "maps",
}
RESAMPLES = frozenset(_KINDS)
_BENDS = {EFFECTS.DISTORTS_GRID: EFFECTS.BENDS_GRID, EFFECTS.DISTORTS_LENS: EFFECTS.BENDS_LENS}


def interpolation_of(warp: NativeOp) -> int:
    """The interpolation of a warp, as OpenCV numbers it."""
    return NEAREST if warp.effect_arguments[_IS_NEAREST] else LINEAR


def exact_warp(warp: NativeOp) -> NativeOp | None:
    """The warp as an op by itself, with albumentations' bits; None where the kernel does not reproduce them.

    The last bits of its matrix differ from albumentations', which no image shows: see native/warped.h.
    """
    interpolation = interpolation_of(warp)
    body = _vector_width(_KINDS[warp.effect], interpolation)
    if not body:
        return None
    if warp.effect == EFFECTS.DISTORTS_LENS:
        kernels = library()
        return warp if kernels is not None and bends_as_opencv(kernels) else None
    if warp.effect == EFFECTS.DISTORTS_GRID:
        return warp
    is_nearest = interpolation == NEAREST
    if warp.effect == EFFECTS.WARPS_PERSPECTIVE:
        return replace(warp, effect_arguments=(*warp.effect_arguments[:3], body, is_nearest))
    shears = warp.draw == DRAWS.AFFINE and any(warp.arguments[10:14])
    arguments = *warp.effect_arguments[:2], body, shears, is_nearest
    return replace(warp, expected_draws=params_getter(), effect_arguments=arguments)


def _vector_width(kind: Kind, interpolation: int) -> int:
    """How many columns the installed OpenCV warps at once; 0: it has other bits than the kernel."""
    native = opencv_bits.native_warp()
    return 0 if native is None else native.body(kind, interpolation)


def merged_warp(warp: NativeOp, interpolation: int) -> NativeOp | None:
    """The warp as part of a merged run; None where it samples otherwise. Masks keep the bits of the warp by itself.

    Where OpenCV has other bits than the kernel, Python runs merged warps, so that all masks of a sample agree.
    """
    if interpolation_of(warp) != interpolation or not _vector_width(_KINDS[warp.effect], interpolation):
        return None
    if warp.effect not in _BENDS:
        return replace(warp, effect=EFFECTS.MERGES + warp.effect)
    exact = warp if interpolation == LINEAR else exact_warp(warp)
    return exact and replace(exact, effect=_BENDS[warp.effect])


_BY_MATRIX = (EFFECTS.WARPS, EFFECTS.WARPS_PERSPECTIVE)
_LIKE_MASK = {"image_mask": "image"}  # `area_for_downscale` of a mask's step, by that of the image's


class MaskSink(Sink):
    """The output of masks H×W×1.

    Args:
        wide: write int64, not uint8.
    """

    def __init__(self, *, wide: bool) -> None:
        super().__init__(UINT8_HWC)
        if wide:
            self.dtype = np.dtype(np.int64)


def mask_numbers(step: Any, as_numbers: Callable[[Any, int], NativeOp | None]) -> NativeOp | None:
    """Encode what a step does to a mask; None where Python must do that, or must run the step on the image.

    Args:
        step: the transform.
        as_numbers: encodes what a step does to an image.
    """
    of_image, record = as_numbers(step, LINEAR), op_record(type(step).__name__)
    if of_image is None:
        return None
    if "mask" not in record.targets or (record.in_place and getattr(step, "fill_mask", None) is None):
        return NO_OP
    of_mask = as_numbers(_mask_step(step), NEAREST)
    same = of_mask is not None and (of_mask.draw, of_mask.arguments) == (of_image.draw, of_image.arguments)
    return of_mask if same else None


def why_mask_not_native(step: Any, numbers: NativeOp, dtype: np.dtype[Any], *, exactly: bool) -> str | None:
    """Why a step cannot move the bytes of masks of `dtype`, which is not uint8, natively; None: it can."""
    if np.any(getattr(step, "fill_mask", None) or 0):
        return f"fills masks of {dtype} with more than zeros"
    warped = numbers.effect in RESAMPLES and interpolation_of(numbers) != NEAREST
    if warped or {*numbers.resizes} - {NEAREST_MIDDLE}:
        return f"blends masks of {dtype}"
    if dtype.itemsize > LIMITS.MOST_CHANNELS:
        return f"takes no masks of {dtype}"
    if exactly and dtype == np.int16 and numbers.effect in _BY_MATRIX:
        return "takes other pixels of masks of int16, as OpenCV does"  # for these OpenCV has an older warp
    return None


def _mask_step(step: Any) -> Any:
    """A copy of the step that does to images what the step does to masks."""
    of_mask = copy(step)
    for name, like in (("interpolation", "mask_interpolation"), ("fill", "fill_mask")):
        if hasattr(step, like):
            setattr(of_mask, name, getattr(step, like))
    if op_record(type(step).__name__).scales and of_mask.interpolation == NEAREST:
        of_mask.interpolation = NEAREST_MIDDLE
    if hasattr(step, "area_for_downscale"):
        of_mask.area_for_downscale = _LIKE_MASK.get(step.area_for_downscale)
    return of_mask


def mask_run_end() -> tuple[float, ...]:
    """The arguments of the op that ends a merged run for masks: costs, and how many columns OpenCV takes at once."""
    return (*_COSTS_OF_LABELS, _vector_width("affine", NEAREST), _vector_width("perspective", NEAREST))
