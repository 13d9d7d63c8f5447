"""Several steps as one kernel. Each draws and gates itself under its own key; the effects are carried out together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import cv2
import numpy as np

from augrecipes.compat.albumentations import A, through_table
from augrecipes.compat.instead import with_functions
from augrecipes.compat.steps import sampler_of
from augrecipes.compiler.kernels.moves import IDENTITY, Moved, Symmetry, symmetry_of
from augrecipes.compiler.kernels.step_draws import is_plain_window, stand_in, with_channels
from augrecipes.compiler.kernels.unmade import FUNCTIONS, Pixels, realised
from augrecipes.ops.capabilities import claims

_MAKES = ("warp", "padding")
_METHODS = ("apply", "apply_to_mask")


class Joined(A.BaseCompose):  # type: ignore[misc]
    """Runs windows, turns, resizes, paddings and tables with one pass over the pixels, bit for bit as one by one.

    Boxes and keypoints go through the steps themselves, one after another; what else may travel with an image is never
    brought here (`augrecipes.flow.Arrival`). A step whose drawn parameters say more
    than its capability (a crop that pads first) is run as it is, on what has been carried out so far.

    Args:
        transforms: the steps, in order.
        actions: the capability of each: `window`, `dihedral`, `lookup`, `padding`, or `warp`, of one that resizes.
        to_sink: leave the last moves to the sink, as a `Moved`.
    """

    def __init__(self, transforms: list[Any], actions: tuple[str, ...], *, to_sink: bool = False) -> None:
        super().__init__(transforms, p=1.0)
        self.actions = actions
        self._defers = frozenset(
            id(step) for step, action in zip(transforms, actions, strict=True) if _makes_later(step, action)
        )
        self.to_sink = to_sink
        self._ready: list[_Ready] | None = None  # what draws is given its generators, and its guard, later

    def __call__(self, *_: Any, force_apply: bool = False, **data: Any) -> dict[str, Any]:
        """The sample after all steps. `force_apply` changes nothing: each step has its own gate."""
        return self.run(data)

    def run(self, data: dict[str, Any]) -> dict[str, Any]:
        """The sample after all steps; it is changed in place."""
        if self._ready is None:
            self._ready = [_ready(*pair) for pair in zip(self.transforms, self.actions, strict=True)]
        # Some steps drop the channel axis of a grey image (XYMasking when it inpaints).
        image = _Pending(with_channels(data.pop("image")))
        mask = None if data.get("mask") is None else _Pending(data.pop("mask"))
        for ready in self._ready:
            step = ready.step
            if step.should_apply():
                self._take(ready, image, mask, data)
            else:
                step.params = {}
            if self.check_each_transform:
                data = self._filtered(data, image)
        data["image"] = image.moved() if self.to_sink and not image.table_steps else image.array()
        if mask is not None:
            # What leaves is copied out of the caller's array anyway: a window of it will do.
            upright = self.to_sink and mask.symmetry is IDENTITY
            data["mask"] = realised(mask.base) if upright else mask.array()
        return data

    def _take(self, ready: _Ready, image: _Pending, mask: _Pending | None, data: dict[str, Any]) -> None:
        """Draw the step's parameters and add its effect to what is pending."""
        step, action = ready.step, ready.action
        stands = stand_in(image.shape(), image.base.dtype)
        params = step.params = ready.draw({**data, "image": stands} if data else {"image": stands})
        if data:
            data.update(step.apply_with_params(params, **data))
        if action == "lookup" and image.base.dtype == np.uint8:
            image.table_steps.append((step, params))
            return
        for pending in (image,) if mask is None else (image, mask):
            if action == "dihedral":
                pending.turn(ready.symmetry or symmetry_of(type(step).__name__, params))
            elif action == "window" and is_plain_window(params):
                pending.cut(*(int(v) for v in params["crop_coords"]))
            elif id(step) in self._defers:
                pending.put((step.apply if pending is image else step.apply_to_mask)(pending.pixels(), **params))
            else:
                key = "image" if pending is image else "mask"
                pending.put(step.apply_with_params(params, **{key: pending.array()})[key])

    def _filtered(self, data: dict[str, Any], image: _Pending) -> dict[str, Any]:
        """Boxes and keypoints filtered at the size that the image has now, as albumentations does after each step."""
        kept = self.check_data_post_transform({**data, "image": stand_in(image.shape(), image.base.dtype)})
        del kept["image"]
        return kept


