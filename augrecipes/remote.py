"""Files that lie elsewhere: `s3://`, `gs://`, `hf://`, `memory://` and whatever else fsspec knows; addresses as paths.

A request is made again after a failure, and in the end is an error that says what to do. A file system of fsspec is
looked up for each: fsspec keeps one a process, so that nothing of it is pickled or goes through a fork. How it logs in
is said where fsspec and its drivers look for it, never in a recipe or a state.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from augrecipes.errors import DataError
from augrecipes.paths import STAGED, address_of, local
from augrecipes.redaction import redact, redact_from

Found = TypeVar("Found")
StrPath = str | bytes | os.PathLike[str] | os.PathLike[bytes]

# Where an object is there whole, or not at all, and folders are but names.
_OF_OBJECTS = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oss", "oci", "hf", "memory"}
EXTRA = "pip install 'augrecipes[remote]'"
ATTEMPTS = 5  # of drivers that try again themselves, such as that of S3, so many times theirs
PAUSE = 0.2  # seconds before the second attempt; twice as long before each further one
_LAST_WORDS = 300  # characters of what a server said
# What another attempt would not change: of the server, and of the disk that is written to.
_FINAL = (
    FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError, FileExistsError, NotImplementedError,
    ImportError, TypeError, AttributeError,
)  # fmt: skip
OF_THE_DISK = {errno.ENOSPC, errno.EROFS, errno.EFBIG, errno.ENOTDIR, getattr(errno, "EDQUOT", errno.ENOSPC)}
_WHEELS = {"gs": "gcsfs", "gcs": "gcsfs", "hf": "huggingface_hub", "abfs": "adlfs", "abfss": "adlfs", "az": "adlfs"}


def is_remote(path: Any) -> bool:
    """Whether a path is the address of something that lies elsewhere; text, bytes, or a path object.

    >>> is_remote("s3://bucket/a.jpg"), is_remote("C:/a.jpg"), is_remote("file:///tmp/a.jpg"), is_remote("a/b")
    (True, False, False, False)
    """
    return remote_place(path) is not None


def remote_place(path: Any) -> RemotePath | None:
    """The address that a path is; None of one of this machine, and of what is no path.

    >>> remote_place("s3://bucket/photos/"), remote_place(Path("s3://bucket/photos")), remote_place("a/b")
    (RemotePath(url='s3://bucket/photos'), RemotePath(url='s3://bucket/photos'), None)
    """
    if isinstance(path, RemotePath):
        return path
    if (address := address_of(path)) is None:
        return None
    return RemotePath(address if address.endswith("://") else address.rstrip("/"))


def place_of(path: StrPath) -> Place:
    """A path of this machine, or an address.

    >>> place_of("file:///tmp/photos") == Path("/tmp/photos"), place_of("memory://photos")
    (True, RemotePath(url='memory://photos'))
    """
    return remote_place(path) or local(path)


def is_folder(path: StrPath) -> bool:
    """Whether there is a folder. Raises DataError.

    >>> is_folder("nowhere")
    False
    """
    return _there(path, "is_dir")


def is_file(path: StrPath) -> bool:
    """Whether there is a file. Raises DataError."""
    return _there(path, "is_file")


def is_there(path: StrPath) -> bool:
    """Whether there is anything. Raises DataError."""
    return _there(path, "exists")


def _there(path: StrPath, what: str) -> bool:
    place = place_of(path)
    try:
        return bool(getattr(place, what)())
    except (PermissionError, RemoteError) as error:
        if isinstance(place, Path):
            raise
        denied = "no permission to look at it: " if isinstance(error, PermissionError) else ""
        raise DataError(f"{denied}{error}", str(place)) from None


@dataclass(frozen=True, slots=True, order=True, repr=False)
class RemotePath:
    """An address (`url`), with what a `pathlib.Path` can do and is needed here. All is asked of the server anew.

    >>> place = RemotePath("memory://shop/index.json")
    >>> place.write_bytes(b"{}")
    >>> place.name, place.parent.is_dir(), (place.parent / "index.json").read_bytes()
    ('index.json', True, b'{}')
    """

    url: str

    def __str__(self) -> str:
        return self.url

    def __repr__(self) -> str:
        return f"RemotePath(url={redact(self.url)!r})"

    __fspath__ = __str__

    def __truediv__(self, name: str) -> RemotePath:
        return RemotePath((self.url if self.url.endswith("://") else f"{self.url.rstrip('/')}/") + name)

    @property
    def name(self) -> str:
        """What stands behind the last slash."""
        return self.url.rpartition("/")[2]

    @property
    def parent(self) -> RemotePath:
        """The folder that it is in."""
        return RemotePath(self.url.rpartition("/")[0])

    def about(self) -> dict[str, Any]:
        """What the server says of it: at least its size. FileNotFoundError where there is nothing."""
        return request(self.url, lambda system, path: dict(_fresh(system).info(path)))

    def stamp(self) -> str:
        """What tells it from what takes its place."""
        return stamp_in(self.about())

    def exists(self) -> bool:
        """Whether there is a file, or anything below."""
        return request(self.url, lambda system, path: bool(_fresh(system).exists(path)))

    def is_dir(self) -> bool:
        """Whether there is anything below."""
        return request(self.url, lambda system, path: bool(_fresh(system).isdir(path)))

    def is_file(self) -> bool:
        """Whether it is a file."""
        return request(self.url, lambda system, path: bool(_fresh(system).isfile(path)))

    def iterdir(self) -> Iterator[RemotePath]:
        """What is directly below."""
        names = request(self.url, lambda system, path: _fresh(system).ls(path, detail=False))
        return (self / name.rstrip("/").rpartition("/")[2] for name in names)

    def files(self) -> dict[str, int]:
        """Every file below, by its name behind this address; its size.

        Raises:
            FileNotFoundError: there is nothing.
        """
        listing = request(self.url, lambda system, path: _fresh(system).find(path, detail=True))
        if not listing and not self.exists():
            raise FileNotFoundError("no such folder")
        root = request(self.url, lambda _, path: path).strip("/") + "/"
        there = {path.lstrip("/"): about for path, about in listing.items() if about.get("type") != "directory"}
        return {
            path.removeprefix(root): int(about.get("size") or 0)
            for path, about in there.items()
            if path.startswith(root)
        }

    def read_bytes(self) -> bytes:
        """All of it."""
        return request(self.url, lambda system, path: bytes(system.cat_file(path)))

    def read_part(self, start: int, end: int) -> bytes:
        """A part of it; `end` may lie behind its own."""
        return request(self.url, lambda system, path: bytes(system.cat_file(path, start=start, end=end)))

    def write_bytes(self, data: bytes) -> None:
        """A file of this content."""
        self._put(lambda system, path: system.pipe_file(path, data), len(data))

    def fetch(self, path: Path) -> None:
        """Writes all of it to a file of this machine."""
        request(self.url, lambda system, there: system.get_file(there, str(path)))

    def send(self, path: Path) -> None:
        """Makes it a copy of a file of this machine, whole or not at all."""
        self._put(lambda system, there: system.put_file(str(path), there), path.stat().st_size)

    def _put(self, write: Callable[[Any, str], object], size: int) -> None:
        """Writes a file of so many bytes, under a name of its own where others might see a part of it."""

        def put(system: Any, there: str) -> None:
            by_name = self.url.partition("://")[0] not in _OF_OBJECTS
            folder, _, name = there.rpartition("/")
            place = f"{folder}/.{name}.{os.getpid()}{STAGED}" if by_name else there
            if by_name and folder:
                system.makedirs(folder, exist_ok=True)
            write(system, place)
            if (arrived := _fresh(system).info(place).get("size")) != size:
                raise ConnectionError(f"{arrived} of {size:,} bytes arrived")
            if by_name:
                if system.exists(there):
                    system.rm_file(there)
                system.mv(place, there)

        request(self.url, put)

    def unlink(self) -> None:
        """Removes it; nothing where there is none."""
        request(self.url, lambda system, path: system.rm_file(path) if _fresh(system).exists(path) else None)


Place = Path | RemotePath


def _fresh(system: Any) -> Any:
    """The file system, which has forgotten what it remembers of folders."""
    system.invalidate_cache()
    return system


class RemoteError(OSError):
    """A server cannot be asked, or does not answer; says why, and what to do."""


def request(url: str, do: Callable[[Any, str], Found]) -> Found:
    """What a function of the file system and the path in it returns; it is repeated.

    Raises:
        FileNotFoundError, PermissionError: said by the server.
        RemoteError: it failed each time, or cannot be made.
        OSError: the disk that it writes to is full.

    >>> request("memory://there", lambda system, path: (system.pipe_file(path, b"it is"), system.cat_file(path))[1])
    b'it is'
    """
    for number in range(ATTEMPTS):
        if number:  # not all processes at the same time
            time.sleep(PAUSE * 2 ** (number - 1) * (0.5 + os.urandom(1)[0] / 255))
        try:
            return do(*_file_system(url))
        except (RemoteError, *_FINAL) as error:
            reason = redact_from(url, str(error))
            if not isinstance(error, OSError):
                raise RemoteError(f"cannot be done there: {reason}") from None
            raise next(kind for kind in (RemoteError, *_FINAL) if isinstance(error, kind))(reason) from None
        except Exception as error:  # drivers have errors of their own
            if isinstance(error, OSError) and error.errno in OF_THE_DISK:
                raise
            reason = redact_from(url, f"{type(error).__name__}: {error}")[:_LAST_WORDS]
            if "Credentials" in type(error).__name__:  # of botocore, google.auth
                raise RemoteError(f"{reason}: say who you are where its driver looks for it") from None
    # What it came from is not shown: drivers say the address there, and parts of it.
    raise RemoteError(f"the server failed {ATTEMPTS} times, at last with {reason}; try again later")


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
