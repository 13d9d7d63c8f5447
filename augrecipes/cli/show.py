"""What a recipe does, to look at: `preview` draws it, `studio` shows it in the browser, `demo` on images of its own."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from augrecipes.cli.answers import STDOUT, Json, answer
from augrecipes.cli.arguments import (
    Data,
    Masks,
    Mode,
    Optimize,
    Recipe,
    Seed,
    Set,
    Without,
    Words,
    data_of,
    is_data,
    sources,
)
from augrecipes.cli.options import destination, loaded, option, refusal
from augrecipes.cli.terminal import note, parts, progress, report_once, say, say_line, width


def preview(
    recipe: Recipe,
    words: Words = None,
    data: Data = None,
    out: Annotated[Path, destination("FILE", "The PNG or JPEG to write.")] = Path("preview.png"),
    stages: Annotated[bool, option("--stages", None, "One sample, after every step, instead of many samples.")] = False,
    rows: Annotated[int, option("--rows", None, "Images, scenes or bags.", min=1, max=64)] = 4,
    columns: Annotated[
        int | None, option("--columns", None, "Samples of each image (6), or tiles of each bag (12).", min=1, max=32)
    ] = None,
    batch: Annotated[
        int | None, option("--batch", None, "One batch of so many samples, before and after `batch:`.", min=1, max=64)
    ] = None,
    mode: Mode = "train",
    optimize: Optimize = None,
    seed: Seed = 0,
    epoch: Annotated[int, option("--epoch", None, "Epoch of the first sample.", min=0)] = 0,
    masks: Masks = None,
    json_: Json = None,
    set_: Set = None,
    without: Without = None,
) -> None:
    """Draw what a recipe does to some images, pairs or bags: sources on the left, samples on the right.

    \b
    Examples:
      augrecipes preview stained-tissue tiles/ -o grid.png
      augrecipes preview my.yaml photo.jpg -o steps.png --stages
      augrecipes preview sr-x4 hr=DIV2K/HR lr=DIV2K/LR_bicubic/X4 -o pairs.png
      augrecipes preview stained-tissue-bag slides/ -o bags.png
      augrecipes preview my.yaml photos/ -o batch.png --batch 8

    Exit status: 0 written, 1 a lint error of the recipe, 2 a recipe or data that cannot be used.
    """
    given = sources(recipe, words, data)
    from augrecipes.preview import preview as render

    parsed = loaded(recipe, set_, without)
    with progress("rendering") as advance:
        written = render(
            parsed, given, out, rows=rows, columns=columns, seed=seed, epoch=epoch, stages=stages, batch=batch,
            mode=mode, optimize=optimize, masks=masks, progress=advance,
        )  # fmt: skip
    report = {"recipe": parsed.name, "digest": parsed.digest, "mode": mode, "seed": seed, "picture": written}
    answer(report, json_, lambda: say_line(written))


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
        raise refusal(f"{recipe!r} is no recipe; give data as --data {recipe}", "RECIPE")
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


def demo(
    out: Annotated[Path, destination("FOLDER", "Where to write.")] = Path("demo-out"),
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
    report = {"ok": found.ok, "proofs": found.proofs, "pictures": found.grids, "seconds": found.seconds}
    answer(report, json_, lambda: None, status=int(not found.ok))
