"""Lists the images below a folder, and its subfolders as classes.

Two layouts: *class folders*, ``root/<class>/**/image``, where each folder directly below the root is a class, even
an empty one (so that class numbers do not depend on the split); or *flat*, images directly in the root and no
classes. A root with both is ambiguous: it is listed flat, including its folders, and a warning says how to choose.

Images are known by extension. Hidden names and system folders (``@eaDir``, ``#recycle``) are skipped. The log names
the classes, and asks where they look like splits. The order is by class, then by path, compared as bytes: the same on
every machine. Links to folders are followed, except into a folder that they lie in.

The listing is cached in the user's cache folder, so that later runs need not list many files again: for each folder its
inode, mtime and ctime, and the names in it. A folder is scanned again if one of the three differs. A folder that
changed within the last seconds is not cached, as a file added in the same clock tick would leave the times unchanged.
The key is the device and inode of the root, so that the entry is valid for any path, and after a move. If a cache entry
is damaged in any way, the folders are scanned.
"""

import contextlib
import os
import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np

from augrecipes import cache as caches
from augrecipes.errors import DataError, counted, logger
from augrecipes.paths import EXTENSIONS, SKIPPED, is_image
from augrecipes.remote import RemotePath, remote_place
from augrecipes.sources.columns import Columns
from augrecipes.sources.names import is_folder
from augrecipes.sources.paths import PathLike, PathTable
from augrecipes.sources.stacks import holds_stacks

Layout = Literal["auto", "classes", "flat"]

_SPLITS = re.compile(r"(train(ing)?|val(id(ation)?)?|dev|test(ing)?|eval(uation)?)[-_]?(\d{4})?$", re.IGNORECASE)
_RULES = (b" ".join(sorted(EXTENSIONS)) + SKIPPED.pattern).decode()
_REASONS: dict[type[OSError], str] = {
    FileNotFoundError: "no such folder", NotADirectoryError: "it is not a folder",
    PermissionError: "no permission to read it",
}  # fmt: skip
_MOST_FOLDERS = 1_000_000  # links can make endlessly many paths through few folders


class Scan(NamedTuple):
    """One folder as it was scanned.

    Attributes:
        times: its inode, mtime and ctime before the scan, modulo 2⁶⁴.
        files: names of images, sorted, joined by zero bytes: a fraction of the memory of a list.
        folders: names of folders, likewise.
    """

    times: tuple[int, ...]
    files: bytes
    folders: bytes


_Part = tuple[bytes, Scan]  # the prefix of the names in a folder, and its scan


