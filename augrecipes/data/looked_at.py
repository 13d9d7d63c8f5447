"""A look at a dataset: samples as they are read, before the recipe, and pictures of what it hands out."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from augrecipes.data.checks import as_index
from augrecipes.data.epochs import check_epoch
from augrecipes.data.keys import position_of
from augrecipes.data.order import Indices
from augrecipes.data.reading.sample import RecipeSource, Sample
from augrecipes.data.tables.table import Columns
from augrecipes.display import Displayed
from augrecipes.errors import DataError

if TYPE_CHECKING:
    from augrecipes.compiler.run.pipeline import Pipeline
    from augrecipes.preview.sheet import Sheet
    from augrecipes.recipe.model import Mode, Recipe


class LookedAt(Displayed):
    """What every dataset of ours can show of itself."""

    recipe: Recipe
    pipeline: Pipeline
    mode: Mode
    _order: Indices | None
    _table: Columns
    _compile: Mapping[str, Any]
    _source: RecipeSource

    if TYPE_CHECKING:  # what the dataset brings

        def __len__(self) -> int: ...
        @property
        def epoch(self) -> int: ...  # noqa: D102
        def path(self, index: int) -> str: ...  # noqa: D102
        def _path(self, row: int) -> str: ...
        def _virtual(self, position: int, repeat: int = 0) -> int: ...
        def _compiled(self, mode: Mode) -> Pipeline: ...

    def show(
        self, samples: int | Sequence[int] | None = None, *, draws: int | None = None, stages: bool = False,
        epoch: int | None = None,
    ) -> Sheet:  # fmt: skip
        """Some samples as a picture, which a notebook shows and `.save("sheet.png")` writes.

        Of pictures those that `ds[epoch, i]` hands out; with `draws` or `stages` each source, and beside it what
        becomes of it. Of pairs the whole scene with its crops, and the crops; of bags tiles, and where they lie.

        Args:
            samples: how many, spread evenly over the dataset and its classes; or which: indices. None: as many as
                look well.
            draws: of each, in successive epochs; of bags the tiles that are shown.
            stages: one draw instead, after each step.
            epoch: of the first draw; None: the set epoch.

        Raises:
            DataError: none of them can be read.
        """
        from augrecipes.notebook.show import of_dataset

        return of_dataset(self, samples, draws, stages=stages, epoch=epoch)

    @property
    def decode(self) -> dict[str, Any]:
        """How pictures are read: arguments of `read_image`."""
        return dict(self._source.decode)

    def indices(self) -> Indices:
        """What keys the draws of each sample, with an epoch: `index` in samples, int64 (n,)."""
        return np.arange(len(self)) if self._order is None else self._order

    def recompiled(self, **options: Any) -> Pipeline:
        """The pipeline once more, compiled with other options of `Recipe.compile`: `save_applied_params=True`."""
        made = copy.copy(self)
        made._compile = {**self._compile, **options}
        return made._compiled(self.mode)

    def given(self, index: int, *, epoch: int | None = None, tile: int = 0) -> Sample:
        """Sample `index` as it is read, before the recipe: its pictures by target, mask, boxes and points; no draws.

        Args:
            index: as in `ds[index]`.
            epoch: of a store that holds several; None: the set epoch.
            tile: of a bag, by its number among all of the bag.

        Raises:
            DataError: it cannot be read.
            IndexError: where `ds[index]` raises one, or there is no such tile.
        """
        virtual = self._virtual(position_of(as_index(index), len(self)))
        unit = self._table.units_of(virtual % len(self._table))[tile]
        try:
            return self._given(unit, virtual, tile, self.epoch if epoch is None else check_epoch(epoch))
        except DataError as error:
            raise (error if error.path else error.with_path(self.path(index))) from error.__cause__

    def _given(self, unit: int, virtual: int, tile: int, epoch: int) -> Sample:
        names = self._largest_first(self.pipeline.targets) if self.recipe.scales else ["image"]
        sample = self._source.read(unit, epoch + virtual // len(self._table), names=names)
        return replace(sample, index=virtual, tile=tile)

    def _largest_first(self, names: Iterable[str]) -> list[str]:
        """Targets as files have them: the largest scale first."""
        scales = self.recipe.scales
        return sorted(names, key=lambda name: scales.get(name, 0), reverse=True)
