"""Steps that targets of a pair share: drawn once on the common grid, carried out on every target at its own scale.

Positions are pixel centres. A cell c and a pixel d of a target with k pixels a cell show the same point where
d = (c + 1/2)·k − 1/2, so a matrix M between cells is S·M·S⁻¹ between pixels, where S multiplies by k and adds (k−1)/2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import A, geometric
from augrecipes.compiler.kernels.step_draws import draw, is_plain_window, with_channels
from augrecipes.compiler.lowering.lower import transform
from augrecipes.kinds.pair.scene import Scene
from augrecipes.kinds.pair.sharing import How, how_to_share, refusal
from augrecipes.ops.matrices import symmetry_of
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import construct, effective
from augrecipes.recipe.model import Arguments, Step


class Shared(A.BaseCompose):  # type: ignore[misc]
    """One step of a pair.

    - A window is drawn in cells of the common grid; each target is cut at the same cells, a copy of nothing.
    - A flip or turn is drawn once.
    - A step that resamples is drawn in cells; its geometry is scaled to each target, pixel centres considered.
    - Any other step draws its parameters on the coarsest of its targets, and is applied to all with the same.
    - A step of one target runs on that target.

    Args:
        step: as it was written.
        targets: that it acts on.
        units: pixels along a common cell, by target.

    Raises:
        RecipeError: the step's numbers are no whole cells, or the step cannot be shared by targets of different size.
    """

    def __init__(self, step: Step, targets: tuple[str, ...], units: Mapping[str, int]) -> None:
        self.names, self.units = targets, units
        self.how: How = how_to_share(step) if len(targets) > 1 else "plain"
        self.cell = 1 if self.how == "plain" else max(units[name] for name in targets)
        at = step.at or min(targets, key=units.__getitem__)
        # One transform draws, in cells. Those that resample know their size, so each target has one of its own.
        cell = step if self.how == "plain" else scaled_to(step, 1, units[at])
        self.step: Any = transform(cell)
        self.by_target: dict[str, Any] = {}
        if self.how == "resampled":
            self.by_target = {name: construct(scaled_to(step, units[name], units[at])) for name in targets}
        super().__init__([self.step], p=self.step.p)

    def __call__(self, *_: Any, force_apply: bool = False, **data: Any) -> dict[str, Any]:
        """The scene (`scene=`) after the step; it is changed in place."""
        scene: Scene = data["scene"]
        self.step.params = {}
        names = scene.present(self.names)
        if names and self.step.should_apply(force_apply=force_apply):
            self.act(scene, names)
        return data

    def act(self, scene: Scene, names: Sequence[str]) -> None:
        """Carry it out on these targets of a scene, the coarsest first."""
        if len(names) == 1 and len(self.names) == 1:
            done = self.step(force_apply=True, image=scene.arrays[names[0]])
            scene.arrays[names[0]] = with_channels(done["image"])
        else:
            params = self._drawn(scene, names)
            for name in names:
                scene.arrays[name] = self._changed(params, scene.arrays[name], name)
        if len(self.names) > 1 or self.how != "plain":
            scene.shape()  # raises where the targets no longer fit

    def _drawn(self, scene: Scene, names: Sequence[str]) -> dict[str, Any]:
        """What it draws for these targets; the scene's region follows, and nothing else."""
        if self.how == "plain":
            return draw(self.step, {"image": scene.arrays[names[0]]})
        try:
            params = draw(self.step, {"image": scene.stand_in()})
        except Exception as error:  # albumentations' own, for a window that is larger than the scene
            sizes = ", ".join(f"{n} {scene.arrays[n].shape[0]}×{scene.arrays[n].shape[1]} px" for n in names)
            raise ValueError(f"{error}; counted in cells of the common grid, of {sizes}") from error
        if self.how == "dihedral":
            scene.region = scene.region and scene.region.turned(symmetry_of(type(self.step).__name__, params))
        elif self.how == "window" and is_plain_window(params):
            scene.region = scene.region and scene.region.cut(*map(int, params["crop_coords"]))
        else:
            scene.region = None
        return params

    def _changed(self, params: dict[str, Any], array: np.ndarray, name: str) -> np.ndarray:
        """The image of a target after the step, by what it has drawn."""
        unit = self.units[name]
        if self.how == "resampled":
            return with_channels(resample(self.by_target[name], params, array, unit))
        if self.how == "window" and is_plain_window(params):
            x_min, y_min, x_max, y_max = (int(v) * unit for v in params["crop_coords"])
            return array[y_min:y_max, x_min:x_max]
        own = {**params, "shape": array.shape} | (_in_pixels(params, unit) if self.how == "window" else {})
        return with_channels(self.step.apply_with_params(own, image=array)["image"])


