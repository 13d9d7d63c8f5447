"""The steps of a pipeline as those of a native plan: their keys, and as numbers what each does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from augrecipes.compat.steps import group_of, is_gated, is_plain
from augrecipes.compiler.kernels import cost, resize_native
from augrecipes.compiler.kernels.colour_ops import ColourOps, ColourStep
from augrecipes.compiler.kernels.jobs import numbers_of
from augrecipes.compiler.kernels.joined import Joined
from augrecipes.compiler.kernels.warps import Deferred, Warps
from augrecipes.compiler.native_plan import groups, masks, warps
from augrecipes.compiler.native_plan.steps import LEFT, OPAQUE, KeyedStep, NativeStep, encode
from augrecipes.native.op_numbers import DRAWS, EFFECTS
from augrecipes.ops.capabilities import claims
from augrecipes.ops.colour_ops import Linear
from augrecipes.ops.warps import LINEAR

_MOVED = {EFFECTS.CUTS, EFFECTS.TURNS}
_RESAMPLED = {EFFECTS.RESIZES, EFFECTS.CUTS_AND_RESIZES}
_PADDED = {EFFECTS.PADS, EFFECTS.PADS_AND_CUTS, EFFECTS.CUTS_AND_PADS}
_ALONE = {EFFECTS.KEEPS, EFFECTS.SCALES, *_MOVED, *_RESAMPLED, *_PADDED}
_COLOURS = {
    EFFECTS.JITTERS: EFFECTS.JITTERS,
    EFFECTS.JITTERS_EXACTLY: EFFECTS.JITTERS,
    EFFECTS.SCALES_LEVELS: EFFECTS.ADJUSTS,
    EFFECTS.SHIFTS_HSV: EFFECTS.SHIFTS_HUES,
}  # among colours
_FULL = 255.0
_BOXES = frozenset({"bboxes"})  # what is moved in Python knows them
# From a step, and how what it resamples is sampled, to its numbers; None: Python does that.
AsNumbers = Callable[[Any, int], NativeStep | None]


class NotNativeError(Exception):
    """Why a pipeline does not run as a native plan."""


@dataclass(frozen=True, slots=True)
class Walk:
    """A way through the steps of a pipeline.

    Attributes:
        made: of each that draws, by its id: its label, and whether the tiles of a bag draw as one.
        reader: the kernel that pictures are handed to undecoded, if any.
        labels: numbers are those of what happens to a mask.
    """

    made: Mapping[int, tuple[str, bool]]
    reader: Any = None
    labels: bool = False

    def keyed(self, transforms: Sequence[Any]) -> Iterator[tuple[Any, KeyedStep]]:
        """The steps, with their numbers; None and numbers for what is done between them.

        Raises:
            NotNativeError: one of them is Python's, whether or not it acts.
        """
        for step in transforms:
            if type(step) is Joined:
                for one in step.transforms:
                    yield one, replace(self.one(one, alone), alone=True)
            elif type(step) is Deferred:
                yield step.step, self.one(step.step, _merged)
            elif type(step) is ColourStep:
                yield step.step, self.one(step.step, _coloured)
            elif type(step) is Warps:
                yield from self._within(step.transforms)
                decodes = cost.DECODED if step is self.reader else 0.0
                of_picture = (*cost.CONSTANTS, step.to_sink + 2 * step.shrinks.reduces, decodes)
                ends = masks.ends() if self.labels else of_picture
                yield None, _between(EFFECTS.MERGED_ENDS, ends)
            elif type(step) is ColourOps:
                yield from self._within(step.transforms)
                if not step.to_sink:
                    yield None, _between(EFFECTS.MATERIALISES)
            elif id(step) not in self.made:
                raise NotNativeError("its steps are looked at one by one")
            elif is_gated(step):
                yield step, replace(self.one(step, alone), alone=True)
            elif (group := self._group(step)) is not None:
                yield from group
            else:  # nobody else knows when it acts
                yield step, KeyedStep(*self.made[id(step)], 1.0, OPAQUE, alone=True)

    def _within(self, transforms: Sequence[Any]) -> Iterator[tuple[Any, KeyedStep]]:
        """The same of steps that are merged: at none of them is there a picture with which a sample could stop."""
        for step, keyed in self.keyed(transforms):
            if keyed.numbers is OPAQUE:
                raise NotNativeError(f"{keyed.label} runs in Python")
            yield step, keyed

    def _group(self, step: Any) -> groups.Unit | None:
        """A group, opened; None where it is none, or chooses as only albumentations knows."""
        if (kind := group_of(step)) is None:
            return None
        label, shared = self.made[id(step)]
        units = [list(self.keyed([child])) for child in step.transforms]
        if kind == "one":
            # Of a child that is several steps each has a gate of its own.
            units = [[(one, replace(keyed, forced=not rest)), *rest] for (one, keyed), *rest in units]
        return groups.opened(step, label, units, shared=shared)

    def one(self, step: Any, as_numbers: AsNumbers) -> KeyedStep:
        """A transform; NotNativeError where it is Python's, whether or not it acts."""
        if id(step) not in self.made:
            raise NotNativeError("its steps are looked at one by one")
        label, shared = self.made[id(step)]
        numbers = None
        if is_plain(step, reads=_BOXES):
            numbers = masks.numbers_of(step, as_numbers) if self.labels else as_numbers(step, LINEAR)
        if numbers is None and not is_gated(step):
            raise NotNativeError(f"{label} runs in Python")
        kernels, native = numbers.kernels if numbers else (), resize_native.here()
        if kernels and (native is None or not all(map(native.has, kernels))):
            if as_numbers is not alone:
                raise NotNativeError(f"{label} resizes with OpenCV")
            numbers = None
        return KeyedStep(label, shared, float(step.p), numbers or LEFT)


