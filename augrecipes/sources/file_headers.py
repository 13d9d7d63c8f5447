"""The headers of many files, a few kilobytes each, and whether the files end where they should."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from augrecipes.progress import Progress
from augrecipes.sources.file_bytes import read_bytes, read_ends
from augrecipes.sources.formats.format import Ends
from augrecipes.sources.formats.header import ImageHeader, UnreadableError
from augrecipes.sources.headers import FORMATS, read_header

_FIRST, _LAST = 16_384, 4_096
_THREADS = 8
MaybeHeader = ImageHeader | str  # or why there is none


def read_headers(paths: Sequence[str], advance: Progress | None = None) -> list[MaybeHeader]:
    """The header of each file, or the reason why it has none.

    Args:
        paths: the files.
        advance: called with how many are done, and of how many.

    >>> read_headers(["missing.png"])
    ['no such file']
    """
    headers: list[MaybeHeader] = []
    with ThreadPoolExecutor(_THREADS) as pool:
        for header in pool.map(_header_or_reason, paths):
            headers.append(header)
            if advance is not None:
                advance(len(headers), len(paths))
    return headers


def read_file_header(path: str) -> ImageHeader:
    """The header of one file. Pixels are not decoded: damage in the middle of them is not noticed.

    Raises:
        UnreadableError: no such file, no picture, or cut off.
    """
    first, last, size = read_ends(path, _FIRST, _LAST)
    try:
        header = read_header(first)
        read_all = FORMATS[header.format].header_at == "anywhere" and len(first) < size
    except UnreadableError:
        if len(first) == size:
            raise
        read_all = True  # such as a JPEG behind a large colour profile
    if read_all:
        first = last = read_bytes(path)
        header = read_header(first)
    ended = FORMATS[header.format].complete
    if not ended(header, Ends(first, last, size)) and not ended(header, Ends(first, read_bytes(path), size)):
        raise UnreadableError(f"truncated: its {header.format.upper()} data does not end")
    return header


def _header_or_reason(path: str) -> MaybeHeader:
    try:
        return replace(read_file_header(path), layout=None)  # there may be a million of them
    except UnreadableError as error:
        return str(error)
