"""Which pipelines run as native plans, and why the others do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import cv2
import numpy as np

from augrecipes.compat.steps import group_of, is_gated, is_plain, sampler_of
from augrecipes.compiler.kernels import cost, resize_native
from augrecipes.compiler.kernels.colour_ops import ColourOps, ColourStep
from augrecipes.compiler.kernels.jobs import numbers_of
from augrecipes.compiler.kernels.joined import Joined
from augrecipes.compiler.kernels.sink import Sink
from augrecipes.compiler.kernels.step_draws import stand_in
from augrecipes.compiler.kernels.warps import Deferred, Warps
from augrecipes.compiler.native_plan import groups, warps
from augrecipes.compiler.native_plan.carrying_out import KeyedStep, NativePlan
from augrecipes.compiler.native_plan.steps import (
    ADJUSTS,
    CUTS,
    CUTS_AND_PADS,
    CUTS_AND_RESIZES,
    GROUPS,
    IN_PYTHON,
    JITTERS,
    JITTERS_EXACTLY,
    KEEPS,
    LEFT,
    MADE,
    MERGED_ENDS,
    MERGES,
    MIXES,
    NOTHING,
    PADS,
    PADS_AND_CUTS,
    RESIZES,
    SCALES,
    SCALES_LEVELS,
    SHIFTS_HSV,
    TINTS,
    TURNS,
    WARPS,
    NativeStep,
    encode,
)
from augrecipes.native.kernels import Library, library
from augrecipes.ops.capabilities import claims
from augrecipes.ops.colour_ops import Linear
from augrecipes.recipe.model import Output

_MOST = 1 << 28  # pixels
_BYTES = 32  # of a pixel, at most: four channels of eight
_EPOCH = 3
Position = Callable[[int, int, int], None]  # of epoch, index and tile
_ALONE = {CUTS, TURNS, RESIZES, CUTS_AND_RESIZES, KEEPS, SCALES, PADS, PADS_AND_CUTS, CUTS_AND_PADS}
_MOVED = {CUTS, TURNS, WARPS}
_RESAMPLED = {RESIZES, CUTS_AND_RESIZES}
_COLOURS = {JITTERS: JITTERS, JITTERS_EXACTLY: JITTERS, SCALES_LEVELS: ADJUSTS, SHIFTS_HSV: TINTS}  # among colours
_TRIED = tuple((index, index * 7) for index in range(4))  # keys at which draws are compared
_SIZES = ((40, 61), (300, 200))
_MANY, _SIDE = 64, 512  # samples at which it is counted how many are left to Python, px
_AS_IT_IS = Output(dtype="uint8", layout="hwc")
_FULL = 255.0
_NEARLY = 1 - 2.0**-53  # a probability below which every draw is


class NotNativeError(Exception):
    """Why a pipeline does not run as a native plan."""


def native_plan(
    transforms: Sequence[Any],
    sites: Sequence[tuple[Any, str, bool]],
    sink: Sink,
    seed: int,
    position: Position,
    most: int | None,
    files: bool = False,
) -> NativePlan:
    """The transforms of a pipeline as a native plan.

    Args:
        transforms: in order; kernels of several steps included.
        sites: of all that draws: the transform, its label, and whether the tiles of a bag draw as one.
        sink: of the pipeline.
        seed: of the pipeline.
        position: moves the generators of its steps.
        most: bytes that a picture may have on its way; None: any.
        files: pictures come undecoded.

    Raises:
        NotNativeError: they do not run as one; it says why.
    """
    kernels = library()
    if kernels is None:
        raise NotNativeError("there are no native kernels")
    output = sink.output
    if sink.dtype not in (np.uint8, np.float32) or (output.color not in ("rgb", "bgr") and output.where == "host"):
        raise NotNativeError(f"the output is {sink.dtype} and {output.color}")
    made = {id(step): (label, shared) for step, label, shared in sites}
    few = _MOST if most is None else min(_MOST, most // _BYTES)
    steps = []
    for step, keyed in _keyed_steps(transforms, made, files):
        alone = NativePlan(kernels, [keyed], sink, seed, few)
        if step is not None and not _draws_alike(alone, step, keyed, position):
            raise NotNativeError(f"{keyed.label} draws otherwise here")
        if step is not None and keyed.numbers.changes and not _works_alike(kernels, step, keyed, seed, position):
            raise NotNativeError(f"{keyed.label} changes pictures otherwise here")
        steps.append(keyed)
    plan = NativePlan(kernels, steps, sink, seed, few)
    if plan.left and plan.all_are_left(_EPOCH, _MANY, _SIDE):
        raise NotNativeError(f"{plan.left[0]} runs in Python")
    return plan


def _keyed_steps(
    transforms: Sequence[Any], made: Mapping[int, tuple[str, bool]], files: bool
) -> Iterator[tuple[Any, KeyedStep]]:
    """The steps of a pipeline, with their numbers; None and numbers for what is done between them."""
    for step in transforms:
        if type(step) is Joined:
            for one in step.transforms:
                yield one, _keyed(one, made, _alone)
        elif type(step) is Deferred:
            yield step.step, _keyed(step.step, made, _merged)
        elif type(step) is ColourStep:
            yield step.step, _keyed(step.step, made, _coloured)
        elif type(step) is Warps:
            children = [*_keyed_steps(step.transforms, made, files)]
            if files and not _resizes_last([keyed for _, keyed in children]):
                raise NotNativeError("what is decoded for several warps is chosen in Python")
            yield from children
            ends = (*cost.CONSTANTS, step.to_sink, step.shrinks.reduces)
            yield None, KeyedStep("", False, 1.0, NativeStep(NOTHING, MERGED_ENDS, (), lambda _: (), ends))
        elif type(step) is ColourOps:
            yield from _keyed_steps(step.transforms, made, files)
            if not step.to_sink:
                yield None, KeyedStep("", False, 1.0, NativeStep(NOTHING, MADE, (), lambda _: ()))
        elif id(step) in made and is_gated(step):
            yield step, _keyed(step, made, _alone)
        elif id(step) in made and group_of(step) is not None:
            label, shared = made[id(step)]
            units = [list(_keyed_steps([child], made, files)) for child in step.transforms]
            if (group := groups.opened(step, label, units, shared=shared)) is None:
                raise NotNativeError(f"{label} chooses in Python")
            yield from group
        else:
            raise NotNativeError(f"{type(step).__name__} is made in Python")


def _resizes_last(steps: Sequence[KeyedStep]) -> bool:
    """Whether steps resample once and cut nothing afterwards: then what decoding costs decides nothing."""
    if any(step.numbers.effect == GROUPS for step in steps):
        return False
    effects = [step.numbers.effect - MERGES for step in steps if step.numbers.draw != IN_PYTHON]
    sampled = [at for at, effect in enumerate(effects) if effect not in (CUTS, TURNS)]
    return len(sampled) <= 1 and CUTS not in effects[sampled[0] if sampled else 0 :]


def _keyed(
    step: Any, made: Mapping[int, tuple[str, bool]], as_numbers: Callable[[Any], NativeStep | None]
) -> KeyedStep:
    if id(step) not in made:
        raise NotNativeError("its steps are looked at one by one")
    label, shared = made[id(step)]
    numbers = as_numbers(step) if is_plain(step) else None
    if numbers is None and not is_gated(step):
        raise NotNativeError(f"{label} runs in Python")
    if numbers is not None and ((native := resize_native.here()) is None or not all(map(native.has, numbers.kernels))):
        raise NotNativeError(f"{label} resizes with OpenCV")
    return KeyedStep(label, shared, float(step.p), numbers or LEFT)


def _alone(step: Any) -> NativeStep | None:
    """A step that is carried out by itself."""
    found = encode(step)
    if found is not None and found.effect == WARPS:
        return warps.exactly(step, found)
    return found if found is not None and (found.changes or found.effect in _ALONE) else None


def _merged(step: Any) -> NativeStep | None:
    """A step of a run that is resampled once."""
    found = encode(step)
    if found is None:
        return None
    straight = found.effect in _RESAMPLED and set(found.does[2:]) == {cv2.INTER_LINEAR}
    return replace(found, effect=MERGES + found.effect) if straight or found.effect in _MOVED else None


def _coloured(step: Any) -> NativeStep | None:
    """A step that changes colours behind such a run."""
    record = claims(type(step).__name__)
    if not record.random and record.colour_ops is not None:
        operations = record.colour_ops(step, {}, _FULL) or []
        numbers = [numbers_of(operation) for operation in operations]
        same = len(numbers) == 1 and numbers[0] is not None and isinstance(operations[0], Linear)
        return NativeStep(NOTHING, MIXES, numbers[0][1:13], lambda _: ()) if same and numbers[0] else None
    found = encode(step)
    effect = None if found is None else _COLOURS.get(found.effect)
    return None if found is None or effect is None else replace(found, effect=effect, does=(), changes=False)


def _draws_alike(plan: NativePlan, step: Any, keyed: KeyedStep, position: Position) -> bool:
    """Whether the kernel draws what albumentations' sampler draws, at some keys: libm may be another here, or numpy."""
    draw = groups.sampler_of(step) if keyed.numbers.effect == GROUPS else sampler_of(step)
    left = keyed.numbers.draw == IN_PYTHON
    for rows, columns in _SIZES:
        data = {"image": stand_in((rows, columns, 3), np.dtype(np.uint8))}
        for (index, tile), found in zip(_TRIED, plan.drawn(_EPOCH, _TRIED, rows, columns), strict=True):
            position(_EPOCH, index, tile)
            if groups.acts(step) != (found is not None):
                return False
            if found is not None and not left and not _equal(found, partial(draw, data), keyed.numbers):
                return False
    return True


