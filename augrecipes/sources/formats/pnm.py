"""PBM, PGM and PPM, plain and raw: simple enough to be read here whole."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.sources.formats.format import Ends, Format
from augrecipes.sources.formats.header import ImageHeader, UnreadableError

_TOKEN = re.compile(rb"(?:\s|#[^\r\n]*[\r\n])*([0-9]+)")
_LONGEST = 65_536  # bytes of a header: the pattern above takes a hundred times the memory of what it skips
_COMMENT, _WORD = re.compile(rb"#[^\r\n]*"), re.compile(rb"\S+")
_BLANK = re.compile(rb"[\s0-9]*(#.*)?", re.DOTALL)
_BITMAPS, _COLORS, _PLAIN = b"14", b"36", b"123"


def header(data: bytes) -> ImageHeader:
    """The header of a PBM, PGM or PPM file; the data may end after it. Raises UnreadableError."""
    width, height, most, at = _fields(data)
    bits = 1 if data[1] in _BITMAPS else 8 if most < 256 else 16
    info = ImageHeader("pnm", width, height, bits, "rgb" if data[1] in _COLORS else "grey")
    behind = data[at + 1 + _bytes(info) :][:64].lstrip() if data[1] not in _PLAIN else b""
    return replace(info, frames=2) if behind[:1] == b"P" and behind[1:2] in b"123456" and behind[1:2] else info


def decode(data: bytes, info: ImageHeader, channels: int | None) -> NDArray[Any]:
    """Pixels, uint8 H×W or H×W×3; `maxval` becomes 255. Raises UnreadableError, also if truncated."""
    _, _, most, _ = _fields(data)
    samples = _samples(data, info)
    if info.bits == 1:
        return np.where(samples == 0, 255, 0).astype(np.uint8)  # 1 is black
    if most == 255:
        return samples
    if most == 65535:
        return (samples >> 8).astype(np.uint8)
    clipped = np.minimum(samples, most).astype(np.uint32)
    scaled: NDArray[np.uint32] = (clipped * 255 + most // 2) // most
    return scaled.astype(np.uint8)


def decode_mask(data: bytes, info: ImageHeader) -> NDArray[Any]:
    """Samples as stored, uint8 or uint16 (in a bitmap 1 is what the format calls black). Raises UnreadableError."""
    return _samples(data, info)


def _fields(data: bytes) -> tuple[int, int, int, int]:
    """Width, height, largest sample, and where the header ends."""
    numbers, at = [], 2
    for _ in range(2 if data[1] in _BITMAPS else 3):
        match = _TOKEN.match(data, at, _LONGEST)
        if match is None or match.end() == _LONGEST:
            what = f": it does not end in {_LONGEST:,} bytes" if len(data) > _LONGEST and _is_blank(data, at) else ""
            raise UnreadableError(f"not a valid PNM header{what}")
        if len(match[1]) > 9:
            raise UnreadableError(f"not a valid PNM header: a number of {len(match[1])} digits")
        numbers.append(int(match[1]))
        at = match.end()
    most = numbers[2] if len(numbers) == 3 else 1
    if not 1 <= most <= 65535:
        raise UnreadableError(f"a PNM file whose largest sample is {most}")
    return numbers[0], numbers[1], most, at


def _is_blank(data: bytes, at: int) -> bool:
    """Whether white space, comments or digits go on from `at` to where a header must have ended."""
    return _BLANK.fullmatch(data, at, _LONGEST) is not None


def _samples(data: bytes, info: ImageHeader) -> NDArray[Any]:
    at = _fields(data)[3]
    shape = (info.height, info.width, 3) if info.color == "rgb" else (info.height, info.width)
    count = int(np.prod(shape))
    if data[1] in _PLAIN:
        return _plain(data[at:], count, info.bits).reshape(shape)
    at += 1  # one white space
    row, needed = (info.width + 7) // 8, _bytes(info)
    if len(data) - at < needed:
        raise UnreadableError(f"truncated: {max(0, len(data) - at)} of {needed} bytes of PNM pixels")
    if info.bits == 1:
        packed = np.frombuffer(data, np.uint8, needed, at).reshape(info.height, row)
        return np.unpackbits(packed, axis=1, count=info.width)
    kind = np.dtype(">u2" if info.bits == 16 else np.uint8)
    return np.frombuffer(data, kind, count, at).astype(kind.newbyteorder("=")).reshape(shape)


def _number(word: bytes) -> int:
    if len(word) > 5 or not word.isdigit():
        raise UnreadableError("damaged: a sample of its plain PNM data is no number")
    return int(word)


def _bytes(info: ImageHeader) -> int:
    """That the samples of a raw file take."""
    if info.bits == 1:
        return (info.width + 7) // 8 * info.height
    return info.width * info.height * (3 if info.color == "rgb" else 1) * (info.bits // 8)


def _plain(text: bytes, count: int, bits: int) -> NDArray[Any]:
    text = _COMMENT.sub(b" ", text)
    if bits == 1:  # digits need no space between them
        digits = np.frombuffer(text, np.uint8)
        digits = digits[(digits == 48) | (digits == 49)] - 48
        values: NDArray[Any] = digits[:count].astype(np.uint8)
    else:
        # One by one: a list of them takes ten times the memory of the text.
        values = np.fromiter((_number(word[0]) for word in islice(_WORD.finditer(text), count)), np.uint32)
        values = np.minimum(values, 2**bits - 1).astype(np.uint16 if bits == 16 else np.uint8)
    if len(values) < count:
        raise UnreadableError(f"truncated: {len(values)} of {count} samples of plain PNM data")
    return values


def _begins(data: bytes) -> bool:
    return data[:1] == b"P" and data[1:2] in b"123456" and data[2:3] in (b" ", b"\n", b"\r", b"\t", b"#")


def _complete(info: ImageHeader, ends: Ends) -> bool:
    return ends.first[1] in _PLAIN or ends.size > _fields(ends.first)[3] + _bytes(info)


FORMAT = Format("pnm", "PNM", _begins, header, decode, decode_mask, _complete, frames="pictures")
