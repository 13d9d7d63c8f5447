"""`augrecipes pack --merge`: the parts of a packing made one store; and what is said of a store that is done."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from augrecipes.cli.answers import Json, answer
from augrecipes.cli.terminal import paint, say, say_line

if TYPE_CHECKING:
    from augrecipes.remote import RemotePath
    from augrecipes.sources.packed_columns import Unreadable

_LISTED = 6  # unreadable inputs that are named


def merge_command(folder: str, json_: Json, clash: str | None) -> None:
    """Makes a store of the folder that parts are in; exits with 1 where inputs were unreadable.

    Args:
        folder: of the parts.
        json_: where the answer goes as JSON.
        clash: what else was given, that belongs to packing.
    """
    if clash == "--out":
        text = f"parts become a store where they are: leave it away, and move {folder} when that is done"
        raise typer.BadParameter(text, param_hint="--out")
    if clash is not None:
        raise typer.BadParameter(f"takes parts as they are, without {clash!r}", param_hint="--merge")
    from augrecipes.compat.guard import albumentations, without_torch

    without_torch()
    albumentations()  # before anything else imports it
    from augrecipes.packing.parts import merge_parts

    start = time.monotonic()
    merged = merge_parts(folder)
    seconds = time.monotonic() - start
    size = taken(merged.out)
    found = {
        "store": str(merged.out),
        "parts": merged.parts,
        "rows": merged.rows,
        "bytes": size,
        "unreadable": [asdict(one) for one in merged.unreadable],
        "seconds": seconds,
    }
    done = f"{merged.parts} parts are one store, {merged.out}: {merged.rows:,} rows, {in_bytes(size)}"
    answer(found, json_, lambda: tell_lost(merged.unreadable, done, merged.out))
    if merged.unreadable:
        raise typer.Exit(1)


def tell_lost(unreadable: Sequence[Unreadable], done: str, store: Path | RemotePath | None) -> None:
    """Says what is done, and which inputs were unreadable; the index of a `store` lists all, that of a part none."""
    lost = dict.fromkeys(f"{one.path}: {one.reason}" for one in unreadable)  # once, not once an epoch
    say(f"{done}; unreadable inputs: {len(lost):,}" if lost else paint(done, "good", sys.stdout))
    for what in list(lost)[:_LISTED]:
        say_line(f"unreadable: {what}")
    if len(lost) > _LISTED:
        where = "--json lists them all" if store is None else f"all listed in {store / 'index.json'}"
        say_line(f"unreadable: {len(lost) - _LISTED:,} more, {where}")


def taken(store: Path | RemotePath) -> int:
    """The bytes of a store, on disk or elsewhere."""
    if not isinstance(store, Path):
        return sum(store.files().values())
    return sum(file.stat().st_size for file in store.rglob("*") if file.is_file())


def in_bytes(count: int) -> str:
    """A number of bytes, in decimal units.

    >>> in_bytes(512), in_bytes(1_536_000), in_bytes(12_300_000_000)
    ('512 B', '1.5 MB', '12 GB')
    """
    size, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{size:.0f} {unit}" if size >= 10 or unit == "B" else f"{size:.1f} {unit}"
