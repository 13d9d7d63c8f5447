"""Move boxes and keypoints with the pixels under them, also where albumentations 2.0.8 does not.

`right_class` puts the mixins here in front of albumentations' classes. Keypoints are positions of pixel centres; the
edges of boxes lie between pixels, half a pixel off. `inverse_places` inverts the maps of warp fields.
docs/DIFFERENCES.md lists the differences from albumentations.
"""

from abc import ABC
from collections.abc import Mapping
from functools import cache
from pkgutil import resolve_name
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from augrecipes.compat import Mixin
from augrecipes.ops.constants import NEAREST
from augrecipes.ops.fills import FillLevels, setting
from augrecipes.ops.hole_places import HolePlaces
from augrecipes.ops.matrices import Matrix, Size, matrix_of, output_size
from augrecipes.ops.pixel_mends import NarrowWarp
from augrecipes.ops.records import op_record

Points = NDArray[Any]
_UNIT = np.ones(1)
_CORNERS = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float64)
_PLACES_ALONE = frozenset({"xy", "yx", "xyz"})  # formats of keypoints without angle and scale
_CIRCLE = np.linspace(0, 2 * np.pi, 360, endpoint=False)
_ELLIPSE = np.stack([np.cos(_CIRCLE), np.sin(_CIRCLE)], axis=1) / 2 + 0.5
_ALONG = np.linspace(0, 1, 17)[:-1, None]
_SIDES = np.concatenate([a + _ALONG * (b - a) for a, b in zip(_CORNERS, np.roll(_CORNERS, -1, axis=0), strict=True)])


class StepGeometry(NamedTuple):
    """The geometry of one step in one sample.

    Attributes:
        matrix: from pixel centres before the step to those after it.
        before: rows and columns before the step.
        after: rows and columns after it.
    """

    matrix: Matrix
    before: Size
    after: Size


class MatrixPlaces(Mixin):  # type: ignore[misc]
    """A step whose geometry is one 3×3 matrix."""

    def geometry(self, params: Mapping[str, Any], after: Size | None = None) -> StepGeometry:
        """The geometry under drawn parameters; `after`: rows and columns after the step, if known."""
        before = params["shape"][:2]
        after = after or output_size(self, params, before)
        return StepGeometry(matrix_of(type(self).__name__, params, before, after), before, after)

    def apply_to_keypoints(self, keypoints: Points, geometry: StepGeometry | None = None, **params: Any) -> Points:
        """Move keypoints, rows of x, y, z, angle, scale and more; angles and scales change by the Jacobian there."""
        if not keypoints.size:
            return keypoints
        matrix = (geometry or self.geometry(params)).matrix
        moved = np.array(keypoints, np.float64)
        moved[:, :2], weight = _project(matrix, moved[:, :2])
        if self._shows_directions:
            jacobian = (matrix[:2, :2] - moved[:, :2, None] * matrix[2, :2]) / weight[:, None, None]
            angles = moved[:, 3]
            cos, sin, ((a, b), (c, d)) = np.cos(angles), np.sin(angles), jacobian.transpose(1, 2, 0)
            moved[:, 3] = np.arctan2(c * cos + d * sin, a * cos + b * sin) % (2 * np.pi)
            moved[:, 4] *= _largest_singular_value(jacobian)
        return moved

    @property
    def _shows_directions(self) -> bool:
        """Whether keypoints have angles and scales; those of format `xy` have none."""
        processor = self.get_processor("keypoints")
        return processor is None or processor.params.format not in _PLACES_ALONE

    def apply_to_bboxes(self, bboxes: Points, geometry: StepGeometry | None = None, **params: Any) -> Points:
        """Move boxes, in shares of the image's sides, to the bounds of their corners, or of the ellipse in them."""
        if not len(bboxes):
            return bboxes
        matrix, before, after = geometry or self.geometry(params)
        is_ellipse = getattr(self, "rotate_method", "") == "ellipse"
        if not is_ellipse and matrix[2, 0] == 0 == matrix[2, 1]:
            return _affine_bounds(bboxes, matrix, before, after)
        outline = _ELLIPSE if is_ellipse else _CORNERS
        return _bounds(bboxes, outline, before, after, lambda points: _project(matrix, points - 0.5)[0] + 0.5)

    def apply_to_mask(self, mask: Points, *args: Any, **params: Any) -> Points:
        """Move a mask H×W or H×W×C; `nearest` resizes by pixel centres."""
        apply = super().apply_to_mask
        record, before = op_record(type(self).__name__), params["shape"][:2]
        after = output_size(self, params, before)
        shrinks = after[0] < before[0] or after[1] < before[1]
        by_areas = shrinks and getattr(self, "area_for_downscale", None) == "image_mask"
        if not record.scales or self.mask_interpolation != NEAREST or by_areas:
            return np.asarray(apply(mask, *args, **params))
        if record.resizes == "window":
            x_min, y_min, x_max, y_max = params["crop_coords"]
            mask = mask[y_min:y_max, x_min:x_max]
        elif record.resizes is None:  # cut and padded first
            with setting(self, "keep_size", False):
                mask = apply(mask, *args, **params)
        return nearest(mask, after)


