"""`augrecipes schema`: the JSON Schema of recipes."""

from __future__ import annotations

import sys
from pathlib import Path

from augrecipes.cli.answers import STDOUT, Json
from augrecipes.cli.terminal import say_line


def schema(
    json_: Json = None,
) -> None:
    """Print the JSON Schema of recipes, for editors and validators.

    \b
    Example:
      augrecipes schema --json recipe.schema.json

    A recipe names it in its first lines: # yaml-language-server: $schema=recipe.schema.json
    """
    from importlib.resources import files

    from augrecipes.ops.catalog import FILE

    # The shipped bytes themselves: a test holds them equal to what the installed classes say.
    data = (files("augrecipes") / "schema" / FILE).read_bytes()
    if json_ not in (None, STDOUT):
        Path(str(json_)).write_bytes(data)
        say_line(str(json_))
        return
    sys.stdout.flush()
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(data.decode("utf-8"))
    else:
        buffer.write(data)
