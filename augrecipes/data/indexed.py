"""Samples by their indices: the row of a table and the key of draws that each stands for, subsets, repeats, a look."""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import numpy.typing as npt

from augrecipes.compat.torch import is_called_by_dataloader
from augrecipes.data.batching import ragged_keys
from augrecipes.data.checks import Key, as_index, check_indices, count, position_of
from augrecipes.data.epochs import EpochClock, check_epoch, current
from augrecipes.data.order import Indices, check_weights, number_repeats
from augrecipes.data.visits import Visits
from augrecipes.display import Displayed, renderers
from augrecipes.errors import DataError
from augrecipes.images.format import in_force
from augrecipes.native.kernels import library
from augrecipes.recipe.model import Bag, Mode, Recipe
from augrecipes.sources.columns import Classes, Columns, digest_of
from augrecipes.sources.sample import RecipeSource, Sample

_log = logging.getLogger("augrecipes")

if TYPE_CHECKING:
    from augrecipes.compiler.run.pipeline import Pipeline
    from augrecipes.preview.sheet import Sheet


class IndexedRows(Displayed):
    """What is known of a dataset's samples before one of them is read, and what an index of it stands for.

    Attributes:
        table: what is known of the rows.
        rule: of bags: which tiles of one make up a sample.
    """

    recipe: Recipe
    pipeline: Pipeline
    mode: Mode
    seed: int
    on_error: str
    clock: EpochClock
    rule = Bag()
    table: Columns
    _source: RecipeSource
    _compile: Mapping[str, Any]
    _decode: dict[str, Any]
    _classes: Classes | None

    def _hold(self, table: Columns, weights: Any, samples_per_epoch: int | None) -> None:
        """Take `table` as the rows to read."""
        self.table = table if self._classes is None else table.with_classes(self._classes)
        numbers = (self.table.class_to_idx or {}) if self._classes is not None else {}
        used = set(() if self.table.labels is None else np.unique(self.table.labels).tolist())
        if lacking := [name for name, k in numbers.items() if k not in used]:
            _log.warning("%s: no samples of %s, which classes= names", table.path(0), ", ".join(lacking))
        self._weights = table.weights if weights is None else check_weights(weights, len(table))
        self._order: Indices | None = None
        if samples_per_epoch is not None:
            self._order = np.arange(count("samples_per_epoch", samples_per_epoch, 1), dtype=np.int64)
        self._span = len(table) * (1 + (len(self) - 1) // len(table))
        self._visits = Visits(self._span, quiet=self.mode == "eval")

    def __len__(self) -> int:
        return len(self.table) if self._order is None else len(self._order)

    def __repr__(self) -> str:
        classes = f", {len(self.classes)} classes" if self.classes else ""
        how = f"recipe {self.recipe.name!r}, mode {self.mode!r}, seed {self.seed}"
        return f"{type(self).__name__}({len(self)} samples{classes}, {how})"

    @property
    def classes(self) -> list[str] | None:
        """Class names by number; None without. Whole numbers of a CSV file are no positions in it: see class_to_idx."""
        return None if self.table.classes is None else list(self.table.classes)

    @property
    def class_to_idx(self) -> dict[str, int] | None:
        """The label of each class name, or None."""
        return None if self.table.class_to_idx is None else dict(self.table.class_to_idx)

    @property
    def labels(self) -> npt.NDArray[np.int64] | None:
        """The label of every sample, int64 (n,), or None without classes."""
        return cast("npt.NDArray[np.int64] | None", self._column(self.table.labels))

    @property
    def weights(self) -> npt.NDArray[np.float64] | None:
        """The weight of every sample, float64 (n,), for `loader(ds, weights=ds.weights)`; or None."""
        return cast("npt.NDArray[np.float64] | None", self._column(self._weights))

    @property
    def groups(self) -> npt.NDArray[np.str_] | None:
        """The group of every sample, text (n,), or None."""
        return cast("npt.NDArray[np.str_] | None", self._column(self.table.groups))

    @property
    def image_layout(self) -> str:
        """`chw` or `hwc`, for padding: of a pair's targets, where they agree."""
        recipe = self.recipe
        layouts = {recipe.outputs.get(name, recipe.output).layout for name in recipe.scales or ("image",)}
        return layouts.pop() if len(layouts) == 1 else "chw"

    @property
    def ragged_keys(self) -> frozenset[str]:
        """Keys of a sample that have a row for each box or point, and become lists in a batch."""
        return ragged_keys(self.recipe.inputs) if self.recipe.facts.annotated else frozenset()

    def path(self, index: int) -> str:
        """The file of a sample, or the folder of a bag; IndexError where `ds[index]` raises one."""
        return self._path(self._row(index))

    def _row(self, index: int) -> int:
        return self._virtual(position_of(as_index(index), len(self))) % len(self.table)

    def rows(self) -> Indices:
        """The row of `table` that each sample is read from."""
        return np.arange(len(self)) if self._order is None else self._order % len(self.table)

    def _column(self, values: Any) -> Any:
        return None if values is None else values[self.rows()]

    def fingerprint(self) -> dict[str, Any]:
        """What must be the same for a saved loader state to make sense."""
        return {
            "recipe": self.recipe.digest[:16],
            "mode": self.mode,
            "dataset_seed": self.seed,
            "files": self.table.digest(),
            "subset": None if self._order is None else digest_of(self._order),
            # What `none` and `exact` make is the same, and without kernels `fast` makes that, too.
            "optimize": "fast" if self.pipeline.optimize == "fast" and library() is not None else "exact",
            **self._marks(),
        }

    @property
    def epoch(self) -> int:
        """The epoch that `ds[i]` reads."""
        return self.clock.epoch

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, for this dataset, its subsets, and copies in workers; a loader's next pass runs it."""
        self.clock.set(check_epoch(epoch))

    def subset(self, indices: Any, *, mode: Mode | None = None) -> Self:
        """Some of the samples, as a dataset.

        A sample keeps the index, and so the draws, that it has here. An index that is listed again stands for a repeat
        with draws of its own. The subset shares this dataset's epoch.

        Args:
            indices: integers, or one boolean for every sample.
            mode: run the recipe's other section: `ds.subset(held_out, mode="eval")`.

        Raises:
            IndexError: an index is out of range.
            TypeError: not integers or booleans.
        """
        positions = check_indices(indices, len(self))
        taken = positions if self._order is None else self._order[positions]
        made = copy.copy(self)
        made._order = number_repeats(taken, self._span)
        made._span = self._span * (1 + int(made._order.max(initial=0)) // self._span)
        if other := mode is not None and mode != self.mode:
            made.mode, made.pipeline = mode, made._compiled(mode)
        if other or made._span > self._span:
            made._visits = Visits(made._span, quiet=made.mode == "eval")
        return made

    def _resolved(self, keys: Sequence[Any]) -> list[Key]:
        """Keys `(epoch, i)`; `i` is of the epoch that the loader says, that was set, or a DataLoader has come to."""
        now, n = current(), len(self)
        counts = now is None and any(not isinstance(key, tuple) for key in keys) and is_called_by_dataloader()
        found = []
        for key in keys:
            if isinstance(key, tuple):
                if len(key) != 2:
                    raise TypeError(f"ds[epoch, index] takes two integers, got {len(key)}")
                index = as_index(key[1])
                found.append((check_epoch(key[0]), index if index >= 0 else position_of(index, n)))
                continue
            position, at, repeat = position_of(as_index(key), n), self.epoch, 0
            if now is not None:
                at, repeat = now.epoch, now.repeat
            elif counts:
                at, repeat = self._visits.next(self._virtual(position), self.clock)
            found.append((at, position + repeat * n))
        return found

    def _virtual(self, position: int, repeat: int = 0) -> int:
        """The integer that keys the draws: the row of the table, plus multiples of the table's length for repeats."""
        return (position if self._order is None else int(self._order[position])) + repeat * self._span

    def _virtuals(self, indices: Sequence[int] | Indices) -> Indices:
        """The same of several indices, where those of `len(ds)` and more stand for repeats."""
        repeats, positions = np.divmod(np.asarray(indices, np.int64), len(self))
        virtual: Indices = (positions if self._order is None else self._order[positions]) + repeats * self._span
        return virtual

    def _path(self, row: int) -> str:
        """What stands for row `row` in samples, messages and records: a file, or a folder."""
        return self.table.path(row)

    def _paths(self, rows: Indices) -> list[str]:
        return [self._path(row) for row in rows.tolist()]

    def _marks(self) -> dict[str, Any]:
        """What else decides which samples there are, by the name of the argument: for `fingerprint`."""
        return {**self._decode, **in_force(self._decode["depth"], self._decode["frames"])}

    def _compiled(self, mode: Mode) -> Pipeline:
        """The recipe's section for `mode`, or what is left of it to be done with what is read."""
        return self.recipe.compile(mode, seed=self.seed, **self._compile)

    # -- a look at it --------------------------------------------------------------------------------------------------

    def show(
        self, samples: int | Sequence[int] | None = None, *, draws: int | None = None, stages: bool = False,
        epoch: int | None = None,
    ) -> Sheet:  # fmt: skip
        """Some samples as an image, which a notebook shows and `.save("sheet.png")` writes.

        Of images those that `ds[epoch, i]` hands out; with `draws` or `stages` each source, and beside it what
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
        sheet: Sheet = renderers["dataset"](self, samples, draws, stages=stages, epoch=epoch)
        return sheet

    @property
    def decode(self) -> dict[str, Any]:
        """How images are read: arguments of `read_image`."""
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
        """Sample `index` as it is read, before the recipe: its images by target, mask, boxes and points; no draws.

        Args:
            index: as in `ds[index]`.
            epoch: of a store that holds several; None: the set epoch.
            tile: of a bag, by its number among all of the bag.

        Raises:
            DataError: it cannot be read.
            IndexError: where `ds[index]` raises one, or there is no such tile.
        """
        virtual = self._virtual(position_of(as_index(index), len(self)))
        unit = self.table.units_of(virtual % len(self.table))[tile]
        scales = self.recipe.scales  # files have the largest first
        names = sorted(self.pipeline.targets, key=lambda name: -scales[name]) if scales else ["image"]
        baked = (self.epoch if epoch is None else check_epoch(epoch)) + virtual // len(self.table)
        try:
            return replace(self._source.read(unit, baked, names=names), index=virtual, tile=tile)
        except DataError as error:
            raise (error if error.path else error.with_path(self.path(index))) from error.__cause__
