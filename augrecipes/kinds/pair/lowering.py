"""The steps of a pair as programs: what each is to each target, and where samples stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from augrecipes.compat.steps import is_gated
from augrecipes.compiler.executor.op import Op
from augrecipes.compiler.kernels.sink import Sink
from augrecipes.compiler.lowering.lower import Lowered, transforms_of
from augrecipes.compiler.lowering.make_program import ProgramMaker
from augrecipes.compiler.lowering.walk import OpaqueError, Walk, alone
from augrecipes.kinds.pair.degrade import Degrade, Degrading
from augrecipes.kinds.pair.programs import SceneExit, ScenePlans
from augrecipes.kinds.pair.shared import Shared
from augrecipes.native.op_numbers import EFFECTS
from augrecipes.ops.native_op import EXIT, IN_PYTHON, NO_OP, NativeOp
from augrecipes.ops.resize_to_target import ResizeToTarget
from augrecipes.recipe.model import Output

_OTHERS = Op("", False, 1.0, NO_OP)  # a step of other targets
_DEGRADES = Op("", False, 1.0, EXIT, alone=True)
_MOVES: dict[str, tuple[int, ...]] = {"window": (EFFECTS.CROPS, EFFECTS.PADS_AND_CROPS), "dihedral": (EFFECTS.FLIPS,)}
_WARPS = (EFFECTS.WARPS, EFFECTS.WARPS_PERSPECTIVE)  # whose images may be of another size
_RESIZES = (EFFECTS.RESIZES, EFFECTS.SCALES)
_AS_IT_IS = Output(dtype="uint8", layout="hwc")


@dataclass(frozen=True, slots=True)
class _WalkOfTarget(Walk):
    """A way through the steps of a pair, as one of its targets goes.

    Attributes:
        name: of the target.
        present: the targets that are there; it may not be one of them yet.
    """

    name: str = ""
    present: frozenset[str] = frozenset()

    def _node(self, one: Lowered, last: bool = False, *, decodes: bool = False) -> Iterator[tuple[Any, Op]]:
        """A step, or the steps of a group, with what they are to the target."""
        del last, decodes
        step = one.made
        if isinstance(step, Shared):
            takes_part = self.name in self.present.intersection(step.names)
            label = self.made[id(step.step)][0]
            yield (step.step, self._shared(step)) if takes_part else (None, replace(_OTHERS, label=label))
            return
        first, *rest = self._unit(one, alone)
        if first[1].numbers is EXIT:
            raise OpaqueError(f"{first[1].label} chooses as only albumentations knows")
        yield from (first, *rest)

    def _shared(self, step: Shared) -> Op:
        if not is_gated(step.step):  # nobody else knows when it acts
            return Op(*self.made[id(step.step)], 1.0, EXIT, alone=True)
        keyed = replace(self.one(step.step, alone), alone=True)
        if keyed.numbers.draw == IN_PYTHON or keyed.numbers.drawn_in_python or not self._is_native(step, keyed.numbers):
            return replace(keyed, numbers=EXIT)
        return replace(keyed, cell=step.units[self.name] if step.how == "window" else 1)

    def _is_native(self, step: Shared, numbers: NativeOp) -> bool:
        """Whether the kernels do what such a step does to its targets, and all still fit: nobody asks behind it."""
        together = self.present.intersection(step.names)
        if numbers.effect == EFFECTS.KEEPS:
            return True
        if step.how in _MOVES:
            return numbers.effect in _MOVES[step.how] and together == self.present
        # Of several targets, the coarsest tells what is drawn: that may depend on its size.
        return step.how == "plain" and len(together) == 1 and numbers.changes and numbers.effect not in _WARPS


def scene_plans(
    lowered: Sequence[Lowered],
    maker: ProgramMaker,
    sinks: Mapping[str, Sink],
    units: Mapping[str, int],
    called: Callable[..., Any],
) -> ScenePlans:
    """The steps of a pair's pipeline as programs.

    Args:
        lowered: the steps, in order.
        maker: of the pipeline's plans.
        sinks: of the targets that come out.
        units: pixels along a common cell, by target.
        called: see `ScenePlans`.

    Raises:
        OpaqueError: they do not run as such; it says why.
    """
    made, names = maker.made, frozenset(sinks)
    plans = {name: maker.steps(_of_target(lowered, name, names, made), sink) for name, sink in sinks.items()}
    leaves = _leaves([*transforms_of(lowered)])
    whose: dict[int, Any] = {id(step.step): step for step in leaves if isinstance(step, Shared)}
    whose |= {id(one.made): _degrading(one, maker, called) for one in lowered if isinstance(one.made, Degrade)}
    exits, stops = dict[int, SceneExit](), list[str]()
    opaque = {place: found for plan in plans.values() for place, found in plan.opaque.items()}
    for place, (step, forced) in sorted(opaque.items(), key=itemgetter(0)):
        runs = whose[id(step)]
        exits[place] = SceneExit(runs, forced, tuple(name for name, plan in plans.items() if place in plan.opaque))
        stops += runs.plan.stops if isinstance(runs, Degrading) else [made[id(step)][0]]
    unfinished = tuple(name for name, plan in plans.items() if not plan.writes)
    return ScenePlans(plans, exits, units, maker.position, called, tuple(stops), unfinished)


def _of_target(
    lowered: Sequence[Lowered], name: str, names: frozenset[str], made: Mapping[int, tuple[str, bool]]
) -> Iterator[tuple[Any, Op]]:
    """The steps of a pair's pipeline with what they are to one target of several."""
    present = names.difference(one.made.target for one in lowered if isinstance(one.made, Degrade))
    for one in lowered:
        if isinstance(one.made, Degrade):
            step, keyed = (one.made, _DEGRADES) if name == one.made.source else (None, _OTHERS)
            yield step, replace(keyed, label=one.node.site)
            present |= {one.made.target}
        else:
            yield from _WalkOfTarget(made, name=name, present=present).lower([one])


def _degrading(one: Lowered, maker: ProgramMaker, called: Callable[..., Any]) -> Degrading:
    """A Degrade with a plan of its steps."""
    one.made.reach((1, 1))  # its steps are tried before a sample has a size
    steps = [
        (step, replace(keyed, numbers=EXIT) if keyed.numbers.drawn_in_python else keyed)
        for step, keyed in Walk(maker.made).lower(one.inside)
    ]
    plan = maker.steps(steps, Sink(_AS_IT_IS))
    exits = plan.opaque
    resize = [(place, step, keyed) for place, (step, keyed) in enumerate(steps) if keyed.numbers.effect in _RESIZES]
    # Samples stop where the kernels lack a size, too.
    plan.opaque = {place: (step, keyed.forced) for place, step, keyed in resize} | dict(exits)
    sized = {place: step for place, step, _ in resize if isinstance(step, ResizeToTarget) and place not in exits}
    return Degrading(one.made, plan, sized, called)


def _leaves(transforms: Sequence[Any]) -> Iterator[Any]:
    """The steps, groups opened."""
    for step in transforms:
        if isinstance(step, Shared | Degrade):
            yield step
        else:
            yield from _leaves(step.transforms)
