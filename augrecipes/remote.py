"""Remote files: `s3://`, `gs://`, `hf://`, `memory://` and all else that fsspec knows; addresses with a path's methods.

Failed requests are retried; the last error says what to do. Each request looks up its fsspec file system, of which
fsspec keeps one per process, so that none is pickled or inherited by a fork. Credentials are configured where fsspec
and its drivers look for them, never in a recipe or a state.
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

# Object stores, where writing an object is atomic, and folders are only names.
_OBJECT_STORES = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oss", "oci", "hf", "memory"}
EXTRA = "pip install 'augrecipes[remote]'"
ATTEMPTS = 5  # times those of drivers that retry themselves, such as S3's
PAUSE = 0.2  # seconds before the second attempt; twice as long before each further one
_LAST_WORDS = 300  # characters of a server's error message
# Errors that a retry would not change: of the server, and of the local disk.
_FINAL = (
    FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError, FileExistsError, NotImplementedError,
    ImportError, TypeError, AttributeError,
)  # fmt: skip
DISK_ERRORS = {errno.ENOSPC, errno.EROFS, errno.EFBIG, errno.ENOTDIR, getattr(errno, "EDQUOT", errno.ENOSPC)}
_WHEELS = {"gs": "gcsfs", "gcs": "gcsfs", "hf": "huggingface_hub", "abfs": "adlfs", "abfss": "adlfs", "az": "adlfs"}


def is_remote(path: Any) -> bool:
    """Whether a path, as text, bytes or a path object, is a remote address.

    >>> is_remote("s3://bucket/a.jpg"), is_remote("C:/a.jpg"), is_remote("file:///tmp/a.jpg"), is_remote("a/b")
    (True, False, False, False)
    """
    return remote_place(path) is not None


def remote_place(path: Any) -> RemotePath | None:
    """Return a remote address as a `RemotePath`; None for a path of this machine, and for what is no path.

    >>> remote_place("s3://bucket/photos/"), remote_place(Path("s3://bucket/photos")), remote_place("a/b")
    (RemotePath(url='s3://bucket/photos'), RemotePath(url='s3://bucket/photos'), None)
    """
    if isinstance(path, RemotePath):
        return path
    if (address := address_of(path)) is None:
        return None
    return RemotePath(address if address.endswith("://") else address.rstrip("/"))


def place_of(path: StrPath) -> Place:
    """Return a path of this machine, or a remote address.

    >>> place_of("file:///tmp/photos") == Path("/tmp/photos"), place_of("memory://photos")
    (True, RemotePath(url='memory://photos'))
    """
    return remote_place(path) or local(path)


def is_folder(path: StrPath) -> bool:
    """Whether a path or address is a folder. Raises DataError.

    >>> is_folder("nowhere")
    False
    """
    return _test(path, "is_dir")


def is_file(path: StrPath) -> bool:
    """Whether a path or address is a file. Raises DataError."""
    return _test(path, "is_file")


def is_there(path: StrPath) -> bool:
    """Whether a path or address exists. Raises DataError."""
    return _test(path, "exists")


def _test(path: StrPath, method: str) -> bool:
    place = place_of(path)
    try:
        return bool(getattr(place, method)())
    except (PermissionError, RemoteError) as error:
        if isinstance(place, Path):
            raise
        denied = "no permission to look at it: " if isinstance(error, PermissionError) else ""
        raise DataError(f"{denied}{error}", str(place)) from None


@dataclass(frozen=True, slots=True, order=True, repr=False)
class RemotePath:
    """A remote address (`url`) with some methods of `pathlib.Path`. Every call asks the server anew.

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
        """The part after the last slash."""
        return self.url.rpartition("/")[2]

    @property
    def parent(self) -> RemotePath:
        """The address without its last part."""
        return RemotePath(self.url.rpartition("/")[0])

    def about(self) -> dict[str, Any]:
        """Return fsspec's `info` of it: at least its size. FileNotFoundError where there is nothing."""
        return request(self.url, lambda system, path: dict(_fresh(system).info(path)))

    def stamp(self) -> str:
        """Return a stamp, which differs once it is replaced."""
        return stamp_in(self.about())

    def exists(self) -> bool:
        """Whether it is a file, or a folder that holds anything."""
        return request(self.url, lambda system, path: bool(_fresh(system).exists(path)))

    def is_dir(self) -> bool:
        """Whether it is a folder that holds anything."""
        return request(self.url, lambda system, path: bool(_fresh(system).isdir(path)))

    def is_file(self) -> bool:
        """Whether it is a file."""
        return request(self.url, lambda system, path: bool(_fresh(system).isfile(path)))

    def iterdir(self) -> Iterator[RemotePath]:
        """Yield the files and folders directly below."""
        names = request(self.url, lambda system, path: _fresh(system).ls(path, detail=False))
        return (self / name.rstrip("/").rpartition("/")[2] for name in names)

    def files(self) -> dict[str, int]:
        """Return the sizes of all files below, by their names relative to this address.

        Raises:
            FileNotFoundError: there is nothing.
        """
        listing = request(self.url, lambda system, path: _fresh(system).find(path, detail=True))
        if not listing and not self.exists():
            raise FileNotFoundError("no such folder")
        root = request(self.url, lambda _, path: path).strip("/") + "/"
        files = {path.lstrip("/"): about for path, about in listing.items() if about.get("type") != "directory"}
        return {
            path.removeprefix(root): int(about.get("size") or 0)
            for path, about in files.items()
            if path.startswith(root)
        }

    def read_bytes(self) -> bytes:
        """Read the whole file."""
        return request(self.url, lambda system, path: bytes(system.cat_file(path)))

    def read_part(self, start: int, end: int) -> bytes:
        """Read bytes `start` to `end`, which may lie beyond the end of the file."""
        return request(self.url, lambda system, path: bytes(system.cat_file(path, start=start, end=end)))

    def write_bytes(self, data: bytes) -> None:
        """Write the file."""
        self._put(lambda system, path: system.pipe_file(path, data), len(data))

    def fetch(self, path: Path) -> None:
        """Download the file to a path of this machine."""
        request(self.url, lambda system, there: system.get_file(there, str(path)))

    def send(self, path: Path) -> None:
        """Upload a file of this machine; never leaves an incomplete file."""
        self._put(lambda system, there: system.put_file(str(path), there), path.stat().st_size)

    def _put(self, write: Callable[[Any, str], object], size: int) -> None:
        """Write a file of `size` bytes; under a temporary name first where others might see it incomplete."""

        def put(system: Any, target: str) -> None:
            rename = self.url.partition("://")[0] not in _OBJECT_STORES
            folder, _, name = target.rpartition("/")
            place = f"{folder}/.{name}.{os.getpid()}{STAGED}" if rename else target
            if rename and folder:
                system.makedirs(folder, exist_ok=True)
            write(system, place)
            if (arrived := _fresh(system).info(place).get("size")) != size:
                raise ConnectionError(f"{arrived} of {size:,} bytes arrived")
            if rename:
                if system.exists(target):
                    system.rm_file(target)
                system.mv(place, target)

        request(self.url, put)

    def unlink(self) -> None:
        """Remove the file, if it exists."""
        request(self.url, lambda system, path: system.rm_file(path) if _fresh(system).exists(path) else None)


