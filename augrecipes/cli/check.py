"""`augrecipes check`: every problem of every recipe, at once."""

from __future__ import annotations

from typing import Annotated

import typer

from augrecipes.cli.answers import STDOUT, Json, answer, renamed
from augrecipes.cli.options import Set, Without, one_of, overrides

FORMATS = ("text", "github", "json")


def check(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            help="Recipe files, folders (their .yaml and .yml files), patterns, gallery names; - is standard input.",
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 for warnings too.")] = False,
    format_: Annotated[
        str, typer.Option("--format", metavar="text|github", help="github: annotations in GitHub Actions.")
    ] = "text",
    json_: Json = None,
    explain: Annotated[
        str | None, typer.Option("--explain", metavar="CODE", help="Say what a code means, and how to mend it.")
    ] = None,
    set_: Set = None,
    without: Without = None,
) -> None:
    """Check recipes: print every problem as FILE:LINE:COL: CODE name: message.

    \b
    Examples:
      augrecipes check recipes/*.yaml --strict
      augrecipes check my.yaml --set RandomCrop.height=64 --without ColorJitter
      augrecipes check --explain L101

    A comment `# augrecipes: ignore[L301]` on a step's line silences a lint there.

    \b
    Exit status:
      0  clean, or warnings only
      1  a lint error; with --strict also a warning
      2  not a valid recipe, or no such file
    """
    form = one_of(format_, FORMATS, "--format")
    if form == "json":
        renamed("--format json", "--json")
        json_ = json_ or STDOUT
    if explain is not None:
        _explain(explain, json_)
        return
    if not files:
        raise typer.BadParameter("which recipes? Give files, folders, gallery names, or - for standard input")
    changes = overrides(set_)
    from augrecipes.cli import report
    from augrecipes.cli.checking import check_all
    from augrecipes.compat.guard import without_torch

    # This process looks at recipes and at no pixels.
    without_torch()
    checked, problems = check_all(files, changes, tuple(without or ()))
    answer([problem.to_json() for problem in problems], json_, lambda: report.tell(problems, form, checked))
    raise typer.Exit(report.status(problems, strict))


def _explain(code: str, json_: str | None) -> None:
    from augrecipes.cli.codes import describe, known
    from augrecipes.cli.terminal import say
    from augrecipes.recipe.spelling import near

    text = describe(code)
    if text is None:
        raise typer.BadParameter(f"no code {code!r}{near(code, known()).text}", param_hint="--explain")
    answer({"code": code, "text": text}, json_, lambda: say(text))
