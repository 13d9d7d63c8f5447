"""`augrecipes verify-store` and `augrecipes convert-store`: what is done with a packed dataset besides reading it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from augrecipes.cli.answers import Json, answer
from augrecipes.cli.options import option
from augrecipes.cli.terminal import good, listed, paint, progress, say

if TYPE_CHECKING:
    from augrecipes.store import Fault

_LISTED = 20  # faults that are named
_WHAT = "a folder that `augrecipes pack` has made"


def verify_store(
    words: Annotated[list[str] | None, typer.Argument(metavar="STORE", help="A folder that `pack` has made.")] = None,
    data: Annotated[list[str] | None, option("--data", "STORE", "The same as STORE.")] = None,
    json_: Json = None,
) -> None:
    """Read a packed dataset from end to end and compare every byte with its checksums.

    \b
    Example:
      augrecipes verify-store photos-128

    Exit status: 0 every byte is as it was packed, 1 some are not (the inputs are named), 2 there is no such store.
    """
    stores = [*(words or []), *(data or [])]
    if len(stores) != 1:
        text = f"which store? Give {_WHAT}" if not stores else "one store at a time"
        raise typer.BadParameter(text, param_hint="STORE")
    from augrecipes.errors import StoreError
    from augrecipes.paths import address_of, local
    from augrecipes.store import is_store
    from augrecipes.store.verify import verify_store as faults_in

    store = address_of(stores[0]) or local(stores[0])
    if isinstance(store, Path) and not store.is_dir():
        message = "this is no folder" if store.exists() else "there is no such folder"
        raise typer.BadParameter(f"{stores[0]}: {message}; a store is {_WHAT}", param_hint="STORE")
    if not is_store(store, damaged=True):
        raise StoreError(f"this is no store; a store is {_WHAT}", stores[0])
    with progress("verifying") as advance:
        faults = faults_in(store, advance)
    answer({"store": str(store), "faults": faults}, json_, lambda: _tell(faults))
    if faults:
        raise typer.Exit(1)


def _tell(faults: Sequence[Fault]) -> None:
    listed("", [_line(fault) for fault in faults], _LISTED)
    if faults:
        say(paint(f"{len(faults):,} damaged: pack the data again", "error", sys.stdout))
    else:
        good("every byte is as it was packed")


def _line(fault: Fault) -> str:
    where = "" if fault.row is None else f": row {fault.row} of {fault.target}"
    source = "" if fault.source is None else f" ({fault.source})"
    return f"{fault.path}{where}{source}: {fault.reason}"


def convert_store(
    old: Annotated[str, typer.Argument(metavar="OLD", help="The folder of the store.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="A folder that is made, or s3://….")],
    json_: Json = None,
) -> None:
    """Write a store that augrecipes 0.1 packed again, as this version reads it; the old one stays.

    \b
    Example:
      augrecipes convert-store photos-128 photos-128-new

    Exit status: 0 converted, 2 there is no such store, or it is damaged. An interrupted run goes on where it was.
    """
    from augrecipes.store.convert import convert_store as convert

    with progress("converting") as advance:
        store = convert(old, new, advance)
    found = {"store": str(store.path), "rows": store.rows}
    answer(found, json_, lambda: say(f"{store.path}: {store.rows:,} rows"))
