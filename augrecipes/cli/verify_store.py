"""`augrecipes verify-store`: whether a store is what was packed, byte for byte."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from augrecipes.cli.options import Json
from augrecipes.cli.terminal import paint, progress

if TYPE_CHECKING:
    from augrecipes.pack.check import Fault

_TOLD = 20  # faults that are named


def verify_store(
    store: Annotated[
        Path, typer.Argument(metavar="STORE", exists=True, file_okay=False, help="A folder that `pack` has made.")
    ],
    as_json: Json = False,
) -> None:
    """Read a store from end to end and compare every byte with its checksums.

    \b
    Example:
      augrecipes verify-store photos-128

    Exit status: 0 every byte is as it was packed, 1 some are not (the inputs are named), 2 there is no such folder.
    """
    from augrecipes.pack.check import verify

    with progress("verifying") as advance:
        faults = verify(store, advance)
    if as_json:
        typer.echo(json.dumps({"store": str(store), "faults": [asdict(fault) for fault in faults]}, indent=2))
    else:
        for fault in faults[:_TOLD]:
            typer.echo(_line(fault))
        if len(faults) > _TOLD:
            typer.echo(f"{len(faults) - _TOLD:,} more")
        told = f"{len(faults):,} damaged: pack the data again" if faults else "every byte is as it was packed"
        typer.echo(paint(told, "error" if faults else "good", sys.stdout))
    if faults:
        raise typer.Exit(1)


def _line(fault: Fault) -> str:
    where = "" if fault.row is None else f": row {fault.row} of {fault.target}"
    source = "" if fault.source is None else f" ({fault.source})"
    return f"{fault.path}{where}{source}: {fault.reason}"