def list_folders(
    roots: Iterable[PathLike], *, cache: bool = True, layout: Layout = "auto", stacks: bool = False
) -> Columns:
    """The images below several folders, one after another; folders of equal names are one class.

    Args:
        roots: folders, or their addresses.
        cache: whether to cache the listing. Every folder's times are still checked, so added and removed files are
            noticed. Addresses are always listed.
        layout: ``classes``: folders below the root are classes, images beside them are left out; ``flat``: no
            classes, images of all folders together; ``auto``: as the root looks, and flat, with a warning in the log,
            where it looks like both.
        stacks: a folder of frames counts as one image of its name.

    Raises:
        DataError: a folder is missing, unreadable or without images, or only some roots have class folders; the message
            names the folder.

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
        place = remote_place(root)  # restores the slash of `://` that pathlib drops
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
    _log_classes(os.fsdecode(encoded[0]), named, asks=layout == "auto")
    return Columns(files=files, labels=labels, classes=named, class_to_idx={name: k for k, name in enumerate(named)})


def _log_classes(root: str, names: tuple[str, ...], *, asks: bool) -> None:
    """Log the classes; warn where they look like splits of a data set, or are a single folder."""
    logger.info("%s: %s: %s", root, counted(len(names), "class"), ", ".join(names))
    if asks and (len(names) == 1 or all(map(_SPLITS.match, names))):
        what = "%s: no classes but %s: is that meant? Then say layout='classes'. Else give %s/%s, or layout='flat'"
        logger.warning(what, root, " and ".join(names), root, names[0])


def _names(joined: bytes) -> list[bytes]:
    return joined.split(b"\0") if joined else []


def _list_one(root: bytes, *, cache: bool, layout: Layout, stacks: bool) -> dict[bytes | None, list[_Part]]:
    """The scanned folders of each class, by name in order; for a flat root all of them under None."""
    place = remote_place(root)
    here: list[_Part] = []
    below: dict[bytes, list[_Part]] = {}
    scans = _walk(root, cache=cache) if place is None else _walk_remote(place)
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
        logger.warning(what, name, counted(direct, "image"), deeper)
    if not (direct or deeper if flat else deeper):
        raise DataError("no images in this folder" + ("" if flat else "'s subfolders"), path=name)
    if not flat and here[0][1].files:
        first = os.fsdecode(_names(here[0][1].files)[0])
        logger.warning("%s: %s beside the folders, not read (%s first)", name, counted(direct, "image"), first)
    return {None: every} if flat else dict(sorted(below.items()))


def _with_stacks(root: bytes, scans: list[_Part]) -> list[_Part]:
    """The scans, with each folder of frames turned into a file of its parent."""
    if remote_place(root) is not None:
        raise DataError("stacks of frames are read from folders of this machine", path=os.fsdecode(root))
    entries = {path: (set(_names(scan.files)), set(_names(scan.folders))) for path, scan in scans}
    for path in [path for path, (files, _) in entries.items() if files and not holds_stacks(root, path, files)]:
        parent, _, name = path.rpartition(b"/")
        files, folders = entries[path]
        files.clear()
        entries[parent][0].add(name or b".")
        if path and not folders:
            entries[parent][1].remove(name)
            del entries[path]
    return [(path, Scan((), *(b"\0".join(sorted(names)) for names in entry))) for path, entry in entries.items()]


def _count(parts: Iterable[_Part]) -> int:
    return sum(scan.files.count(b"\0") + bool(scan.files) for _, scan in parts)


def _walk(root: bytes, *, cache: bool) -> list[tuple[bytes, Scan]]:
    """The relative path and the scan of every folder, parents before children."""
    known = _recall(root) if cache else {}
    scans: list[tuple[bytes, Scan]] = []
    cacheable: dict[bytes, Scan] = {}
    changed = False
    todo: list[tuple[bytes, frozenset[tuple[int, int]]]] = [(b"", frozenset())]
    while todo:
        path, parents = todo.pop()
        full = os.path.join(root, path) if path else root  # noqa: PTH118 (pathlib has no bytes)
        try:
            now, status = caches.now_ns(), os.stat(full)  # noqa: PTH116
            identity = (status.st_dev, status.st_ino)
            if identity in parents:  # a link to a parent folder
                continue
            scan = known.get(path)
            if scan is None or scan.times != _times(status):
                scan, changed = _scan(full, status), True
            if scan is known.get(path) or caches.settled(status, now):
                cacheable[path] = scan
        except OSError as error:
            raise DataError(f"this folder cannot be listed: {_why(error)}", path=os.fsdecode(full)) from None
        scans.append((path, scan))
        if len(scans) > _MOST_FOLDERS:
            raise DataError(f"more than {_MOST_FOLDERS:,} folders", path=os.fsdecode(root))
        inside = parents | {identity}
        todo += [(path + b"/" + name if path else name, inside) for name in _names(scan.folders)]
    if cache and changed and cacheable:
        _remember(root, cacheable)
    return scans


def _recall(root: bytes) -> dict[bytes, Scan]:
    """The cached scans below a root, by relative path; empty if there are none or they are damaged."""
    scans: dict[bytes, Scan] = {}
    with contextlib.suppress(OSError, ValueError, KeyError):
        if (entry := caches.recall(caches.FOLDERS, caches.identity(root), _RULES)) is None:
            return {}
        blob, ends = entry["text"].tobytes(), np.cumsum(entry["lengths"]).tolist()
        parts = [blob[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        rows = zip(parts[::3], parts[1::3], parts[2::3], entry["times"].tolist(), strict=True)
        for path, files, folders, times in rows:
            # A forged cache entry must not be able to list files outside the root.
            if b"/" in files + folders or os.fsencode(os.sep) in files + folders:
                return {}
            if not {b"", b".", b".."}.isdisjoint(_names(files) + _names(folders)):
                return {}
            scans[path] = Scan(tuple(times), files, folders)
    return scans


def _remember(root: bytes, scans: dict[bytes, Scan]) -> None:
    """Write scans to the user's cache folder; do nothing where it cannot be written."""
    parts = [part for path, scan in scans.items() for part in (path, scan.files, scan.folders)]
    arrays: caches.Arrays = {
        "text": np.frombuffer(b"".join(parts), np.uint8),
        "lengths": np.array([*map(len, parts)], np.int64),
        "times": np.array([scan.times for scan in scans.values()], np.uint64).reshape(-1, 3),
    }
    with contextlib.suppress(OSError):  # the root no longer exists
        caches.keep(caches.FOLDERS, caches.identity(root), _RULES, arrays)


def _times(status: os.stat_result) -> tuple[int, ...]:
    return tuple(value % (1 << 64) for value in (status.st_ino, status.st_mtime_ns, status.st_ctime_ns))


def _walk_remote(place: RemotePath) -> list[_Part]:
    """As `_walk` for a remote folder: the root, and each folder directly in it with all images below."""
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


def _scan(full: bytes, status: os.stat_result) -> Scan:
    files, folders = [], []
    with os.scandir(full) as entries:
        for entry in entries:
            name = entry.name
            if SKIPPED.match(name):
                continue
            if is_folder(entry):
                folders.append(name)
            elif name.rpartition(b".")[2].lower() in EXTENSIONS and b"." in name:  # `is_image`, inlined for speed
                files.append(name)
    return Scan(_times(status), b"\0".join(sorted(files)), b"\0".join(sorted(folders)))


def _why(error: OSError) -> str:
    return _REASONS.get(type(error)) or error.strerror or str(error)
