"""Parts of a JPEG over nvImageCodec on the CPU: libjpeg-turbo that skips what lies above, below and beside the part.

It returns pixels where libjpeg only warns, and the warnings go to stderr, out of reach. So it is only given what little
is warned of: libjpeg warns where a marker comes too early, but fails where the bytes run out. The data are cut at their
end marker, which must be the first marker behind the header; what is left to warn of fails, and is left to the next
decoder, which says what is wrong. As libjpeg reads some bytes ahead, parts that reach into the last row of blocks are
left to the next one, too.

What is not detected, beyond what `simplejpeg` does not detect either: codes that no table has, which libjpeg tells of
in the last 3 kB of the data only, and reads as zeros; and damage to the header that it only warns of.

Baseline with three components of the usual samplings, or with one, in as many channels and without restart markers: all
else is left to the next decoder, as are parts that leave little out. (With restart markers that one skips most of what
lies above, too.)

On the first use nvImageCodec tells stderr which CUDA libraries it does not find. It does not need them for this.
"""

from __future__ import annotations

import re
from dataclasses import replace
from threading import local
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.sources.decoders.decoder import Decoder, Part
from augrecipes.sources.formats import jpeg
from augrecipes.sources.formats.header import ImageHeader

# By the blocks of each component in a minimum coded unit: across in the high four bits, and down.
_COLORSPACES = {bytes([luma, 0x11, 0x11]): "RGB" for luma in (0x11, 0x12, 0x21, 0x22, 0x41)} | {b"\x11": "GRAY"}
_AHEAD = 2  # rows of pixels that wait for the blocks below them
_LEAST_SAVED = 0.5  # of the pixels down to the part's last row: with less, the next decoder is as quick
_NARROW = 16  # columns: with few, libjpeg upsamples otherwise
_END = b"\xff\xd9"
_MARKER = re.compile(rb"\xff[\x01-\xfe]")
_thread = local()


def region(data: bytes, header: ImageHeader, channels: int | None, part: Part) -> NDArray[Any] | None:
    """Pixels of a part, or None where that is for the next decoder. Raises UnreadableError."""
    segments: jpeg.Segments = header.layout
    colorspace = jpeg.colorspace(data, header, channels)
    sampling = jpeg.sampling(data, segments)
    if colorspace != _COLORSPACES.get(sampling) or segments.interval or not jpeg.in_one_scan(data, segments):
        return None
    if (part.y1 - part.y0) * (part.x1 - part.x0) > (1 - _LEAST_SAVED) * part.y1 * header.width:
        return None
    rows = 8 * max(both & 15 for both in sampling)
    if part.y1 + _AHEAD > (header.height - 1) // rows * rows or header.width < _NARROW:
        return None
    end = _MARKER.search(data, jpeg.pixels_at(data, segments))
    if end is None or end.group() != _END:
        return None
    left = min(part.x0, header.width - _NARROW)
    wide = replace(part, x0=left, x1=max(part.x1, left + _NARROW))
    pixels = _decoded(data[: end.start()], header, colorspace, wide)
    return None if pixels is None else pixels[:, part.x0 - left : part.x1 - left]


def _decoded(data: bytes, header: ImageHeader, colorspace: str, part: Part) -> NDArray[np.uint8] | None:
    from nvidia import nvimgcodec as nv

    grey = colorspace == "GRAY"
    try:
        whole = nv.CodeStream(data)
        if (whole.height, whole.width) != (header.height, header.width):
            return None
        stream = whole.get_sub_code_stream(region=nv.Region(part.y0, part.x0, part.y1, part.x1))
        decoder, *params = _thread_decoder()
        image = decoder.decode(stream, params=params[grey])
    except (RuntimeError, ValueError):
        return None
    if image is None:
        return None
    pixels = np.asarray(image)
    return pixels[0] if grey else pixels  # 1×H×W


def _thread_decoder() -> tuple[Any, Any, Any]:
    """This thread's decoder, as one is not for several at a time; its parameters for colour, and for grey.

    It works in the thread that calls it and has none of its own, so it may be forked.
    """
    from nvidia import nvimgcodec as nv

    if not hasattr(_thread, "decoder"):
        decoder = nv.Decoder(
            device_id=nv.NVIMGCODEC_DEVICE_CPU_ONLY,
            max_num_cpu_threads=1,
            backends=[nv.Backend(nv.BackendKind.CPU_ONLY)],
            options=":fancy_upsampling=1 :fast_idct=0",
        )
        grey = {"color_spec": nv.ColorSpec.GRAY, "sample_format": nv.SampleFormat.P_Y}
        colored = nv.DecodeParams(apply_exif_orientation=False)
        _thread.decoder = decoder, colored, nv.DecodeParams(apply_exif_orientation=False, **grey)
    return _thread.decoder


DECODER = Decoder("jpeg", lambda data, header: (), region, package="nvidia.nvimgcodec")
