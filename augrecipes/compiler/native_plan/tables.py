"""Steps that are a table of levels as numbers of a native plan: native/tables.h makes the tables of what is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from augrecipes.compat.normals import normals
from augrecipes.compiler.native_plan.colours import ranges
from augrecipes.compiler.native_plan.steps import NativeStep
from augrecipes.native.op_numbers import DRAWS, EFFECTS

_RGB, _MOST_LEVEL = 3, 255


def _changes(
    draw: int,
    effect: int,
    arguments: tuple[float, ...],
    seen: Callable[[Mapping[str, Any]], tuple[float, ...]],
    *does: float,
) -> NativeStep:
    return NativeStep(draw, effect, arguments, seen, does, changes=True)


def scaled(step: Any) -> NativeStep | None:
    """Brightness and contrast, of which none is measured in the picture."""
    if not step.brightness_by_max or step.ensure_safe_range:
        return None
    limits = ranges(step.contrast_limit, step.brightness_limit)
    return _changes(
        DRAWS.BRIGHTNESS_CONTRAST, EFFECTS.SCALES_LEVELS, limits, lambda params: (params["alpha"], params["beta"])
    )


def bent(step: Any) -> NativeStep:
    """A power of each level."""
    return _changes(DRAWS.PERCENT, EFFECTS.BENDS, ranges(step.gamma_limit), lambda params: (params["gamma"],))


def inverted(step: Any) -> NativeStep:
    """Every level from the other end."""
    del step
    return _changes(DRAWS.NOTHING, EFFECTS.INVERTS, (), lambda _: ())


def solarized(step: Any) -> NativeStep:
    """Levels above one from the other end."""
    return _changes(
        DRAWS.NUMBERS, EFFECTS.SOLARIZES, (1.0, *ranges(step.threshold_range)), lambda params: (params["threshold"],)
    )  # fmt: skip


def posterized(step: Any) -> NativeStep | None:
    """Some bits of each level."""
    bits = step.num_bits if isinstance(step.num_bits, list) else [step.num_bits]
    if len(bits) not in (1, _RGB):
        return None

    def seen(params: Mapping[str, Any]) -> tuple[float, ...]:
        drawn = params["num_bits"]
        return tuple(map(float, drawn)) if isinstance(drawn, list) else (float(drawn),)

    return _changes(DRAWS.WHOLE_NUMBERS, EFFECTS.POSTERIZES, (len(bits), *ranges(*bits)), seen, len(bits))


def multiplied(step: Any) -> NativeStep | None:
    """Every level of a channel by one number."""
    if step.elementwise:
        return None
    arguments = (*ranges(step.multiplier), float(step.per_channel))
    return _changes(
        DRAWS.MULTIPLIERS, EFFECTS.MULTIPLIES, arguments, lambda params: tuple(params["multiplier"].ravel().tolist())
    )


def shifted(step: Any) -> NativeStep | None:
    """A number of levels added to each channel."""
    limits = step.noise_params["ranges"]
    if len(limits) != _RGB:
        return None
    return _changes(DRAWS.SHIFTS, EFFECTS.SHIFTS, ranges(*limits), lambda params: tuple(params["noise_map"].tolist()))


def dropped(step: Any) -> NativeStep | None:
    """Some channels of one level."""
    if not 0 <= step.fill <= _MOST_LEVEL:
        return None

    def seen(params: Mapping[str, Any]) -> tuple[float, ...]:
        return tuple(float(channel in params["channels_to_drop"]) for channel in range(_RGB))

    return _changes(
        DRAWS.DROPPED_CHANNELS, EFFECTS.DROPS_CHANNELS, ranges(step.channel_drop_range), seen, int(step.fill)
    )


def curved(step: Any) -> NativeStep | None:
    """Levels along a curve, or those of each channel along its own."""
    if not normals():
        return None

    def seen(params: Mapping[str, Any]) -> tuple[float, ...]:
        low, high = (np.atleast_1d(params[name]).tolist() for name in ("low_y", "high_y"))
        return (float(len(low)), *low, *high)

    arguments = (float(step.scale), float(step.per_channel), float(normals()))
    return _changes(DRAWS.CURVES, EFFECTS.CURVES, arguments, seen)
