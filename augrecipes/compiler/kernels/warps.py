"""Warps: a run of steps that move pixels as one resampling. Each draws and gates itself under its own key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import A
from augrecipes.compat.steps import Drawn, Sample, sampler_of
from augrecipes.compiler.kernels import jobs
from augrecipes.compiler.kernels.grids import enlarges
from augrecipes.compiler.kernels.moves import Moved, symmetry_of
from augrecipes.compiler.kernels.resample import Shrinks
from augrecipes.compiler.kernels.scratch import Scratch
from augrecipes.compiler.kernels.step_draws import is_plain_window, with_channels
from augrecipes.compiler.kernels.warped import Warped
from augrecipes.ops.capability import Action
from augrecipes.ops.warps import Warp

_PENDING = "_pending"  # the key under which `PendingWarps` goes from step to step
_BARE = 2  # keys of a sample that has an image alone
WarpOf = Callable[[Any, dict[str, Any]], Warp]


class PendingWarps:
    """A picture and its mask on their way through a run of steps: what is pending, and not yet done.

    Args:
        image: H×W×C.
        mask: H×W or H×W×C, or None.
        scratch: memory for the picture, and for the mask.
        shrinks: how a picture is had for a warp that shrinks it.
        kernel: makes pictures, if any does.
    """

    __slots__ = ("_kernel", "image", "mask", "scratch", "shrinks")

    def __init__(
        self,
        image: np.ndarray,
        mask: np.ndarray | None,
        scratch: tuple[Scratch, Scratch],
        shrinks: Shrinks,
        kernel: jobs.Kernel | None,
    ) -> None:
        self._kernel = kernel
        self.image = Warped(Moved(with_channels(image)))
        self.mask = None if mask is None else Warped(Moved(with_channels(mask)))
        self.scratch, self.shrinks = scratch, shrinks

    def each(self, move: Callable[[Warped], Warped]) -> None:
        """Add a cut or a turn to what is pending."""
        self.image = move(self.image)
        if self.mask is not None:
            self.mask = move(self.mask)

    def warp(self, warp: Warp) -> None:
        """Add a warp to what is pending."""
        if not self._then(warp):
            # What one resampling would find beyond the picture as it is now, or between its pixels, is not what stands
            # there: begin afresh. A picture that is enlarged again is of low resolution because that is meant: it is
            # made small as it would be alone.
            self.settle(Shrinks() if enlarges(warp.matrix) else self.shrinks)
            self._then(warp)

    def _then(self, warp: Warp) -> bool:
        image = self.image.then(warp)
        mask = self.mask and self.mask.then(warp.for_mask())
        if image is None or (self.mask is not None and mask is None):
            return False
        self.image, self.mask = image, mask
        return True

    def run(self, step: Any, params: dict[str, Any]) -> None:
        """Run a step as it is, on what has been carried out so far."""
        self.settle()
        self.image = Warped(Moved(with_channels(step.apply_with_params(params, image=self.image.moved.base)["image"])))
        if self.mask is not None:
            done = step.apply_with_params(params, mask=self.mask.moved.base)["mask"]
            self.mask = Warped(Moved(with_channels(done)))

    def settle(self, shrinks: Shrinks | None = None) -> None:
        """Carry out what is pending. A picture that it enlarges is soft already, and is not reduced afterwards."""
        soft = self.image.matrix is not None and enlarges(self.image.matrix)
        image, mask = self.realise(shrinks)
        self.shrinks = Shrinks() if soft else self.shrinks
        self.image = Warped(Moved(image.array()))
        self.mask = None if mask is None else Warped(Moved(mask.array()))

    def realise(self, shrinks: Shrinks | None = None) -> tuple[Moved, Moved | None]:
        """The resampling of picture and mask carried out; their last turns may still be pending."""
        mask = None if self.mask is None else self.mask.realise(self.scratch[1], Shrinks())
        return self.image.realise(self.scratch[0], self.shrinks if shrinks is None else shrinks, self._made), mask

    def _made(self, picture: Warped, shrinks: Shrinks) -> np.ndarray | None:
        """What the kernel makes of a picture; None where it does not take it."""
        if self._kernel is None or not jobs.takes(picture):
            return None
        return jobs.ToMake(picture, shrinks, self.scratch[0], self._kernel).array()


class Deferred(A.BaseCompose):  # type: ignore[misc]
    """One step inside `Warps`, alone or in a group: draws now, and leaves its effect pending.

    Args:
        step: the transform.
        action: `window`, `dihedral`, `warp` or `identity`.
        warp_of: for a warp: from its drawn parameters to its matrix.
    """

    def __init__(self, step: Any, action: Action, warp_of: WarpOf | None) -> None:
        super().__init__([step], p=step.p)
        self.step, self.action, self.warp_of = step, action, warp_of
        self._draw: Callable[[Sample], Drawn] | None = None  # the step is given its generators, and its guard, later

    def __call__(self, *_: Any, force_apply: bool = False, **data: Any) -> dict[str, Any]:
        """The sample, with the step's effect added to what is pending."""
        step, picture = self.step, data[_PENDING]
        step.params = {}
        if not step.should_apply(force_apply=force_apply):
            return data
        if self._draw is None:
            self._draw = sampler_of(step)
        params = step.params = self._draw(data)
        if len(data) > _BARE:
            rest = {key: value for key, value in data.items() if key not in ("image", _PENDING)}
            data.update(step.apply_with_params(params, **rest))
        self._defer(picture, params)
        data["image"] = picture.image.stand_in()
        return data

    def _defer(self, picture: PendingWarps, params: dict[str, Any]) -> None:
        if self.action == "dihedral":
            symmetry = symmetry_of(type(self.step).__name__, params)
            picture.each(lambda w: w.turned(symmetry))
        elif self.action == "window" and is_plain_window(params):
            x_min, y_min, x_max, y_max = (int(v) for v in params["crop_coords"])
            picture.each(lambda w: w.cut(x_min, y_min, x_max, y_max))
        elif self.warp_of is not None and (warp := _with_a_way_back(self.warp_of, self.step, params)) is not None:
            picture.warp(warp)
        elif self.action != "identity":
            picture.run(self.step, params)