class FieldPlaces(Mixin):  # type: ignore[misc]
    """A step that warps by a field: boxes and keypoints follow the field's inverse."""

    def apply_to_keypoints(self, keypoints: Points, **params: Any) -> Points:
        """Move keypoints, rows of x, y, z, angle, scale and more; angle and scale stay."""
        if not keypoints.size:
            return keypoints
        moved = np.array(keypoints, np.float64)
        moved[:, :2] = inverse_places(*self._field(params), moved[:, :2])
        return moved

    def apply_to_bboxes(self, bboxes: Points, **params: Any) -> Points:
        """Move boxes to the bounds of points along their sides."""
        size, field = params["shape"][:2], self._field(params)
        return _bounds(bboxes, _SIDES, size, size, lambda points: inverse_places(*field, points - 0.5) + 0.5)

    def apply_to_mask(self, mask: Points, *args: Any, **params: Any) -> Points:
        """Move a mask H×W or H×W×C; for meshes four channels at a time, since OpenCV loses more."""
        apply = super().apply_to_mask
        if "generated_mesh" not in params or mask.ndim == 2:
            return apply(mask, *args, **params)
        parts = [apply(mask[..., k : k + 4], *args, **params) for k in range(0, mask.shape[2], 4)]
        return np.concatenate([part.reshape(*mask.shape[:2], -1) for part in parts], axis=2)

    def _field(self, params: dict[str, Any]) -> tuple[Points, Points]:
        """The source x and y of each pixel, H×W float32."""
        rows, columns = params["shape"][:2]
        y, x = np.mgrid[:rows, :columns].astype(np.float32)
        if "map_x" not in params:  # a mesh, whose cells may overlap: warp an image of positions
            sources = self.apply(np.stack([x + 1, y + 1, x], axis=2), **params)
            hidden = sources[..., 0] == 0
            return np.where(hidden, -columns, sources[..., 0] - 1), np.where(hidden, -rows, sources[..., 1] - 1)
        if params["map_x"] is None:
            return x, y
        return np.asarray(params["map_x"]), np.asarray(params["map_y"])


