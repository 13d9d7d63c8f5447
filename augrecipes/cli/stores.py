"""Files on disk: `verify-store` checks packed datasets, `cache` shows or clears the caches."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from augrecipes.cache import CACHES, Cache, cache_folder
from augrecipes.cli.parsing import refusal
from augrecipes.cli.terminal import answer, good, in_bytes, listed, paint, progress, say, say_line, show
from augrecipes.errors import StoreError, counted

if TYPE_CHECKING:
    from augrecipes.store import Fault

_LISTED = 20  # faults that are named
_WHAT = "a folder made by `augrecipes pack`"


def verify_store(args: Namespace) -> None:
    """Read a packed dataset from end to end and compare every byte with its checksums.

    \b
    Example:
      augrecipes verify-store photos-128

    Exit status: 0 every byte is as it was packed, 1 some bytes are not (their files are named), 2 no such store.
    """
    stores = [*args.words, *args.data]
    if len(stores) != 1:
        raise refusal("one store at a time; give one folder" if stores else f"which store? Give {_WHAT}", "STORE")
    from augrecipes.paths import address_of, local
    from augrecipes.store import is_store
    from augrecipes.store.verify import verify_store as faults_in

    store = address_of(stores[0]) or local(stores[0])
    if not is_store(store, damaged=True):
        raise StoreError(f"this is not a store; a store is {_WHAT}", stores[0])
    with progress("verifying") as advance:
        faults = faults_in(store, advance)
    answer(args, {"store": str(store), "faults": faults}, lambda: _tell_faults(faults), status=int(bool(faults)))


def _tell_faults(faults: Sequence[Fault]) -> None:
    rows = ("" if fault.row is None else f": row {fault.row} of {fault.target}" for fault in faults)
    listed("", [f"{fault.path}{row}: {fault.reason}" for fault, row in zip(faults, rows, strict=True)], _LISTED)
    if faults:
        say(paint(f"{len(faults):,} damaged: pack the data again", "error", sys.stdout))
    else:
        good("every byte is as it was packed")


def cache(args: Namespace) -> None:
    """Show what your cache folder keeps from run to run, or clear it. Nothing is written beside your data.

    The folder is AUGRECIPES_CACHE, or lies in the system's cache folder. You may clear it at any time.

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
    """Return what a cache holds, or held before it was cleared: its files and their bytes."""
    files, size = cache.clear() if clear else (len(kept := [*cache.files()]), sum(file.size for file in kept))
    return {"cache": cache.name, "about": cache.about, "folder": str(cache.folder), "files": files, "bytes": size}


def _tell_use(used: list[dict[str, Any]], cleared: bool) -> None:
    from augrecipes.report import Report, TextTable

    say_line(cache_folder())
    say()
    rows = [(use["cache"], use["about"], f"{use['files']:,}", in_bytes(use["bytes"])) for use in used]
    show(Report(tables=[TextTable("", ("cache", "of", "files", "size"), rows, right=(2, 3))]))
    if cleared:
        say()
        files, size = (sum(use[key] for use in used) for key in ("files", "bytes"))
        good(f"cleared {counted(files, 'file')}, {in_bytes(size)}")
