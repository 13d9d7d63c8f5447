"""One sample of a pair on its way through native plans: from one step that only albumentations knows to the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from augrecipes.compat.steps import Sample
from augrecipes.compiler.kernels.moves import symmetry_of
from augrecipes.compiler.kernels.sink import Allocate
from augrecipes.compiler.kernels.step_draws import stand_in
from augrecipes.compiler.kernels.undecoded import Undecoded
from augrecipes.compiler.native_plan.carrying_out import NativePlan, Stopped
from augrecipes.compiler.native_plan.pictures import Picture, is_picture
from augrecipes.compiler.native_plan.plan_in_memory import END
from augrecipes.compiler.run.degrade import Degrade
from augrecipes.compiler.run.exits import NotHereError, OnTheWay, in_between
from augrecipes.compiler.run.grid import Region
from augrecipes.compiler.run.points_alone import point_steps
from augrecipes.compiler.run.prepared import Act
from augrecipes.compiler.run.scene import Scene, common_cells
from augrecipes.compiler.run.shared import Shared

Key = tuple[int, int, int]  # epoch, index and tile


@dataclass(frozen=True)
class Degrading:
    """A Degrade whose steps a native plan carries out.

    Attributes:
        degrade: as the pipeline has it.
        plan: of its steps: from uint8 to uint8, H×W×C.
        sized: those that resize to the target natively, by their places.
        called: as of `ScenePlans`.
    """

    degrade: Degrade
    plan: NativePlan
    sized: Mapping[int, Any]
    called: Callable[..., Any]

    def made(self, key: Key, picture: np.ndarray, size: tuple[int, int], *, draws: bool) -> np.ndarray:
        """What becomes of a picture of the source, at this height and width.

        Args:
            key: of the sample.
            picture: of the source.
            size: of the target, px.
            draws: all steps draw in Python, too, for those who ask what they drew.
        """
        self.degrade.reach(size)
        for place in self.sized:
            self.plan.resize_to(place, size)
        on_the_way = OnTheWay(self.plan, key, picture)
        if draws:
            self._draw(on_the_way, picture)
        made, _ = on_the_way.end(np.empty, self._act)
        if made.shape[:2] != size:
            raise NotHereError
        return made

    def _act(self, place: int, data: Sample) -> Sample:
        step, forced = self.plan.opaque[place]
        done: Sample = self.called(step, step, **({"force_apply": True} if forced else {}), **data)
        return done

    def _draw(self, on_the_way: OnTheWay, picture: np.ndarray) -> None:
        """Let the steps draw for a picture without pixels; those that native plans stop at have some."""

        def with_pixels(place: int, act: Act, data: Sample) -> Sample:
            done = self.called(self.plan.opaque[place][0], act, {**data, **on_the_way.to(place)})
            on_the_way.behind(done)
            return {"image": _outline_of(done["image"])}

        exits: dict[int, Callable[[Act], Act]]
        exits = {id(step): partial(partial, with_pixels, place) for place, (step, _) in self.plan.opaque.items()}
        exits |= {id(step): _as_it_is for step in self.sized.values()}  # it knows what comes out
        data: Sample = {"image": _outline_of(picture)}
        for first, p, act, _ in point_steps(self.degrade.transforms, self.degrade, exits, all_draw=True):
            if first is None or first() < p:
                data = act(data)


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


class SceneOnTheWay:
    """Pictures of one scene that native plans carry from exit to exit. No step comes twice.

    Args:
        plans: by target.
        exits: where they stop, by the places of steps, which are the same in all plans.
        units: pixels along a common cell, by target.
        key: of the sample.
        position: moves the generators of all steps to it.
        called: as of `ScenePlans`.
        pictures: of the targets that are given.
    """

    def __init__(
        self,
        plans: Mapping[str, NativePlan],
        exits: Mapping[int, SceneExit],
        units: Mapping[str, int],
        key: Key,
        position: Callable[[int, int, int], None],
        called: Callable[..., Any],
        pictures: Mapping[str, Picture],
    ) -> None:
        if not all(isinstance(one, Undecoded) or is_picture(one, files=False) for one in pictures.values()):
            raise NotHereError
        self._plans, self._exits, self._units, self._key, self._position = plans, exits, units, key, position
        self._pictures: dict[str, Any] = dict(pictures)
        self._called = called
        self._begins = dict.fromkeys(pictures, END)
        self._stops: dict[str, int] = {}
        self._made: dict[str, np.ndarray] = {}

    def end(self, allocate: Callable[[str], Allocate]) -> dict[str, np.ndarray]:
        """The results by target, before their sinks where native plans do not write what those make.

        Args:
            allocate: gives what makes the memory for that of a target.

        Raises:
            NotHereError: the kernels do not take the sample, or a step fails.
        """
        self._go_on([*self._pictures], allocate)
        if self._stops:
            self._position(*self._key)
        while self._stops:
            made = self._act(self._first())
            self._go_on([*made], allocate)
        if self._made.keys() != self._plans.keys():
            raise NotHereError
        return self._made

    def drawn(
        self, transforms: Sequence[Any], allocate: Callable[[str], Allocate]
    ) -> tuple[dict[str, np.ndarray], Region | None]:
        """The same, and the region that is left; all steps draw in Python, too, for those who ask what they drew."""
        outlines = {name: _outline_of(picture) for name, picture in self._pictures.items()}
        region = Region(0, 0, *common_cells(outlines, self._units))
        outline = _Outline(outlines, self._units, region, on_the_way=self)
        self._position(*self._key)
        try:
            for step in transforms:
                step(scene=outline)
        except Exception as error:
            raise NotHereError from error
        self._go_on([*self._pictures], allocate)
        if self._stops:
            raise NotHereError
        return self._made, outline.region

    def behind(self, step: Shared | Degrade, outline: Scene) -> dict[str, np.ndarray] | None:
        """The pictures that a step which acts leaves, if albumentations carries it out; None: the kernels do."""
        for place, (one, _, names) in self._exits.items():
            if step is (one.degrade if isinstance(one, Degrading) else one):
                self._go_on(names, lambda _: np.empty)
                if any(self._stops.get(name) != place for name in names):
                    raise NotHereError
                return self._act(place, outline)
        return None

    def _go_on(self, names: Sequence[str], allocate: Callable[[str], Allocate]) -> None:
        """Let native plans carry out targets up to their next stop."""
        for name in names:
            if name in self._stops:
                continue
            plan = self._plans[name]
            into = allocate(name) if plan.writes else np.empty
            made = plan.sample(*self._key, self._pictures[name], into, self._begins[name])
            if made is None:
                raise NotHereError
            if isinstance(made, Stopped):
                self._stops[name], self._pictures[name] = made
            else:
                self._made[name] = made

    def _first(self) -> int:
        """The first step at which all targets that take part in it have come to stand."""
        for place in sorted(set(self._stops.values())):
            if all(self._stops.get(name) == place for name in self._exits[place].names):
                return place
        raise NotHereError

    def _act(self, place: int, outline: Scene | None = None) -> dict[str, np.ndarray]:
        """The pictures that the step at a place leaves, which go on from there."""
        step, forced, names = self._exits[place]
        try:
            if isinstance(step, Degrading):
                made = self._called(step.degrade, self._degraded, step, *names, draws=outline is not None)
            else:
                made = self._called(step, self._shared, step, forced, names, outline)
        except Exception as error:  # the whole sample, as it is written, says where
            raise NotHereError from error
        for name in names:
            del self._stops[name]
        self._pictures |= made
        self._begins |= dict.fromkeys(made, place)
        return made

    def _degraded(self, step: Degrading, source: str, *, draws: bool) -> dict[str, np.ndarray]:
        target, picture = step.degrade.target, self._pictures[source]
        height, width = (n // self._units[source] * self._units[target] for n in picture.shape[:2])
        try:
            made = step.made(self._key, picture, (height, width), draws=draws)
        except NotHereError:  # on the way there are sizes that the kernels do not make
            self._position(*self._key)
            scene = Scene({source: picture}, self._units)
            step.degrade.act(scene, [source])
            made = in_between(scene.arrays[target])
        return {source: picture, target: made}

    def _shared(self, step: Shared, forced: bool, names: Sequence[str], outline: Scene | None) -> dict[str, np.ndarray]:
        scene = Scene({name: self._pictures[name] for name in names}, self._units)
        if outline is None:
            step(scene=scene, force_apply=forced)
        else:  # its gate has been asked
            scene.region = outline.region
            step.act(scene, scene.present(step.names))
            outline.region = scene.region
        scene.shape()
        made = {name: in_between(scene.arrays[name]) for name in names}
        for name, picture in made.items():
            if len(names) < len(self._pictures) and picture.shape[:2] != self._pictures[name].shape[:2]:
                raise NotHereError  # it may not fit the others any more
        return made


@dataclass(slots=True)
class _Outline(Scene):
    """A scene without pixels, whose steps draw; those that native plans stop at have what these have made."""

    on_the_way: SceneOnTheWay | None = None

    def run(self, step: Any, names: Sequence[str]) -> None:
        """As of a scene."""
        made = None if self.on_the_way is None else self.on_the_way.behind(step, self)
        if made is not None:
            self.arrays |= {name: _outline_of(picture) for name, picture in made.items()}
            return
        params = step.drawn(self, names)
        for name in names:
            array, k = self.arrays[name], self.units[name]
            if step.how == "window":
                x_min, y_min, x_max, y_max = (int(n) * k for n in params["crop_coords"])
                self.arrays[name] = _outline_of(array, (y_max - y_min, x_max - x_min))
            elif step.how == "dihedral":
                self.arrays[name] = symmetry_of(type(step.step).__name__, params).view(array)


def _as_it_is(act: Act) -> Act:
    return act


def _outline_of(picture: Picture, size: tuple[int, int] | None = None) -> np.ndarray:
    """What a step sees of a picture that only draws, or of one of another size."""
    return stand_in((*(size or picture.shape[:2]), picture.shape[2]), np.dtype(np.uint8))
