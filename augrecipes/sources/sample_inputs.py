"""Conversion of users' samples: images and masks of Pillow, numpy or torch, encoded images, boxes, keypoints.

Neither Pillow nor torch is imported: whoever passes one of their images has imported them.
"""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import DataError
from augrecipes.images.encoded import Encoded, encoded, open_encoded
from augrecipes.images.format import ImageHeader, UnreadableError, stage
from augrecipes.images.losses import ALPHA, chosen_policies, find_loss, narrow, warn_once, wrong_channels, wrong_depth
from augrecipes.images.pixels import as_mask, with_channels
from augrecipes.recipe.model import Inputs
from augrecipes.sources.stacks import stack_of

Axes = Literal["auto", "hwc", "chw"]
AXES: tuple[Axes, ...] = get_args(Axes)
_COLOURS = (1, 3, 4)
_PILLOW_DEEP = ("I", "F")  # first letters of Pillow's modes with more than 8 bits
ANNOTATIONS = frozenset({"mask", "boxes", "keypoints"})
_POINTS = {"boxes": 4, "keypoints": 2}  # least columns of each
_LEVELS = 65535
_MOST = 512  # channels; a longer axis must be height or width


def as_image(value: Any, *, axes: Axes = "auto", undecoded: bool = False, **decode: Any) -> NDArray[Any] | Encoded:
    """An image as a pipeline takes it, H×W×C: uint8 (0..255) or float32 (0..1), or of the `dtype` in `decode`.

    Args:
        value: a Pillow image (its EXIF orientation is ignored); an array H×W×C or H×W; a tensor C×H×W or H×W; the bytes
            of a file, its path, or a dict with `bytes` or `path`, as Hugging Face has them.
        axes: the order of axes of arrays and tensors; `auto`: numpy H×W×C, torch C×H×W.
        undecoded: leave encoded images so, for steps that decode only the window that they need.
        decode: arguments of `read_image`. Grey is repeated for three channels, alpha is dropped. With `dtype` uint16,
            integers of more than 8 bits within its range are accepted; with float32, floats; with `has_range`, other
            numbers too.

    Returns:
        An array; a view of the user's array is read-only.

    Raises:
        DataError: `value` is none of these.

    >>> as_image(np.zeros((2, 3), np.uint8), channels=3).shape
    (2, 3, 3)
    """
    if (file := file_of(value)) is not None:
        image = _open_file(file, **decode)
        return image if undecoded else image.array()
    channels: int | None = decode.get("channels", 3)
    dtype, has_range = decode.get("dtype", "uint8"), bool(decode.get("has_range"))
    if _is_pillow(value) and (dtype == "uint8" or not value.mode.startswith(_PILLOW_DEEP)):
        if value.mode.startswith(_PILLOW_DEEP):
            cure = f"say `inputs: {{depth: {'float32' if value.mode == 'F' else 16}}}` in the recipe, or convert it"
            raise DataError(f"an image of Pillow's mode {value.mode}, which has more than 8 bits: {cure}")
        if dtype != "uint8" and (why := wrong_depth(ImageHeader("pillow", 1, 1), "error", dtype, has_range)):
            raise DataError(f"an image of Pillow's mode {value.mode}, of {why}")
        if channels in (1, 3) and value.mode.endswith(("A", "a")):
            warn_once("alpha", f"an image of Pillow {ALPHA}")
        mode = {1: "L", 3: "RGB", 4: "RGBA"}.get(channels or len(value.getbands()))
        with stage("decode"):  # Pillow decodes lazily
            pixels = np.asarray(value if mode in (value.mode, None) else value.convert(mode))
        pixels = pixels[:, :, None] if pixels.ndim == 2 else pixels
        return _read_only(pixels.astype(dtype, copy=False))
    array, axes = (np.asarray(value), "hwc") if _is_pillow(value) else _array(value, axes)
    array = _as_hwc(array, axes, channels)
    if dtype != "uint8":
        array = _deep(array, dtype, has_range)
    elif array.dtype == np.uint16:
        if chosen_policies(decode.get("depth"), None)["depth"] == "error":
            raise DataError(wrong_depth(ImageHeader("array", 1, 1, 16)))
        if note := narrow(array):
            warn_once("narrow", f"an array has {note}")
        array = (array >> 8).astype(np.uint8)
    if array.dtype.kind == "f":
        array = array.astype(np.float32, copy=False)
    elif array.dtype != dtype:
        raise DataError(f"an image of {array.dtype}; give uint8 (0 to 255) or floats (0 to 1)")
    if channels in (None, array.shape[2]):
        return _read_only(array)
    declared = array.shape[2] != 4  # the fourth of four may be alpha
    if why := wrong_channels(array.shape[2], channels, declared=declared, dtype=dtype):
        raise DataError(why)
    return with_channels(array, channels)


