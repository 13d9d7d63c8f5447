"""Degrade: one target of a pair made from another on the fly, such as LR from HR; by its steps, or a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from augrecipes.compat.albumentations import A
from augrecipes.compat.steps import Sample
from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.kernels.step_draws import with_channels
from augrecipes.compiler.lowering.lower import parts_of
from augrecipes.compiler.run.program_run import ProgramRun, PythonFallback
from augrecipes.errors import DataError
from augrecipes.kinds.pair.grid import Scene
from augrecipes.ops.matrices import Size
from augrecipes.ops.resize_to_target import ResizeToTarget
from augrecipes.recipe.model import Step

Key = tuple[int, int, int]  # epoch, index and tile


class Degrade(A.BaseCompose):  # type: ignore[misc]
    """Runs steps on a copy of `source`, and puts the result into the scene as `target`.

    The steps may change the size on the way; the last size must be the target's, which ResizeToTarget brings about.

    Args:
        step: as it was written.
        transforms: of the steps inside.
    """

    def __init__(self, step: Step, transforms: list[Any]) -> None:
        super().__init__([], p=1.0)  # which would seed them
        self.source, self.target = step.args["source"], step.args["target"]
        self.transforms, self.labels = transforms, [child.site for child in step.steps]
        self._resizes = [part for part in parts_of(self) if isinstance(part, ResizeToTarget)]

    def __call__(self, *_: Any, force_apply: bool = False, **data: Any) -> dict[str, Any]:
        """The scene (`scene=`) with the target that was made; it is changed in place."""
        del force_apply
        self.act(data["scene"])
        return data

    def act(self, scene: Scene) -> None:
        """Make the target of a scene."""
        rows, columns = scene.size()
        size = (rows * scene.factors[self.target], columns * scene.factors[self.target])
        self.set_target_size(size)
        inner: dict[str, Any] = {"image": scene.arrays[self.source]}
        for step, label in zip(self.transforms, self.labels, strict=True):
            inner = step(**inner)
            scene.add_stage(label, **{self.target: with_channels(inner["image"])})
        image = with_channels(inner["image"])
        if image.shape[:2] != size:
            raise DataError(
                f"Degrade leaves {image.shape[0]}×{image.shape[1]} px, {self.target} is {size[0]}×{size[1]} px here: "
                "end its steps in ResizeToTarget"
            )
        scene.arrays[self.target] = image

    def set_target_size(self, size: Size) -> None:
        """Let the steps that resize to the target make it of this height and width, px."""
        for step in self._resizes:
            step.size = size


class DegradeProgram(NamedTuple):
    """A Degrade whose steps a program carries out.

    Attributes:
        degrade: as the pipeline has it.
        program: of its steps: from uint8 to uint8, H×W×C.
        resizes: places of those that resize to the target there.
        call: calls a step at an exit, as of `PairPrograms`.
    """

    degrade: Degrade
    program: Program
    resizes: tuple[int, ...]
    call: Callable[..., Any]

    def run(self, key: Key, image: np.ndarray, size: Size) -> np.ndarray:
        """The target's image of this height and width, px, out of the source's."""
        self.degrade.set_target_size(size)
        for place in self.resizes:
            self.program.resize_to(place, size)
        target, _ = ProgramRun(self.program, key, image).finish(np.empty, self.run_step)
        if target.shape[:2] != size:
            raise PythonFallback
        return target

    def run_step(self, place: int, data: Sample) -> Sample:
        """What the step at an exit leaves."""
        step, forced = self.program.opaque[place]
        done: Sample = self.call(step, step, **({"force_apply": True} if forced else {}), **data)
        return done