def _works_alike(kernels: Library, step: Any, keyed: KeyedStep, seed: int, position: Position) -> bool:
    """Whether the kernel makes of some pictures what the step does, of what it draws at some keys."""
    if keyed.p <= 0:
        return True  # it never acts
    always = keyed if keyed.p >= 1 else replace(keyed, p=_NEARLY)
    plan, draw = NativePlan(kernels, [always], Sink(_AS_IT_IS), seed, _MOST), sampler_of(step)
    for image in _pictures():
        for index, tile in _TRIED:
            position(_EPOCH, index, tile)
            step.should_apply()  # which may take the first draw
            made = plan.sample(_EPOCH, index, tile, image, np.empty)
            if made is not None and not np.array_equal(made, step.apply(image, **draw({"image": image}))):
                return False
    return True


@cache
def _pictures() -> tuple[np.ndarray, ...]:
    """Every level in every channel, and colours."""
    words = np.arange(3 * 37 * 43, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    scatter = (words >> np.uint64(56)).astype(np.uint8).reshape(37, 43, 3)
    return np.repeat(np.arange(256, dtype=np.uint8), 3).reshape(8, 32, 3), scatter


def _equal(found: Sequence[float], draw: Callable[[], Mapping[str, Any]], numbers: NativeStep) -> bool:
    try:
        wanted = numbers.seen(draw())
    except Exception:  # the picture is too small for it
        return not np.isfinite(found[0])
    return list(wanted) == list(found[: len(wanted)])
