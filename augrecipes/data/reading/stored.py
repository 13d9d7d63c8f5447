"""Packed stores, read one by one: what is left of a recipe behind what is baked, and what is stored; no torch here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np

from augrecipes import kinds
from augrecipes.compiler.prefix import rest_of
from augrecipes.data.packed_match import check_section, check_store
from augrecipes.data.reading.listing import Data, DataListing, is_source
from augrecipes.data.reading.sample import Sample
from augrecipes.data.tables.packed_table import points_of, steps_between, table_of, unreadable_in
from augrecipes.errors import DataError
from augrecipes.recipe.model import Mode, Recipe
from augrecipes.store import Store, is_store, open_store

__all__ = ["Store", "Stored", "baked_of", "behind", "left_of", "open_store", "path_of", "reads_store"]


def reads_store(data: Data) -> bool:
    """Whether the data are a packed store."""
    return not isinstance(data, Mapping) and not is_source(data) and not isinstance(data, list) and is_store(data)


def left_of(recipe: Recipe, store: Store, mode: Mode, seed: int) -> tuple[Recipe, tuple[str, ...]]:
    """The recipe without the steps that the store holds already, and the labels of those.

    Raises:
        StoreError: the recipe does not begin with the steps that are baked.
    """
    return behind(recipe, store, mode, baked_of(recipe, store, mode, seed))


def baked_of(recipe: Recipe, store: Store, mode: Mode, seed: int) -> int:
    """How many of the recipe's first steps the store holds already; raises as `left_of`."""
    check_store(store, recipe)
    return check_section(store, recipe, mode, seed)


def behind(recipe: Recipe, store: Store, mode: Mode, baked: int) -> tuple[Recipe, tuple[str, ...]]:
    """The recipe without its first `baked` steps, and the labels of those."""
    steps = recipe.section(mode) or ()
    return rest_of(recipe, mode, baked, store.about["channels"]), tuple(step.site for step in steps[:baked])


class Stored:
    """The pictures, scenes or tiles of a store, for those who look at what the steps do.

    Args:
        store: it.
        recipe: what is left to do.
        targets: that are read; of pairs some may not be.

    Attributes:
        folder: of the store.
        listing: what is known of them.
        epochs: how many were baked; 1 where no step that draws was.
    """

    def __init__(self, store: Store, recipe: Recipe, targets: tuple[str, ...]) -> None:
        self._store, self._inputs, self.folder = store, recipe.inputs, str(store.path)
        self._table = table_of(store, kinds.part(recipe.kind, "reader").TABLE.stored)
        self._unreadable = unreadable_in(store)
        self._targets = targets if recipe.facts.scales else ("image",)
        self.epochs = max(1, int(store.about["epochs"]))
        self.listing = DataListing(self._table, store.about["decode"], tuple(store.about.get("left_out", ())))

    @classmethod
    def of(cls, data: Data, recipe: Recipe, targets: tuple[str, ...]) -> Self:
        """The store at a path."""
        return cls(open_store(path_of(data)), recipe, targets)

    def __len__(self) -> int:
        return self._table.units

    def path(self, k: int) -> str:
        """The file that one was packed from; of a pair that of its largest target."""
        return str(self._store.columns[f"source/{next(iter(self._store.targets))}"][k])

    def shape(self, k: int, epoch: int = 0) -> tuple[int, ...]:
        """Height and width of one as it is stored, of a pair of its largest target, before it is read."""
        stored = self._row(k, epoch)
        return self._store.shape(self._targets[0], self._store.items(self._targets[0], stored)[0])

    def read(self, k: int, epoch: int = 0, *, undecoded: bool = False) -> Sample:
        """One of them as a baked epoch left it, in memory of its own.

        Args:
            k: which.
            epoch: of the draws.
            undecoded: of JPEGs, as files of which a plan decodes what it needs.

        Raises:
            DataError: there are no pixels, because its file could not be read; names the file.
        """
        stored = self._row(k, epoch)
        index, tile = self._table.place(k)
        rest = points_of(self._table, self._inputs, stored)
        if "mask" in self._store.targets and self._inputs.mask != "absent":
            rest["mask"] = self._array("mask", stored)
        take = self._store.encoded if undecoded and self._store.encodes else None
        images = {
            name: take(name, self._store.items(name, stored)[0]) if take else self._array(name, stored)
            for name in self._targets
        }
        return Sample(index, tile, self.path(k), images, rest)

    def _row(self, k: int, epoch: int) -> int:
        of_unit, of_epoch = steps_between(self._store)
        stored = k * of_unit + (epoch % self.epochs) * of_epoch
        if stored in self._unreadable:
            raise DataError(self._unreadable[stored].reason, self._unreadable[stored].path)
        return stored

    def _array(self, target: str, stored: int) -> Any:
        return np.array(self._store.array(target, self._store.items(target, stored)[0]))


def path_of(data: Data) -> Path:
    """Of the store; DataError where folders are given by target."""
    if isinstance(data, Mapping):
        raise DataError("a store is one folder")
    return Path(data)
