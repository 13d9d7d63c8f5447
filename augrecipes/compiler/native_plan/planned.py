"""Which pipelines run as native plans, and why the others do not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from augrecipes.compat.steps import is_plain
from augrecipes.compiler.kernels.sink import Sink
from augrecipes.compiler.native_plan import masks
from augrecipes.compiler.native_plan.carrying_out import NativePlan
from augrecipes.compiler.native_plan.keyed_steps import NotNativeError, Walk
from augrecipes.compiler.native_plan.lower import Lowered
from augrecipes.compiler.native_plan.masks import MaskSink
from augrecipes.compiler.native_plan.prober import Position, draws_alike, works_alike
from augrecipes.compiler.native_plan.steps import KEPT, LEFT, OPAQUE, KeyedStep
from augrecipes.native.kernels import library
from augrecipes.ops.capabilities import capability
from augrecipes.recipe.model import Output

_MOST = 1 << 28  # pixels
_BYTES = 32  # of a pixel, at most: four channels of eight
_AS_IT_IS = Output(dtype="uint8", layout="hwc")
_BYTE, _WORD = np.dtype(np.uint8), np.dtype(np.uint16)


def native_plan(
    lowered: Sequence[Lowered],
    sites: Sequence[tuple[Any, str, bool]],
    sink: Sink,
    seed: int,
    position: Position,
    most: int | None,
    files: bool = False,
) -> NativePlan:
    """The steps of a pipeline as a native plan.

    Args:
        lowered: in order.
        sites: of all that draws: the transform, its label, and whether the tiles of a bag draw as one.
        sink: of the pipeline.
        seed: of the pipeline.
        position: moves the generators of its steps.
        most: bytes that a picture may have on its way; None: any.
        files: pictures come undecoded.

    Raises:
        NotNativeError: they do not run as one; it says why.
    """
    walk = Walk({id(step): (label, shared) for step, label, shared in sites}, files)
    plan = plan_of(walk.keyed(lowered), sink, seed, position, most)
    plan.apart = walk.apart
    return plan


def plan_of(
    steps: Iterable[tuple[Any, KeyedStep]],
    sink: Sink,
    seed: int,
    position: Position,
    most: int | None,
) -> NativePlan:
    """Steps and their numbers as a native plan, once each has drawn and worked as its transform does.

    Args:
        steps: transforms, or None for what is done between them, and the numbers of each.
        sink: the same as of `native_plan`.
        seed: the same.
        position: the same.
        most: the same.

    Raises:
        NotNativeError: one does not; or there are no kernels.
    """
    if (kernels := library()) is None:
        raise NotNativeError("there are no native kernels")
    writes = _writes(sink)
    sink = sink if writes else Sink(_AS_IT_IS)
    made: list[KeyedStep] = []
    given, few = {}, _few(most)
    opaque: dict[int, tuple[Any, bool]] = {}
    for step, keyed in steps:
        alone = NativePlan(kernels, [keyed], sink, seed, few)
        why = ""
        if step is not None and keyed.numbers is not OPAQUE and not draws_alike(alone, step, keyed, position):
            why = "draws otherwise here"
        elif step is not None and keyed.numbers.changes and not works_alike(kernels, step, keyed, seed, position):
            why = "changes pictures otherwise here"
        if why and not keyed.alone:
            raise NotNativeError(f"{keyed.label} {why}")
        stops = keyed.alone and (why or keyed.numbers in (LEFT, OPAQUE))
        if stops:
            opaque[len(made)] = step, keyed.forced
        elif keyed.numbers.given:
            given[len(made)] = step
        made.append(replace(keyed, numbers=OPAQUE) if stops else keyed)
    plan = NativePlan(kernels, made, sink, seed, few)
    plan.given, plan.opaque, plan.writes = given, opaque, writes
    return plan


def _writes(sink: Sink) -> bool:
    """Whether the kernels write what a sink makes; otherwise the plan leaves uint8 H×W×C to it."""
    output = sink.output
    return sink.dtype in (np.uint8, np.float32) and (output.color in ("rgb", "bgr") or output.where != "host")


def mask_plan(
    lowered: Sequence[Lowered],
    sites: Sequence[tuple[Any, str, bool]],
    seed: int,
    position: Position,
    most: int | None,
    pictures: NativePlan,
    *,
    wide: bool = False,
    dtype: np.dtype[Any] = _BYTE,
    exactly: bool = False,
) -> NativePlan:
    """What happens to the masks of pictures that such a plan carries out, with the same draws.

    It takes the bytes of their pixels, H×W×B: of uint8 one, of float32 four.

    Args:
        lowered: as of `native_plan`.
        sites: the same.
        seed: the same.
        position: the same.
        most: the same.
        pictures: their plan.
        wide: results are int64, not uint8.
        dtype: of the masks.
        exactly: no pixel may be another than the step takes, as OpenCV does of int16 in warps; otherwise these are
            sampled as those of other dtypes.

    Raises:
        NotNativeError: no such plan.
    """
    kernels = library()
    if kernels is None:
        raise NotNativeError("there are no native kernels")
    made = {id(step): (label, shared) for step, label, shared in sites}
    walk, opaque = Walk(made, labels=True, apart=pictures.apart), pictures.opaque
    steps: list[KeyedStep] = []
    given, like = {}, _WORD if dtype == np.int16 and not exactly else dtype
    for step, known in walk.keyed(lowered):
        of_opaque = OPAQUE if _changes_masks(step) else KEPT
        keyed = replace(known, numbers=of_opaque) if len(steps) in opaque else known
        if keyed.numbers.given:
            given[len(steps)] = step
        if dtype != _BYTE and (why := masks.refuses(step, keyed.numbers, dtype, exactly=exactly)):
            raise NotNativeError(f"{keyed.label} {why}")
        if step is not None and not works_alike(kernels, step, keyed, seed, position, like):
            raise NotNativeError(f"{keyed.label} changes masks otherwise here")
        steps.append(replace(keyed, p=1.0) if keyed.numbers is KEPT else keyed)
    plan = NativePlan(kernels, steps, MaskSink(wide=wide), seed, _few(most), labels=True)
    plan.given = given
    plan.opaque = {place: one for place, one in opaque.items() if steps[place].numbers is OPAQUE}
    return plan


def _changes_masks(step: Any) -> bool:
    """Whether a step may change a mask, or look at it: of classes that nobody knows anything is."""
    record = capability(type(step).__name__)
    return record is None or not is_plain(step) or "mask" in record.targets


def _few(most: int | None) -> int:
    """Pixels that so many bytes have room for."""
    return _MOST if most is None else min(_MOST, most // _BYTES)
