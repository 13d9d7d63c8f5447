"""`augrecipes import`: a recipe made of another framework's pipeline."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from augrecipes.cli.answers import Json, answer


def import_(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A config, JSON or YAML.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Where to write the recipe.")] = None,
    json_: Json = None,
) -> None:
    """Make a recipe of another framework's pipeline.

    \b
    Example:
      augrecipes import aug.json -o recipe.yaml

    \b
    Exit status:
      0  all of it is in the recipe
      1  parts have no place in a recipe; they stand in it as comments
      2  nothing that can be imported
    """
    from augrecipes import atomic
    from augrecipes.bring.importing import draft_of
    from augrecipes.cli.terminal import note, say, say_line

    draft = draft_of(source)
    recipe, left = draft.to_yaml(), draft.left_out()
    if out is not None:
        atomic.write(out, recipe.encode("utf-8"))

    def show() -> None:
        if out is None:
            say(recipe.removesuffix("\n"), wrap=False)
        else:
            say_line(str(out))

    found = {"recipe": recipe, "notes": draft.notes, "left_out": [asdict(part) for part in left]}
    answer({**found, "dataset": draft.dataset}, json_, show)
    for text in draft.notes:
        note(text)
    for part in left:
        say_line(str(part), err=True)
    raise typer.Exit(1 if left else 0)
