"""Kinds of recipes: what one sample is. A kind is a folder in here, and its name in `Kind`.

Each module of a kind's folder belongs to a room of the house and imports what that room may. Others find these:

    __init__.py  the ground   FACTS: what everybody may ask of it, as `recipe.facts`
    pipeline.py  compiler     PIPELINE: runs a compiled recipe; with `scales` or `tiles` sharing: who shares draws
    reader.py    sources      TABLE: what is known of its samples; find: lists files; check: what is wrong with them
    dataset.py   data         DATASET: for PyTorch
    sheet.py     preview      sheet: what a recipe does, as an image
    alone.py     tta          alone: one target of several (`scales`) as a recipe of one image

What these are made of lies beside them: in `pair` grids, steps and programs of several targets (compiler), and how
files are paired and checked (sources); in `bag` the tables of tiles and of slides, how tiles are picked (sources), read
(data), put together (compiler) and mapped (preview).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Literal, get_args

Kind = Literal["image", "pair", "bag", "views"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a kind, in plain terms; rooms ask for these, never for the kind's name.

    Attributes:
        dataset: its class in `augrecipes` that reads files.
        unit: one image of a bag, or all images of a sample that is no bag: what a row of a store holds.
        keys: of recipes and of steps, that recipes of other kinds do not have.
        annotated: a mask, boxes and keypoints may lie on its image.
        scales: a sample is several images, named by `scales:`, that the steps act on together.
        views: of one image several are made, named by `views:`, each with steps and draws of its own.
        tiles: a sample is many images that the steps act on one by one, each with draws of its own.
    """

    dataset: str
    unit: str
    keys: frozenset[str] = frozenset()
    annotated: bool = False
    scales: bool = False
    tiles: bool = False
    views: bool = False


def part(kind: str, name: str) -> Any:
    """A module of a kind's folder.

    >>> part("pair", "reader").__name__
    'augrecipes.kinds.pair.reader'
    """
    return import_module(f"{__name__}.{kind}.{name}")


@cache
def facts(kind: str) -> Facts:
    """What is known of a kind."""
    found: Facts = import_module(f"{__name__}.{kind}").FACTS
    return found


def owners(key: str) -> str:
    """The kinds whose recipes alone have a key, as a message names them; empty where all have it.

    >>> owners("scales"), owners("steps")
    ('pair', '')
    """
    return " or ".join(kind for kind in KINDS if key in facts(kind).keys)
