"""Crops and paddings, which change no pixel."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from augrecipes.native.op_numbers import DRAWS, EFFECTS, LIMITS, OPTIONS
from augrecipes.ops import eval_windows, sizes
from augrecipes.ops.checks import Arguments, Fault, exactly_one
from augrecipes.ops.constants import BORDER, border_word
from augrecipes.ops.families.base import geometric, resampling
from augrecipes.ops.families.resizes import WHOLE
from augrecipes.ops.native_op import Encoder, NativeOp, Origin, encoder

_PADS = ("pad_top", "pad_bottom", "pad_left", "pad_right")
_PAIR = 2
_COUNTS = range(1, LIMITS.MOST_CHANNELS + 1)
_BOX = ("x_min", "y_min", "x_max", "y_max")


def _pads_in_place(arguments: Arguments) -> bool:
    """Whether padding, if any, goes to fixed sides."""
    return arguments.get("position") != "random" and arguments.get("pad_position") != "random"


def _has_plain_sides(arguments: Arguments) -> bool:
    """Whether sides and fills are numbers, so that nothing is drawn."""
    amount = arguments.get("percent") if arguments.get("px") is None else arguments.get("px")
    fills = (arguments.get("fill"), arguments.get("fill_mask"))
    if isinstance(amount, list | tuple) and (len(amount) != 4 or not all(isinstance(n, int | float) for n in amount)):
        return False
    return not any(isinstance(fill, list | tuple) for fill in fills)


def _check_box(a: Arguments) -> Fault:
    for axis in "xy":
        if a[f"{axis}_min"] >= a[f"{axis}_max"]:
            return f"{axis}_max", f"must be greater than {axis}_min ({a[f'{axis}_min']}), got {a[f'{axis}_max']}"
    return None


def _check_padding(a: Arguments) -> Fault:
    for side in ("height", "width"):
        if (a[f"min_{side}"] is None) == (a[f"pad_{side}_divisor"] is None):
            what = "give one of them" if a[f"min_{side}"] is None else f"with a divisor write min_{side}: null"
            return f"pad_{side}_divisor", f"min_{side} and pad_{side}_divisor exclude each other; {what}"
    return None


# Crops, some of which pad first.


def _cut(draw: int, arguments: Sequence[Origin]) -> Encoder:
    """The encoder of a crop, with or without padding first; both draw from the same arguments."""
    plain = encoder(EFFECTS.CROPS, draw, arguments, _window_and_border)
    padded = encoder(EFFECTS.PADS_AND_CROPS, draw, arguments, _window_and_border, [_border])
    return lambda step: (padded if step.pad_if_needed else plain)(step)


def _window(draw: int) -> Encoder:
    return _cut(draw, ["height", "width", "pad_if_needed", _position])


def _fixed_window(step: Any) -> NativeOp | None:
    if step.pad_if_needed:
        return _cut(DRAWS.PADDED_BOX, [*_BOX, _position])(step)
    return encoder(EFFECTS.CROPS, arguments=_BOX, draws=["crop_coords"])(step)


def _window_and_border(params: Mapping[str, Any]) -> tuple[float, ...]:
    pads = params["pad_params"] or dict.fromkeys(_PADS, 0)
    return (*map(float, params["crop_coords"]), *(float(pads[name]) for name in _PADS))


_window_about_boxes = encoder(EFFECTS.CROPS, arguments=WHOLE, draws=["crop_coords"], drawn_in_python=True)


# Paddings.


def _padding(step: Any) -> tuple[int, ...]:
    """Rows above and below, columns left and right."""
    sides = step.padding
    if isinstance(sides, int):
        sides = [sides] * 4
    elif len(sides) == _PAIR:
        sides = [*sides, *sides]
    left, top, right, bottom = sides
    return top, bottom, left, right


def _least_size(step: Any) -> tuple[int, ...]:
    """Least height and width, or -1; their divisors, or 0."""
    least = (-1 if n is None else n for n in (step.min_height, step.min_width))
    divisors = (n or 0 for n in (step.pad_height_divisor, step.pad_width_divisor))
    return (*least, *divisors)


def _position(step: Any) -> int:
    """The position of an image inside its padding."""
    name = step.position if hasattr(step, "position") else step.pad_position
    return int(getattr(OPTIONS, name.upper()))


def _border(step: Any) -> tuple[float, ...] | None:
    """A step's border mode, and the constant pixel for 1, 2, 3 and 4 channels; None where only OpenCV knows that."""
    word = border_word(step.fill) if step.border_mode == BORDER["constant"] else 0
    return None if word < 0 else (step.border_mode, *(word & (1 << 8 * count) - 1 for count in _COUNTS))


