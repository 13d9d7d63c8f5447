"""Reads the bytes of a file, and from these its format and header, or the reason why there is none.

The format follows from the first bytes, never from the name.

>>> sniff(b"GIF89a...").title
'GIF'
>>> read_header(b"P5 640 480 255\\n").width
640
>>> sniff(b"<!DOCTYPE html>") is None
True
"""

import errno
import os
import stat
import struct
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any

from augrecipes.cache import file_stamp
from augrecipes.images import arrays, jpeg, pillow, png, tiff_images
from augrecipes.images.format import Format, ImageHeader, UnreadableError
from augrecipes.lru import FLAGS, OpenFile
from augrecipes.machine import in_threads
from augrecipes.progress import Progress
from augrecipes.remote import RemoteError, remote_place

PathLike = str | bytes | os.PathLike[str] | os.PathLike[bytes]
MaybeHeader = ImageHeader | str  # or the reason why there is none
MAX_BYTES = 2**30
_FIRST = 4_096
_ENOUGH, _LAST = 16_384, 4_096  # bytes at the start and end that suffice for most files
_THREADS = 8

_ALL = (jpeg.FORMAT, png.FORMAT, tiff_images.FORMAT, *pillow.ALL, arrays.FORMAT)
FORMATS: dict[str, Format] = {format.name: format for format in _ALL}


def sniff(data: bytes) -> Format | None:
    """The format of `data` by its first bytes, or None if it is unknown."""
    return next((format for format in FORMATS.values() if format.begins(data[:16])), None)


def read_header(data: bytes) -> ImageHeader:
    """The header of an image; `data` may be the beginning of a file if the format has its header there.

    Raises:
        UnreadableError: not an image in a known format, or its header is truncated or damaged.
    """
    if not data:
        raise UnreadableError("the file is empty")
    format = sniff(data)
    if format is None:
        known = ", ".join(format.title for format in FORMATS.values())
        raise UnreadableError(f"not an image in a known format ({known})")
    try:
        return format.header(data)
    except (struct.error, IndexError) as error:
        raise UnreadableError(f"truncated or damaged in its {format.name.upper()} header ({error})") from None


def read_headers(paths: Sequence[str], advance: Progress | None = None) -> list[MaybeHeader]:
    """The header of each file, or the reason why it has none.

    Args:
        paths: the files.
        advance: called with the number of finished files, and of all.

    >>> read_headers(["missing.png"])
    ['no such file']
    """
    return [*in_threads(_header_or_reason, paths, _THREADS, advance)]


def read_file_header(path: str) -> ImageHeader:
    """The header of a file. Pixels are not decoded, so damage in them is not noticed.

    Raises:
        UnreadableError: the file does not exist, is not an image, or is truncated.
    """
    first, last, size = read_ends(path, _ENOUGH, _LAST)
    try:
        header = read_header(first)
        read_all = FORMATS[header.format].header_at == "anywhere" and len(first) < size
    except UnreadableError:
        if len(first) == size:
            raise
        read_all = True  # for example a JPEG with a large colour profile
    if read_all:
        first = last = read_bytes(path)
        header = read_header(first)
    ended = FORMATS[header.format].complete
    if not ended(header, last, size) and not ended(header, read_bytes(path), size):
        raise UnreadableError(f"truncated: its {header.format.upper()} data does not end")
    return header


def _header_or_reason(path: str) -> MaybeHeader:
    try:
        header = read_file_header(path)
        return replace(header, layout=None, profile=_intern(header.profile))  # there may be a million of them
    except UnreadableError as error:
        return str(error)


@lru_cache(64)
def _intern(profile: bytes) -> bytes:
    """The same object for equal profiles."""
    return profile


