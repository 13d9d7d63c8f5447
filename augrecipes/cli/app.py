"""The application: its commands, and what becomes of errors."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from augrecipes.cli.answers import Command
from augrecipes.cli.bench import bench
from augrecipes.cli.check import check
from augrecipes.cli.check_data import check_data
from augrecipes.cli.interop import eject, import_
from augrecipes.cli.pack import pack
from augrecipes.cli.recipes import diff, explain, list_gallery, schema, step
from augrecipes.cli.show import demo, preview, studio
from augrecipes.cli.stores import cache, verify_store
from augrecipes.cli.terminal import complain, exit_status
from augrecipes.cli.verify import verify
from augrecipes.errors import AugrecipesError, harmless
from augrecipes.user_code import run_plugin

_Misused: type[Exception] = typer.BadParameter.__mro__[1]  # UsageError, wherever this version of typer has it


class Guarded(TyperGroup):
    """Turns errors that a user can mend into one message and an exit status; never a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except _Misused as error:
            # The words that were typed may be names of files.
            error.message = harmless(error.message)  # type: ignore[attr-defined]
            raise
        except BrokenPipeError:
            raise typer.Exit(141) from None  # as a program that SIGPIPE ended
        except (AugrecipesError, OSError) as error:
            complain(error)
            raise typer.Exit(exit_status(error)) from None


app = typer.Typer(
    cls=Guarded,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Exit status: 0 all is well · 1 a lint error, defective data, or a promise not kept · 2 not a valid recipe, "
    "file or usage · 130 interrupted.  Start with: augrecipes list",
)


def _version(asked: bool) -> None:
    if asked:
        from augrecipes import __version__
        from augrecipes.native.described import described

        typer.echo(f"augrecipes {__version__} ({described()})")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    plugin: Annotated[
        list[str] | None,
        typer.Option(
            "--plugin",
            metavar="FILE.py",
            help="Run this file first, which registers classes (ar.register). Repeatable.",
        ),
    ] = None,
) -> None:
    """Write what should happen to your training images; augrecipes decides how and where it runs."""
    for place in plugin or ():
        run_plugin(place)


for name, command, about in (
    ("list", list_gallery, "List the recipes that come with augrecipes."),
    ("check", check, "Print every problem of recipes, and say what a code means."),
    ("import", import_, "Make a recipe of another framework's pipeline."),
    ("eject", eject, "Write a recipe as plain albumentations."),
    ("check-data", check_data, "Print every defect of the files that a recipe reads."),
    ("step", step, "Say what a step does, and list its arguments."),
    ("explain", explain, "Show what a recipe does and how it will run."),
    ("diff", diff, "Say what differs between two recipes in effect."),
    ("preview", preview, "Draw what a recipe does to some images."),
    ("studio", studio, "Write a recipe and see what it does, in the browser."),
    ("pack", pack, "Run a recipe's first steps once, into a packed dataset."),
    ("verify-store", verify_store, "Compare a packed dataset with its checksums."),
    ("verify", verify, "Measure whether the optimiser's plan is the recipe."),
    ("bench", bench, "Compare recipes: how fast, stage by stage, and what they do."),
    ("cache", cache, "Show what is cached from run to run, or clear it."),
    ("schema", schema, "Print the JSON Schema of recipes, for editors."),
    ("demo", demo, "See it work on images that it draws itself."),
):
    app.command(name, cls=Command, short_help=about)(command)
