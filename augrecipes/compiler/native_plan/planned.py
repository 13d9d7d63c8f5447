"""Which pipelines run as native plans, and why the others do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import A
from augrecipes.compat.steps import is_plain, sampler_of
from augrecipes.compiler.kernels import resize_native
from augrecipes.compiler.kernels.joined import Joined
from augrecipes.compiler.kernels.sink import Sink
from augrecipes.compiler.kernels.step_draws import stand_in
from augrecipes.compiler.native_plan.carrying_out import KeyedStep, NativePlan
from augrecipes.compiler.native_plan.steps import NativeStep, encode
from augrecipes.native.kernels import library

_MOST = 1 << 28  # pixels
_BYTES = 32  # of a pixel, at most: four channels of eight
_EPOCH = 3
Position = Callable[[int, int, int], None]  # of epoch, index and tile
_TRIED = tuple((index, index * 7) for index in range(4))  # keys at which draws are compared
_SIZES = ((40, 61), (300, 200))


class NotNativeError(Exception):
    """Why a pipeline does not run as a native plan."""


def native_plan(
    transforms: Sequence[Any],
    sites: Sequence[tuple[Any, str, bool]],
    sink: Sink,
    seed: int,
    position: Position,
    most: int | None,
) -> NativePlan:
    """The transforms of a pipeline as a native plan.

    Args:
        transforms: in order; kernels of several steps included.
        sites: of all that draws: the transform, its label, and whether the tiles of a bag draw as one.
        sink: of the pipeline.
        seed: of the pipeline.
        position: moves the generators of its steps.
        most: bytes that a picture may have on its way; None: any.

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
    for step in _singles(transforms):
        if id(step) not in made:
            raise NotNativeError("its steps are looked at one by one")
        placed = _placed(step, *made[id(step)])
        if not _draws_alike(NativePlan(kernels, [placed], sink, seed, few), step, placed, position):
            raise NotNativeError(f"{placed.label} draws otherwise here")
        steps.append(placed)
    return NativePlan(kernels, steps, sink, seed, few)


def _singles(transforms: Sequence[Any]) -> Iterator[Any]:
    for step in transforms:
        if type(step) is Joined:
            yield from step.transforms
        elif isinstance(step, A.BasicTransform):
            yield step
        else:
            raise NotNativeError(f"{type(step).__name__} is made in Python")


def _placed(step: Any, label: str, shared: bool) -> KeyedStep:
    encoded = encode(step) if is_plain(step) else None
    if encoded is None:
        raise NotNativeError(f"{label} runs in Python")
    if (native := resize_native.here()) is None or not all(map(native.has, encoded.kernels)):
        raise NotNativeError(f"{label} resizes with OpenCV")
    return KeyedStep(label, shared, float(step.p), encoded)


def _draws_alike(plan: NativePlan, step: Any, placed: KeyedStep, position: Position) -> bool:
    """Whether the kernel draws what albumentations' sampler draws, at some keys: libm may be another here, or numpy."""
    draw = sampler_of(step)
    for rows, columns in _SIZES:
        data = {"image": stand_in((rows, columns, 3), np.dtype(np.uint8))}
        for (index, tile), found in zip(_TRIED, plan.drawn(_EPOCH, _TRIED, rows, columns), strict=True):
            position(_EPOCH, index, tile)
            acts = step.should_apply()
            if acts != (found is not None):
                return False
            if found is not None and not _equal(found, partial(draw, data), placed.encoded):
                return False
    return True


def _equal(found: Sequence[float], draw: Callable[[], Mapping[str, Any]], encoded: NativeStep) -> bool:
    try:
        wanted = encoded.seen(draw())
    except Exception:  # the picture is too small for it
        return not np.isfinite(found[0])
    return list(wanted) == list(found[: len(wanted)])