def read_bytes(path: PathLike, max_bytes: int = MAX_BYTES, *, image: bool = True) -> bytes:
    """The bytes of a file; with `image`, only the beginning of a file that is no image. Raises UnreadableError.

    For an `.npy` file it is an OpenFile, which reads slices on demand.
    """
    if (place := remote_place(path)) is not None:
        with _server_errors():
            data = place.read_bytes()
        _check_size(len(data), max_bytes)
        return data
    with _open(path, max_bytes) as (file, size):
        first = bytes(file.read(min(size, _FIRST)) or b"")
        format = sniff(first) if image else None
        if len(first) == size or (image and format is None):
            return first
        if format and format.header_at == "first":
            read_header(first)  # raises for a damaged header before the whole file is read
        if format is arrays.FORMAT:
            return _ArrayFile(file.fileno())  # type: ignore[return-value]
        file.seek(0)
        data = file.read(size) or b""  # in one piece, since joining would copy it
        while len(data) < size and (part := file.read(size - len(data))):
            data += part
        return bytes(data)


class _ArrayFile(OpenFile):
    def read(self, start: int, count: int) -> bytes:
        with _server_errors():
            return super().read(start, count)


def open_file(path: PathLike) -> OpenFile:
    """Open a regular file of any size. Raises UnreadableError."""
    with _open(path, sys.maxsize) as (file, _):
        return _ArrayFile(file.fileno())


def read_ends(path: PathLike, first: int, last: int) -> tuple[bytes, bytes, int]:
    """At most `first` bytes from the start and `last` bytes from the end of a file, and its size. UnreadableError.

    A file of at most `first` bytes is returned whole as both.
    """
    if (place := remote_place(path)) is not None:
        with _server_errors():
            size = int(place.about()["size"])
            if size <= first:
                start = place.read_bytes()
                return start, start, size
            return place.read_part(0, first), place.read_part(max(size - last, 0), size), size
    with _open(path, MAX_BYTES) as (file, size):
        start = bytes(file.read(min(size, first)) or b"")
        if len(start) == size:
            return start, start, size
        file.seek(max(size - last, 0))
        return start, bytes(file.read(last) or b""), size


def stamp_of(path: PathLike) -> str:
    """The fingerprint of a file by its size, times and first bytes; "gone" if it cannot be read.

    >>> stamp_of("nowhere")
    'gone'
    """
    try:
        if (place := remote_place(path)) is not None:
            with _server_errors():
                return place.stamp()
        with _open(path, MAX_BYTES) as (file, _):
            return f"{file_stamp(os.fstat(file.fileno()))} {zlib.crc32(file.read(_FIRST) or b'')}"
    except UnreadableError:
        return "gone"


def _check_size(size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise UnreadableError(f"{size:,} bytes are more than the limit of {max_bytes:,}")


@contextmanager
def _server_errors() -> Iterator[None]:
    """Turn the errors of a server or of the system into UnreadableError."""
    try:
        yield
    except OSError as error:
        raise UnreadableError(str(error) if isinstance(error, RemoteError) else _os_reason(error)) from None


@contextmanager
def _open(path: PathLike, max_bytes: int) -> Iterator[tuple[Any, int]]:
    """Open a regular file; yields it and its size."""
    with _server_errors():
        try:
            handle = os.open(path, FLAGS)
        except ValueError as error:  # a zero byte in the name
            raise UnreadableError(f"cannot be opened: {error}") from None
        with os.fdopen(handle, "rb", buffering=0) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise UnreadableError("not a regular file")
            _check_size(status.st_size, max_bytes)
            yield file, status.st_size


def _os_reason(error: OSError) -> str:
    known = {FileNotFoundError: errno.ENOENT, PermissionError: errno.EACCES, IsADirectoryError: errno.EISDIR}
    reasons = {errno.ENOENT: "no such file", errno.EISDIR: "a folder, not a file", errno.ELOOP: "a link to itself"}
    reasons |= dict.fromkeys((errno.EACCES, errno.EPERM), "no permission to read it")
    code = error.errno or known.get(type(error), 0)  # fsspec's drivers set no errno
    return reasons.get(code, f"cannot be read: {error.strerror or error}")
