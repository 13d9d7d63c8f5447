"""Reading images, masks and further targets from files: bytes, then the header against limits, then pixels.

File names never reach a decoder, so any name that the system allows will do, and extensions do not matter. EXIF
orientation is applied for every format; an orientation in XMP alone is not. Colour profiles are applied on request;
otherwise samples count as sRGB, and the log names the first file with another profile.

Further targets (`targets:`): images are read as the image is; masks keep all bits of their files, for labels or for
numbers such as depth. Other arrays are read from `.npy` files: vectors and normals (H, W, 2 or 3), several masks
(N, H, W), floats H×W.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from io import BytesIO
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import DataError
from augrecipes.images.encoded import MAX_PIXELS, Encoded, Exif, data_errors, encoded, open_encoded
from augrecipes.images.losses import Depth, Frames, SampleType
from augrecipes.images.reading import FORMATS, MAX_BYTES, PathLike, read_bytes
from augrecipes.ops.fills import as_dtype
from augrecipes.recipe.targets import Target, missing_targets
from augrecipes.sources.sample_inputs import Axes, as_image, as_labels, file_of, parts_hint, plain_array, split_parts
from augrecipes.sources.stacks import read_stacks

__all__ = ["MAX_PIXELS", "Exif", "decode_mask", "read_image", "read_mask"]


def read_image(
    path: PathLike,
    *,
    channels: int | None = 3,
    exif: Exif = "apply",
    max_pixels: int = MAX_PIXELS,
    max_bytes: int = MAX_BYTES,
    depth: Depth | None = None,
    frames: Frames | None = None,
    dtype: SampleType = "uint8",
    has_range: bool = False,
    icc: Literal["srgb"] | None = None,
) -> NDArray[Any]:
    """Reads an image as H×W×C in RGB order: uint8, 0 to 255, or the file's own values as uint16 or float32.

    Reads JPEG, PNG, TIFF, BMP, WebP, GIF, PNM, JPEG 2000, AVIF and `.npy`, told apart by content. Palettes are
    expanded, grey is repeated, CMYK is converted. Samples that do not fit the dtype, and files of several images, are
    errors unless an argument allows them.

    Args:
        path: the file; text, bytes or a path object.
        channels: 3 for RGB; 1 for grey; 4 to keep alpha; the number of bands of a multispectral file; None for what
            the file has. A band is dropped only if the file marks it as alpha.
        exif: whether to turn the image as its EXIF orientation says; an orientation in XMP is ignored.
        max_pixels: the largest width times height to decode; checked before decoding.
        max_bytes: the largest file to read.
        depth: `8bit` keeps the upper 8 of 9 to 16 bits per sample, `error` refuses them; None: as AUGRECIPES_DEPTH
            says, by default an error.
        frames: `first` reads the first of several pages or frames; `channels` reads the grey pages of a TIFF, as many
            as `channels`, as one image; `error` refuses several. None: as AUGRECIPES_FRAMES says, by default an error.
        dtype: `uint8`; `uint16` for files of 9 to 16 bits per sample; `float32` for files of floats, whose values it
            must hold exactly. Values are the file's own, even where zero is white.
        has_range: the recipe declares the range of values, so files of fewer bits are read too, and integers as
            floats, with unchanged values.
        icc: `srgb` converts 8-bit grey and RGB from the file's colour profile (ICC) to sRGB, as Pillow's ImageCms
            does; None leaves values as they are.

    Returns:
        A C-contiguous, writable array that owns its memory.

    Raises:
        DataError: the file cannot be read, or is not a complete image; the message names the file.
        MemoryError: there is too little memory; never a DataError, so that no sample is skipped because of it.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "two.ppm")
    ...     _ = file.write_bytes(b"P6 2 1 255\\n" + bytes([255, 0, 0, 0, 0, 255]))
    ...     read_image(file).tolist()
    [[[255, 0, 0], [0, 0, 255]]]
    """
    return open_encoded(
        path, channels=channels, exif=exif, max_pixels=max_pixels, max_bytes=max_bytes, depth=depth, frames=frames,
        dtype=dtype, has_range=has_range, icc=icc,
    ).array()  # fmt: skip


def read_mask(
    path: PathLike,
    *,
    exif: Exif = "apply",
    max_pixels: int = MAX_PIXELS,
    max_bytes: int = MAX_BYTES,
    frames: Frames | None = None,
) -> NDArray[Any]:
    """Reads a mask of label ids as H×W: uint8, uint16 (16-bit files) or int32 (TIFF).

    Ids are the stored values: palette indices, not colours; samples of grey files unscaled, also those of 1, 2 and 4
    bits (0 to 2**bits - 1). Colour is refused unless the three channels are equal; alpha is dropped.

    Args:
        path: the file; text, bytes or a path object.
        exif: whether to turn the mask as its EXIF orientation says.
        max_pixels: the largest width times height to decode; checked before decoding.
        max_bytes: the largest file to read.
        frames: see `read_image`.

    Raises:
        DataError: the file cannot be read, or is not a mask; the message names the file.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "ids.pgm")
    ...     _ = file.write_text("P2 3 1 9  0 7 9")
    ...     read_mask(file).tolist()
    [[0, 7, 9]]
    """
    how: dict[str, Any] = {"exif": exif, "max_pixels": max_pixels, "max_bytes": max_bytes, "frames": frames}
    return open_encoded(path, mask=True, **how).labels()


def open_mask(path: PathLike, **how: Any) -> NDArray[Any] | Encoded:
    """A mask left encoded if its format can be decoded by windows; else decoded, as by `read_mask`."""
    mask = open_encoded(path, mask=True, **how)
    header = mask.header
    in_parts = FORMATS[header.format].by_parts and header.bits == 8 and not header.alpha and header.color != "rgb"
    return mask if in_parts else mask.labels()


def decode_mask(data: bytes, **how: Any) -> NDArray[Any]:
    """Decodes a mask from bytes; otherwise as `read_mask`.

    >>> decode_mask(b"P2 3 1 300 0 7 300", name="ids").dtype
    dtype('uint16')
    """
    return encoded(data, mask=True, **how).labels()


def read_files(
    table: Any,
    unit: int,
    inputs: Any,
    *,
    channels: int | None,
    undecoded: bool = False,
    names: Iterable[str] | None = None,
    opened: Mapping[str, Any] | None = None,
    **how: Any,
) -> dict[str, Any]:
    """Reads the files and annotations of one unit (image, scene or tile) as a pipeline takes them.

    Args:
        table: the `Columns` that list the files.
        unit: the unit's number.
        inputs: the recipe's `inputs`.
        channels: of images; None: as in each file.
        undecoded: leave images and masks encoded, for steps that decode only the window that they need.
        names: the targets to read; None: all.
        opened: images that are open already.
        how: other arguments of `read_image`.

    Returns:
        Images H×W×C or encoded, mask H×W or encoded, boxes and keypoints float32, labels int64.

    Raises:
        DataError: a file cannot be read, or its size does not match the others; the message names it.
    """
    paths = table.paths(unit)
    if inputs.stack:
        return read_stacks(table, unit, inputs, channels=channels, **how)
    targets: dict[str, Any] = dict(opened or {})
    for name in names or paths:
        if name not in targets and name in paths:
            image = open_encoded(paths[name], channels=channels, **how)
            targets[name] = image if undecoded else image.array()
    name, path = next(iter(paths.items()))
    if table.recorded is not None:
        table.recorded.check(unit, path, targets[name].shape, how["exif"])
    if table.outlines is not None:
        try:
            targets["mask"] = table.outlines.draw(unit, *targets[name].shape[:2])
        except DataError as error:
            raise error.with_path(path) from None
    if table.instances is not None:
        targets["masks"] = read_instances(table.instances[unit], path, targets[name].shape[:2], **how)
    if table.masks is not None:
        mask_path = table.masks[unit]
        mask = open_mask(mask_path, **how) if undecoded else open_encoded(mask_path, mask=True, **how).labels()
        targets["mask"] = mask
        check_size(mask_path, mask.shape, path, targets[name].shape)
    targets |= table.points(unit, inputs)
    if table.keypoints is None:
        targets.pop("object", None)
    return targets


def read_instances(paths: Sequence[str], image: str, size: tuple[int, ...], **how: Any) -> NDArray[Any]:
    """The masks of an image's objects, N×H×W in the order of their files; DataError where a size differs."""
    masks = [np.zeros((0, *size), np.uint8)]
    for path in paths:
        mask = open_encoded(path, mask=True, **how).labels()
        check_size(path, mask.shape, image, size)
        masks.append(mask[None])
    return np.concatenate(masks)


