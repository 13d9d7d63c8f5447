"""Further targets of a scene (`targets:`) as somebody hands them over: files, bytes, arrays; images, masks, vectors.

Images are read as the image is. Masks keep all bits of their files: labels, or numbers such as depth. What is no image
of a file's format is an array that numpy has saved (`.npy`): vectors and normals (H, W, 2 or 3), several masks
(N, H, W), floats H×W.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import DataError
from augrecipes.images.encoded import data_errors
from augrecipes.images.reading import read_bytes
from augrecipes.ops.fills import as_dtype
from augrecipes.recipe.targets import Target, missing_targets
from augrecipes.sources.files import check_size
from augrecipes.sources.sample_inputs import Axes, as_image, as_labels, file_of, plain_array, split_parts, there

_NUMPY = b"\x93NUMPY"


def as_target(value: Any, name: str, target: Target, *, axes: Axes = "auto", **decode: Any) -> NDArray[Any]:
    """A target as a pipeline takes it.

    Args:
        value: a path, bytes, a dict with either, an array, a tensor; of images and masks also one of Pillow; of `masks`
            also a list.
        name: of the target, for messages.
        target: what the recipe says of it.
        axes: how arrays of images lie.
        decode: arguments of `read_image`.

    Raises:
        DataError: it is none of those.
    """
    path: str | None = None
    try:
        if target.is_image:
            return np.asarray(as_image(value, axes=axes, **decode | ({"dtype": target.dtype} if target.dtype else {})))
        if isinstance(data := file_of(value), str):
            path = data
            with data_errors(path):
                data = read_bytes(path, image=False)
        if data is not None and data.startswith(_NUMPY):
            value, data = np.load(BytesIO(data), allow_pickle=False), None
        several = target.like == "masks"
        if target.has_directions or (several and getattr(value, "ndim", 0) == 3):
            if data is not None:
                raise DataError(f"{target.like} are read from arrays that numpy has saved (.npy)")
            array = plain_array(value)
        elif several and isinstance(value, list | tuple):
            masks = [as_labels(mask, floats=True, **decode) for mask in value]
            array = np.stack(masks) if masks else np.zeros((0, 1, 1), np.uint8)
        else:
            array = as_labels(value if data is None else data, floats=True, **decode)
            array = array[None] if several else array
        return as_dtype(array, name, target.dtype)
    except (ValueError, EOFError) as error:
        raise DataError(f"{name}: cannot be read: {error}", path) from None
    except DataError as error:
        raise (error if error.path else DataError(f"{name}: {error.reason}", path, error.step)) from error.__cause__


def split_scene(
    parts: Mapping[str, Any], inputs: Any, images: Sequence[str], axes: Axes, **how: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """As `split_parts`, with the targets that the inputs declare among what a pipeline takes."""
    declared = {name: parts[name] for name in inputs.targets if parts.get(name) is not None}
    rest = {name: value for name, value in parts.items() if name not in inputs.targets}
    for name in missing_targets(inputs.targets, declared):
        raise DataError(f"the recipe requires {name}, and this sample has none{there(rest)}")
    taken, extra = split_parts(rest, inputs, images, axes, **how)
    for name, value in declared.items():
        taken[name] = as_target(value, name, inputs.targets[name], axes=axes, **_decoding(how))
    return taken, extra


def _decoding(how: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of `read_image`, of those that tables read by."""
    return {key: value for key, value in how.items() if key not in ("undecoded", "names", "opened")}


def read_targets(
    paths: Mapping[str, Any], unit: int, inputs: Any, image: tuple[str, Any], **decode: Any
) -> Iterator[tuple[str, Any]]:
    """The targets of a unit that a recipe's inputs declare, by name.

    Args:
        paths: of all units, by target.
        unit: its number.
        inputs: of the recipe.
        image: the path of the unit's image, and the image.
        decode: arguments of `read_files`.

    Raises:
        DataError: one cannot be read, or does not lie on the image; names both files.
    """
    decode = _decoding(decode)
    for name in [name for name in inputs.targets if name in paths]:
        path, target = paths[name][unit], inputs.targets[name]
        array = as_target(path, name, target, **decode)
        if array.size:
            size = array.shape[1:] if target.like == "masks" else array.shape
            check_size(path, size, image[0], image[1].shape, target.factor)
        yield name, array
