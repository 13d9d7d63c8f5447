"""Write, sync, map and lock the files of a store; failures are StoreErrors that name the file."""

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
    crc32: Callable[..., int] = import_module("isal.isal_zlib").crc32  # several times as fast as zlib
except ImportError:  # wheels exist for few processors
    crc32 = zlib.crc32

READ_ONLY = 0o444
"""The mode of files that are never modified."""

_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
_CHUNK = 1 << 22


@contextmanager
def store_errors(path: remote.Place, needed: int = 0) -> Iterator[None]:
    """Turn an OSError into a StoreError that names `path`."""
    try:
        yield
    except OSError as error:
        raise StoreError(_why(error, path, needed), path=str(path)) from error


def write_all(file: BinaryIO, data: bytes | memoryview, path: Path) -> None:
    """Write all of `data` at the file's position."""
    left = memoryview(data)
    with store_errors(path, left.nbytes):
        while left.nbytes:
            left = left[file.write(left) :]


def sync(file: BinaryIO, path: Path) -> None:
    """Flush `file` to disk, so that its content survives a power failure."""
    with store_errors(path):
        file.flush()
        os.fsync(file.fileno())


def file_record(path: Path) -> dict[str, int]:
    """Return the size and CRC-32 of a file, as the index records them."""
    size = checksum = 0
    with path.open("rb", buffering=0) as file:
        while chunk := file.read(_CHUNK):
            size, checksum = size + len(chunk), crc32(chunk, checksum)
    return {"size": size, "checksum": checksum}


def map_file(path: Path, size: int) -> mmap.mmap | bytes:
    """Map a regular file of exactly `size` bytes for reading."""
    with store_errors(path):
        handle = os.open(path, lru.FLAGS)
        try:
            check_size(path, os.fstat(handle), size)
            return mmap.mmap(handle, size, access=mmap.ACCESS_READ) if size else b""
        finally:
            os.close(handle)


def check_size(path: Path, about: os.stat_result, size: int) -> None:
    """Raise StoreError unless a file's status says that it is a regular file of `size` bytes."""
    if not stat.S_ISREG(about.st_mode):
        raise StoreError("not a regular file; pack the store again", path=str(path))
    if about.st_size != size:
        problem = "cut short" if about.st_size < size else "too long"
        sizes = f"{about.st_size:,} bytes where the index says {size:,}"
        raise StoreError(f"{problem}: {sizes}; copy this file again, or pack the store again", path=str(path))


def locked(path: Path) -> FileLock:
    """Lock the folder of `path` for writing; the system releases the lock when the process ends.

    Raises:
        StoreError: another process, or another holder in this process, has the lock.
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
