"""Files of a store: written whole, made to last, mapped with care, locked; failures are StoreErrors that name them."""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock, Timeout

from augrecipes import lru, remote
from augrecipes.errors import StoreError

try:
    crc32: Callable[..., int] = import_module("isal.isal_zlib").crc32  # takes a fraction of the time that zlib does
except ImportError:  # it is built for few processors
    crc32 = zlib.crc32

READ_ONLY = 0o444
"""The mode of files that stay as they are."""

_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
_CHUNK = 1 << 22


@contextmanager
def store_errors(path: remote.Place, needed: int = 0) -> Iterator[None]:
    """Turns what the system says about `path` into a StoreError."""
    try:
        yield
    except OSError as error:
        raise StoreError(_why(error, path, needed), path=str(path)) from error


def write_all(file: BinaryIO, data: bytes | memoryview, path: Path) -> None:
    """Writes all of `data` where the file stands."""
    left = memoryview(data)
    with store_errors(path, left.nbytes):
        while left.nbytes:
            left = left[file.write(left) :]


def sync(file: BinaryIO, path: Path) -> None:
    """Waits until what was written to `file` would outlive a power failure."""
    with store_errors(path):
        file.flush()
        os.fsync(file.fileno())


def file_record(path: Path) -> dict[str, int]:
    """Returns the size of a file and the CRC-32 of all its bytes, as an index has them."""
    size = checksum = 0
    with path.open("rb", buffering=0) as file:
        while chunk := file.read(_CHUNK):
            size, checksum = size + len(chunk), crc32(chunk, checksum)
    return {"size": size, "checksum": checksum}


def map_file(path: Path, size: int) -> mmap.mmap | bytes:
    """Maps a regular file of just `size` bytes for reading."""
    with store_errors(path):
        handle = os.open(path, lru.FLAGS)
        try:
            check_size(path, os.fstat(handle), size)
            return mmap.mmap(handle, size, access=mmap.ACCESS_READ) if size else b""
        finally:
            os.close(handle)


def check_size(path: Path, about: os.stat_result, size: int) -> None:
    """Raises StoreError unless what is known of a file says that it is a regular one of `size` bytes."""
    if not stat.S_ISREG(about.st_mode):
        raise StoreError("not a regular file; pack the store again", path=str(path))
    if about.st_size != size:
        problem = "cut short" if about.st_size < size else "too long"
        sizes = f"{about.st_size:,} bytes where the index says {size:,}"
        raise StoreError(f"{problem}: {sizes}; copy this file again, or pack the store again", path=str(path))


def locked(path: Path) -> FileLock:
    """Takes the right to write in the folder of `path`, until it is released; the system drops it with the process.

    Raises:
        StoreError: another process, or another holder in this one, has it.
    """
    lock = FileLock(path, timeout=0, thread_local=False)
    with store_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire()
        except Timeout:
            message = "the store is being written by another process; wait for it, or end it"
            raise StoreError(message, path=str(path.parent)) from None
    return lock


def _why(error: OSError, path: remote.Place, needed: int) -> str:
    if isinstance(error, remote.RemoteError):
        return str(error)
    if isinstance(path, remote.RemotePath) and isinstance(error, PermissionError):
        return f"no permission: {error}"
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if error.errno in _FULL:
        want = f"{needed:,} more bytes are needed, " if needed else ""
        try:
            free = f"{shutil.disk_usage(str(path.parent)).free:,}"
        except OSError:
            free = "an unknown number"
        return (
            f"the disk is full, or a quota or limit on file size is reached ({error.strerror}): {want}{free} are free; "
            "make room and run again: what is written is kept and continued"
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"no permission: {error.strerror}"
    if error.errno == errno.ENOTDIR:
        return "a part of this path is a file, not a folder"
    return f"the system says: {error.strerror or error}"
