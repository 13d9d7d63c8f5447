"""`augrecipes schema`: the JSON Schema of recipes."""

from __future__ import annotations

import sys


def schema() -> None:
    """Print the JSON Schema of recipes, for editors and validators.

    \b
    Example:
      augrecipes schema > recipe.schema.json

    A recipe names it in its first lines: # yaml-language-server: $schema=recipe.schema.json
    """
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
