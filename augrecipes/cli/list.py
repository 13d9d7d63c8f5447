"""`augrecipes list`: the recipes that come with augrecipes."""

from __future__ import annotations

import sys
from typing import Any

from augrecipes.cli.answers import Json, answer
from augrecipes.cli.terminal import paint, say


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
    from augrecipes.cli.tables import filled

    names, kinds = (max((len(row[key]) for row in rows), default=0) for key in ("name", "kind"))
    for row in rows:
        line = filled(f"{row['name']:<{names}}  {row['kind']:<{kinds}}  ", row["about"])
        say(paint(row["name"], "strong", sys.stdout) + line[len(row["name"]) :])


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
