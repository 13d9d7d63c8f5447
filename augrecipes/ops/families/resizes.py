"""Steps that bring an image, or a window of it, to another size."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from augrecipes.native.op_numbers import DRAWS, EFFECTS, LIMITS, OPTIONS
from augrecipes.ops import eval_windows, sizes
from augrecipes.ops.checks import Arguments, Fault, exactly_one, scale_above_zero, spread
from augrecipes.ops.constants import AREA, KERNEL_INTERPOLATIONS
from augrecipes.ops.families.base import resampling
from augrecipes.ops.native_op import NativeOp, params_getter
from augrecipes.ops.record import NOTHING, OpRecord

RESIZES = "`interpolation` nearest, linear, cubic or area"
WHOLE = (0.0, 0.0, 1.0, 1.0)  # window, until Python draws one by boxes
_RATIO = (0.02, 50)
_MOST_LENGTHS = LIMITS.DRAW_ARGUMENTS - 2


def _check_sizes(a: Arguments) -> Fault:
    if fault := exactly_one("max_size", "max_size_hw")(a):
        return fault
    # Stricter: sizes that fail on the first image.
    name = "max_size" if a["max_size_hw"] is None else "max_size_hw"
    lengths = a[name]
    given = [item for item in (lengths if isinstance(lengths, list) else [lengths]) if item is not None]
    return (name, f"needs a size of at least 1, got {lengths}") if not given or min(given) < 1 else None


def _check_window(a: Arguments) -> Fault:
    # Stricter: windows without a column fail on the image that draws them.
    least = spread(a["min_max_height"], 1)[0]
    if int(least * a["w2h_ratio"]) >= 1:
        return None
    return "w2h_ratio", f"windows of {least} rows have no column, got {a['w2h_ratio']}; width is height × w2h_ratio"


def _interpolations(step: Any) -> tuple[int, int] | None:
    """How a step enlarges, and how it makes smaller; None: no kernel does that."""
    by_areas, how = getattr(step, "area_for_downscale", None), step.interpolation
    return (how, AREA if by_areas else how) if how in KERNEL_INTERPOLATIONS else None


def _resize(step: Any, height: int, width: int) -> NativeOp | None:
    both = _interpolations(step)
    return both and NativeOp(DRAWS.NOTHING, EFFECTS.RESIZES, effect_arguments=(height, width, *both))


def _resized_crop(step: Any) -> NativeOp | None:
    (least, most), (low, high) = step.scale, step.ratio
    return _crop(step, DRAWS.RESIZED_CROP, (least, most, math.log(low), math.log(high), low, high), step.size)


def _crop(step: Any, draw: int, arguments: Any, size: Any, *, by_boxes: bool = False) -> NativeOp | None:
    if (both := _interpolations(step)) is None:
        return None
    window = params_getter("crop_coords")
    return NativeOp(draw, EFFECTS.CROPS_AND_RESIZES, arguments, window, (*size, *both), by_boxes)


def _to_side(step: Any, side: int, of_both: int) -> NativeOp | None:
    """One side of a length, or of one of several; or an image that covers a size, or fits into it."""
    lengths = step.max_size
    if lengths is None:
        height, width = step.max_size_hw
        if height is not None and width is not None:
            return _scaled(step, DRAWS.SIDE_LENGTH, (of_both, 0, height, width), rounds=True)
        side, lengths = (OPTIONS.WIDTH, width) if height is None else (OPTIONS.HEIGHT, height)
    several = isinstance(lengths, list | tuple)
    if several and not 0 < len(lengths) <= _MOST_LENGTHS:
        return None
    arguments = (side, len(lengths), *lengths) if several else (side, 0, lengths)
    return _scaled(step, DRAWS.SIDE_LENGTH, arguments, rounds=True)


def _scaled(step: Any, draw: int, arguments: tuple[float, ...], *, rounds: bool) -> NativeOp | None:
    both = _interpolations(step)
    return both and NativeOp(draw, EFFECTS.SCALES, arguments, params_getter("scale"), (*both, rounds))


_window = partial(resampling, resizes="window", crops="anywhere", native_when=RESIZES)
_train_window = partial(_window, action="warp", size=sizes.to_size, instead="SmallestMaxSize and CenterCrop")
_whole = partial(resampling, action="warp", resizes="whole", native_when=RESIZES)
_by_scale = partial(_whole)
_one_side = partial(
    _by_scale, random=False, when={"random": lambda a: not isinstance(a.get("max_size"), list | tuple)},
    pixels=("max_size", "max_size_hw"), check=_check_sizes, settled=eval_windows.middle_size,
    native_when=f"{RESIZES}; `max_size` of up to 30 lengths",
)  # fmt: skip

RECORDS = (
    _whole(
        "Resize",
        random=False,
        pixels=("height", "width"),
        size=sizes.to_sides,
        native=lambda step: _resize(step, step.height, step.width),
    ),
    _one_side(
        "SmallestMaxSize",
        size=sizes.shorter_side,
        native=partial(_to_side, side=OPTIONS.SHORTER_SIDE, of_both=OPTIONS.COVERS),
    ),
    _one_side(
        "LongestMaxSize",
        size=sizes.longer_side,
        native=partial(_to_side, side=OPTIONS.LONGER_SIDE, of_both=OPTIONS.FITS),
    ),
    _by_scale(
        "RandomScale",
        size=sizes.scaled,
        instead="Resize",
        neutral={"scale_limit": 0},
        only_draws=("scale_limit",),
        meanings={"scale_limit": "symmetric"},
        check=scale_above_zero,
        native=lambda step: _scaled(step, DRAWS.SCALE, step.scale_limit, rounds=False),
    ),
    _train_window(
        "RandomResizedCrop",
        pixels=("size",),
        limits={"ratio": _RATIO},
        in_eval=(eval_windows.resized_central, "the centre, 7/8 of the shorter side where training's scale allows it"),
        native=_resized_crop,
    ),
    _train_window(
        "RandomSizedCrop",
        pixels=("min_max_height", "size"),
        limits={"w2h_ratio": _RATIO},
        check=_check_window,
        in_eval=(eval_windows.sized_central, "a window of middle size in the centre"),
        native=lambda step: _crop(step, DRAWS.SIZED_CROP, (*step.min_max_height, step.w2h_ratio), step.size),
    ),
    _window(
        "RandomSizedBBoxSafeCrop",
        size=sizes.to_sides,
        needs="boxes",
        in_eval=(eval_windows.whole_resized, "the whole image, which holds every box"),
        native=lambda step: _crop(step, DRAWS.NOTHING, WHOLE, (step.height, step.width), by_boxes=True),
        host_drawn=True,
    ),
    OpRecord(  # inside Degrade, on one target
        "ResizeToTarget",
        random=False,
        resamples=True,
        draws_from=NOTHING,
        resizes="target",
        module="augrecipes.ops.resize_to_target",
        native=lambda step: _resize(step, 0, 0),  # the target's, which a run of the program sets
        native_when="`method` area, linear or cubic",
    ),
)
