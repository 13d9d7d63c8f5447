"""Degrade: one target of a pair made from another on the fly, such as LR from HR; by its steps, or a program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import A
from augrecipes.compat.steps import Sample
from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.kernels.step_draws import with_channels
from augrecipes.compiler.run.exits import NotHereError, OnTheWay
from augrecipes.errors import DataError
from augrecipes.kinds.pair.scene import Scene
from augrecipes.ops.resize_to_target import ResizeToTarget


class Degrade(A.BaseCompose):  # type: ignore[misc]
    """Runs steps on a copy of `source`, and puts the result into the scene as `target`.

    The steps may change the size on the way; the last size must be the target's, which ResizeToTarget brings about.

    Args:
        source: the target that is read.
        target: the target that is made.
        steps: the transforms.
        labels: of the steps.
    """

    def __init__(self, source: str, target: str, steps: list[Any], labels: list[str]) -> None:
        super().__init__(steps, p=1.0)
        self.source, self.target, self.labels = source, target, labels
        self.take(steps)

    def take(self, steps: list[Any]) -> None:
        """Let it run these."""
        self.transforms = steps
        self._resizes = [step for step in _leaves(steps) if isinstance(step, ResizeToTarget)]

    def __call__(self, *_: Any, force_apply: bool = False, **data: Any) -> dict[str, Any]:
        """The scene (`scene=`) with the target that was made; it is changed in place."""
        del force_apply
        self.act(data["scene"])
        return data

    def act(self, scene: Scene) -> None:
        """Make the target of a scene."""
        rows, columns = scene.shape()
        size = (rows * scene.units[self.target], columns * scene.units[self.target])
        self.reach(size)
        inner: dict[str, Any] = {"image": scene.arrays[self.source]}
        for step, label in zip(self.transforms, self.labels, strict=True):
            inner = step(**inner)
            scene.show(label, **{self.target: with_channels(inner["image"])})
        made = with_channels(inner["image"])
        if made.shape[:2] != size:
            raise DataError(
                f"Degrade leaves {made.shape[0]}×{made.shape[1]} px, {self.target} is {size[0]}×{size[1]} px here: "
                "end its steps in ResizeToTarget"
            )
        scene.arrays[self.target] = made

    def reach(self, size: tuple[int, int]) -> None:
        """Let the steps that resize to the target make it of this height and width, px."""
        for step in self._resizes:
            step.size = size


def _leaves(steps: list[Any]) -> Iterator[Any]:
    for step in steps:
        if isinstance(step, A.BaseCompose):
            yield from _leaves(step.transforms)
        else:
            yield step


Key = tuple[int, int, int]  # epoch, index and tile


@dataclass(frozen=True)
class Degrading:
    """A Degrade whose steps a program carries out.

    Attributes:
        degrade: as the pipeline has it.
        plan: of its steps: from uint8 to uint8, H×W×C.
        sized: those that resize to the target natively, by their places.
        called: as of `ScenePlans`.
    """

    degrade: Degrade
    plan: Program
    sized: Mapping[int, Any]
    called: Callable[..., Any]

    def made(self, key: Key, image: np.ndarray, size: tuple[int, int]) -> np.ndarray:
        """What becomes of an image of the source, at this height and width.

        Args:
            key: of the sample.
            image: of the source.
            size: of the target, px.
        """
        self.degrade.reach(size)
        for place in self.sized:
            self.plan.resize_to(place, size)
        made, _ = OnTheWay(self.plan, key, image).end(np.empty, self._act)
        if made.shape[:2] != size:
            raise NotHereError
        return made

    def _act(self, place: int, data: Sample) -> Sample:
        step, forced = self.plan.opaque[place]
        done: Sample = self.called(step, step, **({"force_apply": True} if forced else {}), **data)
        return done
