"""Images of 16 bits, and floats of a range of their own: what moves pixels takes them as they are, and what changes
values sees them as floats of 0..1, as albumentations defines its steps for floats.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from augrecipes.compat import Mixin
from augrecipes.compat.albumentations import add_mixin, wrap_apply
from augrecipes.compat.steps import functions_of
from augrecipes.errors import DataError
from augrecipes.ops.constants import BORDER
from augrecipes.ops.fills import setting
from augrecipes.ops.records import op_record
from augrecipes.recipe.inputs import Inputs

VALID = "_valid"  # the plane of a sample that says which pixels hold data


class InUnitRange(Mixin):  # type: ignore[misc]
    """Steps that change values, or draw by them: of images that count in `own_range`, on floats of 0..1."""

    own_range: tuple[float, float]
    image_names: frozenset[str]

    def __call__(self, *args: Any, force_apply: bool = False, **data: Any) -> dict[str, Any]:
        """The sample behind the step. A value that the step leaves alone stays to the last bit."""
        if not self.should_apply(force_apply):
            return data
        images = {name: data[name] for name in self.image_names if data.get(name) is not None}
        units = {name: to_unit(image, self.own_range) for name, image in images.items()}
        done: dict[str, Any] = super().__call__(*args, force_apply=True, **data | units)
        for name, image in images.items():
            done[name] = from_unit(done[name], units[name], image, self.own_range)
        return done


class NoEdgeToFill(Mixin):  # type: ignore[misc]
    """Steps with a constant border, where no data lies beyond the image: no pixel of data is mixed with the fill."""

    def apply(self, img: np.ndarray, *args: Any, **params: Any) -> np.ndarray:
        """The image H×W×C, its edge pixels repeated beyond it; the plane of valid pixels says what is data."""
        return _repeat_edge(self, super().apply, img, *args, **params)


def _repeat_edge(step: Any, apply: Callable[..., Any], img: np.ndarray, *args: Any, **params: Any) -> np.ndarray:
    with setting(step, "border_mode", BORDER["replicate"]):
        return np.asarray(apply(img, *args, **params))


def to_unit(image: np.ndarray, full_range: tuple[float, float]) -> np.ndarray:
    """Floats of 0..1, float32, of an image whose values are in `full_range`, or lie beyond it.

    >>> to_unit(np.array([0, 4095, 5000], np.uint16), (0, 4095)).tolist()
    [0.0, 1.0, 1.0]
    """
    low, high = full_range
    values = image.astype(np.float32)
    values -= np.float32(low)
    values /= np.float32(high - low)
    return np.clip(values, 0, 1, out=values)


def from_unit(changed: np.ndarray, unit: np.ndarray, image: np.ndarray, full_range: tuple[float, float]) -> np.ndarray:
    """What a step has made of `unit` in the unit and the dtype of `image`, of which `unit` was made."""
    low, high = full_range
    values = changed * np.float32(high - low)
    values += np.float32(low)
    if image.dtype.kind == "u":
        top = np.float32(np.iinfo(image.dtype).max)
        values = np.rint(np.clip(values, 0, top, out=values), out=values).astype(image.dtype)
    return np.where(changed == unit, image, values) if changed.shape == unit.shape else values


def attach(steps: Iterable[Any], inputs: Inputs, images: Iterable[str]) -> None:
    """Let transforms, which no Compose has taken up yet, run on images that are deep, if the inputs say so.

    Args:
        steps: the transforms.
        inputs: of the recipe.
        images: names of the targets that are images.
    """
    names, is_unit = frozenset(images), inputs.full_range == (0.0, 1.0) or inputs.dtype in (None, "uint8")
    for step in steps if inputs.is_deep else ():
        if not hasattr(step, "apply"):
            continue  # a group
        record = op_record(type(step).__name__)
        moves = record.moves or record.scales or not record.is_known
        # What lies outside of an image is 0 to a step that has no word for it.
        if moves and (inputs.full_range[0] == 0 or hasattr(step, "fill") or record.effect != "field"):
            step.full_range = inputs.full_range
        elif not is_unit:
            add_mixin(step, InUnitRange)
            step.own_range, step.image_names = inputs.full_range, names
        is_padded = moves and getattr(step, "border_mode", None) == BORDER["constant"]
        if inputs.nodata is not None and is_padded and "mask" in functions_of(step):
            add_mixin(step, NoEdgeToFill)
            if "apply" in vars(step):  # a faster one
                wrap_apply(step, _repeat_edge, step)


def fill_nodata(image: np.ndarray, inputs: Inputs, name: str = "image") -> tuple[np.ndarray, np.ndarray | None]:
    """The image H×W×C with the mean of each channel where nothing is known, so that nothing reads a number that means
    none; and where something is known, uint8 H×W of 0 and 1; None: no number of the recipe stands for missing data.

    Raises:
        DataError: the image holds NaN, and they do not stand for missing data.
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
    """An image on its way, which is written to, with what stands for missing data where the plane `valid` is 0."""
    if valid is not None:
        image[valid == 0] = np.nan if inputs.nodata == "nan" else inputs.nodata
    return image
