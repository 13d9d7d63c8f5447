"""`augrecipes demo`: everything once, on pictures that it draws itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from augrecipes.cli.answers import STDOUT, Json, answer
from augrecipes.cli.options import here, option
from augrecipes.cli.terminal import parts, report_once, width


def demo(
    out: Annotated[Path, option("--out -o", "FOLDER", "Where to write.", parser=here)] = Path("demo-out"),
    seed: Annotated[int, option("--seed", "INTEGER", "Seed of the data and of the draws.")] = 0,
    json_: Json = None,
) -> None:
    """Draw a small data set, run recipes over it, and show that every sample can be had again.

    \b
    Example:
      augrecipes demo -o demo-out

    Takes about a minute and no network. Exit status: 0 all is well, 1 a promise was not kept, 2 the folder cannot be
    written.
    """
    from rich.console import Console

    console = Console(width=width(), quiet=json_ == STDOUT)
    console.print("A tour of augrecipes, on data that it draws itself\n", style="bold")
    from augrecipes.demo.run import run_demo

    with report_once():
        found = run_demo(out, console=console, seed=seed, progress=parts)
    shown = {"ok": found.ok, "proofs": found.proofs, "pictures": found.grids, "seconds": found.seconds}
    answer(shown, json_, lambda: None)
    if not found.ok:
        raise typer.Exit(1)