Place = Path | RemotePath


def _fresh(system: Any) -> Any:
    """Clear the file system's cache of listings, and return it."""
    system.invalidate_cache()
    return system


class RemoteError(OSError):
    """A server cannot be reached, or does not answer; says why, and what to do."""


def request(url: str, do: Callable[[Any, str], Found]) -> Found:
    """Call a function with an address's file system and the path in it; retry it after failures.

    Raises:
        FileNotFoundError, PermissionError: as the server reports.
        RemoteError: every attempt failed, or the request cannot be made.
        OSError: the local disk is full.

    >>> request("memory://there", lambda system, path: (system.pipe_file(path, b"it is"), system.cat_file(path))[1])
    b'it is'
    """
    for number in range(ATTEMPTS):
        if number:  # jitter: processes must not all retry at once
            time.sleep(PAUSE * 2 ** (number - 1) * (0.5 + os.urandom(1)[0] / 255))
        try:
            return do(*_file_system(url))
        except (RemoteError, *_FINAL) as error:
            reason = redact_from(url, str(error))
            if not isinstance(error, OSError):
                raise RemoteError(f"cannot be done there: {reason}") from None
            raise next(kind for kind in (RemoteError, *_FINAL) if isinstance(error, kind))(reason) from None
        except Exception as error:  # drivers have errors of their own
            if isinstance(error, OSError) and error.errno in DISK_ERRORS:
                raise
            reason = redact_from(url, f"{type(error).__name__}: {error}")[:_LAST_WORDS]
            if "Credentials" in type(error).__name__:  # of botocore, google.auth
                raise RemoteError(f"{reason}: give your credentials where its driver looks for them") from None
    # Raised without its cause: drivers quote the address, and parts of it.
    raise RemoteError(f"the server failed {ATTEMPTS} times, at last with {reason}; try again later")


def _file_system(url: str) -> tuple[Any, str]:
    """Return the fsspec file system of an address and the path in it; RemoteError where there is none."""
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
    """Return an object's stamp, from fsspec's `info`: its size, and its tag or time."""
    names = ("ETag", "etag", "md5Hash", "content_md5", "checksum", "oid", "mtime", "LastModified", "last_modified")
    text = [f"{name}={about[name]}" for name in (*names, "updated", "modified", "created") if about.get(name)]
    return f"{about.get('size')} {' '.join(text[:2])}"