class _Ready(NamedTuple):
    """A step, with what never changes looked up."""

    step: Any
    action: str
    draw: Callable[[dict[str, Any]], dict[str, Any]]
    symmetry: Symmetry | None


def _ready(step: Any, action: str) -> _Ready:
    fixed = action == "dihedral" and claims(type(step).__name__).symmetry is not None
    return _Ready(step, action, sampler_of(step), symmetry_of(type(step).__name__, {}) if fixed else None)


class _Pending:
    """One array, with the moves and the tables that are pending: it is to be cut, turned, and looked up."""

    __slots__ = ("base", "symmetry", "table_steps")

    def __init__(self, array: Pixels) -> None:
        self.base, self.symmetry = array, IDENTITY
        self.table_steps: list[tuple[Any, dict[str, Any]]] = []

    def shape(self) -> tuple[int, ...]:
        """The shape after the moves."""
        shape = self.base.shape
        return (shape[1], shape[0], *shape[2:]) if self.symmetry.transpose else shape

    def moved(self) -> Moved:
        """The moves; tables stay."""
        return Moved(self.base, self.symmetry)

    def turn(self, symmetry: Symmetry) -> None:
        """Turn it, after any tables have been carried out."""
        if self.table_steps:
            self.array()
        if self.symmetry is not IDENTITY:
            symmetry = self.symmetry.then(symmetry)
        self.symmetry = IDENTITY if symmetry == IDENTITY else symmetry

    def cut(self, x_min: int, y_min: int, x_max: int, y_max: int) -> None:
        """Cut it to a window of the turned array, ends exclusive, after any tables have been carried out."""
        if self.table_steps:
            self.array()
        if (y_min, x_min, y_max, x_max) != (0, 0, *self.shape()[:2]):
            self.put(self.moved().cut(x_min, y_min, x_max, y_max))

    def pixels(self) -> Pixels:
        """What a step may resize or pad, after any tables have been carried out: nothing else is."""
        if self.table_steps:
            self.array()
        return self.base if self.symmetry is IDENTITY else self.moved()

    def put(self, pixels: Pixels) -> None:
        """Another picture instead."""
        if isinstance(pixels, Moved):
            self.base, self.symmetry = pixels.base, IDENTITY if pixels.symmetry == IDENTITY else pixels.symmetry
        else:
            self.base, self.symmetry = pixels, IDENTITY

    def array(self) -> np.ndarray:
        """Everything carried out."""
        out = self.moved().array()
        if self.table_steps:
            out = _through_tables(out, self.table_steps)
            self.table_steps = []
        self.put(out)
        return out


def _makes_later(step: Any, action: str) -> bool:
    """Whether a step's own methods now leave what they make to be made later."""
    return action in _MAKES and vars(with_functions(step, _METHODS, FUNCTIONS)).keys() >= set(_METHODS)


def _through_tables(image: np.ndarray, steps: list[tuple[Any, dict[str, Any]]]) -> np.ndarray:
    """A uint8 image after lookup steps, by one table that the steps themselves have made from a ramp."""
    if len(steps) == 1:
        step, params = steps[0]
        return np.ascontiguousarray(step.apply(image, **params))
    channels = image.shape[2]
    ramp = np.repeat(np.arange(256, dtype=np.uint8)[:, None, None], channels, axis=2)
    for step, params in steps:
        ramp = np.ascontiguousarray(step.apply(ramp, **params))
    tables = ramp.reshape(256, channels)
    if _are_alike(tables):
        return through_table(image, np.ascontiguousarray(tables[:, 0]))
    return cv2.LUT(image, tables[None])


def _are_alike(tables: np.ndarray) -> bool:
    """Whether all channels have one table, 256×C."""
    return bool((tables == tables[:, :1]).all())
