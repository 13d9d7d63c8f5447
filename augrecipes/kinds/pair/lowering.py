"""Lowers the steps of a pair to a native program for each target, with exits for steps that Python runs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from augrecipes.compat.albumentations import is_gated
from augrecipes.compiler.executor.program_buffer import Op
from augrecipes.compiler.kernels.sink import Sink
from augrecipes.compiler.lowering.lower import Lowered, group, lower, transforms_of
from augrecipes.compiler.lowering.make_program import ProgramMaker
from augrecipes.compiler.lowering.walk import OpaqueError, Walk, encode_alone
from augrecipes.kinds.pair.grid import Factors
from augrecipes.kinds.pair.programs import PairExit, PairPrograms
from augrecipes.kinds.pair.shared import Degrade, DegradeProgram, PairStep
from augrecipes.native.op_numbers import EFFECTS
from augrecipes.ops import groups, resize_to_target
from augrecipes.ops.native_op import EXIT, IN_PYTHON, NO_OP, NativeOp
from augrecipes.recipe.model import UINT8_HWC, Step

_NO_STEP = Op("", False, 1.0, NO_OP)  # a step of other targets
_DEGRADE = Op("", False, 1.0, EXIT, may_exit=True)
_MOVES: dict[str, tuple[int, ...]] = {"window": (EFFECTS.CROPS, EFFECTS.PADS_AND_CROPS), "dihedral": (EFFECTS.FLIPS,)}
_WARPS = (EFFECTS.WARPS, EFFECTS.WARPS_PERSPECTIVE)  # whose images may be of another size
_RESIZES = (EFFECTS.RESIZES, EFFECTS.SCALES)


def lower_pair(step: Step, targets: tuple[str, ...], factors: Factors) -> Lowered:
    """Lower a step of a pair recipe; `targets` are those of the group around it."""
    if step.name == groups.DEGRADE:
        children, _ = lower(step.steps)
        return Lowered(step, Degrade(step, [*transforms_of(children)]), children)
    targets = step.target or targets
    if not step.is_group:
        return Lowered(step, PairStep(step, targets, factors))
    children = tuple(lower_pair(child, targets, factors) for child in step.steps)
    return Lowered(step, group(step, [*transforms_of(children)]), children)


def opened(lowered: Sequence[Lowered]) -> Iterator[Lowered]:
    """The steps, each followed by the steps inside it."""
    for entry in lowered:
        yield entry
        yield from opened(entry.children)


def pair_programs(
    lowered: Sequence[Lowered],
    maker: ProgramMaker,
    sinks: Mapping[str, Sink],
    factors: Factors,
    call: Callable[..., Any],
) -> PairPrograms:
    """Make native programs of the steps of a pair's pipeline.

    Args:
        lowered: the steps, in order.
        maker: makes the pipeline's programs.
        sinks: sinks by output target.
        factors: scale factors, by target.
        call: see `PairPrograms`.

    Raises:
        OpaqueError: the steps cannot run natively; says why.
    """
    names = frozenset(sinks)
    programs = {name: maker.steps(_ops(lowered, name, names, maker.sites), sink) for name, sink in sinks.items()}
    transforms = (entry.transform for entry in opened(lowered))
    steps: dict[int, Any] = {id(step.step): step for step in transforms if isinstance(step, PairStep)}
    degrading = (entry for entry in lowered if isinstance(entry.transform, Degrade))
    steps |= {id(entry.transform): _degrade_program(entry, maker, call) for entry in degrading}
    opaque = {place: exit_step for program in programs.values() for place, exit_step in program.opaque.items()}
    exits, stops = dict[int, PairExit](), list[str]()
    for place, (transform, forced) in sorted(opaque.items()):
        step = steps[id(transform)]
        exits[place] = PairExit(
            step, forced, tuple(name for name, program in programs.items() if place in program.opaque)
        )
        stops += step.program.stops if isinstance(step, DegradeProgram) else [maker.sites[id(transform)][0]]
    unfinished = tuple(name for name, program in programs.items() if not program.writes)
    return PairPrograms(programs, exits, factors, maker.position, call, tuple(stops), unfinished)


def _ops(
    lowered: Sequence[Lowered], name: str, names: frozenset[str], sites: Mapping[int, tuple[str, bool]]
) -> Iterator[tuple[Any, Op]]:
    """The steps of a pair's pipeline as ops of the target `name`."""
    present = names.difference(entry.transform.target for entry in lowered if isinstance(entry.transform, Degrade))
    for entry in lowered:
        if isinstance(entry.transform, Degrade):
            step, op = (entry.transform, _DEGRADE) if name == entry.transform.source else (None, _NO_STEP)
            yield step, replace(op, label=entry.node.site)
            present |= {entry.transform.target}
        else:
            yield from _TargetWalk(sites, name=name, present=present).lower([entry])


