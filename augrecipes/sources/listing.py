"""The images below a folder, and the classes that its subfolders make.

Two layouts: *class folders*, ``root/<class>/**/image``, where each folder directly below the root is a class, even
an empty one (so that the numbers of a class do not depend on which split is listed); or *flat*, images directly in
the root and no classes. A root with both does not say which of the two was meant: it is listed flat, folders and all,
and a warning says how to choose.

Images are told by extension. Hidden names, and folders that systems make (``@eaDir``, ``#recycle``), are passed over.
The log names the classes, and asks where they seem to be none. Order is by class, then by path, compared as bytes: the
same on every machine. Links to folders are followed, but not into a folder that they lie in.

What was found is remembered in the user's cache folder, so that many files are not listed again for every run: of each
folder its inode, mtime and ctime, and the names in it. It is scanned again as soon as one of the three differs; one
that changed within the last seconds is never remembered, as a file added in the same tick of the clock would leave the
times as they are. The memo is known by the device and inode of the root, so it is found under any path, and after a
move. It is a hint: whatever is wrong with it, the folders are scanned.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np

from augrecipes import cache as caches
from augrecipes.errors import DataError, counted
from augrecipes.paths import EXTENSIONS, SKIPPED, is_image
from augrecipes.remote import RemotePath, remote_place
from augrecipes.sources.columns import Columns
from augrecipes.sources.names import is_folder
from augrecipes.sources.paths import PathLike, PathTable
from augrecipes.sources.stacks import holds_stacks

_log = logging.getLogger("augrecipes")

Layout = Literal["auto", "classes", "flat"]

_SPLITS = re.compile(r"(train(ing)?|val(id(ation)?)?|dev|test(ing)?|eval(uation)?)[-_]?(\d{4})?$", re.IGNORECASE)
_RULES = (b" ".join(sorted(EXTENSIONS)) + SKIPPED.pattern).decode()
_REASONS: dict[type[OSError], str] = {
    FileNotFoundError: "no such folder", NotADirectoryError: "it is not a folder",
    PermissionError: "no permission to read it",
}  # fmt: skip
_MOST_FOLDERS = 1_000_000  # links can make more ways through few folders than anyone can walk


class Scan(NamedTuple):
    """One folder as it was scanned.

    Attributes:
        times: its inode, mtime and ctime before the scan, modulo 2⁶⁴.
        files: names of images, sorted, a zero byte between two: a fraction of the memory of so many objects.
        folders: names of folders, likewise.
    """

    times: tuple[int, ...]
    files: bytes
    folders: bytes


_Part = tuple[bytes, Scan]  # what stands in front of the names of a folder, and the folder


def list_folders(
    roots: Iterable[PathLike], *, cache: bool = True, layout: Layout = "auto", stacks: bool = False
) -> Columns:
    """The images below several folders, one after another; folders of equal names are one class.

    Args:
        roots: folders, or addresses of them.
        cache: remember what was found. Every folder's times are still checked, so a file that comes or goes is noticed.
            Addresses are always listed.
        layout: ``classes``: folders below the root are classes, images beside them are left out; ``flat``: no
            classes, images of all folders together; ``auto``: what the root looks like, and flat, with a warning
            in the log, where it looks like both.
        stacks: a folder of frames counts as one image, and stands under its name.

    Raises:
        DataError: a folder is missing, unreadable or without images, or some roots have class folders and others have
            not; names it.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as root:
    ...     for name in ("dog/2.PNG", "cat/1.jpg", "cat/notes.txt"):
    ...         file = pathlib.Path(root, name)
    ...         file.parent.mkdir(exist_ok=True)
    ...         file.touch()
    ...     found = list_folders([root])
    >>> found.classes, found.labels.tolist(), found.images.name(0).replace(os.sep, "/")
    (('cat', 'dog'), [0, 1], 'cat/1.jpg')
    """
    if layout not in ("auto", "classes", "flat"):
        raise ValueError(f"layout must be 'auto', 'classes' or 'flat', not {layout!r}")
    encoded = [os.fsencode(root) for root in roots]
    if not encoded:
        raise DataError("no folder was given")
    listings = [_list_one(root, cache=cache, layout=layout, stacks=stacks) for root in encoded]
    flat = [None in groups for groups in listings]
    if any(flat) and not all(flat):
        what = "this folder is flat (images directly in it, no classes), but another root has class folders: choose "
        raise DataError(f"{what}with layout='classes' or layout='flat'", os.fsdecode(encoded[flat.index(True)]))
    tables, classes = [], list[bytes]()
    for root, groups in zip(encoded, listings, strict=True):
        place = remote_place(root)  # which has the slash again that a path has lost
        for name, parts in groups.items():
            names = sorted(above + file for above, scan in parts for file in _names(scan.files))
            tables.append(PathTable.from_names(names, root=root if place is None else os.fsencode(place.url)))
            classes.append(name or b"")
    files = {"image": PathTable.concat(tables)}
    if any(flat):
        return Columns(files=files)
    known, numbers = np.unique(np.array(classes, object), return_inverse=True)
    labels = np.repeat(numbers.astype(np.int64), [len(table) for table in tables])
    named = tuple(map(os.fsdecode, known))
    _tell_of_classes(os.fsdecode(encoded[0]), named, asks=layout == "auto")
    return Columns(files=files, labels=labels, classes=named, class_to_idx={name: k for k, name in enumerate(named)})


def _tell_of_classes(root: str, names: tuple[str, ...], *, asks: bool) -> None:
    """One line in the log: the classes; a question where they are the splits of a data set, or a single folder."""
    _log.info("%s: %s: %s", root, counted(len(names), "class"), ", ".join(names))
    if asks and (len(names) == 1 or all(map(_SPLITS.match, names))):
        what = "%s: no classes but %s: is that meant? Then say layout='classes'. Else give %s/%s, or layout='flat'"
        _log.warning(what, root, " and ".join(names), root, names[0])


def _names(joined: bytes) -> list[bytes]:
    return joined.split(b"\0") if joined else []


def _list_one(root: bytes, *, cache: bool, layout: Layout, stacks: bool) -> dict[bytes | None, list[_Part]]:
    """The images of each class, in their order, folder by folder; of a flat folder all of them by None."""
    place = remote_place(root)
    here: list[_Part] = []
    below: dict[bytes, list[_Part]] = {}
    scans = _walk(root, cache=cache) if place is None else _elsewhere(place)
    for path, scan in _with_stacks(root, scans) if stacks else scans:
        if not path:
            here, below = [(b"", scan)], {name: [] for name in _names(scan.folders)}
        else:
            below[path.split(b"/", 1)[0]].append((path + b"/", scan))
    every = [*here, *(part for parts in below.values() for part in parts)]
    direct = _count(here)
    deeper = _count(every) - direct
    name = os.fsdecode(root)
    flat = layout == "flat" or (layout == "auto" and bool(direct or not deeper))
    if layout == "auto" and direct and deeper:
        what = (
            "%s: %s directly in this folder and %d in its subfolders: all are taken, without classes. layout='classes' "
            "makes classes of the subfolders and leaves out the rest; layout='flat' says that this is meant"
        )
        _log.warning(what, name, counted(direct, "image"), deeper)
    if not (direct or deeper if flat else deeper):
        raise DataError("no images in this folder" + ("" if flat else "'s subfolders"), path=name)
    if not flat and here[0][1].files:
        first = os.fsdecode(_names(here[0][1].files)[0])
        _log.warning("%s: %s beside the folders, not read (%s first)", name, counted(direct, "image"), first)
    return {None: every} if flat else dict(sorted(below.items()))


def _with_stacks(root: bytes, scans: list[_Part]) -> list[_Part]:
    """The folders that were scanned, each folder of frames a file of the one that holds it."""
    if remote_place(root) is not None:
        raise DataError("stacks of frames are read from folders of this machine", path=os.fsdecode(root))
    found = {path: (set(_names(scan.files)), set(_names(scan.folders))) for path, scan in scans}
    for path in [path for path, (files, _) in found.items() if files and not holds_stacks(root, path, files)]:
        above, _, name = path.rpartition(b"/")
        files, folders = found[path]
        files.clear()
        found[above][0].add(name or b".")
        if path and not folders:
            found[above][1].remove(name)
            del found[path]
    return [(path, Scan((), *(b"\0".join(sorted(names)) for names in entry))) for path, entry in found.items()]


def _count(parts: Iterable[_Part]) -> int:
    return sum(scan.files.count(b"\0") + bool(scan.files) for _, scan in parts)


def _walk(root: bytes, *, cache: bool) -> list[tuple[bytes, Scan]]:
    """(path below the root, scan) of every folder; parents before children."""
    known = _recall(root) if cache else {}
    scans: list[tuple[bytes, Scan]] = []
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
            if scan is None or scan.times != _times(about):
                scan, news = _scan(full, about), True
            if scan is known.get(path) or caches.settled(about, now):
                trusted[path] = scan
        except OSError as error:
            raise DataError(f"this folder cannot be listed: {_why(error)}", path=os.fsdecode(full)) from None
        scans.append((path, scan))
        if len(scans) > _MOST_FOLDERS:
            raise DataError(f"more than {_MOST_FOLDERS:,} folders", path=os.fsdecode(root))
        inside = above | {identity}
        todo += [(path + b"/" + name if path else name, inside) for name in _names(scan.folders)]
    if cache and news and trusted:
        _remember(root, trusted)
    return scans


def _recall(root: bytes) -> dict[bytes, Scan]:
    """The remembered scans below a root, by relative path; empty where there are none or they are damaged."""
    scans: dict[bytes, Scan] = {}
    with contextlib.suppress(OSError, ValueError, KeyError):
        if (memo := caches.recall(caches.FOLDERS, caches.identity(root), _RULES)) is None:
            return {}
        blob, ends = memo["text"].tobytes(), np.cumsum(memo["lengths"]).tolist()
        parts = [blob[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        rows = zip(parts[::3], parts[1::3], parts[2::3], memo["times"].tolist(), strict=True)
        for path, files, folders, times in rows:
            # Whoever can write the memo must not be able to list files outside the root.
            if b"/" in files + folders or os.fsencode(os.sep) in files + folders:
                return {}
            if not {b"", b".", b".."}.isdisjoint(_names(files) + _names(folders)):
                return {}
            scans[path] = Scan(tuple(times), files, folders)
    return scans


def _remember(root: bytes, scans: dict[bytes, Scan]) -> None:
    """Keeps scans in the user's cache folder; does nothing where it cannot be written."""
    parts = [part for path, scan in scans.items() for part in (path, scan.files, scan.folders)]
    arrays: caches.Arrays = {
        "text": np.frombuffer(b"".join(parts), np.uint8),
        "lengths": np.array([*map(len, parts)], np.int64),
        "times": np.array([scan.times for scan in scans.values()], np.uint64).reshape(-1, 3),
    }
    with contextlib.suppress(OSError):  # the root has gone
        caches.keep(caches.FOLDERS, caches.identity(root), _RULES, arrays)


