"""`augrecipes convert-store`: a store of augrecipes 0.1, written again as it is read today."""

from __future__ import annotations

from typing import Annotated

import typer

from augrecipes.cli.answers import Json, answer
from augrecipes.cli.progress import progress
from augrecipes.cli.terminal import say


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
