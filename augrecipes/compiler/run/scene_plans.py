"""Pairs through native plans: one for each target, all with the same draws; samples, and whole batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from augrecipes.compat.steps import group_of
from augrecipes.compiler.kernels.sink import Allocate, Sink
from augrecipes.compiler.kernels.undecoded import Undecoded
from augrecipes.compiler.native_plan import groups
from augrecipes.compiler.native_plan.carrying_out import NativePlan, Places
from augrecipes.compiler.native_plan.keyed_steps import NotNativeError, Walk, alone
from augrecipes.compiler.native_plan.pictures import InMemory, is_picture
from augrecipes.compiler.native_plan.planned import Position, plan_of
from augrecipes.compiler.native_plan.steps import KEPT, LEFT, KeyedStep, NativeStep
from augrecipes.compiler.run.lower import Sites
from augrecipes.compiler.run.scene import Scene
from augrecipes.compiler.run.shared import DeferredMoves, Shared
from augrecipes.native.op_numbers import EFFECTS

_OTHERS = KeyedStep("", False, 1.0, KEPT)  # a step of other targets
_MOVES: dict[str, tuple[int, ...]] = {"window": (EFFECTS.CUTS, EFFECTS.PADS_AND_CUTS), "dihedral": (EFFECTS.TURNS,)}
_WARPS = (EFFECTS.WARPS, EFFECTS.TILTS)  # whose pictures may be of another size


@dataclass(frozen=True, slots=True)
class ScenePlans:
    """What carries out the samples of a pair recipe without Python between its steps. One thread at a time.

    Attributes:
        by_target: a plan for each target that comes out.
        units: pixels along a common cell, by target.
    """

    by_target: Mapping[str, NativePlan]
    units: Mapping[str, int]

    stops: tuple[str, ...] = ()

    @property
    def left(self) -> tuple[str, ...]:
        """Labels of steps that Python carries out: it makes every sample in which one of them acts."""
        return tuple(dict.fromkeys(label for plan in self.by_target.values() for label in plan.left))

    def sample(
        self,
        epoch: int,
        index: int,
        tile: int,
        scene: Scene,
        allocate: Callable[[str], Allocate],
    ) -> dict[str, np.ndarray] | None:
        """One sample; None where Python has to make it.

        Args:
            epoch: of its key.
            index: the same.
            tile: the same.
            scene: the targets as they come, without what they have beyond their last whole cells.
            allocate: gives what makes the memory for the result of a target.
        """
        made = {}
        for name, plan in self.by_target.items():
            picture: Any = scene.arrays[name]
            if not (isinstance(picture, Undecoded) or is_picture(picture, files=False)):
                return None
            if not isinstance(one := plan.sample(epoch, index, tile, picture, allocate(name)), np.ndarray):
                return None
            made[name] = one
        return made

    def many(
        self,
        epoch: int,
        indices: Sequence[int] | np.ndarray,
        pictures: Mapping[str, InMemory],
        places: Callable[[str], Places],
    ) -> list[int] | None:
        """Samples of one size side by side: see `NativePlan.many`; what Python has to make, it has to of all targets.

        Args:
            epoch: of the draws.
            indices: that key the draws.
            pictures: by target; what they have beyond their last whole cells is left out.
            places: gives where the results of a target lie.
        """
        keys = np.zeros((len(indices), 2), np.uint64)
        keys[:, 0] = indices
        whole, cells = {}, None
        for name in self.by_target:
            lying, unit = pictures[name], self.units[name]
            here = lying.shapes[:, :2] // unit
            cells = here if cells is None else cells
            if not ((here == cells) & (here > 0)).all():
                return [*range(len(keys))]
            whole[name] = lying if unit == 1 else lying.first(here * unit)
        left: set[int] = set()
        for name, plan in self.by_target.items():
            found = plan.many(epoch, keys, whole[name], places(name))
            if found is None:
                return None
            left.update(found)
        return sorted(left)


def scene_plans(
    transforms: Sequence[Any],
    sites: Sites,
    sinks: Mapping[str, Sink],
    units: Mapping[str, int],
    seed: int,
    position: Position,
    most: int | None,
) -> ScenePlans:
    """The transforms of a pair's pipeline as native plans.

    Args:
        transforms: in order.
        sites: of all that draws.
        sinks: of the targets that come out.
        units: pixels along a common cell, by target.
        seed: of the pipeline.
        position: moves the generators of its steps.
        most: bytes that a picture may have on its way; None: any.

    Raises:
        NotNativeError: they do not run as such; it says why.
    """
    walk = Walk({id(step): (label, shared) for step, label, shared in sites})
    plans = {
        name: plan_of(_of_target(walk, transforms, name), sink, seed, position, most) for name, sink in sinks.items()
    }
    return ScenePlans(plans, units)


def _of_target(walk: Walk, transforms: Sequence[Any], name: str) -> Iterator[tuple[Any, KeyedStep]]:
    """The steps with what they are to one target."""
    for step in transforms:
        if isinstance(step, DeferredMoves):
            yield from _of_target(walk, step.transforms, name)
        elif isinstance(step, Shared) and name in step.names:
            keyed = walk.one(step.step, alone)
            if keyed.numbers.given or not _is_shared(step, keyed.numbers):
                keyed = replace(keyed, numbers=LEFT)
            yield step.step, replace(keyed, cell=step.units[name] if step.how == "window" else 1)
        elif isinstance(step, Shared):
            yield None, _OTHERS
        elif id(step) in walk.made and group_of(step) is not None:
            label, shared = walk.made[id(step)]
            units = [list(_of_target(walk, [child], name)) for child in step.transforms]
            if (group := groups.opened(step, label, units, shared=shared)) is None:
                raise NotNativeError(f"{label} chooses in Python")
            yield from group
        else:
            raise NotNativeError(f"{walk.made.get(id(step), (type(step).__name__,))[0]} is made in Python")


def _is_shared(step: Shared, numbers: NativeStep) -> bool:
    """Whether the kernels do what such a step does to its targets, and all targets still fit: nobody asks behind it."""
    if numbers.effect == EFFECTS.KEEPS:
        return True
    if step.how in _MOVES:
        return numbers.effect in _MOVES[step.how] and len(step.names) == len(step.units)
    # Of several targets, the coarsest tells what is drawn: that may depend on its size.
    return step.how == "plain" and len(step.names) == 1 and numbers.changes and numbers.effect not in _WARPS
