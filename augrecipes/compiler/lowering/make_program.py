"""Which pipelines run as programs, and why the others do not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from augrecipes.compat.steps import is_plain
from augrecipes.compiler.executor.op import Op
from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.kernels.sink import Sink
from augrecipes.compiler.lowering import masks
from augrecipes.compiler.lowering.lower import Lowered
from augrecipes.compiler.lowering.masks import AS_IT_IS, MaskSink
from augrecipes.compiler.lowering.validate import Position, matches_reference, same_draws
from augrecipes.compiler.lowering.walk import OpaqueError, Walk
from augrecipes.native.kernels import Library, library
from augrecipes.native.op_numbers import EFFECTS
from augrecipes.ops.fills import fill_lengths
from augrecipes.ops.native_op import EXIT, NO_OP, UNKNOWN_OP, params_getter
from augrecipes.ops.records import op_record

_MOST = 1 << 28  # pixels
_BYTES = 32  # of a pixel, at most: four channels of eight
_SEEN = params_getter()  # what is the same of all
_BYTE, _WORD = np.dtype(np.uint8), np.dtype(np.uint16)


class ProgramMaker:
    """What makes programs of the steps of one pipeline. Where there is none, OpaqueError says why.

    Args:
        pipeline: whose steps these are.

    Attributes:
        sites: of each step that draws, by its id: its label, and whether the tiles of a bag draw as one.
        position: moves the generators of the steps.
    """

    def __init__(self, pipeline: Any) -> None:
        self.sites = {id(step): (label, shared) for step, label, shared in pipeline.sites}
        self.position: Position = pipeline.draws.position
        max_bytes = pipeline.recipe.max_bytes
        self._pixels = _MOST if max_bytes is None else min(_MOST, max_bytes // _BYTES)
        self._seed, self._tried = pipeline.compiled.seed, pipeline.tried

    def images(self, lowered: Sequence[Lowered], sink: Sink, *, files: bool) -> Program:
        """A plan of lowered steps, for images alone, which come undecoded if they are `files`."""
        walk = Walk(self.sites, files)
        plan = self.steps(walk.lower(lowered), sink)
        plan.unmerged = walk.unmerged
        return plan

    def steps(self, steps: Iterable[tuple[Any, Op]], sink: Sink) -> Program:
        """A plan of transforms, or None for what is done between them, and their numbers.

        Each has drawn and worked as its transform does.
        """
        kernels, writes, steps = _kernels(), _writes(sink), [*steps]
        sink = sink if writes else Sink(AS_IT_IS)
        made: list[Op] = []
        given = {}
        opaque: dict[int, tuple[Any, bool]] = {}
        for step, keyed in steps:
            why = ""
            if step is not None and keyed.numbers is not EXIT and (known := _known(step, keyed)) not in self._tried:
                alone = Program(kernels, [keyed], sink, self._seed, self._pixels)
                if not same_draws(alone, step, keyed, self.position):
                    why = "draws otherwise here"
                elif keyed.numbers.changes and not self._matches_reference(kernels, step, keyed):
                    why = "changes images otherwise here"
                else:
                    self._tried.add(known)
            if why and not keyed.alone:
                raise OpaqueError(f"{keyed.label} {why}")
            stops = keyed.alone and (why or keyed.numbers in (UNKNOWN_OP, EXIT))
            if stops:
                opaque[len(made)] = step, keyed.forced
            elif keyed.numbers.drawn_in_python:
                given[len(made)] = step
            made.append(replace(keyed, numbers=EXIT) if stops else keyed)
        plan = Program(kernels, made, sink, self._seed, self._pixels)
        plan.python_draws, plan.opaque, plan.writes = given, opaque, writes
        plan.fill_lengths = fill_lengths(step for step, _ in steps if step is not None)
        if plan.fill_lengths and any(getattr(step, "num_output_channels", None) for step, _ in steps):
            raise OpaqueError("a fill has a level for each channel, and a step changes their number")
        plan.idle = len(opaque) == sum(op.numbers.effect != EFFECTS.GROUPS for op in made) > 0
        return plan

    def masks(
        self,
        lowered: Sequence[Lowered],
        images: Program,
        *,
        wide: bool = False,
        dtype: np.dtype[Any] = _BYTE,
        exactly: bool = False,
    ) -> Program:
        """What happens to the masks of images that a plan carries out, with the same draws.

        It takes the bytes of their pixels, H×W×B: of uint8 one, of float32 four.

        Args:
            lowered: the steps.
            images: the plan.
            wide: results are int64, not uint8.
            dtype: of the masks.
            exactly: no pixel may be another than the step takes, as OpenCV does of int16 in warps; otherwise these are
                sampled as those of other dtypes.
        """
        kernels, opaque = _kernels(), images.opaque
        walk = Walk(self.sites, labels=True, unmerged=images.unmerged)
        steps: list[Op] = []
        given, like = {}, _WORD if dtype == np.int16 and not exactly else dtype
        for step, found in walk.lower(lowered):
            of_opaque = EXIT if _changes_masks(step) else NO_OP
            keyed = replace(found, numbers=of_opaque) if len(steps) in opaque else found
            if keyed.numbers.drawn_in_python:
                given[len(steps)] = step
            if dtype != _BYTE and (why := masks.refuses(step, keyed.numbers, dtype, exactly=exactly)):
                raise OpaqueError(f"{keyed.label} {why}")
            if step is not None and (known := _known(step, keyed, like)) not in self._tried:
                if not self._matches_reference(kernels, step, keyed, like):
                    raise OpaqueError(f"{keyed.label} changes masks otherwise here")
                self._tried.add(known)
            steps.append(replace(keyed, p=1.0) if keyed.numbers is NO_OP else keyed)
        plan = Program(kernels, steps, MaskSink(wide=wide), self._seed, self._pixels, labels=True)
        plan.python_draws = given
        plan.opaque = {place: one for place, one in opaque.items() if steps[place].numbers is EXIT}
        return plan

    def _matches_reference(self, kernels: Library, step: Any, keyed: Op, *labels: np.dtype[Any]) -> bool:
        return matches_reference(kernels, step, keyed, self._seed, self.position, *labels)


def _known(step: Any, keyed: Op, *labels: Any) -> tuple[Any, ...]:
    """What a step is tried by once, in all epochs: all of it but the numbers that it draws by."""
    numbers = replace(keyed.numbers, arguments=(), expected_draws=_SEEN)
    return type(step), replace(keyed, p=float(keyed.p > 0), numbers=numbers), labels


def _kernels() -> Library:
    if (kernels := library()) is None:
        raise OpaqueError("there are no native kernels")
    return kernels


def _writes(sink: Sink) -> bool:
    """Whether the kernels write what a sink makes; otherwise the plan leaves uint8 H×W×C to it."""
    output = sink.output
    return sink.dtype in (np.uint8, np.float32) and (output.color in ("rgb", "bgr") or output.where != "host")


def _changes_masks(step: Any) -> bool:
    """Whether a step may change a mask, or look at it: of classes that nobody knows anything is."""
    record = op_record(type(step).__name__)
    return not record.is_known or not is_plain(step) or "mask" in record.targets
