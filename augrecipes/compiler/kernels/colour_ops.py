"""A run of colour steps as few passes over the picture. Each step draws and gates itself under its own key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import A
from augrecipes.compat.steps import Drawn, Sample, sampler_of
from augrecipes.compiler.kernels import jobs
from augrecipes.compiler.kernels.jobs import ToMake
from augrecipes.compiler.kernels.moves import Moved
from augrecipes.compiler.kernels.pending_colours import PendingColours
from augrecipes.compiler.kernels.resample import Shrinks
from augrecipes.compiler.kernels.scratch import Scratch
from augrecipes.compiler.kernels.unmade import realised
from augrecipes.compiler.kernels.warped import Warped
from augrecipes.ops.colour_ops import Operations

_RGB = 3
_PENDING = "_pending"  # the key under which `PendingColours` goes from step to step


class ColourStep(A.BaseCompose):  # type: ignore[misc]
    """One step inside `ColourOps`, alone or in a group: draws now, and leaves its effect pending.

    Args:
        step: the transform.
        operations: from its drawn parameters to what they do; None as an answer: the step runs as it is.
    """

    def __init__(self, step: Any, operations: Operations | None) -> None:
        super().__init__([step], p=step.p)
        self.step, self.operations = step, operations
        self._draw: Callable[[Sample], Drawn] | None = None  # the step is given its generators, and its guard, later

    def __call__(self, *_: Any, force_apply: bool = False, **data: Any) -> dict[str, Any]:
        """The sample; where nothing can be deferred, the step simply runs."""
        step, picture = self.step, data.get(_PENDING)
        if picture is None:
            done: dict[str, Any] = step(force_apply=force_apply, **data)
            return done
        step.params = {}
        if step.should_apply(force_apply=force_apply):
            if self._draw is None:
                self._draw = sampler_of(step)
            params = step.params = self._draw(data)
            operations = self.operations(step, params, picture.full) if self.operations else None
            if operations is None:
                picture.replace(np.ascontiguousarray(step.apply(picture.settle(), **params)))
            else:
                for operation in operations:
                    picture.apply(operation)
        return data


class ColourOps(A.BaseCompose):  # type: ignore[misc]
    """Runs colour steps as matrices, joined where nothing saturates between them. Groups of them are included.

    Pictures that are not RGB go through the steps themselves.

    Args:
        transforms: `ColourStep` steps, and groups of them.

    Attributes:
        to_sink: leave uint8 pictures to be coloured by what writes the output, as a `ToMake`; otherwise the same kernel
            colours them here.
    """

    def __init__(self, transforms: list[Any]) -> None:
        super().__init__(transforms, p=1.0)
        self._scratch, self.to_sink = Scratch(), False
        self._kernel = jobs.kernel()

    def __call__(self, *_: Any, force_apply: bool = False, **data: Any) -> dict[str, Any]:
        """The sample after all steps. `force_apply` changes nothing: each step has its own gate."""
        image = data["image"]
        if isinstance(image, ToMake):
            return self._left_pending(image, data)
        if self._kernel is not None and _is_coloured(image):
            moved = image if isinstance(image, Moved) else Moved(image)
            moved = Moved(realised(moved.base), moved.symmetry)
            return self._left_pending(ToMake(Warped(moved), Shrinks(), self._scratch, self._kernel), data)
        array = realised(image.base) if isinstance(image, Moved) else image
        picture = None
        if array.ndim == _RGB and array.shape[2] == _RGB and array.dtype in (np.uint8, np.float32):
            picture = data[_PENDING] = PendingColours(np.ascontiguousarray(array), self._scratch)
        data["image"] = array
        for step in self.transforms:
            data = step(**data)
            if self.check_each_transform:
                data = self.check_data_post_transform(data)
        if picture is not None:
            del data[_PENDING]
            data["image"] = picture.settle()
        if isinstance(image, Moved):
            data["image"] = Moved(data["image"], image.symmetry)
        return data

    def _left_pending(self, picture: ToMake, data: dict[str, Any]) -> dict[str, Any]:
        """The sample with a picture that is still to be made: its operations are added to what is to be done."""
        data["image"], data[_PENDING] = picture.stand_in(), picture
        for step in self.transforms:
            data = step(**data)
            if self.check_each_transform:
                data = self.check_data_post_transform(data)
        del data[_PENDING]
        data["image"] = picture if self.to_sink else picture.array()
        return data


def _is_coloured(image: np.ndarray | Moved) -> bool:
    """Whether a picture is uint8 of three channels."""
    return image.dtype == np.uint8 and len(image.shape) == _RGB and image.shape[2] == _RGB
