"""Select the channels that a recipe takes, before its first step."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from augrecipes.compiler.kernels.encoded_images import is_encoded
from augrecipes.errors import DataError
from augrecipes.recipe.inputs import Bands, Inputs

WHOLE_FILES = "files are decoded whole, and some of their channels are selected"


def take_channels(sample: dict[str, Any], inputs: Inputs, names: Iterable[str] = ("image",)) -> dict[str, Any]:
    """Select the channels of a sample's images under `names`; a new dict where that changes them.

    Raises:
        DataError: an image lacks the number of channels that the recipe's inputs declare.
    """
    if not inputs.takes_channels:
        return sample
    images = {name: sample[name] for name in names if sample.get(name) is not None}
    return sample | {name: selected(image, inputs, name) for name, image in images.items()}


def selected(image: Any, inputs: Inputs, name: str = "image") -> Any:
    """An image (..., H, W, C), or a list of images, with the channels that steps see.

    >>> selected(np.array([[[1, 2, 3]]], np.uint8), Inputs(2, bands=Bands(3, take=(2, 0)))).tolist()
    [[[3, 1]]]
    """
    if isinstance(image, list | tuple):
        return [selected(one, inputs, name) for one in image]
    array = image.array() if is_encoded(image) else image
    bands = inputs.bands or Bands(0)
    if not isinstance(array, np.ndarray):
        return array  # the check of images refuses it
    count = 1 if array.ndim == 2 else array.shape[-1]
    if count != bands.count:
        if name in inputs.targets:
            return array  # another sensor's
        message = f"{name} has {count} channels; the recipe's inputs take {len(bands.take)} of {bands.count}"
        cure = "; where they have been selected already, leave `take` out" if count == len(bands.take) else ""
        raise DataError(message + cure)
    return np.take(np.atleast_3d(array), bands.take, axis=-1)
