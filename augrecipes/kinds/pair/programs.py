"""Pairs through programs: one for each target, all with the same draws; samples, and whole batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from augrecipes.compiler.executor.inputs import AnyImage, InMemory, is_image
from augrecipes.compiler.executor.program import Places, Program, Stopped
from augrecipes.compiler.executor.program_memory import END
from augrecipes.compiler.kernels.encoded_images import Undecoded
from augrecipes.compiler.kernels.sink import Allocate
from augrecipes.compiler.lowering.validate import Position
from augrecipes.compiler.run.exits import NotHereError, in_between
from augrecipes.kinds.pair.degrade import Degrading, Key
from augrecipes.kinds.pair.scene import Scene
from augrecipes.kinds.pair.shared import Shared


class SceneExit(NamedTuple):
    """A step at which samples of a pair stop.

    Attributes:
        step: it.
        forced: its group has chosen it, so that it acts whatever its first draw would be.
        names: the targets that stop there.
    """

    step: Shared | Degrading
    forced: bool
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScenePlans:
    """What carries out the samples of a pair recipe natively, from one step of albumentations' to the next.

    One thread at a time.

    Attributes:
        by_target: a plan for each target that comes out; the same step has the same place in each.
        exits: the steps at which samples stop, by their places.
        units: pixels along a common cell, by target.
        position: moves the generators of all steps to a sample's key.
        called: calls a step that they stop at: (step, what it does, its arguments) → what it leaves.
        stops: labels of the steps that albumentations carries out.
        unfinished: the targets whose results still go to their sinks.
    """

    by_target: Mapping[str, Program]
    exits: Mapping[int, SceneExit]
    units: Mapping[str, int]
    position: Position
    called: Callable[..., Any]
    stops: tuple[str, ...]
    unfinished: tuple[str, ...]

    def each(self) -> Iterator[Program]:
        """All of its plans, those of what a Degrade does, too."""
        yield from self.by_target.values()
        yield from (one.step.plan for one in self.exits.values() if isinstance(one.step, Degrading))

    def sample(
        self, key: Key, images: Mapping[str, AnyImage], allocate: Callable[[str], Allocate]
    ) -> dict[str, Any] | None:
        """The results of one sample by target; None where the kernels do not take it.

        Args:
            key: epoch, index and tile.
            images: of the targets that are given, without what they have beyond their last whole cells.
            allocate: gives what makes the memory for the result of a target.
        """
        try:
            return SceneOnTheWay(self, key, images).end(allocate)
        except NotHereError:
            return None

    def many(
        self,
        epoch: int,
        indices: Sequence[int] | np.ndarray,
        images: Mapping[str, InMemory],
        places: Callable[[str], Places],
    ) -> list[int] | None:
        """Samples of one size side by side, as far as they do not stop: see `Program.many`.

        Args:
            epoch: of the draws.
            indices: that key the draws.
            images: by target; what they have beyond their last whole cells is left out.
            places: gives where the results of a target lie.

        Returns:
            Those that are to be made one by one, of all targets. None where sizes differ.
        """
        everything = [*range(len(indices))]
        if images.keys() != self.by_target.keys():
            return everything  # a Degrade is to make the others
        keys = np.zeros((len(indices), 2), np.uint64)
        keys[:, 0] = indices
        whole, cells = {}, None
        for name in self.by_target:
            lying, unit = images[name], self.units[name]
            here = lying.shapes[:, :2] // unit
            cells = here if cells is None else cells
            if not ((here == cells) & (here > 0)).all():
                return everything
            whole[name] = lying if unit == 1 else lying.first(here * unit)
        left: set[int] = set()
        for name in sorted(whole, key=lambda name: not self.by_target[name].stops):
            found = self.by_target[name].many(epoch, keys, whole[name], places(name))
            if found is None or len(found) == len(indices):
                return found
            left.update(found)
        return sorted(left)


class SceneOnTheWay:
    """Images of one scene that programs carry from exit to exit. No step comes twice.

    Args:
        plans: that carry them.
        key: of the sample.
        images: of the targets that are given.
    """

    __slots__ = ("_begins", "_images", "_key", "_made", "_plans", "_stops")

    def __init__(self, plans: ScenePlans, key: Key, images: Mapping[str, AnyImage]) -> None:
        for image in images.values():
            if not (is_image(image, files=False) or isinstance(image, Undecoded)):
                raise NotHereError
        self._plans, self._key = plans, key
        self._images: dict[str, Any] = {**images}
        self._begins: dict[str, int] = {}
        self._stops: dict[str, int] = {}
        self._made: dict[str, Any] = {}

    def end(self, allocate: Callable[[str], Allocate]) -> dict[str, Any]:
        """The results by target, before their sinks where programs do not write what those make.

        Args:
            allocate: gives what makes the memory for that of a target.

        Raises:
            NotHereError: the kernels do not take the sample, or a step fails.
        """
        self._go_on([*self._images], allocate)
        if self._stops:
            self._plans.position(*self._key)
        while self._stops:
            made = self._act(self._first())
            self._go_on([*made], allocate)
        if len(self._made) < len(self._plans.by_target):
            raise NotHereError
        return self._made

    def _go_on(self, names: Sequence[str], allocate: Callable[[str], Allocate]) -> None:
        """Let programs carry out targets up to their next stop."""
        for name in names:
            if name in self._stops:
                continue
            plan = self._plans.by_target[name]
            room = allocate(name) if plan.writes else np.empty
            made = plan.sample(*self._key, self._images[name], room, self._begins.get(name, END))
            if made is None:
                raise NotHereError
            if isinstance(made, Stopped):
                self._stops[name], self._images[name] = made
            else:
                self._made[name] = made

    def _first(self) -> int:
        """The first step at which all targets that take part in it have come to stand."""
        for place in sorted(set(self._stops.values())):
            if all(self._stops.get(name) == place for name in self._plans.exits[place].names):
                return place
        raise NotHereError

    def _act(self, place: int) -> dict[str, np.ndarray]:
        """The images that the step at a place leaves, which go on from there."""
        step, forced, names = self._plans.exits[place]
        try:
            if isinstance(step, Degrading):
                made = self._plans.called(step.degrade, self._degraded, step, *names)
            else:
                made = self._plans.called(step, self._shared, step, forced, names)
        except Exception as error:  # the whole sample, as it is written, says where
            raise NotHereError from error
        for name in names:
            del self._stops[name]
        self._images |= made
        self._begins |= dict.fromkeys(made, place)
        return made

    def _degraded(self, step: Degrading, source: str) -> dict[str, np.ndarray]:
        target, image = step.degrade.target, self._images[source]
        height, width = (n // self._plans.units[source] * self._plans.units[target] for n in image.shape[:2])
        try:
            made = step.made(self._key, image, (height, width))
        except NotHereError:  # on the way there are sizes that the kernels do not make
            self._plans.position(*self._key)
            scene = Scene({source: image}, self._plans.units)
            step.degrade.act(scene)
            made = in_between(scene.arrays[target])
        return {source: image, target: made}

    def _shared(self, step: Shared, forced: bool, names: Sequence[str]) -> dict[str, np.ndarray]:
        scene = Scene({name: self._images[name] for name in names}, self._plans.units)
        step(scene=scene, force_apply=forced)
        scene.shape()
        made = {name: in_between(scene.arrays[name]) for name in names}
        for name, image in made.items():
            if len(names) < len(self._images) and image.shape[:2] != self._images[name].shape[:2]:
                raise NotHereError  # it may not fit the others any more
        return made
