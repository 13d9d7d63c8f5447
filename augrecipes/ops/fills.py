"""Fills: the levels, 0..255 whatever the image's range, that steps write where an image has no pixels.

albumentations uses the number as it is even for float images in 0..1; and some of its classes pass one number to
OpenCV, which fills the first channel with it and the others with 0.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any

import numpy as np

from augrecipes.compat import Mixin
from augrecipes.errors import DataError
from augrecipes.ops.intervals import numbers
from augrecipes.ops.step import Step

_OPENCV_CHANNELS = 4  # OpenCV fills so many in one call
_CONSTANT = 0  # cv2.BORDER_CONSTANT
_MOST_LEVEL = 255
_MASK_ARGUMENTS = ("fill_mask", "mask_drop_value")
_DTYPES = (np.uint8, np.int16, np.uint16, np.int32, np.int64)


def _one_by_one(method: str, part_method: str, axes: int) -> Callable[..., np.ndarray]:
    """A method for stacks that works part by part where albumentations fills stacks wrongly.

    Its crops that pad first pad axes of a stack other than rows and columns.

    Args:
        method: the method's name.
        part_method: the name of the method for one image or mask.
        axes: number of axes of the stack before those of an image.
    """

    def apply(step: Any, stack: np.ndarray, *args: Any, **params: Any) -> np.ndarray:
        fill, is_image = getattr(step, "fill", None), part_method == "apply"
        differs = is_image and not isinstance(fill, str) and (stack.dtype == np.float32 or _is_list(step, fill))
        if not stack.size or not (differs or params.get("pad_params") is not None):
            return np.asarray(getattr(super(FillLevels, step), method)(stack, *args, **params))
        parts = [getattr(step, part_method)(part, *args, **params) for part in stack.reshape(-1, *stack.shape[axes:])]
        return np.stack(parts).reshape(*stack.shape[:axes], *parts[0].shape)

    return apply


class FillLevels(Mixin):  # type: ignore[misc]
    """A step that fills pixels of images and masks."""

    def apply(self, img: np.ndarray, *args: Any, **params: Any) -> np.ndarray:
        """Run the step on an image H×W×C, or on several joined as H×W×(N·C), as albumentations joins them."""
        apply = super().apply
        fill: Any = getattr(self, "fill", None)
        if isinstance(drops := getattr(self, "drop_value", None), tuple | list):
            check_length(drops, img, "image")
        if _is_list(self, fill) and getattr(self, "border_mode", _CONSTANT) == _CONSTANT:
            check_length(fill, img, "image")
            if hasattr(self, "border_mode") and len(fill) > _OPENCV_CHANNELS:
                parts = [slice(k, k + _OPENCV_CHANNELS) for k in range(0, len(fill), _OPENCV_CHANNELS)]
                results = [_with_fill(self, apply, img[..., part], args, params, fill[part]) for part in parts]
                return np.concatenate(results, axis=2)
        if img.dtype != np.uint8 or (_is_for_opencv(self, fill) and img.ndim > 2):
            return _with_fill(self, apply, img, args, params, fill)
        return apply(img, *args, **params)

    def apply_to_mask(self, mask: np.ndarray, *args: Any, **params: Any) -> np.ndarray:
        """Run the step on a mask H×W or H×W×C."""
        apply = super().apply_to_mask
        fill: Any = getattr(self, "fill_mask", None)
        if _is_list(self, fill) and len({*fill}) > 1:
            check_length(fill, mask, "mask")
        if mask.ndim == 2 or not _is_for_opencv(self, fill):
            return apply(mask, *args, **params)
        with setting(self, "fill_mask", (fill,) * _OPENCV_CHANNELS):
            return apply(mask, *args, **params)

    apply_to_images = _one_by_one("apply_to_images", "apply", 1)  # N×H×W×C
    apply_to_volume = _one_by_one("apply_to_volume", "apply", 1)  # D×H×W×C
    apply_to_volumes = _one_by_one("apply_to_volumes", "apply", 2)  # N×D×H×W×C
    apply_to_mask3d = _one_by_one("apply_to_mask3d", "apply_to_mask", 1)  # D×H×W
    apply_to_masks3d = _one_by_one("apply_to_masks3d", "apply_to_mask", 2)  # N×D×H×W


def _is_list(step: Any, fill: Any) -> bool:
    """Whether the fill has a level per channel; a pair of CropAndPad is a range to draw from instead."""
    return isinstance(fill, tuple | list) and not hasattr(step, "px")


def _is_for_opencv(step: Any, fill: Any) -> bool:
    """Whether OpenCV would write this fill to the first channel only."""
    is_zero = not fill and not getattr(step, "full_range", (0,))[0]
    return isinstance(fill, Real) and not is_zero and hasattr(step, "border_mode") and not hasattr(step, "px")


def _with_fill(
    step: Any, apply: Callable[..., Any], img: np.ndarray, args: Any, params: dict[str, Any], fill: Any
) -> np.ndarray:
    """Run a step with its fill converted to the image's range."""
    low, high = getattr(step, "full_range", (0, 1 if img.dtype == np.float32 else _MOST_LEVEL))
    unit = _MOST_LEVEL / (high - low)  # levels per unit of the image

    def in_range(level: Any) -> Any:
        return tuple(map(in_range, level)) if isinstance(level, tuple | list) else low + level / unit

    if getattr(step, "drop_value", None) is not None:
        values = low + params["drop_values"] / np.float32(unit)
        params = {**params, "drop_values": (values if img.dtype.kind == "f" else np.rint(values)).astype(img.dtype)}
    if isinstance(params.get("fill"), Real):
        params = {**params, "fill": in_range(params["fill"])}
    if fill is None or isinstance(fill, str):
        return apply(img, *args, **params)
    levels = [fill] * _OPENCV_CHANNELS if _is_for_opencv(step, fill) else fill
    with setting(step, "fill", in_range(levels)):
        result: np.ndarray = apply(img, *args, **params)
    return result if result.ndim == img.ndim else result[..., None]


