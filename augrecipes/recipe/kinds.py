"""Kinds of recipes, and the facts of each.

The code of a kind is in its folder of `augrecipes/kinds/`, above the packages that run it; these get its modules by
`part`, and `augrecipes/api.py` registers the folders.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, get_args

Kind = Literal["image", "pair", "bag", "views"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of a kind; packages ask for these, never for the kind's name.

    Attributes:
        dataset: name of its Dataset class in `augrecipes`.
        unit: what a row of a packed dataset holds: `image`, `scene` or `tile`.
        keys: keys of recipes and of steps that only this kind has.
        annotated: a mask, boxes and keypoints may lie on its image.
        scales: a sample has several images, named by `scales:`, on which the steps act together.
        tiles: a sample has many images, on which the steps act one by one with draws of their own.
        views: several views, named by `views:`, are made of one image, each with steps and draws of its own.
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
    """The facts of a kind."""
    return _FACTS[kind]


def owners(key: str) -> str:
    """The kinds that own a key, for messages; empty where all kinds have it.

    >>> owners("scales"), owners("steps")
    ('pair', '')
    """
    return " or ".join(kind for kind in KINDS if key in facts(kind).keys)


def register(kind: str, package: str) -> None:
    """Register the package that contains the modules of a kind."""
    _packages[kind] = package


def part(kind: str, name: str) -> Any:
    """A module of a kind's package.

    >>> part("pair", "reader").__name__
    'augrecipes.kinds.pair.reader'
    """
    return import_module(f"{_packages[kind]}.{name}")
