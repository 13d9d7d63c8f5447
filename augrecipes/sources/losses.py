"""What is lost of a file in one picture of 8 bits (depth, further frames), and whether that is allowed.

Samples of 9 to 16 bits keep their upper eight, and of several pages or frames the first is read; either changes what a
model sees (12 bits in a file of 16 come out nearly black). So both are errors, unless they are asked for: by the
arguments `depth` and `frames` of datasets and readers, or by environment variables, which commands heed too. Masks keep
all their bits.
"""

from __future__ import annotations

import os
from typing import Literal, get_args

from augrecipes.sources.formats.header import ImageHeader, UnreadableError
from augrecipes.sources.headers import FORMATS

Depth = Literal["error", "8bit"]
Frames = Literal["error", "first"]
DEPTH, FRAMES = "AUGRECIPES_DEPTH", "AUGRECIPES_FRAMES"


def check_losses(depth: Depth | None, frames: Frames | None) -> None:
    """ValueError for arguments that are none of those that are known; None leaves it to the environment."""
    _chosen("depth", depth, get_args(Depth), DEPTH)
    _chosen("frames", frames, get_args(Frames), FRAMES)


def in_force(depth: Depth | None, frames: Frames | None) -> dict[str, str]:
    """What the arguments and the environment come to.

    >>> in_force("8bit", "error")
    {'depth': '8bit', 'frames': 'error'}
    """
    return {
        "depth": _chosen("depth", depth, get_args(Depth), DEPTH),
        "frames": _chosen("frames", frames, get_args(Frames), FRAMES),
    }


def lost(header: ImageHeader, depth: Depth | None = None, frames: Frames | None = None, *, mask: bool = False) -> str:
    """What reading a file would lose and may not; empty where there is nothing.

    Args:
        header: of the file.
        depth: whether samples of more than 8 bits may lose the lower ones: `8bit`, or `error`.
        frames: whether pages and frames behind the first may be passed over: `first`, or `error`.
        mask: it is read as a mask, whose samples are kept as they are.

    >>> lost(ImageHeader("png", 4, 4, bits=16), "8bit"), lost(ImageHeader("png", 4, 4, bits=16), mask=True)
    ('', '')
    >>> lost(ImageHeader("png", 4, 4, bits=16))
    '16 bits a sample, and pictures are read with 8: convert it, or keep the upper 8 with depth="8bit" ...
    """
    if header.bits > 8 and not mask and _chosen("depth", depth, get_args(Depth), DEPTH) == "error":
        return (
            f"{header.bits} bits a sample, and pictures are read with 8: convert it, or keep the upper 8 with "
            f'depth="8bit" (for commands: {DEPTH}=8bit)'
        )
    if header.frames > 1 and _chosen("frames", frames, get_args(Frames), FRAMES) == "error":
        what = FORMATS[header.format].frames
        return (
            f"several {what}, and one picture is read: split it, or read the first with "
            f'frames="first" (for commands: {FRAMES}=first)'
        )
    return ""


def check_whole(header: ImageHeader, depth: Depth | None, frames: Frames | None, *, mask: bool = False) -> None:
    """UnreadableError where something would be `lost`."""
    if header.bits > 8 or header.frames > 1:
        reason = lost(header, depth, frames, mask=mask)
        if reason:
            raise UnreadableError(reason)


def _chosen(name: str, given: str | None, known: tuple[str, ...], variable: str) -> str:
    value = given if given is not None else os.environ.get(variable) or "error"
    if value not in known:
        raise ValueError(f"{name if given is not None else variable} must be {' or '.join(known)}, not {value!r}")
    return value
