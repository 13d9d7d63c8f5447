"""Steps that change colours by more than a table as numbers of a native plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from augrecipes.compiler.kernels import stain_native
from augrecipes.compiler.kernels.lab import tables
from augrecipes.compiler.native_plan import opencv_variants
from augrecipes.compiler.native_plan.steps import NativeStep
from augrecipes.native.op_numbers import DRAWS, EFFECTS
from augrecipes.ops.capabilities import claims
from augrecipes.ops.colour_ops import Linear

_AMOUNTS = ("brightness", "contrast", "saturation", "hue")
_RGB, _MOST_TILES = 3, 64
_FULL = 255.0
_DROPPED = 0.499  # of a level: sums that drop their fraction are rounded after they lost as much
_LAB = tables()


def ranges(*pairs: Iterable[float]) -> tuple[float, ...]:
    """The ends of some ranges, one after another.

    >>> ranges((0, 1), [2, 3])
    (0.0, 1.0, 2.0, 3.0)
    """
    return tuple(float(end) for pair in pairs for end in pair)


def hue_saturation_value(step: Any) -> NativeStep:
    """Through HSV."""
    limits = (step.hue_shift_limit, step.sat_shift_limit, step.val_shift_limit)
    names = ("hue_shift", "sat_shift", "val_shift")
    return NativeStep(
        DRAWS.NUMBERS, EFFECTS.SHIFTS_HSV, (3.0, *ranges(*limits)),
        lambda params: tuple(params[name] for name in names), opencv_variants.hsv(), changes=True,
    )  # fmt: skip


def jittered(step: Any) -> NativeStep:
    """Brightness, contrast, saturation and hue in some order."""
    limits = ranges(*(getattr(step, name) for name in _AMOUNTS))
    does = (*opencv_variants.hsv(), opencv_variants.sums())
    return NativeStep(DRAWS.JITTER, EFFECTS.JITTERS_EXACTLY, limits, _jitter, does, changes=True)


def _jitter(params: Mapping[str, Any]) -> tuple[float, ...]:
    return (*(params[name] for name in _AMOUNTS), *params["order"])


def stained(step: Any) -> NativeStep | None:
    """Stains jittered as `fast` does."""
    where = tuple(map(float, stain_native.CONSTANTS))
    return NativeStep(
        DRAWS.STAINS, EFFECTS.STAINS, ranges(step.sigma, step.bias),
        lambda params: (*params["factors"], *params["shifts"]), where,
    )  # fmt: skip


def mixed(step: Any) -> NativeStep | None:
    """A step that draws nothing and mixes channels by one matrix; None where it is more than that."""
    colour_ops = claims(type(step).__name__).colour_ops
    operations = colour_ops(step, {}, _FULL) or [] if colour_ops is not None else []
    if len(operations) != 1 or not isinstance(operations[0], Linear):
        return None
    less = _DROPPED if operations[0].truncates else 0.0
    rows = tuple(value for *mix, add in operations[0].rows for value in (*mix, add * _FULL - less))
    return NativeStep(DRAWS.NOTHING, EFFECTS.MIXES, rows, lambda _: ())


def greyed(step: Any) -> NativeStep | None:
    """The luma of each pixel in its three places."""
    if step.method != "weighted_average" or step.num_output_channels != _RGB:
        return None
    return NativeStep(DRAWS.NOTHING, EFFECTS.GREYS, (), lambda _: (), changes=True)


def reordered(step: Any) -> NativeStep:
    """Channels that change places."""
    del step
    return NativeStep(
        DRAWS.ORDER, EFFECTS.REORDERS, (), lambda params: tuple(map(float, params["channels_shuffled"])), changes=True
    )  # fmt: skip


def evened_out(step: Any) -> NativeStep | None:
    """CLAHE."""
    across, down = step.tile_grid_size
    if max(across, down) > _MOST_TILES:
        return None
    return NativeStep(
        DRAWS.NUMBERS, EFFECTS.EVENS_OUT, (1.0, *ranges(step.clip_limit)), lambda params: (params["clip_limit"],),
        (down, across, _LAB.ctypes.data), changes=True,
    )  # fmt: skip


def equalized(step: Any) -> NativeStep | None:
    """Histograms of channels made even."""
    if step.mode != "cv" or not step.by_channels or step.mask is not None:
        return None
    return NativeStep(DRAWS.NOTHING, EFFECTS.EQUALIZES, (), lambda _: (), changes=True)