def _deep(array: NDArray[Any], dtype: Any, has_range: bool) -> NDArray[Any]:
    """An array as uint16 or float32, with unchanged values (float64 is rounded). Raises DataError."""
    kind, bits = array.dtype.kind, 8 * array.dtype.itemsize
    if kind not in "uif":
        raise DataError(f"an image of {array.dtype}; give integers or floats")
    # Tensors and Pillow keep 16 bits in wider integers.
    is_level = dtype == "uint16" and kind != "f" and bits > 8 and array.min() >= 0 and array.max() <= _LEVELS
    header = ImageHeader("array", 1, 1, 16) if is_level else ImageHeader("array", 1, 1, bits, sample_kind=kind)  # type: ignore[arg-type]
    if why := wrong_depth(header, "error", dtype, has_range):
        raise DataError(f"an array of {array.dtype}: {why}")
    return array.astype(dtype, copy=False)


def as_labels(value: Any, *, floats: bool = False, **decode: Any) -> NDArray[Any]:
    """A mask as a pipeline takes it, H×W: uint8, uint16 or int32 labels, or float32; float64 stays float64.

    Args:
        value: as for `as_image`; a first or last axis of length 1 is dropped. A Pillow image with a palette gives its
            indices.
        floats: whether files of floats are accepted.
        decode: arguments of `read_image`.

    Raises:
        DataError: `value` is none of these, or has colours.

    >>> as_labels(np.array([[[0, 7, 300]]]))
    array([[  0,   7, 300]], dtype=uint16)
    """
    if (file := file_of(value)) is not None:
        return _open_file(file, mask=True, **decode).labels(floats=floats)
    _check_lossless(value)
    array = np.asarray(value) if _is_pillow(value) else _array(value, "hwc")[0]
    if array.ndim == 3 and 1 in (array.shape[0], array.shape[2]):
        array = array[0] if array.shape[0] == 1 else array[:, :, 0]
    if array.ndim not in (2, 3) or not array.size:
        raise DataError(f"a mask of shape {array.shape}; give H×W")
    if array.dtype.kind == "f" and array.ndim == 2:
        return _read_only(array.astype(np.float64 if array.dtype.itemsize > 4 else np.float32, copy=False))
    if array.dtype.kind not in "biu":
        raise DataError(f"a mask of {array.dtype} and shape {array.shape}; labels are integers, H×W")
    try:
        return as_mask(_narrow(array), 1)
    except UnreadableError as error:
        raise DataError(str(error)) from None


def _open_file(file: bytes | str, **how: Any) -> Encoded:
    return encoded(file, name="", **how) if isinstance(file, bytes) else open_encoded(file, **how)


def is_image(value: Any) -> bool:
    """Whether a value looks like an image: a Pillow image, or an array or tensor of two axes or more."""
    return _is_pillow(value) or getattr(value, "ndim", 0) >= 2


def plain_array(value: Any) -> NDArray[Any]:
    """An array, a tensor or a list of numbers as an array."""
    return np.asarray(value.detach().cpu().numpy() if hasattr(value, "detach") else value)


def file_of(value: Any) -> bytes | str | None:
    """The bytes of a file, or its path; None if the value is neither."""
    if isinstance(value, dict) and value.keys() <= {"bytes", "path"}:
        value = value.get("bytes") or value.get("path")
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    return os.fsdecode(value) if isinstance(value, str | os.PathLike) else None


def _is_pillow(value: Any) -> bool:
    return hasattr(value, "getbands") and hasattr(value, "convert")


def _check_lossless(image: Any) -> None:
    """DataError for an image that Pillow read from a lossy file, which does not keep label ids."""
    if _is_pillow(image) and (kind := getattr(image, "format", None)):
        from augrecipes.images.pillow import is_lossy  # late: it imports Pillow

        path = Path(os.fsdecode(getattr(image, "filename", "")))
        # For these formats a Pillow image does not say whether its file is lossy.
        data = path.read_bytes() if kind in ("WEBP", "JPEG2000") and path.is_file() else b""
        if is_lossy(image, data):
            raise DataError(find_loss(ImageHeader(kind, image.width, image.height, lossy=True), mask=True))


def _array(value: Any, axes: Axes) -> tuple[NDArray[Any], Axes]:
    if hasattr(value, "detach"):
        if value.ndim == 3 and axes == "auto":
            first, _, last = value.shape
            axes = "hwc" if first not in _COLOURS and last in _COLOURS else "chw"
        return plain_array(value), axes
    if not hasattr(value, "__array__") and not hasattr(value, "__array_interface__"):
        raise DataError(
            f"a {type(value).__name__} is not an image: give one of Pillow, numpy or torch, bytes or a path"
        )
    return np.asarray(value), axes


def _as_hwc(array: NDArray[Any], axes: Axes, channels: int | None) -> NDArray[Any]:
    """The image with its axes in the order H×W×C."""
    if array.ndim == 2:
        array, axes = array[:, :, None], "hwc"
    if array.ndim != 3 or not array.size:
        raise DataError(f"an image of shape {array.shape}; give H×W×C, C×H×W or H×W")
    fits = (*_COLOURS, channels)
    if axes == "auto" and array.shape[2] not in fits and array.shape[0] in fits:
        raise DataError(f'an array of shape {array.shape} looks like C×H×W: say axes="chw", or turn it')
    if axes == "chw":
        array = np.ascontiguousarray(array.transpose(1, 2, 0))
    if array.shape[2] > _MOST:
        raise DataError(f"an image of {array.shape[2]} channels: say how its axes lie, `hwc` or `chw`")
    return array


