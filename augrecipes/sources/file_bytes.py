"""The bytes of a file, or the reason why there are none."""

from __future__ import annotations

import errno
import mmap
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from augrecipes.sources.formats.header import UnreadableError
from augrecipes.sources.headers import read_header, sniff
from augrecipes.sources.remote import remote_place
from augrecipes.sources.remote_requests import RemoteError

PathLike = str | bytes | os.PathLike[str] | os.PathLike[bytes]
MAX_BYTES = 2**30
_FIRST = 4_096


def read_bytes(path: PathLike, max_bytes: int = MAX_BYTES, *, picture: bool = True) -> bytes:
    """A whole file; where a `picture` is wanted, of what is none only the beginning. Raises UnreadableError.

    Of a format that is mapped it is a view of the file.
    """
    if (place := remote_place(path)) is not None:
        with _server_errors():
            return _limited(place.read_bytes(), max_bytes)
    with _opened(path, max_bytes) as (file, size):
        first = bytes(file.read(min(size, _FIRST)) or b"")
        format = sniff(first) if picture else None
        if len(first) == size or (picture and format is None):
            return first
        if format and format.header_at == "first":
            read_header(first)  # tells what is none before all of it is read
        if format and format.mapped:
            return memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ))  # type: ignore[return-value]
        file.seek(0)
        data = file.read(size) or b""  # in one piece: joining would copy it
        while len(data) < size and (part := file.read(size - len(data))):
            data += part
        return bytes(data)


def read_ends(path: PathLike, first: int, last: int) -> tuple[bytes, bytes, int]:
    """The first and the last bytes of a file, at most so many each, and its size. Raises UnreadableError.

    A file of no more than `first` bytes comes whole as both.
    """
    if (place := remote_place(path)) is not None:
        with _server_errors():
            size = int(place.about()["size"])
            if size <= first:
                start = place.read_bytes()
                return start, start, size
            return place.read_part(0, first), place.read_part(max(size - last, 0), size), size
    with _opened(path, MAX_BYTES) as (file, size):
        start = bytes(file.read(min(size, first)) or b"")
        if len(start) == size:
            return start, start, size
        file.seek(max(size - last, 0))
        return start, bytes(file.read(last) or b""), size


def stamp_of(path: PathLike) -> str:
    """What tells a file from what takes its place: its size, time and first bytes; "gone" where it cannot be read.

    >>> stamp_of("nowhere")
    'gone'
    """
    try:
        if (place := remote_place(path)) is not None:
            with _server_errors():
                return place.stamp()
        with _opened(path, MAX_BYTES) as (file, size):
            return f"{size} {os.fstat(file.fileno()).st_mtime_ns} {zlib.crc32(file.read(_FIRST) or b'')}"
    except UnreadableError:
        return "gone"


def _limited(data: bytes, max_bytes: int) -> bytes:
    if len(data) > max_bytes:
        raise UnreadableError(f"{len(data):,} bytes are more than the limit of {max_bytes:,}")
    return data


@contextmanager
def _server_errors() -> Iterator[None]:
    """What a server says about a file as an UnreadableError."""
    try:
        yield
    except OSError as error:
        raise UnreadableError(str(error) if isinstance(error, RemoteError) else _why(error)) from None


@contextmanager
def _opened(path: PathLike, max_bytes: int) -> Iterator[tuple[Any, int]]:
    """A regular file and its size."""
    # Opened without blocking: a pipe without a writer would otherwise wait for ever.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, flags)
    except ValueError as error:  # a zero byte in the name
        raise UnreadableError(f"cannot be opened: {error}") from None
    except OSError as error:
        raise UnreadableError(_why(error)) from None
    try:
        with os.fdopen(handle, "rb", buffering=0) as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise UnreadableError("not a regular file")
            if about.st_size > max_bytes:
                raise UnreadableError(f"{about.st_size:,} bytes are more than the limit of {max_bytes:,}")
            yield file, about.st_size
    except OSError as error:
        raise UnreadableError(_why(error)) from None


def _why(error: OSError) -> str:
    known = {FileNotFoundError: errno.ENOENT, PermissionError: errno.EACCES, IsADirectoryError: errno.EISDIR}
    match error.errno or known.get(type(error)):  # drivers of fsspec give no number
        case errno.ENOENT:
            return "no such file"
        case errno.EACCES | errno.EPERM:
            return "no permission to read it"
        case errno.EISDIR:
            return "a folder, not a file"
        case _:
            return f"cannot be read: {error.strerror or error}"
