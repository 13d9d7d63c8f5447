"""TIFF images, read by `augrecipes.images.tiff` or by Pillow; and pages as channels of one image."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.images import pillow, tiff
from augrecipes.images.format import Area, Color, Format, ImageHeader, UnreadableError

Raster = NDArray[Any]


def header(data: bytes) -> ImageHeader:
    """The header of the first image of a TIFF. Raises UnreadableError."""
    with pillow.errors("tiff"):
        return replace(_page_header(data), frames=len(tiff.pages(data)) or 1)


def _page_header(data: bytes, at: int | None = None) -> ImageHeader:
    """The header of the first image of a TIFF, or of the directory at byte `at`."""
    tags = tiff.directory(data, at)
    bits, turn = max(tags.get(tiff.BITS, (1,))), tags.first(tiff.ORIENTATION, 1)
    least = int(np.sum(tiff.bounds(tags), axis=0).max())
    about = partial(
        ImageHeader, "tiff", tags[tiff.WIDTH][0], tags[tiff.HEIGHT][0], bits, sample_kind=tiff.kind(tags),
        orientation=turn if turn in range(1, 9) else 1, white=bits > 8 and tiff.white(tags),
        most=2**bits - 1 if 8 < bits < 16 else 65535, profile=bytes(tags.get(tiff.PROFILE, ())),
    )  # fmt: skip
    if (blocks := tiff.blocks(tags, tiff.byte_order(data))) is not None:
        bands, alpha = tiff.bands_and_alpha(tags)
        color: Color = "other" if bands else "grey" if blocks.size[2] - alpha == 1 else "rgb"
        return about(color=color, alpha=alpha, bands=bands, layout=pillow.SampleForm(least, blocks=blocks))
    with pillow.opened(data if at is None else tiff.with_first(data, at), "tiff") as image:
        white, color = tiff.white(tags) and image.mode != "P", pillow.COLORS.get(image.mode, "rgb")
        stored = pillow.SampleForm(least, at, white=white)
        return about(color=color, layout=stored, alpha=pillow.has_alpha(image), lossy=pillow.is_lossy(image))


def page_headers(data: bytes, most: int) -> list[ImageHeader]:
    """The headers of the images of a TIFF, at most `most`. Raises UnreadableError."""
    with pillow.errors("tiff"):
        return [_page_header(data, at) for at in tiff.pages(data, most)]


def as_stack(data: bytes, header: ImageHeader) -> ImageHeader:
    """The header of a TIFF whose pages are the channels of one image. Raises UnreadableError."""
    pages, first = page_headers(data, header.frames), replace(header, frames=1)
    for k, page in enumerate(pages):
        if page != first:
            sizes = (f"{p.width}×{p.height}, {p.channels} channels of {p.bits} bits" for p in (page, first))
            raise UnreadableError(f"page {k + 1} cannot be a channel: it is {' and the first '.join(sizes)}")
    stored = pillow.SampleForm(max(page.layout.least for page in pages), pages=tuple(pages))
    return replace(header, color="other", bands=len(pages), frames=1, layout=stored)


def decode(data: bytes, info: ImageHeader, channels: int | None, part: Area) -> Raster:
    """Pixels of a part, H×W, H×W×3, H×W×4 if alpha is requested, or all bands. Raises UnreadableError."""
    if info.layout.pages:
        return np.dstack([decode(data, page, 1, part) for page in info.layout.pages])
    if info.layout.blocks is None:
        return pillow.decode(data, info, channels, part)
    samples = _from_blocks(data, info, part)
    if not info.alpha:
        return samples
    colours, alpha = samples[:, :, :-1], samples[:, :, -1:]
    return np.concatenate([*[colours] * (3 // colours.shape[2]), alpha], axis=2) if channels in (None, 4) else colours


def labels(data: bytes, info: ImageHeader, part: Area) -> Raster:
    """Label ids of a part: palette indices, grey of any depth, or colours. Raises UnreadableError."""
    if info.bands:
        raise UnreadableError(f"a mask must be grey or have a palette; this image has {info.bands} bands")
    if info.layout.blocks is None:
        return pillow.labels(data, info, part)
    samples = _from_blocks(data, info, part)
    return samples if samples.shape[2] > 2 else samples[:, :, 0]


def _from_blocks(data: bytes, info: ImageHeader, part: Area) -> Raster:
    pillow.check_complete(data, info)
    with pillow.errors("tiff"):
        return tiff.read(data, info.layout.blocks, part)


FORMAT = Format(
    "tiff",
    "TIFF",
    lambda data: data[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"),
    header,
    decode,
    labels,
    pillow.complete,
)
