"""Parts of pictures: who decodes them, in which order they are asked, and what happens where nobody can.

Another library is one file beside `simplejpeg`, with a `Decoder` record, and its line in `DECODERS`, in front of those
that it is to replace, or in `OPTIONAL` if it is only asked where the environment says so:
`AUGRECIPES_DECODER=nvimgcodec`. Tests hold every decoder to the law that a part is the very part of the whole.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from typing import Any

from numpy.typing import NDArray

from augrecipes.errors import DecoderError
from augrecipes.sources.decoders import nvimgcodec, simplejpeg
from augrecipes.sources.decoders.decoder import Decoder, Part
from augrecipes.sources.formats.header import ImageHeader
from augrecipes.sources.headers import FORMATS

DECODERS: tuple[Decoder, ...] = (simplejpeg.DECODER,)
# By the name of the extra that installs what they need; never chosen because that happens to be installed.
OPTIONAL: dict[str, Decoder] = {"nvimgcodec": nvimgcodec.DECODER}
# Names the one of them that is asked first.
ENVIRONMENT = "AUGRECIPES_DECODER"


def asked() -> tuple[Decoder, ...]:
    """The decoders, in the order in which they are asked.

    Raises:
        DecoderError: the environment names one that does not exist, or whose package is missing.
    """
    name = os.environ.get(ENVIRONMENT)
    return (_optional(name), *DECODERS) if name else DECODERS


@cache
def _optional(name: str) -> Decoder:
    if name not in OPTIONAL:
        raise DecoderError(f"{ENVIRONMENT} must be one of {', '.join(OPTIONAL)}, or not be set, got {name!r}")
    decoder = OPTIONAL[name]
    try:
        import_module(decoder.package)
    except ImportError as error:
        raise DecoderError(
            f"{ENVIRONMENT}={name} needs {decoder.package}: pip install 'augrecipes[{name}]' ({error})"
        ) from None
    return decoder


def scales(data: bytes, header: ImageHeader) -> tuple[int, ...]:
    """The values of `reduce` beyond 1 that this picture can be decoded at.

    >>> from augrecipes.sources.headers import read_header
    >>> ppm = b"P6 2 1 255\\n" + bytes(6)
    >>> scales(ppm, read_header(ppm))
    ()
    """
    found = (decoder.scales(data, header) for decoder in asked() if decoder.format == header.format)
    return next((some for some in found if some), ())


def decode_part(data: bytes, header: ImageHeader, channels: int | None, part: Part) -> NDArray[Any]:
    """Pixels of one part, as stored; may share memory with more. Raises UnreadableError and DecoderError.

    >>> from augrecipes.sources.headers import read_header
    >>> pgm = b"P2 3 2 255 1 2 3 4 5 6"
    >>> decode_part(pgm, read_header(pgm), 1, Part(1, 1, 2, 3)).tolist()
    [[5, 6]]
    """
    for decoder in asked():
        if decoder.format == header.format and (part.reduce == 1 or part.reduce in decoder.scales(data, header)):
            pixels = decoder.region(data, header, channels, part)
            if pixels is not None:
                return pixels
    if part.reduce != 1:
        raise ValueError(f"no decoder reads this {header.format} at 1/{part.reduce}")
    return FORMATS[header.format].decode(data, header, channels)[part.reduced]
