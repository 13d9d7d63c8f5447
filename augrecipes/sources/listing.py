"""The pictures below a folder, and the classes that its subfolders make.

Two layouts: *class folders*, ``root/<class>/**/picture``, where each folder directly below the root is a class, even
an empty one (so that the numbers of a class do not depend on which split is listed); or *flat*, pictures directly in
the root and no classes. A root with both does not say which of the two was meant: it is listed flat, folders and all,
and a warning says how to choose.

Pictures are told by extension. Names that start with a dot (``._photo.jpg`` too) and ``__MACOSX`` are passed over.
Order is by class, then by path, compared as bytes: the same on every machine. Links to folders are followed, but not
into a folder that they lie in.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from augrecipes import cache as caches
from augrecipes.errors import DataError
from augrecipes.remote import RemotePath, is_pattern, remote_place
from augrecipes.sources import folder_cache
from augrecipes.sources.folder_cache import Scan
from augrecipes.sources.paths import PathLike, PathTable

_log = logging.getLogger("augrecipes")

EXTENSIONS = frozenset(b"jpg jpeg jpe png bmp tif tiff webp gif pgm ppm pbm pnm jp2 j2k avif npy".split())
_SAME = {b"jpeg": b"jpg", b"jpe": b"jpg", b"tiff": b"tif", b"j2k": b"jp2"} | dict.fromkeys(
    (b"pgm", b"pbm", b"pnm"), b"ppm"
)
Layout = Literal["auto", "classes", "flat"]

_Part = tuple[bytes, Scan]  # what stands in front of the names of a folder, and the folder
_SKIPPED = (b"__MACOSX",)
_RULES = b" ".join(sorted(EXTENSIONS)).decode()
_REASONS: dict[int | None, str] = {
    errno.ENOENT: "no such folder", errno.ENOTDIR: "it is not a folder",
    errno.EACCES: "no permission to read it", errno.EPERM: "no permission to read it",
}  # fmt: skip
_NUMBERS = {FileNotFoundError: errno.ENOENT, NotADirectoryError: errno.ENOTDIR, PermissionError: errno.EACCES}
_MOST_FOLDERS = 1_000_000  # links can make more ways through few folders than anyone can walk


@dataclass(frozen=True, slots=True)
class Listing:
    """Pictures found below one or more folders.

    Attributes:
        paths: of the pictures.
        labels: int64, the class number of each picture; None in a flat folder.
        classes: class names, sorted as bytes; None in a flat folder.
    """

    paths: PathTable
    labels: NDArray[np.int64] | None = None
    classes: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def class_to_idx(self) -> dict[str, int] | None:
        """Class names to their numbers; None in a flat folder."""
        return None if self.classes is None else {name: i for i, name in enumerate(self.classes)}


def list_folder(root: PathLike, *, cache: bool = True, layout: Layout = "auto") -> Listing:
    """The pictures below `root`.

    Args:
        root: a folder; or the address of one, or of files by a pattern (``s3://bucket/photos/**/*.jpg``): names are
            then those behind the pattern's fixed part.
        cache: remember what was found, in the user's cache folder (see `augrecipes.sources.folder_cache`). Every
            folder's times are still checked, so a file that comes or goes is noticed. Addresses are always listed.
        layout: ``classes``: folders below the root are classes, pictures beside them are left out; ``flat``: no
            classes, pictures of all folders together; ``auto``: what the root looks like, and flat, with a warning
            in the log, where it looks like both.

    Raises:
        DataError: the folder is missing, unreadable or without pictures; names it.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as root:
    ...     for name in ("dog/2.PNG", "cat/1.jpg", "cat/notes.txt"):
    ...         file = pathlib.Path(root, name)
    ...         file.parent.mkdir(exist_ok=True)
    ...         file.touch()
    ...     found = list_folder(root)
    >>> found.classes, found.labels.tolist(), found.paths.name(0).replace(os.sep, "/")
    (('cat', 'dog'), [0, 1], 'cat/1.jpg')
    """
    return list_folders([root], cache=cache, layout=layout)


def list_folders(roots: Iterable[PathLike], *, cache: bool = True, layout: Layout = "auto") -> Listing:
    """The pictures below several folders, one after another; folders of equal names are one class.

    Args:
        roots: folders; see `list_folder` for these and the other arguments.
        cache: see `list_folder`.
        layout: see `list_folder`.

    Raises:
        DataError: as for `list_folder`, or if some roots have class folders and others have not.
    """
    if layout not in ("auto", "classes", "flat"):
        raise ValueError(f"layout must be 'auto', 'classes' or 'flat', not {layout!r}")
    encoded = [os.fsencode(root) for root in roots]
    if not encoded:
        raise DataError("no folder was given")
    found = [_list_one(root, cache=cache, layout=layout) for root in encoded]
    flat = [classes is None for classes, _ in found]
    if any(flat) and not all(flat):
        at = flat.index(True)
        raise DataError(
            "this folder is flat (pictures directly in it, no classes), but another root has class folders: "
            "choose with layout='classes' or layout='flat'",
            path=os.fsdecode(encoded[at]),
        )
    tables, of = [], list[tuple[bytes, int]]()
    for root, (_, groups) in zip(encoded, found, strict=True):
        for name, parts in groups:
            table = PathTable.from_names(_paths(parts), root=_root_of(root))
            of.append((name, len(table)))
            tables.append(table)
    paths = PathTable.concat(tables)
    if any(flat):
        return Listing(paths)
    classes = sorted({name for names, _ in found for name in names or ()})
    number = {name: i for i, name in enumerate(classes)}
    labels = np.repeat(np.array([number[name] for name, _ in of], np.int64), [count for _, count in of])
    return Listing(paths, labels, tuple(os.fsdecode(name) for name in classes))


def _paths(parts: Iterable[_Part]) -> list[bytes]:
    return sorted(above + name for above, scan in parts for name in scan.names)


def _list_one(
    root: bytes, *, cache: bool, layout: Layout
) -> tuple[list[bytes] | None, list[tuple[bytes, list[_Part]]]]:
    """Class names (None if flat), and the pictures of each class, or all, folder by folder."""
    here: list[_Part] = []
    below: dict[bytes, list[_Part]] = {}
    if (place := remote_place(root)) is not None:
        here, below = _elsewhere(place)
    for path, scan in _walk(root, cache=cache) if place is None else ():
        if not path:
            here = [(b"", scan)]
            below = {name: [] for name in scan.folders}
        else:
            below[path.split(b"/", 1)[0]].append((path + b"/", scan))
    direct, deeper = _count(here), sum(map(_count, below.values()))
    name = os.fsdecode(root)
    flat = layout == "flat" or (layout == "auto" and bool(direct or not deeper))
    if layout == "auto" and direct and deeper:
        _log.warning(
            "%s: %s pictures directly in this folder and %s in its subfolders: all are taken, without classes. "
            "layout='classes' makes classes of the subfolders and leaves out the rest; layout='flat' says that "
            "this is meant",
            name,
            f"{direct:,}",
            f"{deeper:,}",
        )
    if not (direct or deeper if flat else deeper):
        if is_pattern(name):
            raise DataError("no picture fits this pattern: * stops at a slash, and ** does not", path=name)
        raise DataError("no pictures in this folder" + ("" if flat else "'s subfolders"), path=name)
    _tell_of_formats(root, [scan for _, scan in [*here, *(part for parts in below.values() for part in parts)]])
    if flat:
        return None, [(b"", [*here, *(part for parts in below.values() for part in parts)])]
    return sorted(below), [(c, below[c]) for c in sorted(below)]


def _tell_of_formats(root: bytes, scans: Sequence[Scan]) -> None:
    """One line in the log where files of several formats lie together; arrays beside pictures are seldom meant."""
    files = b"\0".join(scan.files for scan in scans if scan.files).lower() + b"\0"
    total = files.count(b"\0")
    first = files[: files.index(b"\0")].rpartition(b".")[2]
    if files.count(b".%s\0" % first) == total:
        return
    found: dict[str, int] = {}
    for extension in EXTENSIONS:
        if count := files.count(b".%s\0" % extension):
            name = _SAME.get(extension, extension).decode()
            found[name] = found.get(name, 0) + count
    if len(found) > 1:
        counts = ", ".join(f"{found[name]:,} {name}" for name in sorted(found, key=lambda name: (-found[name], name)))
        _log.log(logging.WARNING if "npy" in found else logging.INFO, "%s mixes formats: %s", os.fsdecode(root), counts)


def _count(parts: Iterable[_Part]) -> int:
    return sum(scan.files.count(b"\0") + bool(scan.files) for _, scan in parts)


def _walk(root: bytes, *, cache: bool) -> list[tuple[bytes, Scan]]:
    """(path below the root, scan) of every folder; parents before children."""
    known = folder_cache.load(root, _RULES) if cache else {}
    found: list[tuple[bytes, Scan]] = []
    trusted: dict[bytes, Scan] = {}
    news = False
    todo: list[tuple[bytes, frozenset[tuple[int, int]]]] = [(b"", frozenset())]
    while todo:
        path, above = todo.pop()
        full = os.path.join(root, path) if path else root  # noqa: PTH118 (pathlib has no bytes)
        try:
            now, about = caches.now_ns(), os.stat(full)  # noqa: PTH116
            identity = (about.st_dev, about.st_ino)
            if identity in above:  # a link back up
                continue
            scan = known.get(path)
            if scan is not None and scan.matches(about):
                trusted[path] = scan
            else:
                scan, news = _scan(full, about), True
                if caches.settled(about, now):
                    trusted[path] = scan
        except OSError as error:
            raise DataError(f"this folder cannot be listed: {_why(error)}", path=os.fsdecode(full)) from None
        found.append((path, scan))
        if len(found) > _MOST_FOLDERS:
            raise DataError(f"more than {_MOST_FOLDERS:,} folders", path=os.fsdecode(root))
        inside = above | {identity}
        todo += [(path + b"/" + name if path else name, inside) for name in scan.folders]
    if cache and news and trusted:
        folder_cache.save(root, _RULES, trusted)
    return found


def _elsewhere(place: RemotePath) -> tuple[list[_Part], dict[bytes, list[_Part]]]:
    """The pictures directly in a folder elsewhere, or of a pattern, and those in each folder in it."""
    found: dict[bytes, list[bytes]] = {b"": []}
    try:
        names = [os.fsencode(name) for name in place.files()]
    except OSError as error:
        raise DataError(f"this folder cannot be listed: {_why(error)}", path=str(place)) from None
    for name in names:
        parts = name.split(b"/")
        if any(part.startswith(b".") or part in _SKIPPED for part in parts):
            continue
        folder = found.setdefault(parts[0] if len(parts) > 1 else b"", [])
        if b"." in parts[-1] and parts[-1].rpartition(b".")[2].lower() in EXTENSIONS:
            folder.append(name)
    below = {name: [(b"", Scan(0, 0, 0, b"\0".join(paths), ()))] for name, paths in found.items()}
    return below.pop(b""), below


def _root_of(root: bytes) -> bytes:
    """What names are relative to: a folder itself, of a pattern the folder in front of it."""
    place = remote_place(root)
    return root if place is None else os.fsencode(place.fixed.url)


def _scan(full: bytes, about: os.stat_result) -> Scan:
    files, folders = [], []
    with os.scandir(full) as entries:
        for entry in entries:
            name = entry.name
            if name.startswith(b".") or name in _SKIPPED:
                continue
            if entry.is_dir():
                folders.append(name)
            elif name.rpartition(b".")[2].lower() in EXTENSIONS and b"." in name:
                files.append(name)
    return Scan(about.st_ino, about.st_mtime_ns, about.st_ctime_ns, b"\0".join(sorted(files)), tuple(sorted(folders)))


def _why(error: OSError) -> str:
    number = error.errno or _NUMBERS.get(type(error))  # drivers of fsspec give no number
    return _REASONS.get(number) or error.strerror or str(error)
