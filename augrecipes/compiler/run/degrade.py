"""Degrade: one target of a pair made from another on the fly, such as LR from HR."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from augrecipes.compat.albumentations import A
from augrecipes.compiler.kernels.step_draws import with_channels
from augrecipes.compiler.run.scene import Scene
from augrecipes.errors import DataError
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
