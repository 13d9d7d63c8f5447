"""Further targets of a scene (`targets:`) on the way in and on the way out."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from augrecipes.compiler.kernels.step_draws import stand_in
from augrecipes.compiler.run.extra_targets import LIKE, ExtraTarget, Finish, stacked, with_channels
from augrecipes.compiler.run.target_steps import on_grid
from augrecipes.compiler.run.targets import check_image
from augrecipes.errors import DataError
from augrecipes.ops.fills import as_dtype
from augrecipes.recipe.model import Inputs, Output
from augrecipes.recipe.targets import CHANNELS, Target


@dataclass(frozen=True, slots=True)
class SceneTarget(ExtraTarget):
    """A further target on its way through the steps.

    Attributes:
        target: the recipe's declaration.
    """

    target: Target

    def lying_on(self, image: Any, fills: tuple[float, ...]) -> np.ndarray:
        """The array for the steps; DataError where it does not cover the image on its own grid."""
        size = on_grid(image.shape[:2], self.target.factor)
        axes = self.like.axes
        if self.array.shape[axes : axes + 2] != size and not self.is_empty:
            own, whole = (f"{h}×{w} px" for h, w in (self.array.shape[axes : axes + 2], image.shape[:2]))
            scale = "" if self.target.factor == 1 else f", of scale {float(self.target.factor):g},"
            cure = f"it should be {size[0]}×{size[1]} px"
            raise DataError(f"{self.name}{scale} is {own}, and the image is {whole}: {cure}")
        return ExtraTarget.lying_on(self, stand_in((*size, 1), self.array.dtype), self._fills(fills))

    def out(self, done: np.ndarray, sink: Finish, output: Output, fills: tuple[float, ...]) -> Any:
        """The result: images converted by `sink`, others as `mask` leaves; vectors in the layout of the output."""
        result = ExtraTarget.out(self, done, sink, output, self._fills(fills))
        if self.target.has_directions and output.layout == "chw":
            return np.ascontiguousarray(np.moveaxis(result, 2, 0))
        return result

    def _fills(self, fills: tuple[float, ...]) -> tuple[float, ...]:
        fill = self.target.fill
        return fills if fill is None or isinstance(fill, tuple) else (fill,)


def take_scene_targets(data: dict[str, Any], inputs: Inputs) -> list[SceneTarget]:
    """Take and check the further targets of the sample `data`; DataError where a required one is missing."""
    targets = []
    for name, target in inputs.targets.items():
        value = data.get(name)
        if value is None:
            data.pop(name, None)
            if target.presence == "required":
                raise DataError(f"the recipe's targets require {name!r}, and the sample has none")
            continue
        like = LIKE[target.like if target.like in LIKE else "mask"]
        array, listed = stacked(value, name, like)
        targets.append(SceneTarget(name, like, _checked(array, name, target, inputs), listed, target))
    return targets


def _checked(array: Any, name: str, target: Target, inputs: Inputs) -> np.ndarray:
    """The array of a target with the axes and the dtype that its declaration asks for."""
    if not isinstance(array, np.ndarray):
        raise DataError(f"{name} must be a numpy array, got {type(array).__name__}")
    if target.is_image:
        dtype: Any = target.dtype or inputs.dtype
        alone = replace(inputs, channels=None, min_size=None, dtype=dtype)
        return check_image(with_channels(array, name, LIKE["image"]), alone, name)
    if target.has_directions:
        channels = CHANNELS[target.like]
        if array.ndim != 3 or array.shape[2] != channels or array.dtype.kind != "f":
            raise DataError(f"{name} must be floats H×W×{channels}, got {array.dtype} of shape {array.shape}")
        return array.astype(np.float32, copy=False)
    return as_dtype(array, name, target.dtype)
