"""Packed stores as a recipe reads them: what is left of it behind what is baked, and what is stored; no torch here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from augrecipes import kinds
from augrecipes.compiler.prefix import rest_of
from augrecipes.errors import DataError
from augrecipes.recipe.model import Mode, Recipe
from augrecipes.sources.opening import Data, is_source
from augrecipes.sources.packed_columns import points_of, steps_between, table_of, unreadable_in
from augrecipes.sources.packed_match import check_section, check_store
from augrecipes.sources.sample import RecipeSource, Sample
from augrecipes.store import Store, is_store, open_store

__all__ = ["Store", "StoredSource", "baked_of", "behind", "left_of", "open_store", "path_of", "reads_store"]


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


class StoredSource(RecipeSource):
    """The images, scenes or tiles of a store, as the baked steps left them.

    Args:
        store: it.
        recipe: what is left to do.
        targets: that are read, of pairs; None: all.

    Attributes:
        store: the same.
        folder: of the store.
        epochs: how many were baked; 1 where no step that draws was.
        unreadable: the inputs without pixels, by stored row: path and reason.
    """

    def __init__(self, store: Store, recipe: Recipe, targets: Sequence[str] | None = None) -> None:
        about, (*named,) = store.about, store.targets
        table = table_of(store, kinds.part(recipe.kind, "reader").TABLE.stored)
        super().__init__(table, recipe.inputs, about["decode"], tuple(about.get("left_out", ())))
        self.store, self.folder, self.unreadable = store, str(store.path), unreadable_in(store)
        self.epochs = max(1, int(about["epochs"]))
        self._targets = tuple(targets or (name for name in named if name != "mask"))
        self._between_units, self._between_epochs = steps_between(store)
        # Memory views: a batch asks for hundreds of names, and a `Texts` takes several times as long for one.
        texts: Any = {name: store.columns[f"source/{name}"] for name in named}
        self._sources = {name: (text.blob.data, text.offsets.data) for name, text in texts.items()}

    @classmethod
    def of(cls, data: Data, recipe: Recipe, targets: Sequence[str]) -> Self:
        """The store at a path."""
        return cls(open_store(path_of(data)), recipe, targets)

    def path(self, k: int) -> str:
        """The file that one was packed from; of a pair that of its largest target."""
        return self.source(k, next(iter(self.store.targets)))

    def paths(self, units: Sequence[int], target: str | None = None) -> list[str]:
        """The files that a target of some was packed from; None: the largest."""
        blob, offsets = self._sources[target or next(iter(self.store.targets))]
        return [str(blob[offsets[k] : offsets[k + 1]], "utf-8", "surrogateescape") for k in units]

    def source(self, k: int, target: str) -> str:
        """The file that a target of one was packed from."""
        return self.paths((k,), target)[0]

    def shape(self, k: int, epoch: int = 0) -> tuple[int, ...]:
        """Height and width of one as it is stored, of a pair of its largest target, before it is read."""
        return self.store.shape(self._targets[0], self.item(self._targets[0], self.rows(k, epoch)))

    def rows(self, units: Any, epoch: Any) -> Any:
        """The stored row of a unit, or of each of several, in an epoch, or in one of its own each."""
        return units * self._between_units + (epoch % self.epochs) * self._between_epochs

    def item(self, target: str, row: int) -> int:
        """The item of a stored row; DataError, naming the file, where it could not be read."""
        items = self.store.items(target, row)
        if not items:
            lost = self.unreadable[row]
            raise DataError(lost.reason, lost.path)
        return items[0]

    def taken(self, names: Sequence[str] | None = None) -> tuple[str, ...]:
        """The stored targets that the recipe takes, of those that are wanted; a mask last."""
        masked = "mask" in self.store.targets and self.inputs.mask != "absent"
        return (*(names or self._targets), *(("mask",) if masked else ()))

    def points(self, row: int) -> dict[str, Any]:
        """Boxes and keypoints of a stored row, with their labels."""
        return points_of(self.table, self.inputs, row)

    def stored(self, row: int, names: Sequence[str] | None = None, *, undecoded: bool = False) -> dict[str, Any]:
        """What a pipeline takes of a stored row: views of the store, or images that are not decoded yet."""
        found: dict[str, Any] = {}
        for name in self.taken(names):
            take = self.store.encoded if undecoded and name != "mask" else self.store.array
            found[name] = take(name, self.item(name, row))
        return found | self.points(row)

    def parts(
        self, k: int, epoch: Any = 0, *, undecoded: bool = False, names: Sequence[str] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """As every source, of the baked epoch that samples of `epoch` begin with."""
        return self.stored(self.rows(k, epoch), names, undecoded=undecoded), {}

    def read(self, k: int, epoch: int = 0, *, undecoded: bool = False, names: Sequence[str] | None = None) -> Sample:
        """As every source, in memory of its own."""
        sample = super().read(k, epoch, undecoded=undecoded, names=names or self._targets)
        own = {name: np.array(one) if isinstance(one, np.ndarray) else one for name, one in sample.images.items()}
        rest = {name: np.array(one) if name == "mask" else one for name, one in sample.rest.items()}
        return Sample(sample.index, sample.tile, sample.path, own, rest)

    def in_epoch(self, k: int, epoch: int, sample: Sample) -> Sample:
        """The sample as another epoch has it: steps that draw may be baked."""
        del sample
        return self.read(k, epoch)


def path_of(data: Data) -> Path:
    """Of the store; DataError where folders are given by target."""
    if isinstance(data, Mapping):
        raise DataError("a store is one folder")
    return Path(data)
