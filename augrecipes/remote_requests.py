"""Requests to servers: so many at a time, again after a failure, and in the end an error that says what to do.

A file system of fsspec is looked up for each request: fsspec keeps one a process, so that nothing of it is pickled or
goes through a fork. How it logs in is said where fsspec and its drivers look for it, never in a recipe or a state.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from augrecipes.errors import redact_from

Found = TypeVar("Found")

CONNECTIONS = "AUGRECIPES_CONNECTIONS"
EXTRA = "pip install 'augrecipes[remote]'"
ATTEMPTS = 5  # of drivers that try again themselves, such as that of S3, so many times theirs
PAUSE = 0.2  # seconds before the second attempt; twice as long before each further one
_AT_ONCE = 8
_LAST_WORDS = 300  # characters of what a server said
# What another attempt would not change: of the server, and of the disk that is written to.
_FINAL = (
    FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError, FileExistsError, NotImplementedError,
    ImportError, TypeError, AttributeError,
)  # fmt: skip
OF_THE_DISK = {errno.ENOSPC, errno.EROFS, errno.EFBIG, errno.ENOTDIR, getattr(errno, "EDQUOT", errno.ENOSPC)}
_WHEELS = {"gs": "gcsfs", "gcs": "gcsfs", "hf": "huggingface_hub", "abfs": "adlfs", "abfss": "adlfs", "az": "adlfs"}
_slots: dict[tuple[int, str], threading.BoundedSemaphore] = {}  # by process: a fork begins with no request under way


class RemoteError(OSError):
    """A server cannot be asked, or does not answer; says why, and what to do."""


def request(url: str, do: Callable[[Any, str], Found]) -> Found:
    """What a function of the file system and the path in it returns. It waits for its turn, and is repeated.

    Raises:
        FileNotFoundError, PermissionError: said by the server.
        RemoteError: it failed each time, or cannot be made.
        OSError: the disk that it writes to is full.

    >>> request("memory://there", lambda system, path: (system.pipe_file(path, b"it is"), system.cat_file(path))[1])
    b'it is'
    """
    many = os.environ.get(CONNECTIONS, "").strip() or str(_AT_ONCE)
    if not (many.isdecimal() and int(many)):
        raise RemoteError(f"{CONNECTIONS} is {many!r}: say how many requests there may be at a time, such as 8")
    slots = _slots.setdefault((os.getpid(), many), threading.BoundedSemaphore(int(many)))
    for number in range(ATTEMPTS):
        if number:  # not all processes at the same time
            time.sleep(PAUSE * 2 ** (number - 1) * (0.5 + os.urandom(1)[0] / 255))
        try:
            with slots:
                return do(*_file_system(url))
        except (RemoteError, *_FINAL) as error:
            said = redact_from(url, str(error))
            if not isinstance(error, OSError):
                raise RemoteError(f"cannot be done there: {said}") from None
            if said == str(error):
                raise error from None
            kinds = (FileNotFoundError, PermissionError)
            raise next((kind for kind in kinds if isinstance(error, kind)), RemoteError)(said) from None
        except Exception as error:  # drivers have errors of their own
            if isinstance(error, OSError) and error.errno in OF_THE_DISK:
                raise
            said = redact_from(url, f"{type(error).__name__}: {error}")[:_LAST_WORDS]
            if "Credentials" in type(error).__name__:  # of botocore, google.auth
                raise RemoteError(f"{said}: say who you are where its driver looks for it") from None
    # What it came from is not shown: drivers say the address there, and parts of it.
    raise RemoteError(f"the server failed {ATTEMPTS} times, at last with {said}; try again later")


def _file_system(url: str) -> tuple[Any, str]:
    """The file system of fsspec that an address belongs to, and the path in it; RemoteError where there is none."""
    protocol = url.partition("://")[0]
    try:
        import fsspec
    except ImportError as error:
        raise RemoteError(f"addresses ({protocol}://) need fsspec: {EXTRA} ({error})") from None
    try:
        system, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        how = f"pip install {_WHEELS[protocol]}" if protocol in _WHEELS else EXTRA
        raise RemoteError(f"{protocol}:// needs a package that is not installed: {how} ({error})") from None
    except ValueError as error:
        raise RemoteError(f"fsspec cannot open this address: {error}") from None
    return system, str(path)


def stamp_in(about: dict[str, Any]) -> str:
    """What tells an object from what takes its place, from what its server says: its size, and tag or time."""
    names = ("ETag", "etag", "md5Hash", "content_md5", "checksum", "oid", "mtime", "LastModified", "last_modified")
    text = [f"{name}={about[name]}" for name in (*names, "updated", "modified", "created") if about.get(name)]
    return f"{about.get('size')} {' '.join(text[:2])}"
