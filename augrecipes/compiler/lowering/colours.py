"""Steps that change colours as numbers of a program: by tables of levels, by matrices, and pixel by pixel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from augrecipes.compat import normals
from augrecipes.compiler.kernels.lab import tables
from augrecipes.compiler.lowering import opencv_variants
from augrecipes.native.op_numbers import DRAWS, EFFECTS
from augrecipes.ops.native_op import NativeOp, params_getter, ranges
from augrecipes.ops.stain import LOG, density_matrix, white_level

_AMOUNTS = ("brightness", "contrast", "saturation", "hue")
_RGB, _MOST_TILES, _MOST_LEVEL = 3, 64, 255
_FULL = 255.0
_MIDDLE, _APART = 0.3, 0.05  # of colours
_DIGITS = 12  # beyond them processors differ in what inverts a matrix
_LAB = tables()


def uniform(step: Any, effect: int, does: tuple[float, ...] = (), draw: int = DRAWS.NUMBERS, **limits: str) -> NativeOp:
    """A step that draws each parameter of `limits` evenly from the range in the attribute that is named for it."""
    ends = ranges(*(getattr(step, attribute) for attribute in limits.values()))
    return NativeOp(draw, effect, (float(len(limits)), *ends), params_getter(*limits), does)


# Tables of levels: native/tables.h makes them of what is drawn.


def scaled(step: Any) -> NativeOp | None:
    """Brightness and contrast, of which none is measured in the image."""
    if not step.brightness_by_max or step.ensure_safe_range:
        return None
    limits = ranges(step.contrast_limit, step.brightness_limit)
    return NativeOp(DRAWS.BRIGHTNESS_CONTRAST, EFFECTS.SCALES_LEVELS, limits, params_getter("alpha", "beta"))


def bent(step: Any) -> NativeOp:
    """A power of each level."""
    return NativeOp(DRAWS.HUNDREDTHS, EFFECTS.CORRECTS_GAMMA, ranges(step.gamma_limit), params_getter("gamma"))


def inverted(_: Any) -> NativeOp:
    """Every level from the other end."""
    return NativeOp(DRAWS.NOTHING, EFFECTS.INVERTS)


def solarized(step: Any) -> NativeOp:
    """Levels above one from the other end."""
    return uniform(step, EFFECTS.SOLARIZES, threshold="threshold_range")


def lightened(step: Any) -> NativeOp:
    """Levels below the middle, and some more."""
    return uniform(step, EFFECTS.LIGHTENS_DARK, addition="addition")


def posterized(step: Any) -> NativeOp | None:
    """Some bits of each level."""
    bits = step.num_bits if isinstance(step.num_bits, list) else [step.num_bits]
    if len(bits) not in (1, _RGB):
        return None
    count = float(len(bits))
    return NativeOp(
        DRAWS.WHOLE_NUMBERS, EFFECTS.POSTERIZES, (count, *ranges(*bits)), params_getter("num_bits"), (count,)
    )  # fmt: skip


def multiplied(step: Any) -> NativeOp | None:
    """Every level of a channel by one number."""
    if step.elementwise:
        return None
    arguments = (*ranges(step.multiplier), float(step.per_channel))
    return NativeOp(DRAWS.MULTIPLIERS, EFFECTS.MULTIPLIES, arguments, params_getter("multiplier"))


def shifted(step: Any) -> NativeOp | None:
    """A number of levels added to each channel."""
    if (step.noise_type, step.spatial_mode) != ("uniform", "constant"):
        return None
    given = step.noise_params["ranges"]
    limits = given * _RGB if len(given) == 1 else given
    return (
        NativeOp(DRAWS.SHIFTS, EFFECTS.SHIFTS, ranges(*limits), params_getter("noise_map"))
        if len(limits) == _RGB
        else None
    )


def dropped(step: Any) -> NativeOp | None:
    """Some channels of one level."""
    if not 0 <= step.fill <= _MOST_LEVEL:
        return None

    def seen(params: Mapping[str, Any]) -> tuple[float, ...]:
        return tuple(float(channel in params["channels_to_drop"]) for channel in range(_RGB))

    limits = ranges(step.channel_drop_range)
    return NativeOp(DRAWS.DROPPED_CHANNELS, EFFECTS.DROPS_CHANNELS, limits, seen, (int(step.fill),))


def curved(step: Any) -> NativeOp | None:
    """Levels along a curve, or those of each channel along its own."""
    if not normals():
        return None

    def seen(params: Mapping[str, Any]) -> tuple[float, ...]:
        return (float(np.size(params["low_y"])), *params_getter("low_y", "high_y")(params))

    return NativeOp(DRAWS.CURVES, EFFECTS.CURVES, (float(step.scale), float(step.per_channel), normals()), seen)


# More than tables.


def hue_saturation_value(step: Any) -> NativeOp:
    """Through HSV."""
    return uniform(
        step, EFFECTS.SHIFTS_HSV, opencv_variants.hsv(),
        hue_shift="hue_shift_limit", sat_shift="sat_shift_limit", val_shift="val_shift_limit",
    )  # fmt: skip


def jittered(step: Any) -> NativeOp:
    """Brightness, contrast, saturation and hue in some order."""
    limits = ranges(*(getattr(step, name) for name in _AMOUNTS))
    does = (*opencv_variants.hsv(), opencv_variants.sums())
    return NativeOp(DRAWS.COLOR_JITTER, EFFECTS.JITTERS_EXACTLY, limits, params_getter(*_AMOUNTS, "order"), does)


def stained(step: Any) -> NativeOp:
    """Stains jittered as `fast` does."""
    does = *(float(array.ctypes.data) for array in STAINS), float(white_level(step.white_threshold))
    return NativeOp(
        DRAWS.STAINS, EFFECTS.STAINS, ranges(step.sigma, step.bias), params_getter("factors", "shifts"), does
    )


def _stains() -> np.ndarray:
    """7×3×4: a matrix for three factors and three shifts is the first, and the others times these."""
    none, units = (0.0, 0.0, 0.0), np.eye(3).tolist()
    still = density_matrix(none, none)
    each = [*(density_matrix(unit, none) for unit in units), *(density_matrix(none, unit) for unit in units)]
    return np.round(np.stack([still, *(one - still for one in each)]), _DIGITS)


STAINS = _stains(), LOG  # what native/stain.c reckons with


def mixed(step: Any) -> NativeOp | None:
    """A step that draws nothing and mixes channels by one matrix; None where it is more than that.

    The matrix is read off four colours that the step changes: of float32, 0..1, so that nothing is rounded.
    """
    colours = np.full((1, 4, 3), _MIDDLE, np.float32)
    for channel in range(3):
        colours[0, channel + 1, channel] += _APART
    seen = np.asarray(step.apply(colours), np.float64).reshape(4, 3)
    if seen.min() <= 0 or seen.max() >= 1:
        return None
    columns = (seen[1:] - seen[0]).T / _APART
    rows = np.column_stack([columns, (seen[0] - columns.sum(axis=1) * _MIDDLE) * _FULL])
    return NativeOp(DRAWS.NOTHING, EFFECTS.MIXES, tuple(rows.ravel().tolist()))


def greyed(step: Any) -> NativeOp | None:
    """The luma of each pixel in its three places."""
    plain = step.method == "weighted_average" and step.num_output_channels == _RGB
    return NativeOp(DRAWS.NOTHING, EFFECTS.GRAYS) if plain else None


def reordered(_: Any) -> NativeOp:
    """Channels that change places."""
    return NativeOp(DRAWS.ORDER, EFFECTS.SHUFFLES_CHANNELS, (), params_getter("channels_shuffled"))


def evened_out(step: Any) -> NativeOp | None:
    """CLAHE."""
    across, down = step.tile_grid_size
    if max(across, down) > _MOST_TILES:
        return None
    return uniform(step, EFFECTS.APPLIES_CLAHE, (down, across, _LAB.ctypes.data), clip_limit="clip_limit")


def stretched(step: Any) -> NativeOp | None:
    """Levels of channels over the full range."""
    if step.cutoff or step.ignore is not None:
        return None
    return NativeOp(DRAWS.NOTHING, EFFECTS.WIDENS_RANGE, effect_arguments=(float(step.method == "cdf"),))


def equalized(step: Any) -> NativeOp | None:
    """Histograms of channels made even."""
    plain = step.mode == "cv" and step.by_channels and step.mask is None
    return NativeOp(DRAWS.NOTHING, EFFECTS.EQUALIZES) if plain else None
