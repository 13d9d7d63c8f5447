"""`augrecipes studio`: write a recipe and see what it does, on a page of this machine."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

import typer

from augrecipes.cli.folders import Data, data_of, is_data
from augrecipes.cli.options import Masks, option
from augrecipes.cli.terminal import note, say


def studio(
    recipe: Annotated[
        str | None,
        typer.Argument(metavar="RECIPE", help="A recipe file, which the page writes, or a name of the gallery."),
    ] = None,
    data: Data = None,
    masks: Masks = None,
    port: Annotated[int, option("--port", None, "0 takes a free one.", min=0, max=65535)] = 0,
    no_open: Annotated[bool, option("--no-open", None, "Print the address, and open no browser.")] = False,
    read_only: Annotated[bool, option("--read-only", None, "Never write the recipe's file.")] = False,
) -> None:
    """Open a page that shows a recipe's draws, stages, lints, plan and cost while you write it.

    \b
    Examples:
      augrecipes studio
      augrecipes studio my.yaml --data photos/
      augrecipes studio sr-x4 --data hr=DIV2K/HR --data lr=DIV2K/LR_bicubic/X4
      augrecipes studio my.yaml --data photos/ --read-only
      augrecipes studio folder-128 --data tissue-128

    The server listens on this machine only, and answers only those who know the token in the address. Without --data
    it shows images that the demo draws. Ctrl-C ends it.

    Exit status: 0 ended, 2 a recipe or data that cannot be used, or the extra `studio` is not installed.
    """
    if recipe is not None and is_data(recipe):
        raise typer.BadParameter(f"{recipe!r} is no recipe; give data as --data {recipe}", param_hint="RECIPE")
    from augrecipes.studio.server import StudioServer
    from augrecipes.studio.studio import opened

    server = StudioServer(opened(recipe, data_of(data) if data else None, masks=masks, read_only=read_only), port)
    note("the studio is for this machine alone; Ctrl-C ends it")
    say(server.address, wrap=False, secrets=True)
    if not no_open:
        import webbrowser

        webbrowser.open(server.address)
    with suppress(KeyboardInterrupt):
        server.serve()
