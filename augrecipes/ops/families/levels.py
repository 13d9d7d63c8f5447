"""Steps that are tables of levels: each level becomes another one, wherever its pixel stands.

`lookup` is claimed only where albumentations itself runs a table on uint8, whatever the image's size or memory
layout: arithmetic in float rounds differently in the vector body and in the tail of a row, and then a crop before
the step would change its last bit. `tests/laws/test_records.py` holds every claim to that.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from augrecipes.compat import normals
from augrecipes.native.op_numbers import DRAWS, EFFECTS
from augrecipes.ops import amplify
from augrecipes.ops.checks import Arguments, Fault
from augrecipes.ops.families.base import RGB, of_values
from augrecipes.ops.native_op import NativeOp, flat, params_getter, ranges, uniform

_RGB, _MOST_LEVEL = 3, 255


def _channels_of(posterize: Arguments) -> int | None:
    """For how many channels there is a range of bits each."""
    bits = posterize.get("num_bits")
    return len(bits) if isinstance(bits, list) and isinstance(bits[0], list) else None


def _check_bits(a: Arguments) -> Fault:
    count = _channels_of(a)
    few = count is not None and count < _RGB
    return ("num_bits", f"a pair a channel needs three channels or more, got {count}") if few else None


def _check_temperature(a: Arguments) -> Fault:
    limit = a["temperature_limit"]
    if limit is None:
        return None
    coldest = 3000 if a["mode"] == "blackbody" else 4000
    if min(limit) < coldest or max(limit) > 15000:
        return "temperature_limit", f"must be between {coldest} and 15000 kelvin for mode {a['mode']}, got {limit}"
    return None if limit[0] <= 6000 <= limit[1] else ("temperature_limit", f"must include 6000 kelvin, got {limit}")


def _gamma(step: Any) -> NativeOp:
    return NativeOp(DRAWS.HUNDREDTHS, EFFECTS.CORRECTS_GAMMA, ranges(step.gamma_limit), params_getter("gamma"))


def _brightness_contrast(step: Any) -> NativeOp | None:
    """Where neither is measured in the image."""
    if not step.brightness_by_max or step.ensure_safe_range:
        return None
    limits = ranges(step.contrast_limit, step.brightness_limit)
    return NativeOp(DRAWS.BRIGHTNESS_CONTRAST, EFFECTS.SCALES_LEVELS, limits, params_getter("alpha", "beta"))


def _posterize(step: Any) -> NativeOp | None:
    bits = step.num_bits if isinstance(step.num_bits, list) else [step.num_bits]
    count, drawn = float(len(bits)), params_getter("num_bits")
    if count not in (1, _RGB):
        return None
    return NativeOp(DRAWS.WHOLE_NUMBERS, EFFECTS.POSTERIZES, (count, *ranges(*bits)), drawn, (count,))


def _tone_curve(step: Any) -> NativeOp | None:
    if not normals():
        return None

    def drawn(params: Mapping[str, Any]) -> tuple[float, ...]:
        low = tuple(flat(params["low_y"]))
        return (float(len(low)), *low, *flat(params["high_y"]))

    return NativeOp(DRAWS.CURVES, EFFECTS.CURVES, (float(step.scale), float(step.per_channel), normals()), drawn)


def _multiplier(step: Any) -> NativeOp | None:
    if step.elementwise:
        return None
    arguments = (*ranges(step.multiplier), float(step.per_channel))
    return NativeOp(DRAWS.MULTIPLIERS, EFFECTS.MULTIPLIES, arguments, params_getter("multiplier"))


def _channel_dropout(step: Any) -> NativeOp | None:
    if not 0 <= step.fill <= _MOST_LEVEL:
        return None

    def drawn(params: Mapping[str, Any]) -> tuple[float, ...]:
        return tuple(float(channel in params["channels_to_drop"]) for channel in range(_RGB))

    return NativeOp(
        DRAWS.DROPPED_CHANNELS, EFFECTS.DROPS_CHANNELS, ranges(step.channel_drop_range), drawn, (int(step.fill),)
    )


def _is_by_mean(a: Arguments) -> bool:
    return not a.get("brightness_by_max", True)


def _reads_mean(a: Arguments) -> bool:
    return _is_by_mean(a) and a.get("brightness_limit") not in (0, [0, 0])


def _is_of_channels(a: Arguments) -> bool:
    return not a.get("elementwise", False)


_table = partial(of_values, action="lookup")
_BY_MEAN = {"brightness_limit": 0, "contrast_limit": 0}

RECORDS = (
    _table("InvertImg", random=False, averages=1, gain=1.0, native=lambda _: NativeOp(DRAWS.NOTHING, EFFECTS.INVERTS)),
    _table(
        "Solarize",
        jumps=True,
        gain=amplify.solarize,
        only_draws=("threshold_range",),
        native=uniform(EFFECTS.SOLARIZES, threshold="threshold_range"),
    ),
    _table(
        "SolarizeAdd",
        jumps=True,
        neutral={"addition": 0},
        module="augrecipes.ops.enhance",
        native=uniform(EFFECTS.LIGHTENS_DARK, addition="addition"),
    ),
    _table(
        "Posterize",
        jumps=True,
        in_levels=True,
        overwrites=lambda a: _channels_of(a) is not None,
        channels_of=_channels_of,
        only_draws=("num_bits",),
        limits={"num_bits": (1, 7)},  # stricter: the class lets pairs pass that leave them
        check=_check_bits,
        native=_posterize,
    ),
    _table("RandomGamma", gain=amplify.gamma, neutral={"gamma_limit": 100}, only_draws=("gamma_limit",), native=_gamma),
    _table(
        "RandomBrightnessContrast",
        recolours=True,
        when={"action": lambda a: not _is_by_mean(a), "statistics": _reads_mean},
        statistics="the mean (for its brightness)",
        gain=amplify.brightness_contrast,
        neutral=_BY_MEAN,
        only_draws=(*_BY_MEAN,),
        native=_brightness_contrast,
        native_when="`brightness_by_max` true; `ensure_safe_range` false",
    ),
    _table("RandomToneCurve", gain=3.0, in_levels=True, neutral={"scale": 0}, native=_tone_curve),
    _table("PlanckianJitter", recolours=True, channels=RGB, gain=1.7, check=_check_temperature),
    _table(
        "MultiplicativeNoise",
        when=dict.fromkeys(("action", "grids"), _is_of_channels),
        gain=amplify.multiplied,
        neutral={"multiplier": 1},
        native=_multiplier,
        native_when="`elementwise` false",
    ),
    _table(
        "ChannelDropout",
        channels=(2, 3, 4, 5),
        averages=0,
        gain=1.0,
        rising={"channel_drop_range": 0},
        native=_channel_dropout,
        native_when="`fill` of 0 to 255",
    ),
)
