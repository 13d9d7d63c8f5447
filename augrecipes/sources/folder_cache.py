"""A memo of folder scans, kept on disk, so that a data set of many files is not listed again for every run.

One record a folder: its inode, mtime and ctime, and the names found in it. A folder is scanned again as soon as one of
the three differs. A folder that changed within the last seconds is never recorded: a file added in the same tick of
the clock, after the scan, would leave the times as they are.

A memo lies in the user's cache folder, never beside the data, and is known by the device and inode of the folder, so it
is found again under any path, and after a move. It is a hint: whatever is wrong with it, the folders are scanned.
"""

from __future__ import annotations

import contextlib
import logging
import os
import struct
import time
import zlib
from dataclasses import dataclass
from pathlib import Path

from augrecipes.caches import FOLDERS, identity

_log = logging.getLogger("augrecipes")

# Where earlier versions wrote, beside the data.
OLD_FOLDER = ".augrecipes-index"
_MAGIC = b"augrecipes folders 1\n"
SETTLED_NS = 3_000_000_000
"""What was changed less than this ago may change again within the same tick; FAT counts in steps of two seconds."""
_HEADER = struct.Struct("<IQqqQQ")  # lengths of the path, inode, mtime, ctime, lengths of the two name blobs
_named: set[str] = set()


@dataclass(frozen=True, slots=True)
class Scan:
    """One folder as it was scanned.

    Attributes:
        inode: of the folder.
        mtime_ns: of the folder, before the scan.
        ctime_ns: of the folder, before the scan.
        files: names of pictures, sorted, a zero byte between two: a fraction of the memory of so many objects.
        folders: names of folders, sorted.
    """

    inode: int
    mtime_ns: int
    ctime_ns: int
    files: bytes
    folders: tuple[bytes, ...]

    @property
    def names(self) -> list[bytes]:
        """Those of pictures."""
        return self.files.split(b"\0") if self.files else []

    def matches(self, about: os.stat_result) -> bool:
        """Whether the folder has not changed since."""
        return (self.inode, self.mtime_ns, self.ctime_ns) == (about.st_ino, about.st_mtime_ns, about.st_ctime_ns)

    def settled(self, now_ns: int) -> bool:
        """Whether the folder was at rest when scanned at `now_ns`, so that its times can be trusted."""
        return max(self.mtime_ns, self.ctime_ns) < now_ns - SETTLED_NS


def now_ns() -> int:
    """The wall clock, in nanoseconds; here so that tests can move it."""
    return time.time_ns()


def load(root: bytes, rules: bytes) -> dict[bytes, Scan]:
    """The recorded scans below `root`, by relative path; empty where there are none or they are damaged.

    Args:
        root: the listed folder.
        rules: what files are taken; a memo made by other rules is not used.
    """
    with contextlib.suppress(OSError, ValueError, struct.error):
        if (memo := FOLDERS.read(identity(root))) is not None:
            return _parse(memo, rules)
    return {}


def save(root: bytes, rules: bytes, scans: dict[bytes, Scan]) -> None:
    """Records scans in the user's cache folder; does nothing where it cannot be written."""
    with contextlib.suppress(OSError):  # the root has gone
        FOLDERS.write(identity(root), _render(scans, rules))


def tell_of_old(root: bytes) -> None:
    """Names, once, the folder that earlier versions left beside the data. It is not read, nor deleted."""
    old = os.path.join(os.fsdecode(root), OLD_FOLDER)  # noqa: PTH118  the text of a path that the user gave
    if old not in _named and Path(old).is_dir():
        _named.add(old)
        _log.warning("%s: left behind by an earlier version, and no longer used; it can be deleted", old)


def _render(scans: dict[bytes, Scan], rules: bytes) -> bytes:
    parts = [struct.pack("<I", len(rules)), rules]
    for path, scan in scans.items():
        folders = b"\0".join(scan.folders)
        header = _HEADER.pack(len(path), scan.inode, scan.mtime_ns, scan.ctime_ns, len(scan.files), len(folders))
        parts += [header, path, scan.files, folders]
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    return b"".join([_MAGIC, struct.pack("<I", checksum), *parts])


def _parse(content: bytes, rules: bytes) -> dict[bytes, Scan]:
    start = len(_MAGIC) + 4
    if (
        not content.startswith(_MAGIC)
        or zlib.crc32(memoryview(content)[start:]) != struct.unpack_from("<I", content, start - 4)[0]
    ):
        raise ValueError("not a folder memo, or a damaged one")
    (length,) = struct.unpack_from("<I", content, start)
    at = start + 4 + length
    if content[start + 4 : at] != rules:
        raise ValueError("a folder memo made by other rules")
    scans = {}
    while at < len(content):
        path_size, inode, mtime, ctime, files_size, folders_size = _HEADER.unpack_from(content, at)
        at += _HEADER.size
        path = content[at : at + path_size]
        files = content[at + path_size : at + path_size + files_size]
        at += path_size + files_size + folders_size
        if at > len(content):
            raise ValueError("a cut folder memo")
        folders = content[at - folders_size : at]
        # Whoever can write the memo must not be able to list files outside the root.
        if b"/" in files or b"/" in folders or os.fsencode(os.sep) in files + folders:
            raise ValueError("a folder memo with paths for names")
        _names(files)  # to find those that are none
        scans[path] = Scan(inode, mtime, ctime, files, _names(folders))
    return scans


def _names(blob: bytes) -> tuple[bytes, ...]:
    names = tuple(blob.split(b"\0")) if blob else ()
    if any(name in (b"", b".", b"..") for name in names):
        raise ValueError("a folder memo with a name that is none")
    return names
