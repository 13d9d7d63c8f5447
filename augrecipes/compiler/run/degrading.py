"""What a Degrade does, through a native plan of its steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from augrecipes.compat.steps import Sample
from augrecipes.compiler.native_plan.carrying_out import NativePlan
from augrecipes.compiler.run.degrade import Degrade
from augrecipes.compiler.run.exits import NotHereError, OnTheWay

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

    def made(self, key: Key, picture: np.ndarray, size: tuple[int, int]) -> np.ndarray:
        """What becomes of a picture of the source, at this height and width.

        Args:
            key: of the sample.
            picture: of the source.
            size: of the target, px.
        """
        self.degrade.reach(size)
        for place in self.sized:
            self.plan.resize_to(place, size)
        made, _ = OnTheWay(self.plan, key, picture).end(np.empty, self._act)
        if made.shape[:2] != size:
            raise NotHereError
        return made

    def _act(self, place: int, data: Sample) -> Sample:
        step, forced = self.plan.opaque[place]
        done: Sample = self.called(step, step, **({"force_apply": True} if forced else {}), **data)
        return done
