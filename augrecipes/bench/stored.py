"""Packed stores as the data of a comparison: what is left of a recipe behind what is baked, and what is stored."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from augrecipes import kinds
from augrecipes.compiler.prefix import rest_of
from augrecipes.data.packed_match import check_section, check_store
from augrecipes.data.reading.listing import Data, is_source
from augrecipes.data.reading.sample import Sample
from augrecipes.data.tables.packed_table import points_of, steps_between, table_of, unreadable_in
from augrecipes.errors import BenchError, DataError
from augrecipes.recipe.model import Mode, Recipe
from augrecipes.sources.store import is_store, open_store


def reads_store(data: Data) -> bool:
    """Whether the data are a packed store."""
    return not isinstance(data, Mapping) and not is_source(data) and is_store(data)


def left_of(recipe: Recipe, data: Data, mode: Mode, seed: int) -> tuple[Recipe, tuple[str, ...]]:
    """The recipe without the steps that the store holds already, and the labels of those.

    Raises:
        StoreError: the recipe does not begin with the steps that are baked.
    """
    store = open_store(path_of(data))
    check_store(store, recipe)
    baked = check_section(store, recipe, mode, seed)
    steps = recipe.section(mode) or ()
    return rest_of(recipe, mode, baked, store.about["channels"]), tuple(step.site for step in steps[:baked])


def refuse_stock(recipe: Recipe) -> None:
    """BenchError where the stored boxes or keypoints are in terms that a Compose by hand does not take."""
    inputs = recipe.inputs
    if any(points is not None and points.presence != "absent" for points in (inputs.boxes, inputs.keypoints)):
        raise BenchError(
            f"{recipe.name}: a store holds boxes and keypoints as its steps left them, which stock albumentations does "
            "not take: compare with stock on the files"
        )


class Stored:
    """The pictures, scenes or tiles of a store, of its first epoch, for those who look at what the steps do.

    Args:
        data: the store.
        recipe: what is left to do.
        targets: that are read; of pairs some may not be.
    """

    def __init__(self, data: Data, recipe: Recipe, targets: tuple[str, ...]) -> None:
        self._store, self._inputs = open_store(path_of(data)), recipe.inputs
        self._table = table_of(self._store, kinds.part(recipe.kind, "reader").TABLE)
        self._unreadable = unreadable_in(self._store)
        self._targets = targets if recipe.facts.scales else ("image",)

    def __len__(self) -> int:
        return self._table.units

    def read(self, k: int) -> Sample:
        """One of them, in memory of its own; DataError, naming the file, where there are no pixels."""
        stored = k * steps_between(self._store)[0]
        if stored in self._unreadable:
            raise DataError(self._unreadable[stored].reason, self._unreadable[stored].path)
        table, sources = self._table, self._store.columns[f"source/{self._targets[0]}"]
        index, tile = table.place(k)
        rest = points_of(table, self._inputs, stored)
        if "mask" in self._store.targets and self._inputs.mask != "absent":
            rest["mask"] = self._array("mask", stored)
        return Sample(index, tile, str(sources[k]), {name: self._array(name, stored) for name in self._targets}, rest)

    def _array(self, target: str, stored: int) -> Any:
        return np.array(self._store.array(target, self._store.items(target, stored)[0]))


def path_of(data: Data) -> Path:
    """Of the store; DataError where folders are given by target."""
    if isinstance(data, Mapping):
        raise DataError("a store is one folder")
    return Path(data)
