"""Losses of reading an image (bits, pages, alpha, profiles): errors unless requested, and notes."""

import os
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import logger
from augrecipes.images.format import ImageHeader
from augrecipes.images.pixels import foreign_profile

Depth = Literal["error", "8bit"]
Frames = Literal["error", "first", "channels"]
SampleType = Literal["uint8", "uint16", "float32"]
DEPTH, FRAMES = "AUGRECIPES_DEPTH", "AUGRECIPES_FRAMES"


def chosen_policies(depth: Depth | None, frames: Frames | None) -> dict[str, str]:
    """The policies from the arguments `depth` and `frames`, and the environment. ValueError for unknown values.

    Reading 9 to 16 bits per sample as 8 loses the lower bits, and reading the first of several pages loses the others.
    Both change what a model sees, so both are errors unless requested.

    >>> chosen_policies("8bit", "error")
    {'depth': '8bit', 'frames': 'error'}
    """
    options, chosen = {"depth": (depth, Depth, DEPTH), "frames": (frames, Frames, FRAMES)}, {}
    for name, (argument, kind, variable) in options.items():
        value = argument if argument is not None else os.environ.get(variable) or "error"
        if value not in get_args(kind):
            where = variable if argument is None else name
            raise ValueError(f"{where} must be {' or '.join(get_args(kind))}, not {value!r}")
        chosen[name] = value
    return chosen


def wrong_channels(stored: int, wanted: int | None, *, declared: bool, dtype: str = "uint8") -> str:
    """Why an image cannot be read with `wanted` channels; empty if it can.

    Args:
        stored: the channels of the file.
        wanted: the channels to read; None: the stored ones.
        declared: whether the file declares its channels as grey, colours or alpha, so that they can be converted.
        dtype: the dtype to read; beyond 8 bits the opaque value is unknown, so no alpha is added.

    >>> wrong_channels(5, 3, declared=False)
    'an image of 5 channels, and 3 are wanted: to take all, say `inputs: {image: {channels: 5}}` in the recipe'
    """
    if wanted in (None, stored) or (declared and {stored, wanted} <= {1, 3, 4} and (dtype == "uint8" or wanted != 4)):
        return ""
    cure = f"to take all, say `inputs: {{image: {{channels: {stored}}}}}` in the recipe"
    return f"an image of {stored} channels, and {wanted} are wanted: {cure}"


def find_loss(
    header: ImageHeader, depth: Depth | None = None, frames: Frames | None = None, channels: int | None = None, *,
    mask: bool = False, dtype: SampleType = "uint8", has_range: bool = False, icc: Literal["srgb"] | None = None,
) -> str:  # fmt: skip
    """The message on a loss that is not allowed when a file is read; empty if there is none.

    Args:
        header: the file's header.
        depth: whether samples of more than 8 bits may lose the lower ones: `8bit`, or `error`.
        frames: whether pages and frames after the first may be skipped: `first`, or `error`; or `channels`.
        channels: the channels to read; None: the stored ones.
        mask: whether the file is read as a mask, whose samples are kept.
        dtype: the dtype to read.
        has_range: whether the recipe declares the range of values.
        icc: whether values are converted from a colour profile.

    >>> find_loss(ImageHeader("png", 4, 4, bits=16), "8bit"), find_loss(ImageHeader("png", 4, 4, bits=16), mask=True)
    ('', '')
    >>> find_loss(ImageHeader("png", 4, 4, bits=16))
    '16 bits a sample, and images are read with 8: say `inputs: {depth: 16}` in the recipe, or convert it, or keep ...
    """
    if mask and header.lossy:
        return f"a mask in a lossy {header.format.upper()}, which makes 97, 99 and 101 of 98. Save masks as PNG"
    if icc and not mask and (header.color == "cmyk" or dtype != "uint8" or header.bands) and foreign_profile(header):
        kind = "CMYK" if header.color == "cmyk" else f"{header.channels} channels, read as {dtype}"
        return f"{kind}, with a colour profile, which is applied to 8 bits of grey and of RGB: save it in sRGB"
    chosen, stacked = chosen_policies(depth, frames), not mask and is_stack(header, frames, channels)
    stored = header.frames if stacked else header.channels
    if not mask and (why := wrong_channels(stored, channels, declared=not (header.bands or stacked), dtype=dtype)):
        return why
    if not mask and (why := wrong_depth(header, chosen["depth"], dtype, has_range)):
        return why
    if header.frames > 1 and not stacked and chosen["frames"] != "first":
        as_channels = f"say `inputs: {{channels: {header.frames}}}` to take them as channels, " * _may_be_stack(header)
        cure = f'{as_channels}split it, or read the first with frames="first" (for commands: {FRAMES}=first)'
        cure = f"say `stack: frames` in a recipe of images to take all, {cure}"
        return f"several pages or frames, and one image is read: {cure}"
    return ""


