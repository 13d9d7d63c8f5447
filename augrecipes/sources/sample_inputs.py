"""What somebody hands over as a sample: images and masks of Pillow, numpy or torch, or still encoded, boxes, points.

Nothing is imported for it: whoever gives an image of a library has imported that.
"""

from __future__ import annotations

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
_PILLOW_DEEP = ("I", "F")  # modes of Pillow with more than 8 bits begin so
ANNOTATIONS = frozenset({"mask", "boxes", "keypoints"})
_POINTS = {"boxes": 4, "keypoints": 2}  # numbers of each, at least
_LEVELS = 65535
_MOST = 512  # an axis that is longer than this is no axis of channels


def as_image(value: Any, *, axes: Axes = "auto", undecoded: bool = False, **decode: Any) -> NDArray[Any] | Encoded:
    """An image as a pipeline takes it: uint8 (0..255) or float32 (0..1), or of the `dtype` that is asked for, H×W×C.

    Args:
        value: an image of Pillow, as it stands (its EXIF orientation is not looked at); an array H×W×C or H×W; a
            tensor C×H×W or H×W; bytes of a file, its path, or a dict with `bytes` or `path`, as Hugging Face has them.
        axes: how arrays and tensors of three axes lie; `auto`: those of numpy H×W×C, those of torch C×H×W.
        undecoded: leave what is encoded so, for steps that decode no more than they need.
        decode: arguments of `read_image`. Grey is repeated where three channels are asked for, alpha is dropped. With
            `dtype` uint16 whole numbers of more than 8 bits are taken that have its values, with float32 floats; other
            numbers with `has_range`.

    Returns:
        An array, which may be a view of what was given and then cannot be written to.

    Raises:
        DataError: it is none of those.

    >>> as_image(np.zeros((2, 3), np.uint8), channels=3).shape
    (2, 3, 3)
    """
    if (file := file_of(value)) is not None:
        image = _opened(file, **decode)
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
        with stage("decode"):  # which Pillow puts off until now
            pixels = np.asarray(value if mode in (value.mode, None) else value.convert(mode))
        pixels = pixels[:, :, None] if pixels.ndim == 2 else pixels
        return _sealed(pixels.astype(dtype, copy=False))
    array, axes = (np.asarray(value), "hwc") if _is_pillow(value) else _array(value, axes)
    array = _laid_out(array, axes, channels)
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
        return _sealed(array)
    declared = array.shape[2] != 4  # nobody says that it is alpha
    if why := wrong_channels(array.shape[2], channels, declared=declared, dtype=dtype):
        raise DataError(why)
    return with_channels(array, channels)


def _deep(array: NDArray[Any], dtype: Any, has_range: bool) -> NDArray[Any]:
    """An array as uint16, or as float32, to which larger floats are rounded; its values stay. Raises DataError."""
    kind, bits = array.dtype.kind, 8 * array.dtype.itemsize
    if kind not in "uif":
        raise DataError(f"an image of {array.dtype}; give integers or floats")
    # Tensors and Pillow have 16 bits in wider numbers.
    is_level = dtype == "uint16" and kind != "f" and bits > 8 and array.min() >= 0 and array.max() <= _LEVELS
    header = ImageHeader("array", 1, 1, 16) if is_level else ImageHeader("array", 1, 1, bits, sample_kind=kind)  # type: ignore[arg-type]
    if why := wrong_depth(header, "error", dtype, has_range):
        raise DataError(f"an array of {array.dtype}: {why}")
    return array.astype(dtype, copy=False)


def as_labels(value: Any, *, floats: bool = False, **decode: Any) -> NDArray[Any]:
    """A mask as a pipeline takes it, H×W: uint8, uint16 or int32 labels, or float32; float64 stays float64.

    Args:
        value: as for `as_image`; an axis of one in front or behind is left out. An image of Pillow with a palette
            gives the indices of its colours.
        floats: whether files of floats are taken, too.
        decode: arguments of `read_image`.

    Raises:
        DataError: it is none of those, or has colours.

    >>> as_labels(np.array([[[0, 7, 300]]]))
    array([[  0,   7, 300]], dtype=uint16)
    """
    if (file := file_of(value)) is not None:
        return _opened(file, mask=True, **decode).labels(floats=floats)
    _check_lossless(value)
    array = np.asarray(value) if _is_pillow(value) else _array(value, "hwc")[0]
    if array.ndim == 3 and 1 in (array.shape[0], array.shape[2]):
        array = array[0] if array.shape[0] == 1 else array[:, :, 0]
    if array.ndim not in (2, 3) or not array.size:
        raise DataError(f"a mask of shape {array.shape}; give H×W")
    if array.dtype.kind == "f" and array.ndim == 2:
        return _sealed(array.astype(np.float64 if array.dtype.itemsize > 4 else np.float32, copy=False))
    if array.dtype.kind not in "biu":
        raise DataError(f"a mask of {array.dtype} and shape {array.shape}; labels are integers, H×W")
    try:
        return as_mask(_narrowed(array), 1)
    except UnreadableError as error:
        raise DataError(str(error)) from None


