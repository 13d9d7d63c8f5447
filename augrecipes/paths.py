"""Paths and addresses: `s3://bucket/photos` is remote, `file:///tmp/photos` is on this machine; and atomic writes."""

import errno
import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from augrecipes.errors import DataError

STAGED = ".new"  # suffix of files that are not renamed into place yet
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+(::[A-Za-z][A-Za-z0-9+.\-]+)*://")
_COLLAPSED = re.compile(r"([A-Za-z][A-Za-z0-9+\-]+):/(?!/)")  # what pathlib makes of an address
_ARCHIVE = re.compile(r"\.(tar|tgz|tbz2?|txz|tar\.(gz|bz2|xz|zst|lz4))$", re.IGNORECASE)
EXTENSIONS = frozenset(b"jpg jpeg jpe png bmp tif tiff webp gif pgm ppm pbm pnm jp2 j2k avif npy".split())
# Hidden files, and what systems put into folders: macOS, network storage (Synology, QNAP), Windows, Linux.
SKIPPED = re.compile(
    rb"\.|(__macosx|network trash folder|temporary items|@eadir|@tmp|@recycle|@recently-snapshot|#recycle|#snapshot"
    rb"|\$recycle\.bin|system volume information|found\.\d{3}|lost\+found)$",
    re.IGNORECASE,
)
_LOCAL = ("file://", "local://")


def address_of(path: Any) -> str | None:
    """Return the address that `path` is; None for a path of this machine, and for what is no text, bytes or path.

    `pathlib.Path("s3://a/b")` has lost a slash, which is restored.

    >>> address_of("s3://bucket/a.jpg"), address_of(Path("s3://bucket/a.jpg"))
    ('s3://bucket/a.jpg', 's3://bucket/a.jpg')
    >>> address_of("C:/a.jpg"), address_of("file:///tmp/a.jpg"), address_of("a/b"), address_of(3)
    (None, None, None, None)
    """
    if not isinstance(path, str | bytes | os.PathLike):
        return None
    text = os.fsdecode(path)
    if ":/" not in text or text.startswith(_LOCAL):
        return None
    if _ADDRESS.match(text):
        return text
    if not isinstance(path, str | bytes) and (match := _COLLAPSED.match(text)) and not os.path.lexists(text):
        return f"{match[1]}://{text[match.end() :]}"
    return None


def is_archive(name: str) -> bool:
    """Whether a path or a pattern has the suffix of a tar archive, compressed or not.

    >>> is_archive("train-*.tar"), is_archive("a.TGZ"), is_archive("photos")
    (True, True, False)
    """
    return _ARCHIVE.search(name) is not None


def is_image(name: str | bytes) -> bool:
    """Whether a file's name has the suffix of an image."""
    encoded = os.fsencode(name)
    return b"." in encoded and encoded.rpartition(b".")[2].lower() in EXTENSIONS


def images_in(folder: str, paths: Sequence[str]) -> list[str]:
    """List images by their names below a folder: `paths` that are files, and all images in `paths` that are folders.

    Raises:
        OSError: a path does not exist, or cannot be listed.
    """
    names = []
    for path in paths:
        inside = [path]
        if not (top := Path(folder, path)).is_file():
            entries = (entry for entry in sorted(top.iterdir()) if not SKIPPED.match(os.fsencode(entry.name)))
            names_below = [entry.name for entry in entries if is_image(entry.name) or entry.is_dir()]
            inside = images_in(folder, [Path(path, name).as_posix() for name in names_below])
        names += inside
    return names


def local(path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> Path:
    """Return a path of this machine. DataError for an address, which pathlib would turn into folders here.

    >>> local("file:///tmp/photos") == local("file:///tmp/%70hotos") == Path("/tmp/photos")
    True
    >>> local("s3://bucket/grid.png")
    Traceback (most recent call last):
    augrecipes.errors.DataError: s3://bucket/grid.png: is an address: give a path of this machine
    """
    if (address := address_of(path)) is not None:
        raise DataError("is an address: give a path of this machine", path=address)
    text = os.fsdecode(path)
    if not text.startswith(_LOCAL):
        return Path(text)
    place = Path(text.partition("://")[2])
    # `Path.as_uri` writes a space as %20, and a Windows drive after a slash; other programs do not quote names.
    if ("%" not in text and os.name != "nt") or os.path.lexists(place):
        return place
    from urllib.request import url2pathname  # late: imports HTTP and mail clients

    return Path(url2pathname(str(place)))


def sync_folder(folder: Path) -> None:
    """Sync a folder to disk, so that the names in it survive a power failure. Raises OSError."""
    if os.name == "nt":  # folders cannot be opened there
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems cannot sync folders
            raise
    finally:
        os.close(handle)


def write_file(path: Path, data: bytes, *, lasting: bool = True, mode: int = 0o644) -> None:
    """Write a file atomically: write a temporary file beside `path`, then rename it. Makes missing folders.

    Args:
        path: the file's path.
        data: its content.
        lasting: sync to disk, so that the file survives a power failure; a cache need not.
        mode: its permissions.

    Raises:
        OSError: the file cannot be written; names `path`, where the old content remains.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_file(Path(folder) / "a" / "b.txt", b"whole")
    ...     [(file.name, file.read_text()) for file in (Path(folder) / "a").iterdir()]
    [('b.txt', 'whole')]
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():  # such as /dev/stderr, which must not be replaced
            path.write_bytes(data)
            return
        handle, staged = tempfile.mkstemp(STAGED, f".{path.name}.", path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                if lasting:
                    file.flush()
                    os.fsync(file.fileno())
            Path(staged).chmod(mode)
            Path(staged).replace(path)
            if lasting:
                sync_folder(path.parent)
        except BaseException:
            Path(staged).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