def is_stack(header: ImageHeader, frames: Frames | None, channels: int | None) -> bool:
    """Whether the pages of a file are read as the channels of one image (if their sizes agree)."""
    # The policies are checked last: that reads the environment.
    fits = _may_be_stack(header) and header.frames == channels
    return fits and chosen_policies(None, frames)["frames"] == "channels"


def _may_be_stack(header: ImageHeader) -> bool:
    return header.format == "tiff" and header.frames > 1 and header.channels == 1


def wrong_depth(header: ImageHeader, depth: str = "error", dtype: SampleType = "uint8", has_range: bool = False) -> str:
    """Why the samples of a file cannot be read as a dtype; empty if they can. Arguments as of `find_loss`.

    >>> wrong_depth(ImageHeader("png", 4, 4, bits=8), dtype="uint16")
    '8 bits a sample, and the recipe says `depth: 16`, in which 200 of 255 would be 200 of 65,535: leave ...
    >>> wrong_depth(ImageHeader("tiff", 4, 4, bits=32, sample_kind="f"))
    'floats of 32 bits a sample, and images are read with 8: say `inputs: {depth: float32}` in the recipe'
    """
    bits = {"u": "", "i": "signed numbers of ", "f": "floats of "}[header.sample_kind] + f"{header.bits} bits a sample"
    levels, is_float = header.sample_kind == "u" and header.bits <= 16, header.sample_kind == "f"
    most = 2**header.bits - 1
    low, high = (0, most) if header.sample_kind == "u" else (-(most // 2) - 1, most // 2)
    by_range = f"`inputs: {{depth: float32, range: [{low}, {high}]}}`"
    scaled = header.format == "jp2" and header.bits in range(9, 16)
    if dtype == "uint8":
        if levels and (header.bits <= 8 or depth == "8bit"):
            return ""
        cures = ["say `inputs: {depth: 16}` in the recipe"] if levels and not scaled else []
        cures += ["convert it", f'keep the upper 8 with depth="8bit" (for commands: {DEPTH}=8bit)'] if levels else []
        cures = cures or [f"say {'`inputs: {depth: float32}`' if is_float else by_range} in the recipe"]
        return f"{bits}, and images are read with 8: {', or '.join(cures)}"
    if scaled:
        return f"a JPEG 2000 of {header.bits} bits a sample, which Pillow scales to 16: save it as TIFF or PNG"
    if dtype == "float32":
        why = f"{bits}, and the recipe says `depth: float32`: say what they mean, as by {by_range}"
        return "" if is_float or has_range else why
    if not levels:
        cure = "`depth: float32`" if is_float else by_range
        return f"{bits}, and the recipe says `depth: 16`, which is 0 to 65,535: say {cure}"
    what = "and the recipe says `depth: 16`, in which 200 of 255 would be 200 of 65,535"
    why = f"{bits}, {what}: leave `depth` out, or say what they mean, `range: [0, {high}]`"
    return why if header.bits <= 8 and not has_range else ""


# Notes on images without errors: logged once, or counted by checks.

ALPHA = "has alpha, which is left out: to keep it, say `inputs: {image: {channels: 4}}` in the recipe"
_HALF = 2**15  # of 16 bits
_notices = set[str]()


def narrow(samples: NDArray[Any]) -> str:
    """A note on 16-bit samples that are reduced to 8 bits although they use less than half their range; else empty.

    >>> narrow(np.array([0, 4095], np.uint16))
    'values from 0 to 4,095 in 16 bits, of which the upper 8 leave 16 levels: scale them to 0 to 65,535 first'
    """
    if samples.dtype != np.uint16 or (most := int(samples.max())) >= _HALF:
        return ""
    left = f"of which the upper 8 leave {(most >> 8) + 1} levels: scale them to 0 to 65,535 first"
    return f"values from {samples.min():,} to {most:,} in 16 bits, {left}"


def warn_once(what: str, text: str) -> None:
    """Log a warning, only once per process for each kind `what`."""
    if what not in _notices:
        _notices.add(what)
        logger.warning("%s (said once, of the first such image)", text)
