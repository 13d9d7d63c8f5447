"""`augrecipes list`: the recipes that come with augrecipes."""

from __future__ import annotations

import json
import sys
from typing import Any

import typer

from augrecipes.cli.options import Json
from augrecipes.cli.terminal import paint


def list_gallery(as_json: Json = False) -> None:
    """List the gallery: recipes that every command takes by name.

    \b
    Examples:
      augrecipes list
      augrecipes list --json
    """
    rows = _rows()
    if as_json:
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    names, kinds = (max((len(row[key]) for row in rows), default=0) for key in ("name", "kind"))
    for row in rows:
        name = paint(row["name"].ljust(names), "strong", sys.stdout)
        typer.echo(f"{name}  {row['kind'].ljust(kinds)}  {row['about']}")


def _rows() -> list[dict[str, str]]:
    from augrecipes.recipe import gallery, parse
    from augrecipes.recipe.nodes import plain
    from augrecipes.recipe.problems import Problems

    rows = []
    for name in gallery.names():
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
