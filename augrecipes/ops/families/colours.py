"""Steps that change colours and leave every pixel where it is: by matrices, through other spaces, by histograms."""

from __future__ import annotations

from functools import partial
from typing import Any

from augrecipes.native.op_numbers import DRAWS, EFFECTS
from augrecipes.ops import amplify
from augrecipes.ops.checks import Arguments, Fault
from augrecipes.ops.eval_windows import middle
from augrecipes.ops.families.base import GREY_OR_RGB, RGB, of_values
from augrecipes.ops.native_op import NativeOp, params_getter, ranges, uniform

_AMOUNTS = ("brightness", "contrast", "saturation", "hue")
_MOST_TILES = 64
_FULL, _MIDDLE, _AWAY = 255.0, 0.3, 0.05  # of colours


def _check_preset(a: Arguments) -> Fault:
    both = a["method"] == "random_preset" and a["preset"] is not None
    return ("preset", "a preset needs method: preset") if both else None


def _is_weighted_sum(a: Arguments) -> bool:
    # Other methods compare the channels, or go through Lab or PCA; `average` drops the fraction.
    return a.get("method", "weighted_average") == "weighted_average" and a.get("num_output_channels", 3) == 3


def channel_mix(step: Any) -> NativeOp | None:
    """A step that draws nothing and mixes channels by one matrix; None where it is more than that.

    The matrix is read off four colours that the step changes: of float32, 0..1, so that nothing is rounded.
    """
    import numpy as np

    colours = np.full((1, 4, 3), _MIDDLE, np.float32)
    for channel in range(3):
        colours[0, channel + 1, channel] += _AWAY
    changed = np.asarray(step.apply(colours), np.float64).reshape(4, 3)
    if changed.min() <= 0 or changed.max() >= 1:
        return None
    columns = (changed[1:] - changed[0]).T / _AWAY
    rows = np.column_stack([columns, (changed[0] - columns.sum(axis=1) * _MIDDLE) * _FULL])
    return NativeOp(DRAWS.NOTHING, EFFECTS.MIXES, tuple(rows.ravel().tolist()))


def _hsv_rounding(_: Any) -> tuple[float, ...]:
    from augrecipes.ops import opencv_variants

    return opencv_variants.hsv()


def _color_jitter(step: Any) -> NativeOp:
    from augrecipes.ops import opencv_variants

    limits = ranges(*(getattr(step, name) for name in _AMOUNTS))
    rounding = (*opencv_variants.hsv(), opencv_variants.sums())
    return NativeOp(DRAWS.COLOR_JITTER, EFFECTS.JITTERS_EXACTLY, limits, params_getter(*_AMOUNTS, "order"), rounding)


def _autocontrast(step: Any) -> NativeOp | None:
    if step.cutoff or step.ignore is not None:
        return None
    return NativeOp(DRAWS.NOTHING, EFFECTS.WIDENS_RANGE, effect_arguments=(float(step.method == "cdf"),))


def _clahe(step: Any) -> NativeOp | None:
    across, down = step.tile_grid_size
    if max(across, down) > _MOST_TILES:
        return None
    from augrecipes.native import lab

    tiles = (down, across, lab.TABLES.ctypes.data)
    return uniform(EFFECTS.APPLIES_CLAHE, effect_arguments=lambda _: tiles, clip_limit="clip_limit")(step)


def _equalize(step: Any) -> NativeOp | None:
    plain = step.mode == "cv" and step.by_channels and step.mask is None
    return NativeOp(DRAWS.NOTHING, EFFECTS.EQUALIZES) if plain else None


def _stain_jitter(step: Any) -> NativeOp:
    """As `fast` does it."""
    from augrecipes.ops.stain import jitter_tables, white_level

    tables = *(float(array.ctypes.data) for array in jitter_tables()), float(white_level(step.white_threshold))
    return NativeOp(
        DRAWS.STAINS, EFFECTS.STAINS, ranges(step.sigma, step.bias), params_getter("factors", "shifts"), tables
    )


_recolouring = partial(of_values, recolours=True, channels=GREY_OR_RGB)
_by_histogram = partial(of_values, statistics="the histogram", grids="alike", in_levels=True)
_HSV = dict.fromkeys(("hue_shift_limit", "sat_shift_limit", "val_shift_limit"), 0)