def _opened(file: bytes | str, **how: Any) -> Encoded:
    return encoded(file, name="", **how) if isinstance(file, bytes) else open_encoded(file, **how)


def is_image(value: Any) -> bool:
    """Whether a value looks like an image: of Pillow, or an array or tensor of two axes or more."""
    return _is_pillow(value) or getattr(value, "ndim", 0) >= 2


def plain_array(value: Any) -> NDArray[Any]:
    """An array, a tensor, or a list of numbers, as an array."""
    return np.asarray(value.detach().cpu().numpy() if hasattr(value, "detach") else value)


def file_of(value: Any) -> bytes | str | None:
    """The bytes of a file, or its path; None where it is neither."""
    if isinstance(value, dict) and value.keys() <= {"bytes", "path"}:
        value = value.get("bytes") or value.get("path")
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    return os.fsdecode(value) if isinstance(value, str | os.PathLike) else None


def _is_pillow(value: Any) -> bool:
    return hasattr(value, "getbands") and hasattr(value, "convert")


def _check_lossless(image: Any) -> None:
    """DataError for an image that Pillow has read from a lossy file."""
    if _is_pillow(image) and (kind := getattr(image, "format", None)):
        from augrecipes.images.pillow import is_lossy  # late: it imports Pillow

        path = Path(os.fsdecode(getattr(image, "filename", "")))
        # Of these Pillow's images do not say whether they are lossy.
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


def _laid_out(array: NDArray[Any], axes: Axes, channels: int | None) -> NDArray[Any]:
    """H×W×C."""
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


def _narrowed(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels in the narrowest of the dtypes that masks have."""
    if labels.dtype.kind == "b":
        return labels.astype(np.uint8)
    if labels.dtype.name in ("uint8", "uint16", "int32"):
        return labels
    least, most = int(labels.min()), int(labels.max())
    for dtype in (np.uint8, np.uint16, np.int32):
        if np.iinfo(dtype).min <= least and most <= np.iinfo(dtype).max:
            return labels.astype(dtype)
    raise DataError(f"mask values from {least} to {most}; give at most 32 bits")


def _sealed(array: NDArray[Any]) -> NDArray[Any]:
    """The array, which is somebody else's, as one that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def split_parts(
    parts: Mapping[str, Any], inputs: Inputs, images: Sequence[str], axes: Axes, *, undecoded: bool = False,
    names: Any = None, **decode: Any,
) -> tuple[dict[str, Any], dict[str, Any]]:  # fmt: skip
    """What a pipeline takes of a sample, and what travels beside it.

    Args:
        parts: of the sample, by name.
        inputs: of the recipe.
        images: that the recipe takes.
        axes: how arrays of them lie.
        undecoded: leave what is encoded so.
        names: of the images that are wanted; None: all.
        decode: arguments of `read_image`.

    Raises:
        DataError: a part is missing, or not what its name says.
    """
    parts, targets = dict(parts), {}
    read = partial(stack_of, as_image) if inputs.stack else as_image
    for name in images:
        value = parts.pop(name, None)
        if names is None or name in names:
            if value is None and name in inputs.real:
                continue
            if value is None:
                raise DataError(f"has no {name}{there(parts)}")
            targets[name] = _saying(name, read, value, axes=axes, undecoded=undecoded, **decode)
    if inputs.stack and inputs.mask != "absent" and parts.get("masks") is not None:
        targets["masks"] = np.stack([_saying("masks", as_labels, mask, **decode) for mask in parts.pop("masks")])
    for name in inputs.taken & parts.keys():
        if (value := parts.pop(name)) is None:
            continue
        if name == "mask":
            targets[name] = _saying(name, as_labels, value, **decode)
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
            raise DataError(f"the recipe requires {name}, and this sample has none{there(parts)}")
    return targets, {name: plain(name, value) for name, value in parts.items() if name not in ANNOTATIONS}


def there(parts: Mapping[str, Any]) -> str:
    """What a sample has instead, for messages."""
    known = ", ".join(map(repr, parts)) or "nothing else"
    return f'; there is {known}: say what it is called, as in keys={{"image": "photo"}}'


def _saying(name: str, read: Any, value: Any, **how: Any) -> Any:
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


def one_each(values: Any, count: int, what: str, kinds: str, said: str) -> NDArray[Any]:
    """Values as an array of `count`, of some kinds of dtype; DataError otherwise, which begins with `what` they are."""
    array = plain_array(values)
    if array.shape != (count,) or (array.size and array.dtype.kind not in kinds):
        raise DataError(f"{what} should be as many {said}, got {array.dtype} of shape {array.shape}")
    return array


def plain(name: str, value: Any) -> Any:
    """What travels beside; a label that is an integer as one of Python's."""
    if name == "label" and (number := plain_array(value)).ndim == 0 and number.dtype.kind in "iub":
        return int(number)
    return value