def _times(about: os.stat_result) -> tuple[int, ...]:
    return tuple(value % (1 << 64) for value in (about.st_ino, about.st_mtime_ns, about.st_ctime_ns))


def _elsewhere(place: RemotePath) -> list[_Part]:
    """The same of a folder elsewhere: it, and each folder in it with the images below."""
    by_folder: dict[bytes, list[bytes]] = {b"": []}
    try:
        names = [os.fsencode(name) for name in place.files()]
    except OSError as error:
        raise DataError(f"this folder cannot be listed: {_why(error)}", path=str(place)) from None
    for name in names:
        parts = name.split(b"/")
        if not any(map(SKIPPED.match, parts)):
            top = parts[0] if len(parts) > 1 else b""
            files = by_folder.setdefault(top, [])
            if is_image(parts[-1]):
                files.append(name.removeprefix(top + b"/"))
    folders = b"\0".join(filter(None, by_folder))
    return [(top, Scan((), b"\0".join(files), b"" if top else folders)) for top, files in by_folder.items()]


def _scan(full: bytes, about: os.stat_result) -> Scan:
    files, folders = [], []
    with os.scandir(full) as entries:
        for entry in entries:
            name = entry.name
            if SKIPPED.match(name):
                continue
            if is_folder(entry):
                folders.append(name)
            elif name.rpartition(b".")[2].lower() in EXTENSIONS and b"." in name:  # a call takes a third of a listing
                files.append(name)
    return Scan(_times(about), b"\0".join(sorted(files)), b"\0".join(sorted(folders)))


def _why(error: OSError) -> str:
    return _REASONS.get(type(error)) or error.strerror or str(error)