def _with_a_way_back(warp_of: WarpOf, step: Any, params: dict[str, Any]) -> Warp | None:
    """The warp; None where it makes a line of the picture, or leaves nothing of it: what then comes is the step's."""
    try:
        warp = warp_of(step, params)
    except ZeroDivisionError:
        return None
    return warp if warp.height > 0 and warp.width > 0 else None


class Warps(A.BaseCompose):  # type: ignore[misc]
    """Runs windows, turns and warps as one resampling, groups of them included.

    Boxes and keypoints go through the steps themselves, one after another; what else may travel with an image is never
    brought here (`augrecipes.flow.Arrival`).

    Args:
        transforms: `Deferred` steps, and groups of them.
        reduces: a picture is reduced before a warp that shrinks it.
        scales: one that is not decoded yet is decoded smaller instead.

    Attributes:
        to_sink: leave the warp to what follows, as a `ToMake`, or the last turns, as a `Moved`.
    """

    def __init__(self, transforms: list[Any], *, reduces: bool = False, scales: bool = False) -> None:
        super().__init__(transforms, p=1.0)
        self.shrinks, self.to_sink = Shrinks(reduces, scales), False
        self._scratch = (Scratch(), Scratch())
        self._kernel = jobs.kernel()

    def __call__(self, *_: Any, force_apply: bool = False, **data: Any) -> dict[str, Any]:
        """The sample after all steps. `force_apply` changes nothing: each step has its own gate."""
        picture = data[_PENDING] = PendingWarps(
            data["image"], data.pop("mask", None), self._scratch, self.shrinks, self._kernel
        )
        data["image"] = picture.image.stand_in()
        for step in self.transforms:
            data = step(**data)
            if self.check_each_transform:
                data = self.check_data_post_transform(data)
        del data[_PENDING]
        if self._kernel is not None and jobs.takes(picture.image):
            mask = None if picture.mask is None else picture.mask.realise(self._scratch[1], Shrinks())
            made = jobs.ToMake(picture.image, picture.shrinks, self._scratch[0], self._kernel)
            data["image"] = made if self.to_sink else made.array()
            if mask is not None:
                data["mask"] = mask.array()
            return data
        image, mask = picture.realise()
        data["image"] = image if self.to_sink else image.array()
        if mask is not None:
            data["mask"] = mask.array()
        return data