@dataclass(frozen=True, slots=True)
class _TargetWalk(Walk):
    """A walk through the steps of a pair that encodes them for one target.

    Attributes:
        name: the target.
        present: the targets that the scene has at this step; the target itself may be missing yet.
    """

    name: str = ""
    present: frozenset[str] = frozenset()

    def _node(self, entry: Lowered, last: bool = False, *, decodes: bool = False) -> Iterator[tuple[Any, Op]]:
        """A step, or the steps of a group, as ops of the target."""
        step = entry.transform
        if isinstance(step, PairStep):
            takes_part = self.name in self.present.intersection(step.names)
            label = self.sites[id(step.step)][0]
            yield (step.step, self._shared(step)) if takes_part else (None, replace(_NO_STEP, label=label))
            return
        first, *rest = self._unit(entry, encode_alone)
        if first[1].numbers is EXIT:
            raise OpaqueError(f"{first[1].label} makes its choice inside albumentations")
        yield from (first, *rest)

    def _shared(self, step: PairStep) -> Op:
        if not is_gated(step.step):  # only the step itself decides whether it acts
            return Op(*self.sites[id(step.step)], 1.0, EXIT, may_exit=True)
        op = replace(self.op(step.step, encode_alone), may_exit=True)
        if op.numbers.draw == IN_PYTHON or op.numbers.drawn_in_python or not self._is_native(step, op.numbers):
            return replace(op, numbers=EXIT)
        return replace(op, cell=step.factors[self.name] if step.how == "window" else 1)

    def _is_native(self, step: PairStep, numbers: NativeOp) -> bool:
        """Whether the kernels run a step so that all targets still fit each other; nothing checks that afterwards."""
        together = self.present.intersection(step.names)
        if numbers.effect == EFFECTS.KEEPS:
            return True
        if step.how in _MOVES:
            return numbers.effect in _MOVES[step.how] and together == self.present
        # Several targets draw on the coarsest of them, and the draw may depend on its size.
        return step.how == "plain" and len(together) == 1 and numbers.changes and numbers.effect not in _WARPS


def _degrade_program(entry: Lowered, maker: ProgramMaker, call: Callable[..., Any]) -> DegradeProgram:
    """Make a native program of the steps of a Degrade."""
    entry.transform.set_target_size((1, 1))  # a placeholder: encoding runs the steps before a sample has a size
    steps = [
        (step, replace(op, numbers=EXIT) if op.numbers.drawn_in_python else op)
        for step, op in Walk(maker.sites).lower(entry.children)
    ]
    program = maker.steps(steps, Sink(UINT8_HWC))
    exits = program.opaque
    resizes = {place: pair for place, pair in enumerate(steps) if pair[1].numbers.effect in _RESIZES}
    # Samples also leave the program at resizes, where the kernels may not support the size.
    program.opaque = {place: (step, op.forced) for place, (step, op) in resizes.items()} | dict(exits)
    target_resizes = (
        place for place, (step, _) in resizes.items() if isinstance(step, resize_to_target.ResizeToTarget)
    )
    return DegradeProgram(
        entry.transform, program, tuple(place for place in target_resizes if place not in exits), call
    )
