"""`augrecipes eject`: a recipe as plain albumentations code, or as the JSON that A.save writes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from augrecipes.cli.answers import Json, answer
from augrecipes.cli.options import Mode, Recipe, Set, Without, here, one_of, overrides


def eject(
    recipe: Recipe,
    python: Annotated[
        bool, typer.Option("--python", help="Python code, which is what is written without --json.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", parser=here, metavar="FILE", help="Where to write the code; else it is printed."),
    ] = None,
    mode: Mode = "train",
    json_: Json = None,
    set_: Set = None,
    without: Without = None,
) -> None:
    """Write a recipe as plain albumentations: code that runs without a recipe, or what A.load reads.

    \b
    Examples:
      augrecipes eject stained-tissue -o transforms.py
      augrecipes eject my.yaml --json aug.json

    Code has both sections, JSON the one of --mode. Steps that only augrecipes has are imported from it. Albumentations
    then draws in its own way: samples are no longer keyed by epoch and index. Pairs, and bags whose tiles share draws,
    are refused: no Compose can carry them out.

    Exit status: 0 written, 2 a recipe that cannot be used, or that no code of albumentations can carry out.
    """
    section = one_of(mode, ("train", "eval"), "--mode")
    changes = overrides(set_)
    if python and json_ is not None:
        raise typer.BadParameter("give --python or --json, not both")
    if json_ is not None and out is not None:
        raise typer.BadParameter("give the file of --json behind it, such as --json aug.json")
    from augrecipes.bring import eject as ejecting
    from augrecipes.cli.terminal import say, say_line
    from augrecipes.paths import write_file
    from augrecipes.recipe import load

    loaded = load(recipe, overrides=changes, without=without or ())
    if json_ is not None:
        answer(ejecting.saved(loaded, section), json_, lambda: None)
        return
    code = ejecting.python_of(loaded)
    if out is None:
        say(code.removesuffix("\n"), wrap=False)
    else:
        write_file(out, code.encode("utf-8"))
        say_line(str(out))
