"""Kinds of recipes: what one sample is. A kind is a folder in here, and its name in `Kind`.

Each module of a kind's folder belongs to a room of the house and imports what that room may:

    facts.py     the ground   FACTS: what everybody may ask of it, as `recipe.facts`
    pipeline.py  compiler     PIPELINE: runs a compiled recipe
    reader.py    data         TABLE: what is known of its samples; find: lists files; alone: files in place of folders
    audit.py     data         check: what is wrong with files
    dataset.py   data         DATASET: for PyTorch
    sheet.py     preview      sheet: what a recipe does, as a picture
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Literal, get_args

from augrecipes.kinds.record import Facts

Kind = Literal["image", "pair", "bag"]
KINDS: tuple[Kind, ...] = get_args(Kind)


def part(kind: str, name: str) -> Any:
    """A module of a kind's folder.

    >>> part("pair", "facts").FACTS.unit
    'scene'
    """
    return import_module(f"{__name__}.{kind}.{name}")


@cache
def facts(kind: str) -> Facts:
    """What is known of a kind."""
    found: Facts = part(kind, "facts").FACTS
    return found


def owners(key: str) -> str:
    """The kinds whose recipes alone have a key, as a message names them; empty where all have it.

    >>> owners("scales"), owners("steps")
    ('pair', '')
    """
    return " or ".join(kind for kind in KINDS if key in facts(kind).keys)
