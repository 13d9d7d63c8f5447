"""Run steps on further targets of a scene (`targets:`), under the draws of the image.

A shallow copy of the step has the target's interpolation and fill. Vectors and normals are turned by the step's matrix
before their pixels move, so that the fill is not turned. A target on another grid moves by S·M·S⁻¹, where S maps pixels
of the image to its own.
"""

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import functions_of, sampler_of
from augrecipes.compiler.lowering.lower import Sites
from augrecipes.compiler.run.deep_images import VALID
from augrecipes.compiler.run.draws import Draws
from augrecipes.errors import DataError
from augrecipes.ops.constants import AREA, LINEAR, NEAREST
from augrecipes.ops.fills import setting
from augrecipes.ops.matrices import Matrix, Size, in_pixels, matrix_of, output_size
from augrecipes.ops.places import nearest
from augrecipes.ops.records import op_record
from augrecipes.recipe.inputs import Inputs
from augrecipes.recipe.targets import Target, coarsest_cell

_SETTINGS = {  # by whether the target is an image: the arguments of interpolation and fill
    True: ("interpolation", "fill", "drop_value"),
    False: ("mask_interpolation", "fill_mask", "mask_drop_value"),
}
_PLANE = Target("mask", interpolation="nearest", fill=0)  # there is no data outside of an image
_TINY, _ROUNDING, _MOST_LEVEL = np.float32(1e-20), 1e-6, 255


def carry_targets(sites: Sites, inputs: Inputs, draws: Draws) -> Iterator[tuple[Any, str, bool]]:
    """Let transforms act on further targets, and on the planes that say which pixels hold data.

    Args:
        sites: the transforms, with their labels.
        inputs: the recipe's inputs.
        draws: gives generators to copies of steps that draw for a target separately.

    Yields:
        These copies with their labels: the step's label, `@` and the target's name.
    """
    targets, planes = inputs.targets, dict[str, Target]()
    if inputs.nodata is not None:
        scales = {"": 1} | {name: target.scale for name, target in targets.items() if target.is_image}
        planes = {VALID + name: replace(_PLANE, scale=scale) for name, scale in scales.items()}
    cell = coarsest_cell(targets)
    for step, site, shared in sites if targets or planes else ():
        functions: dict[str, Any] = functions_of(step) if hasattr(step, "targets_as_params") else {}
        record = op_record(type(step).__name__)
        if "mask" in functions and (record.moves or record.scales or not record.is_known):
            functions.update((name, TargetStep(step, plane)) for name, plane in planes.items())
        if cell > 1 and record.crops is not None and record.resizes is None:
            draw = step.get_params_dependent_on_data
            step.get_params_dependent_on_data = partial(_on_cells, draw, cell, not record.pixels)
        for name, target in targets.items():
            if "mask" in functions:
                is_second_image = target == replace(target, like="image", interpolation=None, fill=None, scale=1)
                functions[name] = partial(_as_the_image, step) if is_second_image else TargetStep(step, target)
            elif target.is_image and functions:
                functions[name] = partial(_as_the_image, step)
                if target.share == "geometry" and {"image"}.issuperset(step.targets_as_params):
                    own, label = copy(step), f"{site}@{name}"
                    own.image_names = frozenset()  # `channels:` does not apply to the target
                    own.random_generator, own.py_random = draws.add(label, shared=shared)
                    functions[name] = partial(_change_values_alone, own, sampler_of(own))
                    yield own, label, shared


def _as_the_image(step: Any, image: np.ndarray, **params: Any) -> np.ndarray:
    return np.atleast_3d(functions_of(step)["image"](image, **{**params, "shape": image.shape}))


def _change_values_alone(own: Any, draw: Callable[..., dict[str, Any]], image: np.ndarray, **_: Any) -> np.ndarray:
    own.params = params = draw({"image": image})
    return np.atleast_3d(own.apply(image, **params))


def _on_cells(
    draw: Callable[..., dict[str, Any]], cell: int, grows: bool, params: dict[str, Any], data: Any
) -> dict[str, Any]:
    """Draw a crop and align its window to cells of the coarsest target: move it up and left, or grow it."""
    drawn: dict[str, Any] = draw(params=params, data=data)
    if drawn.get("crop_coords"):
        start, end = np.reshape(drawn["crop_coords"], (2, 2))
        shift = start % cell
        end = np.minimum(end + -end % cell, params["shape"][1::-1]) if grows else end - shift
        drawn["crop_coords"] = (*(start - shift).tolist(), *end.tolist())
    return drawn


