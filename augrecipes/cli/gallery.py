"""`augrecipes list` and `augrecipes schema`: the recipes that come with augrecipes, and what recipes may hold."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from augrecipes.cli.answers import STDOUT, Json, answer
from augrecipes.cli.terminal import say_line, show


def list_gallery(json_: Json = None) -> None:
    """List the gallery: recipes that every command takes by name.

    \b
    Examples:
      augrecipes list
      augrecipes list --json
    """
    rows = _rows()
    answer(rows, json_, lambda: _tell(rows))


def _tell(rows: list[dict[str, str]]) -> None:
    from augrecipes.report import Report, TextTable

    show(Report(tables=[TextTable("", (), [(row["name"], row["kind"], row["about"]) for row in rows], strong=(0,))]))


def _rows() -> list[dict[str, str]]:
    from augrecipes.recipe import gallery, parse
    from augrecipes.recipe.nodes import plain
    from augrecipes.recipe.problems import Problems

    rows = []
    for name in gallery.gallery_names():
        path = gallery.path(name)
        # The head of the file only: checking every step would take longer than listing them.
        node, _ = parse.read_nodes(path.read_bytes(), str(path), Problems())
        keys: Any = plain(node)
        rows.append(
            {
                "name": name,
                "kind": str(keys.get("kind", "image")),
                "about": str(keys.get("about", "")),
                "file": str(path),
            }
        )
    return rows


def schema(json_: Json = None) -> None:
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
