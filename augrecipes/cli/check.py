"""`augrecipes check`: every problem of every recipe, at once."""

from __future__ import annotations

from typing import Annotated

import typer

from augrecipes.cli.options import Set, Without, one_of, overrides

FORMATS = ("text", "github", "json")


def check(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE...",
            help="Recipe files, folders (their .yaml and .yml files), patterns, gallery names; - is standard input.",
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 for warnings too.")] = False,
    format_: Annotated[
        str, typer.Option("--format", metavar="text|github|json", help="github: annotations in GitHub Actions.")
    ] = "text",
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
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
    form = "json" if as_json else one_of(format_, FORMATS, "--format")
    if explain is not None:
        _explain(explain)
        return
    if not files:
        raise typer.BadParameter("which recipes? Give files, folders, gallery names, or - for standard input")
    changes = overrides(set_)
    from augrecipes.cli import report
    from augrecipes.cli.checking import check_all
    from augrecipes.ops.albumentations import without_torch

    # This process looks at recipes and at no pixels.
    without_torch()
    checked, problems = check_all(files, changes, tuple(without or ()))
    report.write(problems, form, checked)
    raise typer.Exit(report.status(problems, strict))


def _explain(code: str) -> None:
    from augrecipes.cli.codes import describe, known
    from augrecipes.recipe.spelling import hint

    text = describe(code)
    if text is None:
        raise typer.BadParameter(f"no code {code!r}{hint(code, known())}", param_hint="--explain")
    typer.echo(text)
