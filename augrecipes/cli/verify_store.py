"""`augrecipes verify-store`: whether a store is what was packed, byte for byte."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from augrecipes.cli.answers import Json, answer
from augrecipes.cli.progress import progress
from augrecipes.cli.terminal import paint, say, say_line

if TYPE_CHECKING:
    from augrecipes.store import Fault

_LISTED = 20  # faults that are named


def verify_store(
    words: Annotated[list[str] | None, typer.Argument(metavar="STORE", help="A folder that `pack` has made.")] = None,
    data: Annotated[list[str] | None, typer.Option("--data", metavar="STORE", help="The same as STORE.")] = None,
    json_: Json = None,
) -> None:
    """Read a store from end to end and compare every byte with its checksums.

    \b
    Example:
      augrecipes verify-store photos-128

    Exit status: 0 every byte is as it was packed, 1 some are not (the inputs are named), 2 there is no such store.
    """
    stores = [*(words or []), *(data or [])]
    if len(stores) != 1:
        text = "which store? Give the folder that `augrecipes pack` has made" if not stores else "one store at a time"
        raise typer.BadParameter(text, param_hint="STORE")
    from augrecipes.errors import StoreError
    from augrecipes.paths import address_of, local
    from augrecipes.store import is_store
    from augrecipes.store.verify import verify_store as faults_in

    store = address_of(stores[0]) or local(stores[0])
    if isinstance(store, Path) and not store.is_dir():
        message = "this is no folder" if store.exists() else "there is no such folder"
        raise typer.BadParameter(f"{stores[0]}: {message}; a store is a folder that `augrecipes pack` has made",
                                 param_hint="STORE")  # fmt: skip
    if not is_store(store, damaged=True):
        raise StoreError("this is no store; a store is a folder that `augrecipes pack` has made", stores[0])
    with progress("verifying") as advance:
        faults = faults_in(store, advance)
    found = {"store": str(store), "faults": [asdict(fault) for fault in faults]}
    answer(found, json_, lambda: _tell(faults))
    if faults:
        raise typer.Exit(1)


def _tell(faults: Sequence[Fault]) -> None:
    for fault in faults[:_LISTED]:
        say_line(_line(fault))
    if len(faults) > _LISTED:
        say(f"{len(faults) - _LISTED:,} more")
    message = f"{len(faults):,} damaged: pack the data again" if faults else "every byte is as it was packed"
    say(paint(message, "error" if faults else "good", sys.stdout))


def _line(fault: Fault) -> str:
    where = "" if fault.row is None else f": row {fault.row} of {fault.target}"
    source = "" if fault.source is None else f" ({fault.source})"
    return f"{fault.path}{where}{source}: {fault.reason}"
