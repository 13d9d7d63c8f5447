"""One sample on its way through native plans: from one step that only albumentations knows to the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from augrecipes.compat.steps import Sample
from augrecipes.compiler.kernels.sink import Allocate
from augrecipes.compiler.native_plan.carrying_out import NativePlan, Stopped
from augrecipes.compiler.native_plan.pictures import Picture, as_picture, is_mask
from augrecipes.compiler.native_plan.plan_in_memory import END

_AXES = 3


class NotHereError(Exception):
    """Python has to make this sample: the kernels do not take it, or come to other steps than Python does."""


class OnTheWay:
    """A picture, and its mask, that native plans carry from exit to exit. No step comes twice.

    Args:
        plan: of the picture.
        of_masks: of its mask; None: there is none.
        key: epoch, index and tile.
        image: the picture.
        mask: as it came.

    Raises:
        NotHereError: the kernels do not take such a mask.
    """

    __slots__ = ("_begin", "_image", "_key", "_labels", "_masks_begin", "_of_masks", "_plan", "_was_bool")

    def __init__(
        self, plan: NativePlan, of_masks: NativePlan | None, key: tuple[int, int, int], image: Picture, mask: Any
    ) -> None:
        if of_masks is not None and not is_mask(mask, image):
            raise NotHereError
        self._plan, self._of_masks, self._key, self._image = plan, of_masks, key, image
        self._labels: Any = None if of_masks is None else as_picture(mask)
        self._was_bool = of_masks is not None and mask.dtype == bool
        self._begin = self._masks_begin = END

    def to(self, place: int) -> Sample:
        """The picture, and the mask, as the step at this place of the plan finds them."""
        made = self._next(np.empty)
        if not isinstance(made, Stopped) or made.place != place:
            raise NotHereError
        return self._stopped(made)

    def behind(self, data: Sample) -> None:
        """Go on behind the step that has left this."""
        self._image = _in_between(data["image"])
        if "mask" in data:
            self._labels = _in_between(data["mask"])

    def end(self, allocate: Allocate, act: Callable[[int, Sample], Sample]) -> tuple[np.ndarray, np.ndarray | None]:
        """The results; `act` carries out the step at a place where the kernels stop."""
        while isinstance(made := self._next(allocate), Stopped):
            self.behind(act(made.place, self._stopped(made)))
        if self._of_masks is None:
            return made, None
        mask = self._masks()
        if not isinstance(mask, np.ndarray):
            raise NotHereError
        out = mask.reshape(mask.shape[:2])
        return made, out.astype(bool) if self._was_bool and out.dtype == np.uint8 else out

    def _next(self, allocate: Allocate) -> np.ndarray | Stopped:
        self._plan.take_given()
        if (made := self._plan.sample(*self._key, self._image, allocate, self._begin)) is None:
            raise NotHereError
        return made

    def _stopped(self, made: Stopped) -> Sample:
        self._begin = made.place
        if self._of_masks is None or made.place not in self._of_masks.opaque:
            return {"image": made.picture}
        there = self._masks()
        if not isinstance(there, Stopped) or there.place != made.place:
            raise NotHereError
        self._masks_begin = made.place
        return {"image": made.picture, "mask": there.picture[..., 0]}

    def _masks(self) -> np.ndarray | Stopped | None:
        plan, labels = self._of_masks, self._labels
        if plan is None:
            return None
        plan.take_given()
        return plan.sample(*self._key, labels, np.empty, self._masks_begin)


def _in_between(picture: Any) -> np.ndarray:
    """A picture that a step has left, H×W×C of uint8."""
    if not isinstance(picture, np.ndarray) or picture.dtype != np.uint8 or not picture.size:
        raise NotHereError
    return picture if picture.ndim == _AXES else picture.reshape(*picture.shape[:2], -1)
