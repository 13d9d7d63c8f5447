"""Steps that are lookup tables of levels.

`lookup` is claimed only where albumentations itself runs a table on uint8, whatever the image's size or memory
layout: float arithmetic rounds differently in the vector body and in the tail of a row, so that a crop before the
step would change its last bit. `tests/laws/test_records.py` checks every claim.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from augrecipes.native.op_numbers import DRAWS, EFFECTS
from augrecipes.ops import amplify
from augrecipes.ops.checks import Arguments, Fault
from augrecipes.ops.families.base import RGB, numpy_normals, of_values
from augrecipes.ops.native_op import NativeOp, encoder, flat, uniform

_RGB, _MOST_LEVEL = 3, 255


def _channels_of(posterize: Arguments) -> int | None:
    """The number of channels that have a range of bits each; None: one range for all."""
    bits = posterize.get("num_bits")
    return len(bits) if isinstance(bits, list) and isinstance(bits[0], list) else None


def _check_bits(a: Arguments) -> Fault:
    count = _channels_of(a)
    few = count is not None and count < _RGB
    return ("num_bits", f"a pair a channel needs three channels or more, got {count}") if few else None


def _posterize(step: Any) -> NativeOp | None:
    bits = step.num_bits if isinstance(step.num_bits, list) else [step.num_bits]
    count, draws = len(bits), ["num_bits"]
    known = encoder(EFFECTS.POSTERIZES, DRAWS.WHOLE_NUMBERS, (count, "num_bits"), draws, (count,))
    return known(step) if count in (1, _RGB) else None


def _curves(params: Mapping[str, Any]) -> tuple[float, ...]:
    low = tuple(flat(params["low_y"]))
    return (float(len(low)), *low, *flat(params["high_y"]))


def _drops(params: Mapping[str, Any]) -> tuple[float, ...]:
    return tuple(float(channel in params["channels_to_drop"]) for channel in range(_RGB))


def _fill(step: Any) -> int | None:
    return int(step.fill) if 0 <= step.fill <= _MOST_LEVEL else None


def _is_by_mean(a: Arguments) -> bool:
    return not a.get("brightness_by_max", True)


def _reads_mean(a: Arguments) -> bool:
    return _is_by_mean(a) and a.get("brightness_limit") not in (0, [0, 0])


_table = partial(of_values, action="lookup")
_BY_MEAN = {"brightness_limit": 0, "contrast_limit": 0}

RECORDS = (
    _table("InvertImg", random=False, gain=1.0, native=encoder(EFFECTS.INVERTS)),
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
        module="augrecipes.ops.policy_steps",
        native=uniform(EFFECTS.LIGHTENS_DARK, addition="addition"),
    ),
    _table(
        "Posterize",
        deep="RandomBrightnessContrast",
        jumps=True,
        in_levels=True,
        overwrites=lambda a: _channels_of(a) is not None,
        channels_of=_channels_of,
        only_draws=("num_bits",),
        limits={"num_bits": (1, 7)},  # Stricter: the class accepts pairs beyond.
        check=_check_bits,
        native=_posterize,
    ),
    _table(
        "RandomGamma",
        gain=amplify.gamma,
        neutral={"gamma_limit": 100},
        only_draws=("gamma_limit",),
        native=encoder(EFFECTS.CORRECTS_GAMMA, DRAWS.HUNDREDTHS, ["gamma_limit"], ["gamma"]),
    ),
    _table(
        "RandomBrightnessContrast",
        recolours=True,
        when={"action": lambda a: not _is_by_mean(a), "statistics": _reads_mean},
        statistics="the mean (for its brightness)",
        gain=amplify.brightness_contrast,
        neutral=_BY_MEAN,
        only_draws=(*_BY_MEAN,),
        native=encoder(
            EFFECTS.SCALES_LEVELS, DRAWS.BRIGHTNESS_CONTRAST, ["contrast_limit", "brightness_limit"], ["alpha", "beta"]
        ),
        native_with={"brightness_by_max": True, "ensure_safe_range": False},
    ),
    _table(
        "RandomToneCurve",
        deep="RandomGamma",
        gain=3.0,
        in_levels=True,
        neutral={"scale": 0},
        native=encoder(EFFECTS.CURVES, DRAWS.CURVES, ["scale", "per_channel", numpy_normals], _curves),
    ),
    _table("PlanckianJitter", recolours=True, channels=RGB, gain=1.7, asks=True),
    _table(
        "MultiplicativeNoise",
        when=dict.fromkeys(("action", "grids"), lambda a: not a.get("elementwise", False)),
        gain=amplify.multiplied,
        neutral={"multiplier": 1},
        native=encoder(EFFECTS.MULTIPLIES, DRAWS.MULTIPLIERS, ["multiplier", "per_channel"], ["multiplier"]),
        native_with={"elementwise": False},
    ),
    _table(
        "ChannelDropout",
        channels=(2, 3, 4, 5),
        gain=1.0,
        rising={"channel_drop_range": 0},
        native=encoder(EFFECTS.DROPS_CHANNELS, DRAWS.DROPPED_CHANNELS, ["channel_drop_range"], _drops, [_fill]),
        native_note="`fill` of 0 to 255",
    ),
)
