"""Steps that resize an image, or a window of it."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from augrecipes.native.op_numbers import DRAWS, EFFECTS, LIMITS, OPTIONS
from augrecipes.ops import eval_windows, sizes
from augrecipes.ops.checks import Arguments, Fault, exactly_one, scale_above_zero, spread
from augrecipes.ops.constants import AREA, KERNEL_INTERPOLATIONS
from augrecipes.ops.families.base import resampling
from augrecipes.ops.native_op import Encoder, NativeOp, Origin, encoder
from augrecipes.ops.record import NOTHING, OpRecord

RESIZES = "`interpolation` nearest, linear, cubic or area"
WHOLE = (0.0, 0.0, 1.0, 1.0)  # a stand-in for the window that Python draws by boxes
_RATIO = (0.02, 50)
_MOST_LENGTHS = LIMITS.DRAW_ARGUMENTS - 2


def _check_sizes(a: Arguments) -> Fault:
    if fault := exactly_one("max_size", "max_size_hw")(a):
        return fault
    # Stricter: sizes that fail on the first image.
    name = "max_size" if a["max_size_hw"] is None else "max_size_hw"
    lengths = a[name]
    sides = [item for item in (lengths if isinstance(lengths, list) else [lengths]) if item is not None]
    return (name, f"needs a size of at least 1, got {lengths}") if not sides or min(sides) < 1 else None


def _check_window(a: Arguments) -> Fault:
    # Stricter: a window without columns fails on the image that draws it.
    least = spread(a["min_max_height"], 1)[0]
    if int(least * a["w2h_ratio"]) >= 1:
        return None
    return "w2h_ratio", f"windows of {least} rows have no column, got {a['w2h_ratio']}; width is height × w2h_ratio"


def _interpolations(step: Any) -> tuple[int, int] | None:
    """The interpolations by which a step enlarges and shrinks; None: no kernel has them."""
    by_areas, kind = getattr(step, "area_for_downscale", None), step.interpolation
    return (kind, AREA if by_areas else kind) if kind in KERNEL_INTERPOLATIONS else None


def _crop(draw: int, arguments: Sequence[Origin]) -> Encoder:
    return encoder(EFFECTS.CROPS_AND_RESIZES, draw, arguments, ["crop_coords"], ["size", _interpolations])


def _to_side(side: int, of_both: int) -> Encoder:
    """The encoder of steps that bring `side` to a length, drawn from several, or both sides to a size (`of_both`)."""

    def arguments(step: Any) -> tuple[Any, ...] | None:
        lengths, which = step.max_size, side
        if lengths is None:
            height, width = step.max_size_hw
            if height is not None and width is not None:
                return of_both, 0, height, width
            which, lengths = (OPTIONS.WIDTH, width) if height is None else (OPTIONS.HEIGHT, height)
        several = isinstance(lengths, list | tuple)
        if several and not 0 < len(lengths) <= _MOST_LENGTHS:
            return None
        return which, len(lengths) if several else 0, lengths

    return encoder(EFFECTS.SCALES, DRAWS.SIDE_LENGTH, [arguments], ["scale"], [_interpolations, True])


def _to_target(step: Any) -> NativeOp | None:
    """The encoder of ResizeToTarget: to the size that a run sets, perhaps times a drawn factor."""
    drawn = () if step.scale == (1, 1) else ("scale",)
    draw, arguments = (DRAWS.NUMBERS, (1, *drawn)) if drawn else (DRAWS.NOTHING, ())
    return encoder(EFFECTS.RESIZES, draw, arguments, drawn, [0, 0, _interpolations])(step)


_window = partial(resampling, resizes="window", crops="anywhere", native_note=RESIZES)
_train_window = partial(_window, action="warp", size=sizes.to_size, instead="SmallestMaxSize and CenterCrop")
_whole = partial(resampling, action="warp", resizes="whole", native_note=RESIZES)
_one_side = partial(
    _whole, random=False, when={"random": lambda a: not isinstance(a.get("max_size"), list | tuple)},
    pixels=("max_size", "max_size_hw"), check=_check_sizes, settled=eval_windows.middle_size,
    native_note=f"{RESIZES}; `max_size` of up to 30 lengths",
)  # fmt: skip

RECORDS = (
    _whole(
        "Resize",
        random=False,
        pixels=("height", "width"),
        size=sizes.to_sides,
        native=encoder(EFFECTS.RESIZES, effect_arguments=["height", "width", _interpolations]),
    ),
    _one_side("SmallestMaxSize", size=sizes.shorter_side, native=_to_side(OPTIONS.SHORTER_SIDE, OPTIONS.COVERS)),
    _one_side("LongestMaxSize", size=sizes.longer_side, native=_to_side(OPTIONS.LONGER_SIDE, OPTIONS.FITS)),
    _whole(
        "RandomScale",
        size=sizes.scaled,
        instead="Resize",
        neutral={"scale_limit": 0},
        only_draws=("scale_limit",),
        meanings={"scale_limit": "symmetric"},
        check=scale_above_zero,
        native=encoder(EFFECTS.SCALES, DRAWS.SCALE, ["scale_limit"], ["scale"], [_interpolations, False]),
    ),
    _train_window(
        "RandomResizedCrop",
        pixels=("size",),
        limits={"ratio": _RATIO},
        in_eval=(eval_windows.resized_central, "the centre, 7/8 of the shorter side if training's scale allows it"),
        native=_crop(DRAWS.RESIZED_CROP, ["scale", lambda step: tuple(map(math.log, step.ratio)), "ratio"]),
    ),
    _train_window(
        "RandomSizedCrop",
        pixels=("min_max_height", "size"),
        limits={"w2h_ratio": _RATIO},
        check=_check_window,
        in_eval=(eval_windows.sized_central, "a window of middle size in the centre"),
        native=_crop(DRAWS.SIZED_CROP, ["min_max_height", "w2h_ratio"]),
    ),
    _window(
        "RandomSizedBBoxSafeCrop",
        size=sizes.to_sides,
        needs="boxes",
        in_eval=(eval_windows.whole_resized, "the whole image, which holds every box"),
        native=encoder(
            EFFECTS.CROPS_AND_RESIZES,
            arguments=WHOLE,
            draws=["crop_coords"],
            effect_arguments=["height", "width", _interpolations],
            drawn_in_python=True,
        ),
        host_drawn=True,
    ),
    OpRecord(  # inside Degrade, on one target
        "ResizeToTarget",
        random=False,
        when=dict.fromkeys(("random", "resizes"), lambda a: [*a["scale"]] == [1, 1]),
        only_draws=("scale",),
        resamples=True,
        draws_from=NOTHING,
        resizes="target",
        module="augrecipes.ops.resize_to_target",
        native=_to_target,
        native_note="`method` area, linear, cubic or nearest",
    ),
)