_crop = partial(geometric, crops="anywhere", size=sizes.to_sides)
_fixed_size = partial(_crop, action="window", pixels=("height", "width"))
_steady = partial(
    _crop, action="window", random=False, when={"random": _pads_in_place},
    settled=lambda _: {"pad_position": "center"},
)  # fmt: skip
_anywhere = (eval_windows.central, "the window in the centre, whatever it shows")
_all_boxes = (eval_windows.whole, "the whole image, which holds every box")
_border_around = partial(geometric, action="padding", random=False, grids="never", effect="padding")

RECORDS = (
    _steady("Crop", pixels=_BOX, size=sizes.to_box, check=_check_box, native=_fixed_window),
    _steady("CenterCrop", crops="centre", pixels=("height", "width"), native=_window(DRAWS.CENTER_CROP)),
    _fixed_size(
        "RandomCrop",
        instead="CenterCrop",
        in_eval=(eval_windows.central, "the window in the centre"),
        native=_window(DRAWS.RANDOM_CROP),
    ),
    _crop(
        "RandomCropFromBorders",
        "window",
        crops="placed",
        size=sizes.unpredictable,
        neutral=dict.fromkeys(("crop_left", "crop_right", "crop_top", "crop_bottom"), 0),
        asks=True,
        in_eval=(eval_windows.whole, "the whole image"),
    ),
    _fixed_size("AtLeastOneBBoxRandomCrop", in_eval=_anywhere, native=_window_about_boxes, host_drawn=True),
    # These read the mask's pixels or a key of their own, and so are opaque.
    _crop(
        "CropNonEmptyMaskIfExists",
        draws_from=frozenset({"mask"}),
        needs="mask",
        in_eval=_anywhere,
        fast="samplers:FastMaskCrop",
    ),
    _crop("RandomCropNearBBox", crops="placed", size=sizes.unpredictable, in_eval=(None, "no window stands for it")),
    _crop(
        "BBoxSafeRandomCrop",
        size=sizes.unpredictable,
        needs="boxes",
        in_eval=_all_boxes,
        native=_window_about_boxes,
        host_drawn=True,
    ),
    resampling(
        "CropAndPad",
        random=False,
        when={"random": _has_plain_sides},
        size=sizes.unchanged_if("keep_size", True),
        effect="padding",
        neutral={"px": 0, "percent": 0},
        rising={"px": 1},
        check=exactly_one("px", "percent"),
        settled=eval_windows.middle_sides,
    ),
    _border_around(
        "Pad",
        size=sizes.pad,
        neutral={"padding": 0},
        limits={"padding": (0, 1_000_000)},
        native=encoder(EFFECTS.PADS, DRAWS.NOTHING, [_padding], _PADS, [_border]),
    ),
    _border_around(
        "PadIfNeeded",
        when={"random": _pads_in_place},
        size=sizes.pad_to,
        check=_check_padding,
        settled=lambda _: {"position": "center"},
        native=encoder(EFFECTS.PADS, DRAWS.PADDING, [_least_size, _position], _PADS, [_border]),
    ),
)
