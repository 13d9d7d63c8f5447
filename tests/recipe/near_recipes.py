"""Documents that are nearly recipes: whole ones of every kind, with something put in, taken out or replaced."""

from __future__ import annotations

import copy
import pathlib
from collections.abc import Iterator
from typing import Any

import yaml

from augrecipes.recipe import grammar

Path = tuple[str | int, ...]

# Between them they have every key of the language.
WHOLE = list(yaml.safe_load_all(pathlib.Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")))

VALUES: list[Any] = [
    None, True, False, 0, 1, 2, -1, 3, 0.5, 1.0, 1.5, 64, 70, 1000, "", "x", "1", "no", "lr", "My Name", "derived",
    "imagenet",
    "optional", "none", "D4", [], [0], [0, 1], [0, 255], [3, 9], [64, 64], [64, 64, 64], [0.0, 0.2, 0.5], ["lr", "lr"],
    ["D4"], {}, {"p": 0.5}, {"D4": None}, {"mean": 0.5, "std": 0}, {"mean": [], "std": 1}, {"lr": 1}, {"lr": {}},
]  # fmt: skip
_SECTIONS = (grammar.TOP, grammar.INPUTS, grammar.IMAGE, grammar.BOXES, grammar.KEYPOINTS, grammar.OUTPUT, grammar.BAG)
NAMES = sorted(
    {key for section in (*_SECTIONS, *grammar.GROUPS.values(), grammar.DEGRADE) for key in section["properties"]}
    | {"odd", "lr", "hr", "D4", "Crop", "limit", "fill"}
)


def places(value: Any, here: Path = ()) -> Iterator[Path]:
    """Every place of a document, from the outside inwards."""
    yield here
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*here, key))


def values(document: Any) -> Iterator[Any]:
    """Every value of a document, from the outside inwards."""
    return (at(document, path) for path in places(document))


def at(document: Any, path: Path) -> Any:
    """What stands at a place."""
    for key in path:
        document = document[key]
    return document


def edits(value: Any) -> list[Any]:
    """What may stand in place of a value; `...`: nothing."""
    found = [..., *VALUES, [value], str(value), {"odd": value}]
    if isinstance(value, int | float):
        found += [-value, value + 0.5, float(value), value * 1000]
    if isinstance(value, list):
        found += [value[::-1], value[:-1], [*value, *value[:1]]]
    if isinstance(value, dict):
        found += [{key: part for key, part in value.items() if key != gone} for gone in value]
        found += [{**value, name: new} for name in NAMES if name not in value for new in (None, 1, "x", {})]
        found += [{f"{key}s" if key == old else key: part for key, part in value.items()} for old in value]
    return found


def edited(document: Any, path: Path, value: Any) -> Any:
    """The document with something else at one place."""
    if not path:
        return {} if value is ... else value
    fresh = copy.deepcopy(document)
    parent = at(fresh, path[:-1])
    if value is ...:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return fresh
