"""Kinds of recipes: what one sample is, and what is known of each kind, in plain terms.

What a kind does stands in its folder of `augrecipes/kinds/`, above the packages that run it; they ask for its modules
with `part`, and `augrecipes/api.py` registers the folders.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, get_args

Kind = Literal["image", "pair", "bag", "views"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a kind; packages ask for these, never for the kind's name.

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


_FACTS: dict[str, Facts] = {
    "image": Facts("ImageFolder", "image", frozenset({"batch", "tta", "targets", "stack"}), annotated=True),
    "pair": Facts(
        "PairedImages", "scene", frozenset({"scales", "allow_resampling", "target", "at", "batch", "tta"}), scales=True
    ),
    "bag": Facts("TileBags", "tile", frozenset({"bag", "share"}), tiles=True),
    "views": Facts(
        "Views", "image", frozenset({"views", "shared", "correspondence", "share"}), annotated=True, views=True
    ),
}
_packages: dict[str, str] = {}


def facts(kind: str) -> Facts:
    """What is known of a kind."""
    return _FACTS[kind]


def owners(key: str) -> str:
    """The kinds whose recipes alone have a key, as a message names them; empty where all have it.

    >>> owners("scales"), owners("steps")
    ('pair', '')
    """
    return " or ".join(kind for kind in KINDS if key in facts(kind).keys)


def register(kind: str, package: str) -> None:
    """Name the package whose modules are the parts of a kind."""
    _packages[kind] = package


def part(kind: str, name: str) -> Any:
    """A module of a kind's package.

    >>> part("pair", "reader").__name__
    'augrecipes.kinds.pair.reader'
    """
    return import_module(f"{_packages[kind]}.{name}")
