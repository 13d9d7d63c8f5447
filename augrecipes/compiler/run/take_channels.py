"""The channels that a recipe takes of images, before its first step."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from augrecipes.compiler.kernels.encoded_images import is_encoded
from augrecipes.errors import DataError
from augrecipes.recipe.inputs import Bands, Inputs

WHOLE_FILES = "files are decoded whole, and some of their channels are taken"


def take_channels(sample: dict[str, Any], inputs: Inputs, names: Iterable[str] = ("image",)) -> dict[str, Any]:
    """A sample whose images, by these names, have the channels that steps see; another dict where that changes them.

    Raises:
        DataError: an image has not the channels that the recipe's inputs say.
    """
    if not inputs.takes_channels:
        return sample
    images = {name: sample[name] for name in names if sample.get(name) is not None}
    return sample | {name: taken(image, inputs, name) for name, image in images.items()}


def taken(image: Any, inputs: Inputs, name: str = "image") -> Any:
    """The channels that steps see of an image (..., H, W, C), or of a list of images.

    >>> taken(np.array([[[1, 2, 3]]], np.uint8), Inputs(2, bands=Bands(3, take=(2, 0)))).tolist()
    [[[3, 1]]]
    """
    if isinstance(image, list | tuple):
        return [taken(one, inputs, name) for one in image]
    array = image.array() if is_encoded(image) else image
    bands = inputs.bands or Bands(0)
    if not isinstance(array, np.ndarray):
        return array  # refused where images are checked
    count = 1 if array.ndim == 2 else array.shape[-1]
    if count != bands.count:
        if name in inputs.targets:
            return array  # of another sensor
        message = f"{name} has {count} channels; the recipe's inputs take {len(bands.take)} of {bands.count}"
        cure = "; where they have been taken already, leave `take` out" if count == len(bands.take) else ""
        raise DataError(message + cure)
    return np.take(np.atleast_3d(array), bands.take, axis=-1)
