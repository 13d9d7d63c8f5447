"""One sample on its way through programs: from one step that only albumentations knows to the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from augrecipes.compat.steps import Sample
from augrecipes.compiler.executor.inputs import AnyImage, as_bytes, of_bytes
from augrecipes.compiler.executor.program import Program, Stopped
from augrecipes.compiler.executor.program_memory import END
from augrecipes.compiler.kernels.sink import Allocate, is_free

_AXES = 3


class NotHereError(Exception):
    """Python has to make this sample: the kernels do not take it, or come to other steps than Python does."""


class OnTheWay:
    """An image, and its mask, that programs carry from exit to exit. No step comes twice.

    Args:
        plan: of the image.
        key: epoch, index and tile.
        image: the image.
        held: arrays that somebody else holds, so that no result may be one of them; None: any may be held.

    Attributes:
        dtype: of the mask that goes along.
    """

    __slots__ = ("_begin", "_free", "_held", "_image", "_key", "_labels", "_masks_begin", "_of_masks", "_plan", "dtype")

    def __init__(
        self, plan: Program, key: tuple[int, int, int], image: AnyImage, held: Sequence[Any] | None = None
    ) -> None:
        self._plan, self._key, self._image, self._begin = plan, key, image, END
        self._held, self._free = held, False
        self._of_masks: Program | None = None

    def take_mask(self, plan: Program, labels: AnyImage, dtype: np.dtype[Any]) -> None:
        """Let a mask go along: as an image, uint8 H×W×B, of the bytes of its pixels of a dtype."""
        self._of_masks, self._labels, self.dtype, self._masks_begin = plan, labels, dtype, END

    def to(self, place: int) -> Sample:
        """The image, and the mask, as the step at this place of the plan finds them."""
        made = self._next(np.empty)
        if not isinstance(made, Stopped) or made.place != place:
            raise NotHereError
        return self._stopped(made)

    def behind(self, data: Sample) -> None:
        """Go on behind the step that has left this."""
        self._image = in_between(data["image"])
        self._free = self._held is not None and is_free(self._image, self._held)
        if "mask" in data:
            mask = data["mask"]
            if not isinstance(mask, np.ndarray) or mask.dtype != self.dtype or mask.ndim > _AXES or not mask.size:
                raise NotHereError
            self._labels = as_bytes(mask)

    def end(self, allocate: Allocate, act: Callable[[int, Sample], Sample]) -> tuple[np.ndarray, np.ndarray | None]:
        """The results, of the mask as its plan writes it; `act` runs the step at a place where the kernels stop."""
        while isinstance(made := self._next(allocate), Stopped):
            self.behind(act(made.place, self._stopped(made)))
        if self._of_masks is None:
            return made, None
        if not isinstance(mask := self._masks(self._of_masks), np.ndarray):
            raise NotHereError
        return made, mask

    def _next(self, allocate: Allocate) -> np.ndarray | Stopped:
        self._plan.take_given()
        if (made := self._plan.sample(*self._key, self._image, allocate, self._begin, self._free)) is None:
            raise NotHereError
        return made

    def _stopped(self, made: Stopped) -> Sample:
        self._begin = made.place
        if self._of_masks is None or made.place not in self._of_masks.opaque:
            return {"image": made.image}
        there = self._masks(self._of_masks)
        if not isinstance(there, Stopped) or there.place != made.place:
            raise NotHereError
        self._masks_begin = made.place
        return {"image": made.image, "mask": of_bytes(there.image, self.dtype)}

    def _masks(self, plan: Program) -> np.ndarray | Stopped | None:
        plan.take_given()
        return plan.sample(*self._key, self._labels, np.empty, self._masks_begin)


def in_between(image: Any) -> np.ndarray:
    """An image that a step has left, H×W×C of uint8."""
    if not isinstance(image, np.ndarray) or image.dtype != np.uint8 or not image.size:
        raise NotHereError
    return image if image.ndim == _AXES else image.reshape(*image.shape[:2], -1)
