"""A memo of folder scans, kept on disk, so that a data set of many files is not listed again for every run.

One record a folder: its inode, mtime and ctime, and the names found in it. A folder is scanned again as soon as one of
the three differs. A folder that changed within the last seconds is never recorded: a file added in the same tick of
the clock, after the scan, would leave the times as they are.

The memo lies in ``.augrecipes-index/`` inside the root (a folder, because writing into a folder of its own leaves the
root's times alone), or in the user's cache folder where the root cannot be written. It is a hint: whatever is wrong
with it, the folders are scanned. It is replaced by a rename, so parallel processes see a whole one, old or new.
"""

from __future__ import annotations

import contextlib
import os
import struct
import tempfile
import time
import zlib
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

CACHE_FOLDER = b".augrecipes-index"
_FILE = "folders.bin"
_MAGIC = b"augrecipes folders 1\n"
_SETTLED_NS = 3_000_000_000  # FAT counts in steps of two seconds
_HEAD = struct.Struct("<IQqqQQ")  # lengths of the path, inode, mtime, ctime, lengths of the two name blobs


@dataclass(frozen=True, slots=True)
class Scan:
    """One folder as it was scanned.

    Attributes:
        inode: of the folder.
        mtime_ns: of the folder, before the scan.
        ctime_ns: of the folder, before the scan.
        files: names of pictures, sorted.
        folders: names of folders, sorted.
    """

    inode: int
    mtime_ns: int
    ctime_ns: int
    files: tuple[bytes, ...]
    folders: tuple[bytes, ...]

    def matches(self, about: os.stat_result) -> bool:
        """Whether the folder has not changed since."""
        return (self.inode, self.mtime_ns, self.ctime_ns) == (about.st_ino, about.st_mtime_ns, about.st_ctime_ns)

    def settled(self, now_ns: int) -> bool:
        """Whether the folder was at rest when scanned at `now_ns`, so that its times can be trusted."""
        return max(self.mtime_ns, self.ctime_ns) < now_ns - _SETTLED_NS


def now_ns() -> int:
    """The wall clock, in nanoseconds; here so that tests can move it."""
    return time.time_ns()


def load(root: bytes, rules: bytes) -> dict[bytes, Scan]:
    """The recorded scans below `root`, by relative path; empty where there are none or they are damaged.

    Args:
        root: the listed folder.
        rules: what files are taken; a memo made by other rules is not used.
    """
    for place in _places(root):
        with contextlib.suppress(OSError, ValueError, struct.error):
            return _parse((place / _FILE).read_bytes(), rules)
    return {}


def save(root: bytes, rules: bytes, scans: dict[bytes, Scan]) -> None:
    """Records scans, in the root or, where that fails, in the user's cache folder; does nothing where both fail."""
    content = _render(scans, rules)
    for place in _places(root):
        with contextlib.suppress(OSError):
            _replace(place, content)
            return


def _places(root: bytes) -> tuple[Path, Path]:
    real = os.path.realpath(root)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or str(Path("~/.cache").expanduser())
    own = Path(os.fsdecode(os.path.join(real, CACHE_FOLDER)))  # noqa: PTH118 (pathlib has no bytes)
    return own, Path(base, "augrecipes", "folders", blake2b(real, digest_size=16).hexdigest())


def _replace(place: Path, content: bytes) -> None:
    if place.name == os.fsdecode(CACHE_FOLDER):
        place.mkdir(exist_ok=True)
    else:
        place.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=place, prefix="new-")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        temporary.chmod(0o644)  # mkstemp's 0600 would hide the memo from others who share the data
        temporary.replace(place / _FILE)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _render(scans: dict[bytes, Scan], rules: bytes) -> bytes:
    parts = [struct.pack("<I", len(rules)), rules]
    for path, scan in scans.items():
        files, folders = b"\0".join(scan.files), b"\0".join(scan.folders)
        head = _HEAD.pack(len(path), scan.inode, scan.mtime_ns, scan.ctime_ns, len(files), len(folders))
        parts += [head, path, files, folders]
    body = b"".join(parts)
    return _MAGIC + struct.pack("<I", zlib.crc32(body)) + body


def _parse(content: bytes, rules: bytes) -> dict[bytes, Scan]:
    start = len(_MAGIC) + 4
    if not content.startswith(_MAGIC) or zlib.crc32(content[start:]) != struct.unpack_from("<I", content, start - 4)[0]:
        raise ValueError("not a folder memo, or a damaged one")
    (length,) = struct.unpack_from("<I", content, start)
    at = start + 4 + length
    if content[start + 4 : at] != rules:
        raise ValueError("a folder memo made by other rules")
    scans = {}
    while at < len(content):
        path_size, inode, mtime, ctime, files_size, folders_size = _HEAD.unpack_from(content, at)
        at += _HEAD.size
        path = content[at : at + path_size]
        files = content[at + path_size : at + path_size + files_size]
        at += path_size + files_size + folders_size
        if at > len(content):
            raise ValueError("a cut folder memo")
        folders = content[at - folders_size : at]
        # Whoever can write the memo must not be able to list files outside the root.
        if b"/" in files or b"/" in folders or os.fsencode(os.sep) in files + folders:
            raise ValueError("a folder memo with paths for names")
        scans[path] = Scan(inode, mtime, ctime, _names(files), _names(folders))
    return scans


def _names(blob: bytes) -> tuple[bytes, ...]:
    names = tuple(blob.split(b"\0")) if blob else ()
    if any(name in (b"", b".", b"..") for name in names):
        raise ValueError("a folder memo with a name that is none")
    return names