def _narrow(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels in a dtype of masks: their own, or the narrowest that holds them."""
    if labels.dtype.kind == "b":
        return labels.astype(np.uint8)
    if labels.dtype.name in ("uint8", "uint16", "int32"):
        return labels
    least, most = int(labels.min()), int(labels.max())
    for dtype in (np.uint8, np.uint16, np.int32):
        if np.iinfo(dtype).min <= least and most <= np.iinfo(dtype).max:
            return labels.astype(dtype)
    raise DataError(f"mask values from {least} to {most}; give at most 32 bits")


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view of a user's array."""
    view = array.view()
    view.flags.writeable = False
    return view


def split_parts(
    parts: Mapping[str, Any], inputs: Inputs, images: Sequence[str], axes: Axes, *, undecoded: bool = False,
    names: Any = None, **decode: Any,
) -> tuple[dict[str, Any], dict[str, Any]]:  # fmt: skip
    """The pipeline's inputs of a user's sample, and its other fields.

    Args:
        parts: the parts of the sample, by name.
        inputs: the recipe's `inputs`.
        images: the images that the recipe takes.
        axes: the order of axes of image arrays.
        undecoded: leave encoded images so.
        names: the images to read; None: all.
        decode: arguments of `read_image`.

    Raises:
        DataError: a part is missing or has a wrong type, shape or size.
    """
    parts, targets = dict(parts), {}
    read = partial(stack_of, as_image) if inputs.stack else as_image
    for name in images:
        value = parts.pop(name, None)
        if names is None or name in names:
            if value is None and name in inputs.real:
                continue
            if value is None:
                raise DataError(f"has no {name}{parts_hint(parts)}")
            targets[name] = _read_named(name, read, value, axes=axes, undecoded=undecoded, **decode)
    if inputs.stack and inputs.mask != "absent" and parts.get("masks") is not None:
        targets["masks"] = np.stack([_read_named("masks", as_labels, mask, **decode) for mask in parts.pop("masks")])
    for name in inputs.taken & parts.keys():
        if (value := parts.pop(name)) is None:
            continue
        if name == "mask":
            targets[name] = _read_named(name, as_labels, value, **decode)
            size, of_image = targets[name].shape, next(iter(targets.values())).shape[-3:-1]
            if size != of_image:
                raise DataError(f"its mask is {size[0]}×{size[1]} px, but it is {of_image[0]}×{of_image[1]} px")
            continue
        targets[name] = _points(name, value)
        if (labels := getattr(inputs, name).labels) is not None:
            count, values = len(targets[name]), parts.pop(labels, None)
            if values is None:
                values = np.zeros(count, np.int64) if name == "boxes" else np.arange(count)
            targets[labels] = one_each(values, count, f"labels of {count} {name}", "iub", "integers").astype(np.int64)
        for beside in {"object", "masks"} & parts.keys() if name == "boxes" else {"keypoint_object"} & parts.keys():
            targets[beside] = plain_array(parts.pop(beside))
    for name, presence in inputs.presence.items():
        if presence == "required" and name not in targets and not (name == "mask" and "masks" in targets):
            raise DataError(f"the recipe requires {name}, and this sample has none{parts_hint(parts)}")
    return targets, {name: plain(name, value) for name, value in parts.items() if name not in ANNOTATIONS}


def parts_hint(parts: Mapping[str, Any]) -> str:
    """The end of a message on a missing part: the parts that the sample has, and the cure."""
    known = ", ".join(map(repr, parts)) or "nothing else"
    return f'; there is {known}: say what it is called, as in keys={{"image": "photo"}}'


def _read_named(name: str, read: Any, value: Any, **how: Any) -> Any:
    try:
        return read(value, **how)
    except DataError as error:
        raise (error if error.path else DataError(f"{name}: {error.reason}", None, error.step)) from error.__cause__


def _points(name: str, value: Any) -> NDArray[np.float32]:
    try:
        points = plain_array(value).astype(np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name}: {error}") from None
    if not points.size:
        return np.zeros((0, _POINTS[name]), np.float32)
    if points.ndim != 2 or points.shape[1] < _POINTS[name]:
        raise DataError(f"{name} of shape {points.shape}; give (n, {_POINTS[name]})")
    return points


def one_each(values: Any, count: int, what: str, kinds: str, title: str) -> NDArray[Any]:
    """Values as an array of length `count` and one of the dtype kinds; otherwise a DataError on `what` they are."""
    array = plain_array(values)
    if array.shape != (count,) or (array.size and array.dtype.kind not in kinds):
        raise DataError(f"{what} should be as many {title}, got {array.dtype} of shape {array.shape}")
    return array


def plain(name: str, value: Any) -> Any:
    """A field beside the pipeline's inputs; an integer label becomes a Python int."""
    if name == "label" and (number := plain_array(value)).ndim == 0 and number.dtype.kind in "iub":
        return int(number)
    return value