@dataclass(slots=True, eq=False)
class TargetStep:
    """The function of a step that moves or hides pixels, on one further target.

    Args:
        step: the transform.
        target: the recipe's declaration.
    """

    step: Any
    target: Target

    def __post_init__(self) -> None:
        target, own = self.target, copy(self.step)
        record = op_record(type(own).__name__)
        sampling, *fills = _SETTINGS[target.is_image]
        fill = 0 if target.has_directions and target.fill is None and not record.hides else target.fill
        if target.like == "normals" and fill is not None:  # the fourth channel is their length
            fill = (*(fill if isinstance(fill, tuple) else [fill] * 3),)
            fill = (*fill, float(np.linalg.norm(fill)))
        values = {sampling: target.sampling, **dict.fromkeys(fills, fill)}
        if target.sampling is not None:
            own.area_for_downscale = None
        vars(own).pop("apply", None)  # a faster `apply` is bound to the original step
        for name, value in values.items():
            if value is not None and hasattr(own, name):
                setattr(own, name, value)
        self.step = own

    def __call__(self, array: np.ndarray, **params: Any) -> np.ndarray:
        """Apply the step to the target under `params`, the draw for the image."""
        if self.target.like == "masks":
            return np.stack([self._one(mask, params) for mask in array])
        record = op_record(type(self.step).__name__)
        if not self.target.has_directions:
            return self._one(array, params)
        if not record.moves:
            return self._one(array, params) if record.hides else array
        if self.target.like == "vectors":
            return self._one(turned_vectors(array, self._matrix(params)), params)
        turned = turned_normals(array, self._matrix(params))
        *parts, length = np.moveaxis(self._one(np.dstack([turned, _length(turned)]), params), 2, 0)
        field = np.stack(parts, axis=2)
        return np.asarray(field * (length / np.maximum(_length(field), _TINY))[..., None])

    def _matrix(self, params: Mapping[str, Any]) -> Matrix:
        """The step's matrix in the target's pixels."""
        before = params["shape"][:2]
        matrix = matrix_of(type(self.step).__name__, params, before, output_size(self.step, params, before))
        return in_pixels(matrix, self.target.factor)

    def _one(self, array: np.ndarray, params: Mapping[str, Any]) -> np.ndarray:
        """Move or hide the pixels of an image or of one mask."""
        step, target = self.step, self.target
        record, is_grid = op_record(type(step).__name__), target.factor != 1
        if is_grid and record.hides:
            return self._hidden(array, params)
        if is_grid and record.moves and record.action not in ("dihedral", "identity"):
            return self._resampled(array, params)
        own = {name: getattr(step, name) for name in _SETTINGS[target.is_image] if name in params}
        own["shape"] = array.shape if target.is_image or is_grid else params["shape"]
        done = np.asarray((step.apply if target.is_image else step.apply_to_mask)(array, **{**params, **own}))
        return done if done.ndim == array.ndim else done[..., None]

    def _hidden(self, array: np.ndarray, params: Mapping[str, Any]) -> np.ndarray:
        """Fill the pixels of a target on another grid that the step hides in the image."""
        fill = getattr(self.step, "fill" if self.target.is_image else "fill_mask", None)
        if fill is None or isinstance(fill, str):
            return array
        with setting(self.step, "fill_mask", 1):
            hidden = self.step.apply_to_mask(np.zeros(params["shape"][:2], np.uint8), **params)
        done = array.copy()
        done[nearest(hidden, array.shape[:2]) > 0] = self._own_units(fill, array)
        return done

    def _resampled(self, array: np.ndarray, params: Mapping[str, Any]) -> np.ndarray:
        """Resample a target on another grid; a crop or pad keeps its pixels."""
        step, is_image = self.step, self.target.is_image
        record, matrix = op_record(type(step).__name__), self._matrix(params)
        size = on_grid(output_size(step, params, params["shape"][:2]), self.target.factor)
        sampling = getattr(step, _SETTINGS[is_image][0], LINEAR if is_image else NEAREST)
        if record.resizes == "whole":
            if sampling == NEAREST:
                return nearest(array, size)
            by_areas = is_image and getattr(step, "area_for_downscale", None) and size[0] < array.shape[0]
            done = cv2.resize(array, size[::-1], interpolation=AREA if by_areas else sampling)
            return done.reshape(*size, *array.shape[2:])
        if not record.resamples and np.abs(matrix - (whole := np.rint(matrix))).max() > _ROUNDING:
            corner, grid = f"{-matrix[0, 2]:g}, {-matrix[1, 2]:g}", self.target.factor
            cure = f"let crops and pads count in multiples of {grid.denominator} px"
            raise DataError(f"what is left begins at pixel {corner} of a target of scale {float(grid):g}: {cure}")
        fill = self._own_units(getattr(step, _SETTINGS[is_image][1], 0), array)
        fills = np.broadcast_to(fill, array.shape[2:] or (1,))
        warp = partial(cv2.warpPerspective, M=matrix if record.resamples else whole, dsize=size[::-1], flags=sampling)
        border, planes = getattr(step, "border_mode", 0), np.moveaxis(np.atleast_3d(array), 2, 0)
        parts = [
            warp(np.ascontiguousarray(plane), borderMode=border, borderValue=fill)
            for plane, fill in zip(planes, fills.tolist(), strict=True)
        ]
        return np.stack(parts, axis=2).reshape(*size, *array.shape[2:])

    def _own_units(self, fill: Any, array: np.ndarray) -> Any:
        """A fill in the target's range; steps give the fills of images in 0..255."""
        fill = np.asarray(0 if fill is None or isinstance(fill, str) else fill)
        if not self.target.is_image:
            return fill
        low, high = getattr(self.step, "full_range", (0, 1 if array.dtype == np.float32 else _MOST_LEVEL))
        return low + fill * ((high - low) / _MOST_LEVEL)


