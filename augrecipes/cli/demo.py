"""`augrecipes demo`: everything once, on pictures that it draws itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where to write.")] = Path("demo-out"),
    seed: Annotated[int, typer.Option("--seed", metavar="INTEGER", help="Seed of the data and of the draws.")] = 0,
) -> None:
    """Draw a small data set, run recipes over it, and show that every sample can be had again.

    \b
    Example:
      augrecipes demo -o demo-out

    Takes about a minute and no network. Exit status: 0 all is well, 1 a promise was not kept, 2 the folder cannot be
    written.
    """
    from augrecipes.demo.run import run_demo

    if not run_demo(out, seed=seed).ok:
        raise typer.Exit(1)
