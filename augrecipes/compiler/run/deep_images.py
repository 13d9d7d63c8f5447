"""16-bit images, and floats in a range of their own. Steps that move pixels take them unchanged; steps that change
values see floats in 0..1, for which albumentations defines its steps.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from augrecipes.compat import Mixin
from augrecipes.compat.albumentations import add_mixin, functions_of, wrap_apply
from augrecipes.errors import DataError
from augrecipes.ops.constants import BORDER
from augrecipes.ops.fills import setting
from augrecipes.ops.records import op_record
from augrecipes.recipe.inputs import Inputs

VALID = "_valid"  # the target that says which pixels hold data


class InUnitRange(Mixin):  # type: ignore[misc]
    """A step that changes values or draws by them: it sees images with values in `own_range` as floats in 0..1."""

    own_range: tuple[float, float]
    image_names: frozenset[str]

    def __call__(self, *args: Any, force_apply: bool = False, **data: Any) -> dict[str, Any]:
        """Run the step; a value that it does not change keeps its last bit."""
        if not self.should_apply(force_apply):
            return data
        images = {name: data[name] for name in self.image_names if data.get(name) is not None}
        units = {name: to_unit(image, self.own_range) for name, image in images.items()}
        result: dict[str, Any] = super().__call__(*args, force_apply=True, **data | units)
        for name, image in images.items():
            result[name] = from_unit(result[name], units[name], image, self.own_range)
        return result


class NoEdgeToFill(Mixin):  # type: ignore[misc]
    """A step with a constant border on images with missing data: no pixel of data is blended with the fill."""

    def apply(self, img: np.ndarray, *args: Any, **params: Any) -> np.ndarray:
        """Run the step with edge pixels repeated beyond the image H×W×C; the plane `VALID` tells them from data."""
        return _repeat_edge(self, super().apply, img, *args, **params)


def _repeat_edge(step: Any, apply: Callable[..., Any], img: np.ndarray, *args: Any, **params: Any) -> np.ndarray:
    with setting(step, "border_mode", BORDER["replicate"]):
        return np.asarray(apply(img, *args, **params))


def to_unit(image: np.ndarray, full_range: tuple[float, float]) -> np.ndarray:
    """Scale an image from `full_range` to 0..1, float32; values beyond are clipped.

    >>> to_unit(np.array([0, 4095, 5000], np.uint16), (0, 4095)).tolist()
    [0.0, 1.0, 1.0]
    """
    low, high = full_range
    values = image.astype(np.float32)
    values -= np.float32(low)
    values /= np.float32(high - low)
    return np.clip(values, 0, 1, out=values)


def from_unit(changed: np.ndarray, unit: np.ndarray, image: np.ndarray, full_range: tuple[float, float]) -> np.ndarray:
    """The inverse of `to_unit` for a step's result `changed`; values that equal `unit` are taken from `image`."""
    low, high = full_range
    values = changed * np.float32(high - low)
    values += np.float32(low)
    if image.dtype.kind == "u":
        top = np.float32(np.iinfo(image.dtype).max)
        values = np.rint(np.clip(values, 0, top, out=values), out=values).astype(image.dtype)
    return np.where(changed == unit, image, values) if changed.shape == unit.shape else values


def attach(steps: Iterable[Any], inputs: Inputs, images: Iterable[str]) -> None:
    """Prepare transforms for deep images, if the inputs declare them; before a Compose takes them up.

    Args:
        steps: the transforms.
        inputs: the recipe's inputs.
        images: names of the targets that are images.
    """
    names, is_unit = frozenset(images), inputs.full_range == (0.0, 1.0) or inputs.dtype in (None, "uint8")
    for step in steps if inputs.is_deep else ():
        if not hasattr(step, "apply"):
            continue  # a group
        record = op_record(type(step).__name__)
        moves = record.moves or record.scales or not record.is_known
        # A step without `fill` fills with 0.
        if moves and (inputs.full_range[0] == 0 or hasattr(step, "fill") or record.effect != "field"):
            step.full_range = inputs.full_range
        elif not is_unit:
            add_mixin(step, InUnitRange)
            step.own_range, step.image_names = inputs.full_range, names
        is_padded = moves and getattr(step, "border_mode", None) == BORDER["constant"]
        if inputs.nodata is not None and is_padded and "mask" in functions_of(step):
            add_mixin(step, NoEdgeToFill)
            if "apply" in vars(step):  # a faster `apply` would hide the mixin's
                wrap_apply(step, _repeat_edge, step)


def fill_nodata(image: np.ndarray, inputs: Inputs, name: str = "image") -> tuple[np.ndarray, np.ndarray | None]:
    """Replace missing data by the mean of each channel, so that no step reads the number that stands for it.

    Returns:
        The image H×W×C, and uint8 H×W: 1 where there is data; None where the recipe declares no `nodata`.

    Raises:
        DataError: the image holds NaN that `nodata` does not declare.
    """
    nodata = inputs.nodata
    if nodata is None:
        return image, None
    missing = np.isnan(image).any(axis=2) if nodata == "nan" else (image == nodata).all(axis=2)
    if nodata != "nan" and image.dtype.kind == "f" and np.isnan(image[~missing]).any():
        raise DataError(f"{name} holds pixels that are no numbers (NaN): say `nodata: nan`, or put a number there")
    valid = ~missing
    if missing.any():
        image = image.copy()
        image[missing] = image[valid].mean(axis=0, dtype=np.float64) if valid.any() else inputs.full_range[0]
    return image, valid.view(np.uint8)


def with_nodata(image: np.ndarray, valid: np.ndarray | None, inputs: Inputs) -> np.ndarray:
    """Write the recipe's `nodata` number into the image wherever `valid` is 0, and return the image."""
    if valid is not None:
        image[valid == 0] = np.nan if inputs.nodata == "nan" else inputs.nodata
    return image
