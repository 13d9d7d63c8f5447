"""The headers of many files, a few kilobytes each, and whether the files end where they should."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from augrecipes.progress import Progress
from augrecipes.sources.file_bytes import read_bytes, read_ends
from augrecipes.sources.formats import tiff
from augrecipes.sources.formats.header import ImageHeader, UnreadableError
from augrecipes.sources.headers import read_header

_FIRST, _LAST = 16_384, 4_096
_PNG_END = b"\0\0\0\0IEND\xaeB`\x82"
_WHOLE = frozenset({"tiff", "webp", "jp2", "avif"})  # headers that may stand anywhere in the file
_THREADS = 8
Head = ImageHeader | str


def read_heads(paths: Sequence[str], advance: Progress | None = None) -> list[Head]:
    """The header of each file, or the reason why it has none.

    Args:
        paths: the files.
        advance: told how many are done, and of how many.

    >>> read_heads(["missing.png"])
    ['no such file']
    """
    heads: list[Head] = []
    with ThreadPoolExecutor(_THREADS) as pool:
        for head in pool.map(_head_or_reason, paths):
            heads.append(head)
            if advance is not None:
                advance(len(heads), len(paths))
    return heads


def read_head(path: str) -> ImageHeader:
    """The header of one file. Pixels are not decoded: damage in the middle of them is not noticed.

    Raises:
        UnreadableError: no such file, no picture, or cut off.
    """
    first, last, size = read_ends(path, _FIRST, _LAST)
    try:
        header = read_header(first)
        whole = header.format in _WHOLE and len(first) < size
    except UnreadableError:
        if len(first) == size:
            raise
        whole = True  # such as a JPEG behind a large colour profile
    if whole:
        first = last = read_bytes(path)
        header = read_header(first)
    if not _ends(header, first, last, size) and not _ends(header, first, read_bytes(path), size):
        raise UnreadableError(f"truncated: its {header.format.upper()} data does not end")
    return header


def _ends(header: ImageHeader, first: bytes, last: bytes, size: int) -> bool:
    """Whether a file is as long as it must be, as far as that is told by `last`: its last bytes, or all of them.

    Raises UnreadableError where more is known.
    """
    match header.format:
        case "png":
            return _PNG_END in last
        case "jpeg":
            # Pixel data never holds an end marker. A thumbnail has one, in front of the start of the pixels.
            return last.rfind(b"\xff\xd9") > last.rfind(b"\xff\xda")
        case "tiff":
            tiff.checked(last, header)
        case "webp":
            return size >= 8 + int.from_bytes(first[4:8], "little")
        case "jp2":
            return b"\xff\xd9" in last[-64:]
        case "bmp" if int.from_bytes(first[30:34], "little") in (0, 3):
            row = (header.width * int.from_bytes(first[28:30], "little") + 31) // 32 * 4
            return size >= int.from_bytes(first[10:14], "little") + row * header.height
        case "pnm" if first[1:2] in (b"5", b"6"):
            samples = 3 if header.color == "rgb" else 1
            return size >= header.width * header.height * samples * (2 if header.bits > 8 else 1)
    return True


def _head_or_reason(path: str) -> Head:
    try:
        return replace(read_head(path), layout=None)  # there may be a million of them
    except UnreadableError as error:
        return str(error)