RECORDS = (
    # One 3×4 matrix, in arithmetic that rounds: for `fast` only.
    _recolouring(
        "ToGray",
        "matrix",
        random=False,
        statistics="the principal colours",
        when={"action": _is_weighted_sum, "statistics": lambda a: a.get("method") == "pca"},
        grids="same",
        averages=2,
        gain=amplify.to_gray,
        chroma="drops",
        limits={"num_output_channels": (1, 128)},
        mend="pixel_mends:NarrowGrey",
        native=lambda step: NativeOp(DRAWS.NOTHING, EFFECTS.GRAYS) if _is_weighted_sum(vars(step)) else None,
        native_joined=channel_mix,
        native_when="`method` weighted_average; `num_output_channels` 3",
    ),
    _recolouring("ToSepia", "matrix", random=False, gain=1.36, native_joined=channel_mix),
    of_values(
        "ToRGB",
        random=False,
        channels=GREY_OR_RGB,
        grids="same",
        gain=1.0,
        channels_after=lambda a: int(a.get("num_output_channels", 3)),
        mend="pixel_mends:NarrowGrey",
    ),
    _recolouring(
        "ChannelShuffle",
        "pointwise",
        channels=None,
        averages=0,
        gain=1.0,
        chroma="swaps",
        native=lambda _: NativeOp(DRAWS.ORDER, EFFECTS.SHUFFLES_CHANNELS, (), params_getter("channels_shuffled")),
    ),
    _recolouring(
        "HueSaturationValue",
        "pointwise",
        in_levels=True,
        chroma="turns",
        when={"chroma": lambda a: a.get("val_shift_limit") in (0, [0, 0])},
        neutral=_HSV,
        only_draws=(*_HSV,),
        native=uniform(
            EFFECTS.SHIFTS_HSV,
            effect_arguments=_hsv_rounding,
            hue_shift="hue_shift_limit",
            sat_shift="sat_shift_limit",
            val_shift="val_shift_limit",
        ),
    ),
    # These look at the whole image first.
    _recolouring(
        "ColorJitter",
        statistics="the mean (for its contrast)",
        when={"statistics": lambda a: a.get("contrast") not in (0, [1, 1])},
        grids="same",
        colour_error=amplify.jitter_error,
        gain=amplify.color_jitter,
        wide=("hue",),
        neutral={"brightness": 1, "contrast": 1, "saturation": 1, "hue": 0},
        meanings={**dict.fromkeys(_AMOUNTS, "around_one"), "hue": "symmetric"},
        limits={**dict.fromkeys(_AMOUNTS, (0, 1_000_000)), "hue": (-0.5, 0.5)},
        rising=dict.fromkeys(_AMOUNTS, 0),
        unsigned=("hue",),
        native=_color_jitter,
    ),
    _by_histogram("AutoContrast", random=False, native=_autocontrast, native_when="`cutoff` 0; no `ignore`"),
    _by_histogram(
        "CLAHE",
        channels=GREY_OR_RGB,
        only_draws=("clip_limit",),
        limits={"tile_grid_size": (1, 256)},
        settled=lambda a: {"clip_limit": middle("from_one", a["clip_limit"], None)},
        native=_clahe,
        native_when="`tile_grid_size` up to 64",
    ),
    _by_histogram(
        "Equalize",
        random=False,
        channels=GREY_OR_RGB,
        overwrites=lambda a: a.get("mode") == "pil",
        native=_equalize,
        native_when="`mode` cv; `by_channels` true",
    ),
    of_values(
        "FancyPCA",
        statistics="the principal colours",
        grids="alike",
        neutral={"alpha": 0},
        fast="principal_colours:fancy_pca",
    ),
    of_values(
        "HEStain",
        statistics="the stains",
        when={"statistics": lambda a: a.get("method") in ("macenko", "vahadane")},
        channels=RGB,
        grids="alike",
        check=_check_preset,
        module="augrecipes.ops.stain",
    ),
    _recolouring(  # it jumps at what is glass
        "StainJitter",
        "pointwise",
        jumps=True,
        channels=RGB,
        neutral={"sigma": 0, "bias": 0},
        unsigned=("sigma", "bias"),
        module="augrecipes.ops.stain",
        native_joined=_stain_jitter,
    ),
    of_values("FromFloat", random=False, changes_dtype=True, grids="same"),
)
