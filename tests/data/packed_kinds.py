"""Stores packed from the twelve samples of every kind of dataset, under recipes that begin with a step to bake."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from kinds import BAG, IMAGE, PAIR, Kind

from augrecipes.data.packed import Packed
from augrecipes.packing.run import pack
from augrecipes.recipe.parse import parse_text

BAKED = {
    "image": "SmallestMaxSize: {max_size: 30, interpolation: area}",
    "pair": "CenterCrop: {height: 18, width: 16, at: lr}",
    "bag": "Resize: {height: 20, width: 19}",
}


def beginning(recipe: str, step: str) -> str:
    """The recipe with one more step in front of both sections."""
    return recipe.replace("steps:\n", f"steps:\n  - {step}\n", 1).replace("eval:\n", f"eval:\n  - {step}\n", 1)


def recipe_of(kind: Kind) -> str:
    return beginning(kind.recipe, BAKED[kind.name])


def packed(kind: Kind, root: Path, recipe: str | None = None, **options: Any) -> Path:
    """The store of the files below `root`, packed when it is asked for first with this recipe and these options."""
    asked = crc32(repr((recipe, sorted(options.items()))).encode())
    out = root.parent / f"{kind.name}-{asked:08x}"
    if not out.exists():
        given = kind.where(root)
        data = {key: str(path) for key, path in given.items()} if isinstance(given, dict) else str(given)
        pack(parse_text(recipe or recipe_of(kind)), data, out, **{"workers": 0, **options})
    return out


def open_packed(kind: Kind, root: Path, **options: Any) -> Packed:
    """The dataset over the store of the files below `root`."""
    return Packed(packed(kind, root), parse_text(recipe_of(kind)), **options)


KINDS = (IMAGE, PAIR, BAG)


def folders(make: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder of each kind's files."""
    made = {kind.name: make.mktemp(kind.name) for kind in KINDS}
    for kind in KINDS:
        kind.fill(made[kind.name])
    return made