def on_grid(size: Size, factor: Fraction) -> Size:
    """The size of a target at `factor` over an image of `size`; DataError where its pixels do not cover the image.

    >>> on_grid((4, 6), Fraction(1, 2))
    (2, 3)
    """
    rows, columns = (side * factor for side in size)
    if rows.denominator != 1 or columns.denominator != 1:
        cell = factor.denominator
        raise DataError(
            f"an image of {size[0]}×{size[1]} px is not whole pixels of a target of scale {float(factor):g}: "
            f"let its sides be multiples of {cell} px, by a crop, a pad or a resize in front"
        )
    return int(rows), int(columns)


def turned_vectors(field: np.ndarray, matrix: Matrix) -> np.ndarray:
    """Vectors H×W×2 from each pixel to another position, after a matrix has moved both ends; pixels stay in place.

    >>> turned_vectors(np.ones((1, 1, 2), np.float32), np.diag([-1.0, 1, 1])).ravel().tolist()
    [-1.0, 1.0]
    """
    if matrix[2, 0] == 0 == matrix[2, 1]:
        return np.asarray(field @ matrix[:2, :2].T, np.float32)
    y, x = np.mgrid[: field.shape[0], : field.shape[1]].astype(np.float64)
    places = np.stack([x, y], axis=2)
    ends = [cv2.perspectiveTransform(points, matrix) for points in (places, places + field)]
    return np.asarray(ends[1] - ends[0], np.float32)


def turned_normals(field: np.ndarray, matrix: Matrix) -> np.ndarray:
    """Normals H×W×3 with x and y rotated or mirrored as the matrix does at the centre of the image; z stays."""
    middle = np.array([(field.shape[1] - 1) / 2, (field.shape[0] - 1) / 2, 1])
    x, y, weight = matrix @ middle
    jacobian = (matrix[:2, :2] - np.outer([x / weight, y / weight], matrix[2, :2])) / weight
    left, _, right = np.linalg.svd(jacobian)  # the nearest rotation or reflection is left @ right (polar decomposition)
    turn = np.eye(3)
    turn[:2, :2] = left @ right
    return np.asarray(field @ turn.T, np.float32)


def _length(field: np.ndarray) -> Any:
    return np.sqrt(np.einsum("hwc,hwc->hw", field, field))