def _between(effect: int, does: tuple[float, ...] = ()) -> KeyedStep:
    """What is done between steps."""
    return KeyedStep("", False, 1.0, NativeStep(DRAWS.NOTHING, effect, (), lambda _: (), does))


def alone(step: Any, _: int) -> NativeStep | None:
    """A step that is carried out by itself."""
    found = encode(step)
    if found is not None and found.effect in (EFFECTS.WARPS, EFFECTS.TILTS):
        return warps.exactly(step, found)
    return found if found is not None and (found.changes or found.effect in _ALONE) else None


def _merged(step: Any, interpolation: int) -> NativeStep | None:
    """A step of a run that is resampled once."""
    found = encode(step)
    if found is None:
        return None
    merges = found.effect in _MOVED
    if found.effect in _RESAMPLED:
        merges = set(found.does[2:]) == {interpolation}
    elif found.effect == EFFECTS.SCALES:
        merges = set(found.does[:2]) == {interpolation}
    elif found.effect in (EFFECTS.WARPS, EFFECTS.TILTS):
        merges = warps.interpolation_of(found) == interpolation
    return replace(found, effect=EFFECTS.MERGES + found.effect) if merges else None


def _coloured(step: Any, _: int) -> NativeStep | None:
    """A step that changes colours behind such a run."""
    record = claims(type(step).__name__)
    if not record.random and record.colour_ops is not None:
        operations = record.colour_ops(step, {}, _FULL) or []
        numbers = [numbers_of(operation) for operation in operations]
        same = len(numbers) == 1 and numbers[0] is not None and isinstance(operations[0], Linear)
        return NativeStep(DRAWS.NOTHING, EFFECTS.MIXES, numbers[0][1:13], lambda _: ()) if same and numbers[0] else None
    if record.native_joined:
        return encode(step, joined=True)
    found = encode(step)
    effect = None if found is None else _COLOURS.get(found.effect)
    return None if found is None or effect is None else replace(found, effect=effect, does=(), changes=False)
