"""Groups, warps and masks as numbers of a program.

A group is a step that draws which of those behind it are carried out. A warp resamples by itself, with albumentations'
bits, or joined with others. Masks are images of one channel; those whose pixels are only moved may have pixels of
several bytes.

What resampling costs on uint8 RGB is in nanoseconds: enough to choose between two ways to the same image. The constants
were measured once, and are the same everywhere, so that a sample is.
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np

from augrecipes.compat.steps import choice_of, group_of
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

# cv2.resize weighs rows, then columns: each row of the image that is needed once, each pixel of the result once.
_ROW, _COLUMN = 0.67, 0.7
_HALVED = 1.1  # a pixel of the result, at 2 : 1 exactly
# cv2.warpAffine on four channels, and what is read made RGBA, and the result RGB again.
_WARPED, _READ = 2.6, 0.25
# Labels: one channel, the nearest pixel.
_LABEL_RESIZED, _LABEL_WARPED = 0.4, 3.4
_CALL = 3000.0
COSTS = _ROW, _COLUMN, _HALVED, _WARPED, _READ, _CALL
_COSTS_OF_LABELS = 0.0, _LABEL_RESIZED, _LABEL_RESIZED, _LABEL_WARPED, 0.0, _CALL  # the same of labels
DECODED = 3.0  # a pixel of a JPEG, in all rows down to the last that is needed


# A step, None between steps, and its numbers.
Unit = Sequence[tuple[Any, Op]]


def lower_group(group: Any, label: str, children: Sequence[Unit], *, shared: bool) -> Unit | None:
    """A group: the step that chooses, and behind it those of its children; None where that is Python's to do.

    Args:
        group: albumentations' own.
        label: keys its draws.
        children: each with its own numbers.
        shared: whether the tiles of a bag draw as one.
    """
    units = [_as_unit(child) for child in children]
    numbers = _group_op(group, sum(map(len, units)), len(units))
    if numbers is None:
        return None
    return [(group, Op(label, shared, float(group.p), numbers)), *(pair for unit in units for pair in unit)]


def _as_unit(child: Unit) -> Unit:
    """A child as one step, or as one that opens all of it."""
    span = child[0][1].numbers.effect_arguments[0] if child and child[0][1].numbers.effect == EFFECTS.GROUPS else 0
    if len(child) == span + 1:
        return child
    every = NativeOp(DRAWS.NOTHING, EFFECTS.GROUPS, effect_arguments=(len(child), OPTIONS.ALL_STEPS, 0))
    return [(None, Op(child[0][1].label, False, 1.0, every)), *child]


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
        kept = range(count) if type(group).__name__ == SOME_OF else getattr(group, "kept_places", ())
        bits = sum(1 << place for place in kept)
        draw, arguments, chooses = DRAWS.SOME, (count, group.n, bits), (OPTIONS.SOME_STEPS, group.n)
    drawn = params_getter("chosen") if arguments else NO_DRAWS
    return NativeOp(draw, EFFECTS.GROUPS, arguments, drawn, (span, *chooses))


def group_sampler(group: Any) -> Callable[[Any], dict[str, Any]]:
    """What draws which children a group carries out, in order."""
    match group_of(group):
        case "one":
            weights, choice = group.transforms_ps, group.random_generator
            return lambda _: {"chosen": (float(choice.choice(len(weights), p=weights)),)}
        case "some":
            some = choice_of(group)
            return lambda _: {"chosen": tuple(map(float, some()))}
    return lambda _: {}


def acts(step: Any) -> bool:
    """Whether a step or group acts, by its first draw."""
    return bool(
        step.should_apply() if hasattr(step, "should_apply") else step.p >= 1 or step.py_random.random() < step.p
    )


_TO_NEXT = 4  # where numbers say that the next pixel is taken
# What resamples, and how the kernel `warp` is told from where.
_KINDS: dict[int, Kind] = {
    EFFECTS.WARPS: "affine",
    EFFECTS.WARPS_PERSPECTIVE: "perspective",
    EFFECTS.DISTORTS_GRID: "maps",
    EFFECTS.DISTORTS_LENS: "maps",
}
RESAMPLES = frozenset(_KINDS)
_BENDS = {EFFECTS.DISTORTS_GRID: EFFECTS.BENDS_GRID, EFFECTS.DISTORTS_LENS: EFFECTS.BENDS_LENS}


def interpolation_of(warp: NativeOp) -> int:
    """How what it warps is sampled, as OpenCV numbers that."""
    return NEAREST if warp.effect_arguments[_TO_NEXT] else LINEAR


def exact_warp(found: NativeOp) -> NativeOp | None:
    """The same by itself, with albumentations' bits; None where the kernel does not have them.

    Its matrix has other last bits than albumentations' own, which no image shows: see native/warped.h.
    """
    native = opencv_bits.native_warp()
    how = interpolation_of(found)
    body = 0 if native is None else native.body(_KINDS[found.effect], how)
    if not body:
        return None
    if found.effect == EFFECTS.DISTORTS_LENS:
        kernels = library()
        return found if kernels is not None and bends_as_opencv(kernels) else None
    if found.effect == EFFECTS.DISTORTS_GRID:
        return found
    if found.effect == EFFECTS.WARPS_PERSPECTIVE:
        return replace(found, effect_arguments=(*found.effect_arguments[:3], body, how == NEAREST))
    shears = found.draw == DRAWS.AFFINE and any(found.arguments[10:14])
    return replace(
        found,
        expected_draws=params_getter(),
        effect_arguments=(*found.effect_arguments[:2], body, shears, how == NEAREST),
    )


def merged_warp(found: NativeOp, interpolation: int) -> NativeOp | None:
    """The same sampled by a job; None where that takes other pixels. Labels keep the bits that they have alone."""
    if interpolation_of(found) != interpolation:
        return None
    if found.effect not in _BENDS:
        return replace(found, effect=EFFECTS.MERGES + found.effect)
    exact = found if interpolation == LINEAR else exact_warp(found)
    return exact and replace(exact, effect=_BENDS[found.effect])


_BY_MATRIX = (EFFECTS.WARPS, EFFECTS.WARPS_PERSPECTIVE)
_LIKE_MASK = {"image_mask": "image"}  # where a step resizes by means of areas


class MaskSink(Sink):
    """What writes masks, H×W×1.

    Args:
        wide: as int64, not as uint8.
    """

    def __init__(self, *, wide: bool) -> None:
        super().__init__(UINT8_HWC)
        if wide:
            self.dtype = np.dtype(np.int64)


def mask_numbers(step: Any, as_numbers: Callable[[Any, int], NativeOp | None]) -> NativeOp | None:
    """What a step does to a mask, as numbers; None: Python does that, or what it does to the image.

    Args:
        step: the transform.
        as_numbers: gives its numbers, or those of what happens to the image.
    """
    found, record = as_numbers(step, LINEAR), op_record(type(step).__name__)
    if found is None:
        return None
    if "mask" not in record.targets or (record.in_place and getattr(step, "fill_mask", None) is None):
        return NO_OP
    other = as_numbers(_seen_by_mask(step), NEAREST)
    same = other is not None and (other.draw, other.arguments) == (found.draw, found.arguments)
    return other if same else None


def why_mask_not_native(step: Any, numbers: NativeOp, dtype: np.dtype[Any], *, exactly: bool) -> str | None:
    """Why the bytes of masks of such a dtype, which is not uint8, are not natively moved by a step; None: they are."""
    if np.any(getattr(step, "fill_mask", None) or 0):
        return f"fills masks of {dtype} with more than zeros"
    warped = numbers.effect in RESAMPLES and interpolation_of(numbers) != NEAREST
    if warped or {*numbers.resizes} - {NEAREST_MIDDLE}:
        return f"blends masks of {dtype}"
    if dtype.itemsize > LIMITS.MOST_CHANNELS:
        return f"takes no masks of {dtype}"
    if exactly and dtype == np.int16 and numbers.effect in _BY_MATRIX:
        return "takes other pixels of masks of int16, as OpenCV does"  # it warps these by an older way
    return None


def _seen_by_mask(step: Any) -> Any:
    """A step that does to images what this one does to masks."""
    seen = copy(step)
    for name, like in (("interpolation", "mask_interpolation"), ("fill", "fill_mask")):
        if hasattr(step, like):
            setattr(seen, name, getattr(step, like))
    if op_record(type(step).__name__).scales and seen.interpolation == NEAREST:
        seen.interpolation = NEAREST_MIDDLE
    if hasattr(step, "area_for_downscale"):
        seen.area_for_downscale = _LIKE_MASK.get(step.area_for_downscale)
    return seen


def mask_run_end() -> tuple[float, ...]:
    """What ends a run of warps: what things cost, and how many columns OpenCV takes together."""
    native = opencv_bits.native_warp()
    bodies = (0, 0) if native is None else (native.body("affine", NEAREST), native.body("perspective", NEAREST))
    return (*_COSTS_OF_LABELS, *bodies)
