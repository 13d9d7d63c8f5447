"""What lies on disk: `verify-store` of packed datasets, and `cache` of what runs keep."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from augrecipes.cache import CACHES, DAY, Cache, cache_folder
from augrecipes.cli.parsing import refusal
from augrecipes.cli.terminal import answer, good, in_bytes, listed, paint, progress, say, say_line, show
from augrecipes.errors import StoreError, counted

if TYPE_CHECKING:
    from augrecipes.store import Fault

_LISTED = 20  # faults that are named
_WHAT = "a folder that `augrecipes pack` has made"


def verify_store(args: Namespace) -> None:
    """Read a packed dataset from end to end and compare every byte with its checksums.

    \b
    Example:
      augrecipes verify-store photos-128

    Exit status: 0 every byte is as it was packed, 1 some are not (the inputs are named), 2 there is no such store.
    """
    stores = [*args.words, *args.data]
    if len(stores) != 1:
        raise refusal("one store at a time" if stores else f"which store? Give {_WHAT}", "STORE")
    from augrecipes.paths import address_of, local
    from augrecipes.store import is_store
    from augrecipes.store.verify import verify_store as faults_in

    store = address_of(stores[0]) or local(stores[0])
    if isinstance(store, Path) and not store.is_dir():
        what = "this is no folder" if store.exists() else "there is no such folder"
        raise refusal(f"{stores[0]}: {what}; a store is {_WHAT}", "STORE")
    if not is_store(store, damaged=True):
        raise StoreError(f"this is no store; a store is {_WHAT}", stores[0])
    with progress("verifying") as advance:
        faults = faults_in(store, advance)
    answer(args, {"store": str(store), "faults": faults}, lambda: _tell_faults(faults), status=int(bool(faults)))


def _tell_faults(faults: Sequence[Fault]) -> None:
    listed("", [_line(fault) for fault in faults], _LISTED)
    if faults:
        say(paint(f"{len(faults):,} damaged: pack the data again", "error", sys.stdout))
    else:
        good("every byte is as it was packed")


def _line(fault: Fault) -> str:
    where = "" if fault.row is None else f": row {fault.row} of {fault.target}"
    return f"{fault.path}{where}: {fault.reason}"


def cache(args: Namespace) -> None:
    """Show what is kept from run to run in your cache folder, or clear it. Nothing is kept beside your data.

    The folder is where AUGRECIPES_CACHE says, or where the system has caches. It may be cleared at any time.

    \b
    Examples:
      augrecipes cache
      augrecipes cache --clear
      augrecipes cache --clear folders
    """
    by_name = {each.name: each for each in CACHES}
    for name in args.names:
        if name not in by_name:
            raise refusal(f"there is no cache {name!r}; there are {', '.join(by_name)}", "NAME")
    used = [_use(by_name[name], args.clear) for name in args.names or by_name]
    answer(args, used, lambda: _tell_use(used, args.clear))


def _use(cache: Cache, clear: bool) -> dict[str, Any]:
    """What one cache holds, or held: its files, their bytes, and the seconds since the last and the first was used."""
    ages = [] if clear else [time.time() - file.used for file in cache.files()]
    files, size = cache.clear() if clear else (len(ages), sum(file.size for file in cache.files()))
    use = {"cache": cache.name, "about": cache.about, "folder": str(cache.folder), "files": files, "bytes": size}
    return {**use, "last_used": min(ages, default=None), "first_used": max(ages, default=None)}


def _tell_use(used: list[dict[str, Any]], cleared: bool) -> None:
    from augrecipes.report import Report, TextTable

    say_line(cache_folder())
    say()
    columns = 4 if cleared else 5
    rows = [
        (use["cache"], use["about"], f"{use['files']:,}", in_bytes(use["bytes"]), _age(use["last_used"]))
        for use in used
    ]
    headings = ("cache", "of", "files", "size", "last used")[:columns]
    show(Report(tables=[TextTable("", headings, [row[:columns] for row in rows], right=(2, 3, 4))]))
    if cleared:
        say()
        files, size = (sum(use[key] for use in used) for key in ("files", "bytes"))
        good(f"cleared {counted(files, 'file')}, {in_bytes(size)}")


def _age(seconds: float | None) -> str:
    """A stretch of time in its largest unit.

    >>> [_age(s) for s in (None, 3, 200, 7200, 8e6)]
    ['', '3 s ago', '3 min ago', '2 h ago', '92 d ago']
    """
    if seconds is None:
        return ""
    for unit, size in (("d", DAY), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{int(seconds // size):,} {unit} ago"
    return f"{max(int(seconds), 0)} s ago"
