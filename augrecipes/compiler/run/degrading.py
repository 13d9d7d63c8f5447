"""What a Degrade does, through a native plan of its steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from augrecipes.compat.steps import Sample
from augrecipes.compiler.kernels.step_draws import stand_in
from augrecipes.compiler.native_plan.carrying_out import NativePlan
from augrecipes.compiler.native_plan.pictures import Picture
from augrecipes.compiler.run.degrade import Degrade
from augrecipes.compiler.run.exits import NotHereError, OnTheWay
from augrecipes.compiler.run.points_alone import point_steps
from augrecipes.compiler.run.prepared import Act

Key = tuple[int, int, int]  # epoch, index and tile


@dataclass(frozen=True)
class Degrading:
    """A Degrade whose steps a native plan carries out.

    Attributes:
        degrade: as the pipeline has it.
        plan: of its steps: from uint8 to uint8, H×W×C.
        exits: the steps that albumentations carries out, by their places; and whether their group has chosen them.
        sized: those that resize to the target natively, by their places.
        called: as of `ScenePlans`.
    """

    degrade: Degrade
    plan: NativePlan
    exits: Mapping[int, tuple[Any, bool]]
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
        made, _ = on_the_way.end(np.empty, _no_more if draws else self._act)
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
            done = self.called(self.exits[place][0], act, {**data, **on_the_way.to(place)})
            on_the_way.behind(done)
            return {"image": outline_of(done["image"])}

        exits: dict[int, Callable[[Act], Act]]
        exits = {id(step): partial(partial, with_pixels, place) for place, (step, _) in self.exits.items()}
        exits |= {id(step): _as_it_is for step in self.sized.values()}  # it knows what comes out
        data: Sample = {"image": outline_of(picture)}
        for first, p, act, _ in point_steps(self.degrade.transforms, self.degrade, exits, all_draw=True):
            if first is None or first() < p:
                data = act(data)


def _no_more(place: int, data: Sample) -> Sample:
    """What is done at a stop behind steps that have drawn already."""
    raise NotHereError(place, data)


def _as_it_is(act: Act) -> Act:
    return act


def outline_of(picture: Picture, size: tuple[int, int] | None = None) -> np.ndarray:
    """What a step sees of a picture that only draws, or of one of another size."""
    return stand_in((*(size or picture.shape[:2]), picture.shape[2]), np.dtype(np.uint8))
