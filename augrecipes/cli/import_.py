"""`augrecipes import`: a recipe made of another framework's config."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def import_(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A config: JSON or YAML.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Where to write the recipe; else it is printed.")
    ] = None,
) -> None:
    """Make a recipe of another framework's pipeline.

    \b
    Example:
      augrecipes import aug.json -o recipe.yaml
    """
    from augrecipes import atomic
    from augrecipes.bring.importing import draft_of
    from augrecipes.cli.terminal import note, say_line

    draft = draft_of(source)
    recipe = draft.to_yaml()
    if out is None:
        typer.echo(recipe, nl=False)
    else:
        atomic.write(out, recipe.encode("utf-8"))
        say_line(str(out))
    for text in draft.notes:
        note(text)
    left = draft.left_out()
    for problem in left:
        say_line(str(problem), err=True)
    raise typer.Exit(1 if left else 0)
