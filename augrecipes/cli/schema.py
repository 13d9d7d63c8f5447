"""`augrecipes schema`: the JSON Schema of recipes, and what the keys of `bench.json` mean."""

from __future__ import annotations

import sys
from typing import Annotated

import typer


def schema(
    bench: Annotated[bool, typer.Option("--bench", help="Instead: what the keys of bench.json mean, Markdown.")] = (
        False
    ),
) -> None:
    """Print the JSON Schema of recipes, for editors and validators.

    \b
    Examples:
      augrecipes schema > recipe.schema.json
      augrecipes schema --bench

    A recipe names it in its first lines: # yaml-language-server: $schema=recipe.schema.json
    """
    if bench:
        from augrecipes.bench.schema import markdown

        typer.echo(markdown(), nl=False)
        return
    from importlib.resources import files

    from augrecipes.ops.catalog import FILE

    # The shipped bytes themselves: a test holds them equal to what the installed classes say.
    data = (files("augrecipes") / "schema" / FILE).read_bytes()
    sys.stdout.flush()
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(data.decode("utf-8"))
    else:
        buffer.write(data)