def nearest(mask: Points, size: Size) -> Points:
    """Resize a mask by the nearest pixel centre; of two equally near ones the later.

    >>> nearest(np.arange(6).reshape(1, 6), (1, 2)).tolist()
    [[1, 4]]
    """
    for axis, (count, old_count) in enumerate(zip(size, mask.shape[:2], strict=True)):
        if count != old_count:
            mask = mask.take((2 * np.arange(count) + 1) * old_count // (2 * count), axis)
    return mask


def _project(matrix: Matrix, points: Points) -> tuple[Points, Points]:
    """Points (n, 2) under a matrix, and the homogeneous weight of each; a single 1 for affine matrices.

    Products are rounded before they are added, as in native/boxes.c.
    """
    moved = points[:, :1] * matrix[:, 0] + points[:, 1:] * matrix[:, 1] + matrix[:, 2]
    if matrix[2, 0] == 0 == matrix[2, 1]:
        return moved[:, :2], _UNIT
    return moved[:, :2] / moved[:, 2:], moved[:, 2]


def _largest_singular_value(jacobian: Points) -> Points:
    """The largest singular value of each of n matrices 2×2."""
    (a, b), (c, d) = jacobian.transpose(1, 2, 0)
    squares, determinant = a * a + b * b + c * c + d * d, a * d - b * c
    return np.sqrt((squares + np.sqrt(np.maximum(squares**2 - 4 * determinant**2, 0))) / 2)


def _affine_bounds(bboxes: Points, matrix: Matrix, before: Size, after: Size) -> Points:
    """The bounds of boxes' corners under an affine matrix; each bound is the sum of one of its part in x and one in y.

    Args:
        bboxes: rows of left, top, right and bottom in shares of the image's sides, and more.
        matrix: the matrix of pixel centres.
        before: rows and columns of the image before.
        after: rows and columns of the image after.
    """
    (a, b, x), (c, d, y), _ = matrix.tolist()
    (rows, columns), (height, width) = before, after
    x, y = (x + (1 - a - b) / 2) / width, (y + (1 - c - d) / 2) / height  # from pixel centres to edges between pixels
    a, b, c, d = a * columns / width, b * rows / width, c * columns / height, d * rows / height
    # The left and top bounds use the box's left and top where the coefficient is positive, else its right and bottom.
    by_x = [0 if a > 0 else 2, 0 if c > 0 else 2, 2 if a > 0 else 0, 2 if c > 0 else 0]
    by_y = [1 if b > 0 else 3, 1 if d > 0 else 3, 3 if b > 0 else 1, 3 if d > 0 else 1]
    boxes = np.array(bboxes, np.float64)
    parts = boxes.take([*by_x, *by_y], axis=1) * np.array((a, c, a, c, b, d, b, d))
    boxes[:, :4] = parts[:, :4] + parts[:, 4:] + np.array((x, y, x, y))
    return boxes


def _bounds(bboxes: Points, outline: Points, before: Size, after: Size, move: Any) -> Points:
    """The bounds of boxes' moved outlines.

    Args:
        bboxes: rows of left, top, right and bottom in shares of the image's sides, and more.
        outline: points on the outline of a box from (0, 0) to (1, 1).
        before: rows and columns of the image before.
        after: rows and columns of the image after.
        move: moves points in pixels (n, 2).
    """
    if not len(bboxes):
        return bboxes
    boxes = np.array(bboxes, np.float64)
    low, sides = boxes[:, None, :2], boxes[:, None, 2:4] - boxes[:, None, :2]
    points = move(((low + sides * outline) * before[::-1]).reshape(-1, 2)).reshape(len(boxes), -1, 2) / after[::-1]
    boxes[:, :2], boxes[:, 2:4] = points.min(axis=1), points.max(axis=1)
    return boxes


@cache
def right_class(cls: type, *mixins: type) -> type:
    """A subclass of albumentations' class with its errors corrected; `mixins` come right in front of the class."""
    record, fields = op_record(cls.__name__), getattr(getattr(cls, "InitSchema", None), "model_fields", {}).keys()
    mends: list[type] = []
    if not (record.moves or cls.__module__.startswith("albumentations.")):
        return cls
    if record.effect == "field":
        mends.append(FieldPlaces)
    elif record.has_matrix and record.action != "identity":
        mends.append(MatrixPlaces)
    elif record.hides:
        mends.append(HolePlaces)
    if fields & {"fill", "drop_value"}:
        mends.append(FillLevels)
    if fields >= {"border_mode", "interpolation"} and (record.action == "warp" or record.effect == "field"):
        mends.append(NarrowWarp)
    if record.mend:
        mends.append(resolve_name(f"augrecipes.ops.{record.mend}"))
    if not (mends or mixins):
        return cls
    # ABC keeps it out of albumentations' register of classes, where it would replace the original.
    return type(cls)(cls.__name__, (*mends, *mixins, cls, ABC), {"__module__": cls.__module__, "__doc__": cls.__doc__})


_STEPS, _EXACT, _CLOSE = 12, 1e-3, 0.25  # steps of Newton's method; px of an exact and of a usable solution
_GRIDS = 4, 1  # strides in px of the searches for the closest pixel


def inverse_places(map_x: NDArray[Any], map_y: NDArray[Any], points: Points) -> Points:
    """The positions of an image's points after a warp whose pixel (x, y) comes from (map_x[y, x], map_y[y, x]).

    Newton's method on the maps, interpolated between pixels and extended beyond the sides by translation. Where it
    fails it begins again at the pixel whose source is closest. A point that no pixel shows ends beyond or at the sides;
    NaN stays NaN.

    Args:
        map_x: the source's x of each pixel, H×W.
        map_y: the source's y of each pixel, H×W.
        points: (n, 2), x and y.

    >>> x, y = np.meshgrid(np.arange(8.0), np.arange(6.0))
    >>> inverse_places(x * 0.5 + 1, y, np.array([[2.25, 3.0]])).tolist()
    [[2.5, 3.0]]
    """
    maps = np.stack([map_x, map_y], axis=2).astype(np.float64)
    places, errors = _newton(maps, points, points)
    sides = np.array(maps.shape[1::-1]) - 1
    outside: Any = ((places < -0.5) | (places > sides + 0.5)).any(axis=1)
    for row in np.flatnonzero(((errors > _EXACT) | outside) & ~np.isnan(points).any(axis=1)).tolist():
        for step in _GRIDS:
            away = ((maps[::step, ::step] - points[row]) ** 2).sum(axis=2)
            y, x = divmod(int(np.nanargmin(away)), away.shape[1])
            (place,), (error,) = _newton(maps, np.array([[x, y]], np.float64) * step, points[row : row + 1])
            inside = ((place >= -0.5) & (place <= sides + 0.5)).all()
            if error < errors[row] or (outside[row] and inside and error < _CLOSE):
                places[row], errors[row] = place, error
            if errors[row] < _CLOSE:
                break
    return places


def _newton(maps: NDArray[Any], start: Points, points: Points) -> tuple[Points, NDArray[Any]]:
    """Newton's method from `start`: the best positions, and the distances of their sources from `points`, px."""
    place, best, least = start.copy(), start.copy(), np.full(len(start), np.inf)
    for _ in range(_STEPS):
        sources, (a, b, c, d) = _interpolate_maps(maps, place)
        residual = points - sources
        error = np.hypot(*residual.T)
        better = error < least
        best[better], least[better] = place[better], error[better]
        if not (least > _EXACT).any():
            break
        determinant = a * d - b * c
        folded = np.abs(determinant) < 0.05  # nearly singular: step as if the map were a translation
        determinant[folded], a[folded], d[folded], b[folded], c[folded] = 1, 1, 1, 0, 0
        (u, v), scale = residual.T, determinant[:, None]
        place = place + np.stack([d * u - b * v, a * v - c * u], 1) / scale
    best[np.isnan(points).any(axis=1)] = np.nan
    return best, least


def _interpolate_maps(maps: NDArray[Any], places: Points) -> tuple[Points, NDArray[Any]]:
    """The maps interpolated at positions, and their derivatives ∂x/∂x, ∂x/∂y, ∂y/∂x, ∂y/∂y."""
    last = np.array(maps.shape[1::-1]) - 1
    inside = np.clip(np.nan_to_num(places), 0, last)
    corner = np.minimum(inside.astype(int), np.maximum(last - 1, 0))
    (x, y), (u, v) = corner.T, (inside - corner).T[..., None]
    right, below = np.minimum(x + 1, last[0]), np.minimum(y + 1, last[1])
    a, b, c, d = maps[y, x], maps[y, right], maps[below, x], maps[below, right]
    sources = (a * (1 - u) + b * u) * (1 - v) + (c * (1 - u) + d * u) * v
    across, down = (b - a) * (1 - v) + (d - c) * v, (c - a) * (1 - u) + (d - b) * u
    beyond = places - inside
    across[(beyond[:, 0] != 0) | (last[0] == 0)], down[(beyond[:, 1] != 0) | (last[1] == 0)] = (1, 0), (0, 1)
    return sources + beyond, np.stack([across[:, 0], down[:, 0], across[:, 1], down[:, 1]])
