"""Images and masks from files: bytes first, then the header against limits, then pixels; or a DataError.

Names never reach a decoder, so any name that the system allows is fine, and extensions do not matter. EXIF orientation
is applied for every format alike; one that is told in XMP alone is not. Colour profiles are where it is asked for:
else samples are taken as sRGB, and the log names the first of another profile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import DataError
from augrecipes.images.encoded import MAX_PIXELS, Encoded, Exif, encoded, open_encoded
from augrecipes.images.losses import Depth, Frames, SampleType
from augrecipes.images.reading import FORMATS, MAX_BYTES, PathLike
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

    JPEG, PNG, TIFF, BMP, WebP, GIF, PNM, JPEG 2000, AVIF and arrays that numpy has saved (`.npy`), told apart by
    content. Palettes are expanded, grey is repeated, CMYK is converted. Samples that the dtype has not, or more than
    one image, are an error, unless it is allowed.

    Args:
        path: the file; text, bytes or a path object.
        channels: 3; 1 for grey; 4 to keep alpha; of files of more bands as many; None for what is stored.
            Bands that nothing says to be alpha are never dropped.
        exif: whether to turn the image as its EXIF orientation says; what only its XMP says is not looked at.
        max_pixels: width times height that is still decoded; checked before anything is.
        max_bytes: file size that is still read.
        depth: `8bit` keeps the upper 8 of 9 to 16 bits a sample, `error` refuses them; None: as AUGRECIPES_DEPTH says.
        frames: `first` reads the first of several pages or frames, `channels` grey pages of a TIFF, as many as
            `channels`, as one image, `error` refuses them; None: as AUGRECIPES_FRAMES says. Where neither says
            anything, it is an error.
        dtype: `uint8`; `uint16` for files of 9 to 16 bits a sample; `float32` for those of floats, which it must have
            all of. Values are the file's own, also where white is zero.
        has_range: somebody says what the values mean: so files of fewer bits are read, too, and whole numbers as
            floats, with the values that they have.
        icc: `srgb` converts 8 bits of grey and RGB from the file's colour profile (ICC) to sRGB, as Pillow's
            ImageCms does; None leaves values as they are.

    Returns:
        A C-contiguous, writable array that owns its memory.

    Raises:
        DataError: the file cannot be read, or is not a whole image; names the file.
        MemoryError: there is not enough; never a DataError, so that no sample is skipped for it.

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

    Ids are what the file stores: indices of a palette, not its colours; samples of grey files unscaled, those of 1, 2
    and 4 bits too (0 to 2**bits - 1). Colour is refused unless the three channels are equal; alpha is dropped.

    Args:
        path: the file; text, bytes or a path object.
        exif: whether to turn the mask as its EXIF orientation says.
        max_pixels: width times height that is still decoded; checked before anything is.
        max_bytes: file size that is still read.
        frames: see `read_image`.

    Raises:
        DataError: the file cannot be read, or is not a mask; names the file.

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
    """A mask of which windows can be read without the rest, as far as its format has such; else as `read_mask`."""
    mask = open_encoded(path, mask=True, **how)
    header = mask.header
    in_parts = FORMATS[header.format].by_parts and header.bits == 8 and not header.alpha and header.color != "rgb"
    return mask if in_parts else mask.labels()


def decode_mask(data: bytes, **how: Any) -> NDArray[Any]:
    """Decodes the bytes of a mask; everything else as `read_mask`.

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
    """Reads the files of one image, scene or tile, with the annotations that belong to it, as a pipeline takes them.

    Args:
        table: lists the files: `Columns` of `augrecipes.sources.columns`.
        unit: its number.
        inputs: of the recipe.
        channels: of images; None: those that each file has.
        undecoded: leave images and masks encoded, for steps that decode no more than they need.
        names: of the targets that are wanted; None: all.
        opened: images that are open already.
        how: other arguments of `read_image`.

    Returns:
        Images H×W×C or encoded, mask H×W or encoded, boxes and keypoints float32, labels int64.

    Raises:
        DataError: a file cannot be read, or is not of the size that belongs to the others; names it.
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
    """The masks of an image's objects, N×H×W in the order of their files; DataError where one is of another size."""
    masks = [np.zeros((0, *size), np.uint8)]
    for path in paths:
        mask = open_encoded(path, mask=True, **how).labels()
        check_size(path, mask.shape, image, size)
        masks.append(mask[None])
    return np.concatenate(masks)


def naming_all(error: DataError, paths: Mapping[str, str]) -> DataError:
    """The error with the file of a pair's largest scale, which comes first, and those of the others."""
    if error.path:
        return error
    first, *others = dict.fromkeys(paths.values())
    with_ = f" (with {', '.join(others)})" if others else ""
    return DataError(f"{error.reason}{with_}", first, error.step)


def check_size(path: str, size: Sequence[int], image: str, of_image: Sequence[int], scale: Fraction | int = 1) -> None:
    """DataError of a file whose rows and columns are not those of an image, times `scale`."""
    if tuple(size[:2]) != (of_image[0] * scale, of_image[1] * scale):
        grid = "" if scale == 1 else f" for a target of scale {float(scale):g}"
        said = f"its image {image} is {of_image[0]}×{of_image[1]} px{grid}"
        raise DataError(f"is {size[0]}×{size[1]} px, but {said}", path)
