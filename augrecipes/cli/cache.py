"""`augrecipes cache`: what is kept from run to run, and how to let go of it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated

import typer

from augrecipes.cache import CACHES, DAY, Cache, cache_folder
from augrecipes.cli.answers import Json, answer
from augrecipes.cli.options import option
from augrecipes.cli.terminal import good, in_bytes, say, say_line, show
from augrecipes.errors import counted


@dataclass(frozen=True)
class CacheUse:
    """What one cache holds, or held: its files, their bytes, and the seconds since the last and the first was used."""

    cache: str
    about: str
    folder: str
    files: int
    bytes: int
    last_used: float | None = None
    first_used: float | None = None


def cache(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Which ones; all where none is named.")
    ] = None,
    clear: Annotated[bool, option("--clear", None, "Empty them; they are rebuilt when needed.")] = False,
    json_: Json = None,
) -> None:
    """Show what is kept from run to run in your cache folder, or clear it. Nothing is kept beside your data.

    The folder is where AUGRECIPES_CACHE says, or where the system has caches. It may be cleared at any time.

    \b
    Examples:
      augrecipes cache
      augrecipes cache --clear
      augrecipes cache --clear folders
    """
    asked = [_named(name) for name in names] if names else CACHES
    held = [_cleared(one) if clear else _held(one) for one in asked]
    answer(held, json_, lambda: _tell(held, clear))


def _named(name: str) -> Cache:
    for one in CACHES:
        if one.name == name:
            return one
    raise typer.BadParameter(f"there is no cache {name!r}; there are {', '.join(c.name for c in CACHES)}",
                             param_hint="NAME")  # fmt: skip


def _held(cache: Cache) -> CacheUse:
    files, now = list(cache.files()), time.time()
    ages = [now - file.used for file in files]
    last, first = (min(ages), max(ages)) if ages else (None, None)
    return CacheUse(
        cache.name, cache.about, str(cache.folder), len(files), sum(file.size for file in files), last, first
    )


def _cleared(cache: Cache) -> CacheUse:
    return CacheUse(cache.name, cache.about, str(cache.folder), *cache.clear())


def _tell(held: list[CacheUse], cleared: bool) -> None:
    from augrecipes.report import Report, TextTable

    say_line(cache_folder())
    say()
    rows = [
        [one.cache, one.about, f"{one.files:,}", in_bytes(one.bytes), *([] if cleared else [_age(one.last_used)])]
        for one in held
    ]
    headings = ["cache", "of", "files", "size", *([] if cleared else ["last used"])]
    show(Report(tables=[TextTable("", headings, rows, right=(2, 3, 4))]))
    if cleared:
        say()
        good(f"cleared {counted(sum(one.files for one in held), 'file')}, {in_bytes(sum(one.bytes for one in held))}")


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
