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

from augrecipes.redact import redact_from

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
_OF_THE_DISK = {errno.ENOSPC, errno.EROFS, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
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
            if isinstance(error, OSError) and _shown(url, error):
                raise
            if isinstance(error, OSError):
                kinds = (FileNotFoundError, PermissionError)
                kind = next((kind for kind in kinds if isinstance(error, kind)), RemoteError)
                raise kind(redact_from(url, str(error))) from None
            raise RemoteError(redact_from(url, f"cannot be done there: {error}")) from _shown(url, error)
        except Exception as error:  # drivers have errors of their own
            if isinstance(error, OSError) and error.errno in _OF_THE_DISK:
                raise
            if "Credentials" in type(error).__name__:  # of botocore, google.auth
                said = redact_from(url, str(error))
                raise RemoteError(f"{said}: say who you are where its driver looks for it") from _shown(url, error)
            last = error
    said = redact_from(url, f"{type(last).__name__}: {last}")[:_LAST_WORDS]
    said = f"the server failed {ATTEMPTS} times, at last with {said}; try again later"
    raise RemoteError(said) from _shown(url, last)


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


def _shown(url: str, error: Exception) -> Exception | None:
    """An error as the cause of another, in whose traceback it is shown with its own causes; None where one of them says
    what must not be."""
    one: BaseException | None = error
    looked_at: list[BaseException] = []
    while one is not None and one not in looked_at:
        if redact_from(url, str(one)) != str(one):
            return None
        looked_at.append(one)
        one = one.__cause__ if one.__suppress_context__ else one.__context__
    return error


def stamp_in(about: dict[str, Any]) -> str:
    """What tells an object from what takes its place, from what its server says: its size, and tag or time."""
    names = ("ETag", "etag", "md5Hash", "content_md5", "checksum", "oid", "mtime", "LastModified", "last_modified")
    text = [f"{name}={about[name]}" for name in (*names, "updated", "modified", "created") if about.get(name)]
    return f"{about.get('size')} {' '.join(text[:2])}"
