"""Files of a store: opened with care, written whole, made to last; every failure a StoreError that names the file."""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from augrecipes.errors import StoreError
from augrecipes.sources.remote import Place, RemotePath
from augrecipes.sources.remote_requests import RemoteError

READ_ONLY = 0o444
"""The mode of files that stay as they are."""

_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


@contextmanager
def naming(path: Place, needed: int = 0) -> Iterator[None]:
    """Turns what the system says about `path` into a StoreError."""
    try:
        yield
    except OSError as error:
        raise StoreError(_why(error, path, needed), path=str(path)) from error


def write_all(file: BinaryIO, data: bytes | memoryview, path: Path) -> None:
    """Writes all of `data` where the file stands."""
    left = memoryview(data)
    with naming(path, left.nbytes):
        while left.nbytes:
            left = left[file.write(left) :]


def sync(file: BinaryIO, path: Path) -> None:
    """Waits until what was written to `file` would outlive a power failure."""
    with naming(path):
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Waits until the names in `folder` would outlive a power failure."""
    if os.name == "nt":  # folders cannot be opened there
        return
    with naming(folder):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems keep names by themselves
                raise
        finally:
            os.close(handle)


def write_file(path: Path, data: bytes) -> None:
    """A read-only file that is there whole or not at all, and would outlive a power failure."""
    new = path.with_name(f".{path.name}.new")
    with naming(path):
        new.unlink(missing_ok=True)
    with naming(path), new.open("xb", buffering=0) as file:
        write_all(file, data, new)
        sync(file, new)
    with naming(path):
        new.chmod(READ_ONLY)
        new.replace(path)
    sync_folder(path.parent)


def free_bytes(folder: Path) -> int:
    """Bytes that can be written in `folder`."""
    with naming(folder):
        return shutil.disk_usage(folder).free


def map_file(path: Path, size: int) -> mmap.mmap | bytes:
    """A regular file of just `size` bytes, mapped for reading."""
    with naming(path):
        handle = os.open(path, _READ)
        try:
            about = os.fstat(handle)
            if not stat.S_ISREG(about.st_mode):
                raise StoreError("not a regular file; pack the store again", path=str(path))
            if about.st_size != size:
                wrong = "cut short" if about.st_size < size else "too long"
                found = f"{about.st_size:,} bytes where the index says {size:,}"
                raise StoreError(f"{wrong}: {found}; copy the store again, or pack it again", path=str(path))
            return mmap.mmap(handle, size, access=mmap.ACCESS_READ) if size else b""
        finally:
            os.close(handle)


def _why(error: OSError, path: Place, needed: int) -> str:
    if isinstance(error, RemoteError):
        return str(error)
    if isinstance(path, RemotePath) and isinstance(error, FileNotFoundError | PermissionError):
        return "no such file" if isinstance(error, FileNotFoundError) else f"no permission: {error}"
    match error.errno:
        case number if number in _FULL:
            want = f"{needed:,} more bytes are needed, " if needed else ""
            return (
                f"the disk is full, or a quota or limit on file size is reached ({error.strerror}): {want}"
                f"{_free(path)} are free; make room and run again: what is written is kept and continued"
            )
        case errno.ENOENT:
            return "no such file"
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return f"no permission: {error.strerror}"
        case errno.ENOTDIR:
            return "a part of this path is a file, not a folder"
        case _:
            return f"the system says: {error.strerror or error}"


def _free(path: Place) -> str:
    try:
        return f"{shutil.disk_usage(str(path.parent)).free:,}"
    except OSError:
        return "an unknown number"
