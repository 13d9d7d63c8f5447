"""ComposeRunner: what carries out the steps of a Compose by programs, and what those at exits leave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from augrecipes.compiler.run.points import Points
from augrecipes.compiler.run.program_run import PythonFallback
from augrecipes.compiler.run.program_runner import ProgramRunner
from augrecipes.compiler.run.step_calls import StepFunction

_AXES = 3


class ComposeRunner(ProgramRunner):
    """Carries out the steps of a Compose by programs.

    Attributes:
        step_error: what a step at an exit has raised, which is not called again.
    """

    def __init__(self, pipeline: Any) -> None:
        super().__init__(pipeline)
        self.step_error: Exception | None = None

    @property
    def passes_all(self) -> bool:  # type: ignore[override]
        """Whether steps at exits see all of a sample, not image and mask alone."""
        return bool(self.pipeline.has_ungated)

    def take_points(self, sample: dict[str, Any]) -> Sequence[Points]:
        """None: albumentations has them already."""
        del sample
        return ()

    def put_back(self, sample: dict[str, Any], points: Sequence[Points]) -> dict[str, Any]:
        """The sample as it is."""
        del points
        return sample

    def mask_out(self, labels: np.ndarray, mask: Any, dtype: np.dtype[Any]) -> np.ndarray:
        """The mask of what its program has written, as it came."""
        pixels = np.ascontiguousarray(labels).view(dtype)[..., 0].astype(mask.dtype, copy=False)
        return pixels if mask.ndim < _AXES else pixels[..., None]

    def run_step(self, place: int, act: StepFunction, sample: dict[str, Any]) -> dict[str, Any]:
        """What the step at an exit leaves; where that is no uint8 image any more, the pipeline ends before it."""
        forms = {name: _form(sample[name]) for name in ("image", "mask") if name in sample}
        try:
            done = super().run_step(place, act, sample)
        except PythonFallback:
            raise
        except Exception as error:
            self.step_error = error
            raise PythonFallback from error
        if any(_form(done.get(name)) != form for name, form in forms.items()):
            self.pipeline.compiled.convert(self.pipeline.label_of(self.programs.opaque[place][0]))
            raise PythonFallback
        return done


def _form(array: Any) -> Any:
    """The dtype of an array, and how many axes it has."""
    return getattr(array, "dtype", None), getattr(array, "ndim", None)