def _in_pixels(params: dict[str, Any], unit: int) -> dict[str, Any]:
    """A window drawn in cells, in pixels of one target."""
    pads = params.get("pad_params")
    return {
        "crop_coords": tuple(int(v) * unit for v in params["crop_coords"]),
        "pad_params": pads and {side: int(v) * unit for side, v in pads.items()},
    }


def scaled_to(step: Step, to: int, at: int) -> Step:
    """The step with the arguments that count pixels multiplied by `to` / `at`."""
    record = op_record(step.name)
    pixels = record.pixels
    merged = effective(step)
    args = step.args.plain()
    for name in pixels:
        value = args.get(name, merged.get(name))
        if value is not None:
            args[name] = _times(value, Fraction(to, at), step, name)
    return replace(step, args=Arguments(args))


def _times(value: Any, factor: Fraction, step: Step, name: str) -> Any:
    if isinstance(value, list | tuple):
        return [_times(item, factor, step, name) for item in value]
    if value is None or isinstance(value, bool) or not isinstance(value, int):
        return value
    scaled = value * factor
    if scaled.denominator != 1:
        raise refusal(step, f"{name}: {value} px are no whole number of cells of the targets' common grid")
    return int(scaled)


_CELLS = ("x_min", "x_max", "y_min", "y_max")


def resample(step: Any, params: dict[str, Any], image: np.ndarray, unit: int) -> np.ndarray:
    """The step with parameters that were drawn in cells, on a target with `unit` pixels a cell.

    Args:
        step: the transform whose own sizes, if it has any, are in the target's pixels.
        params: drawn on the common grid.
        image: of the target.
        unit: pixels along a cell.
    """
    rows, columns = params["shape"][:2]
    if "matrix" not in params and "scale" in params:
        scale = params["scale"]
        size = (max(1, round(rows * scale)) * unit, max(1, round(columns * scale)) * unit)
        area = step.area_for_downscale in ("image", "image_mask") and scale < 1.0
        return np.asarray(geometric.resize(image, size, cv2.INTER_AREA if area else step.interpolation))
    own = {**params, "shape": image.shape}
    if "crop_coords" in params:
        own["crop_coords"] = tuple(int(v) * unit for v in params["crop_coords"])
    if "matrix" in params:
        own["matrix"] = between_pixels(params["matrix"], unit)
    if "output_shape" in params:
        own["output_shape"] = tuple(int(n) * unit for n in params["output_shape"][:2])
    for name in _CELLS:
        if params.get(name, -1) >= 0:
            own[name] = int(params[name]) * unit
    out: np.ndarray = step.apply_with_params(own, image=image)["image"]
    return out


def between_pixels(matrix: np.ndarray, unit: int) -> np.ndarray:
    """A 3×3 matrix between cells as one between pixels.

    >>> between_pixels(np.array([[1.0, 0, 2], [0, 1, 0], [0, 0, 1]]), 4)[0].tolist()
    [1.0, 0.0, 8.0]
    """
    shift = (unit - 1) / 2
    forth = np.array([[unit, 0, shift], [0, unit, shift], [0, 0, 1]], np.float64)
    return np.asarray(forth @ matrix @ np.linalg.inv(forth))
