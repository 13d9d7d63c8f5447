"""A memo of folder scans, kept on disk, so that a data set of many files is not listed again for every run.

One record a folder: its inode, mtime and ctime, and the names found in it. A folder is scanned again as soon as one of
the three differs. A folder that changed within the last seconds is never recorded: a file added in the same tick of
the clock, after the scan, would leave the times as they are.

A memo lies in the user's cache folder, never beside the data, and is known by the device and inode of the folder, so it
is found again under any path, and after a move. It is a hint: whatever is wrong with it, the folders are scanned.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass

import numpy as np

from augrecipes.cache import FOLDERS, Arrays, identity, keep, recall

_TIMES = np.dtype([("inode", "u8"), ("mtime", "i8"), ("ctime", "i8")])


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


def load(root: bytes, rules: str) -> dict[bytes, Scan]:
    """The recorded scans below `root`, by relative path; empty where there are none or they are damaged.

    Args:
        root: the listed folder.
        rules: what files are taken; a memo made by other rules is not used.
    """
    found: dict[bytes, Scan] = {}
    with contextlib.suppress(OSError, ValueError, KeyError):
        if (kept := recall(FOLDERS, identity(root), rules)) is None:
            return {}
        blob, at = kept["text"].tobytes(), 0
        for lengths, times in zip(kept["lengths"].tolist(), kept["times"].tolist(), strict=True):
            path, files, folders = (blob[at + sum(lengths[:k]) : at + sum(lengths[: k + 1])] for k in range(3))
            at += sum(lengths)
            # Whoever can write the memo must not be able to list files outside the root.
            if b"/" in files or b"/" in folders or os.fsencode(os.sep) in files + folders:
                return {}
            names = tuple(folders.split(b"\0")) if folders else ()
            if not {b"", b".", b".."}.isdisjoint((*names, *(files.split(b"\0") if files else ()))):
                return {}
            found[path] = Scan(times[0], times[1], times[2], files, names)
    return found


def save(root: bytes, rules: str, scans: dict[bytes, Scan]) -> None:
    """Records scans in the user's cache folder; does nothing where it cannot be written."""
    rows = [(path, scan.files, b"\0".join(scan.folders)) for path, scan in scans.items()]
    times = [(scan.inode, scan.mtime_ns, scan.ctime_ns) for scan in scans.values()]
    arrays: Arrays = {
        "text": np.frombuffer(b"".join(part for row in rows for part in row), np.uint8),
        "lengths": np.array([[*map(len, row)] for row in rows], np.int64).reshape(-1, 3),
        "times": np.array(times, _TIMES),
    }
    with contextlib.suppress(OSError):  # the root has gone
        keep(FOLDERS, identity(root), rules, arrays)