def with_all_files(error: DataError, paths: Mapping[str, str]) -> DataError:
    """The error with all files of a scene: the largest scale's as its path, the others in the message."""
    if error.path:
        return error
    first, *others = dict.fromkeys(paths.values())
    with_ = f" (with {', '.join(others)})" if others else ""
    return DataError(f"{error.reason}{with_}", first, error.step)


def check_size(path: str, size: Sequence[int], image: str, of_image: Sequence[int], scale: Fraction | int = 1) -> None:
    """DataError where the size of a file is not that of its image times `scale`."""
    if tuple(size[:2]) != (of_image[0] * scale, of_image[1] * scale):
        grid = "" if scale == 1 else f" for a target of scale {float(scale):g}"
        expected = f"its image {image} is {of_image[0]}×{of_image[1]} px{grid}"
        raise DataError(f"is {size[0]}×{size[1]} px, but {expected}", path)


_NUMPY = b"\x93NUMPY"


def as_target(value: Any, name: str, target: Target, *, axes: Axes = "auto", **decode: Any) -> NDArray[Any]:
    """A further target as an array that a pipeline takes.

    Args:
        value: a path, bytes, a dict with either, an array or a tensor; for images and masks also a Pillow image; for
            `masks` also a list.
        name: the target's name, for messages.
        target: its declaration in the recipe.
        axes: the order of axes of image arrays.
        decode: arguments of `read_image`.

    Raises:
        DataError: `value` is none of these, or cannot be read.
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
    """As `split_parts`, with the further targets that the inputs declare among the pipeline's inputs."""
    declared = {name: parts[name] for name in inputs.targets if parts.get(name) is not None}
    rest = {name: value for name, value in parts.items() if name not in inputs.targets}
    for name in missing_targets(inputs.targets, declared):
        raise DataError(f"the recipe requires {name}, and this sample has none{parts_hint(rest)}")
    taken, extra = split_parts(rest, inputs, images, axes, **how)
    for name, value in declared.items():
        taken[name] = as_target(value, name, inputs.targets[name], axes=axes, **_decoding(how))
    return taken, extra


def _decoding(how: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `read_image` among those of `read_files`."""
    return {key: value for key, value in how.items() if key not in ("undecoded", "names", "opened")}


def read_targets(
    paths: Mapping[str, Any], unit: int, inputs: Any, image: tuple[str, Any], **decode: Any
) -> Iterator[tuple[str, Any]]:
    """Yield the further targets of a unit that a recipe's inputs declare, with their names.

    Args:
        paths: tables of the paths of all units, by target.
        unit: the unit's number.
        inputs: the recipe's `inputs`.
        image: the path of the unit's image, and the image.
        decode: arguments of `read_files`.

    Raises:
        DataError: a target cannot be read, or its size does not match the image; the message names both files.
    """
    decode = _decoding(decode)
    for name in [name for name in inputs.targets if name in paths]:
        path, target = paths[name][unit], inputs.targets[name]
        array = as_target(path, name, target, **decode)
        if array.size:
            size = array.shape[1:] if target.like == "masks" else array.shape
            check_size(path, size, image[0], image[1].shape, target.factor)
        yield name, array