@contextmanager
def setting(step: Any, name: str, value: Any) -> Iterator[None]:
    """Set an attribute of a step for the duration of the block."""
    before = getattr(step, name)
    setattr(step, name, value)
    try:
        yield
    finally:
        setattr(step, name, before)


def check_length(fill: Any, image: np.ndarray, name: str) -> None:
    """Raise ValueError where the fill has not as many levels as the image or mask has channels."""
    channels = image.shape[2] if image.ndim > 2 else 1
    if len(fill) != channels:
        raise ValueError(
            f"the fill has {len(fill)} levels and the {name} has {channels} channels: write one number for all of "
            "them, or one for each"
        )


def fill_lengths(steps: Iterable[Any]) -> frozenset[int]:
    """The lengths of the transforms' fills that have a level per channel."""
    return frozenset(len(step.fill) for step in steps if _is_list(step, getattr(step, "fill", None)))


def mask_fills(steps: Iterable[Step]) -> tuple[float, ...]:
    """Every number that steps, with their schedules, may write into masks.

    >>> from augrecipes.ops.step import Arguments
    >>> mask_fills([Step("Pad", Arguments({"fill_mask": -100}))])
    (-100,)
    """
    values = [part.get(name) for step in steps for part in (step.args, step.schedule) for name in _MASK_ARGUMENTS]
    return tuple(numbers(values))


def mask_dtype(dtype: np.dtype[Any], fills: tuple[float, ...]) -> np.dtype[Any]:
    """The dtype of masks that holds all values of `dtype` and the fills: `dtype` itself if it can.

    >>> mask_dtype(np.dtype(np.uint8), (255, 0)).name, mask_dtype(np.dtype(np.uint8), (-100,)).name
    ('uint8', 'int16')
    """
    if dtype.kind == "f" or all(holds(dtype, fill) for fill in fills):
        return dtype
    if any(fill != int(fill) for fill in fills):
        return np.dtype(np.float32)
    wider = (np.dtype(wide) for wide in _DTYPES if np.can_cast(dtype, wide))
    return next((wide for wide in wider if all(holds(wide, fill) for fill in fills)), dtype)


def holds(dtype: np.dtype[Any], number: float) -> bool:
    """Whether an integer or boolean dtype holds a number exactly."""
    low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return low <= number <= high and number == int(number)


def as_dtype(array: np.ndarray, name: str, dtype: str | None) -> np.ndarray:
    """Convert an array to `dtype`, if given; DataError where that does not hold its values.

    >>> as_dtype(np.array([[7]], np.uint16), "depth", "float32").dtype
    dtype('float32')
    """
    if dtype is None or array.dtype == dtype:
        return array
    converted = array.astype(dtype)
    if not np.array_equal(converted, array, equal_nan=array.dtype.kind == "f"):
        raise DataError(f"{name} is {array.dtype} with values that {dtype} does not hold, as `targets:` says")
    return converted
