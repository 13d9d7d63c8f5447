"""What every dataset of ours shares: epochs, indices and repeats, subsets, columns, and what broken files lead to."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import numpy as np
import numpy.typing as npt
from torch.utils.data import Dataset

from augrecipes.data.batching import BatchRows, SomeFailedError, Take, completed, samples_at_once
from augrecipes.data.checks import RefusesWords, as_index, as_recipe, check_indices, count, given_weights
from augrecipes.data.epochs import EpochClock, check_epoch, current
from augrecipes.data.keys import Key, position_of, resolved
from augrecipes.data.looked_at import LookedAt
from augrecipes.data.order import Indices, number_repeats
from augrecipes.data.sample import layout_of
from augrecipes.data.skipping import SkipError, candidates, in_its_place
from augrecipes.data.tables.table import Columns, digest_of
from augrecipes.data.visits import Visits
from augrecipes.errors import DataError
from augrecipes.recipe.model import Kind, Mode, Optimize
from augrecipes.sharing import Shared

if TYPE_CHECKING:
    from augrecipes.compiler.run.pipeline import Pipeline


class SampleDataset(RefusesWords, LookedAt, Shared, Dataset[dict[str, Any]]):
    """Samples of one kind: image files, pairs, or bags of tiles, each a row of a table.

    A sample is a pure function of (recipe, seed, epoch, index). `ds[5]` is sample 5 of the epoch that `set_epoch` set,
    `ds[epoch, 5]` of a given one, where indices of `len(ds)` and more stand for repeats: the same row of the table
    with draws of its own. That integer, which keys the draws, is called virtual: `virtual % rows` is the row.

    A kind compiles its recipe with `__init__`, lists its files, gives their table to `_hold`, and defines `_sample` and
    `_path`.

    Args:
        recipe: a Recipe, the name of a gallery recipe, or the path of a recipe file, of this dataset's kind.
        mode: `train` runs the recipe's steps, `eval` its eval section.
        seed: of the draws.
        optimize: `none`, `exact`, `fast`, or None for what the recipe says.
        on_error: `raise` or `skip`.
        save_applied_params: add `applied` to every sample.
        compile_options: other arguments of `Recipe.compile`.

    Attributes:
        recipe: the recipe.
        pipeline: the compiled recipe.
        mode: which section of the recipe it runs.
        seed: of the draws.
        on_error: what happens to samples that cannot be read.
        clock: the epoch, shared with subsets and with copies in workers.

    Raises:
        RecipeError: the recipe is not valid, of another kind, or has no section for `mode`.
    """

    kind: Kind
    _table: Columns

    def __init__(
        self,
        recipe: Any,
        mode: Mode,
        seed: int,
        optimize: Optimize | None,
        on_error: Literal["raise", "skip"],
        save_applied_params: bool,
        **compile_options: Any,
    ) -> None:
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error must be 'raise' or 'skip', got {on_error!r}")
        self.recipe = as_recipe(recipe, self.kind)
        self.mode, self.seed, self.on_error = mode, int(seed), on_error
        self._compile = {"optimize": optimize, "save_applied_params": save_applied_params, **compile_options}
        # Compiled first: a recipe that cannot run is reported before a folder is listed.
        self.pipeline = self._compiled(mode)
        self.clock = EpochClock()

    def _hold(self, table: Columns, weights: Any, samples_per_epoch: int | None) -> None:
        """Take `table` as the rows to read. The last thing that a kind's `__init__` does."""
        self._table = table
        self._weights = given_weights(weights, table)
        self._order: Indices | None = None
        if samples_per_epoch is not None:
            self._order = np.arange(count("samples_per_epoch", samples_per_epoch, 1), dtype=np.int64)
        self._span = len(table) * (1 + (len(self) - 1) // len(table))
        self._visits = Visits(self._span, quiet=self.mode == "eval")

    # -- what a kind defines ------------------------------------------------------------------------------------------

    @abstractmethod
    def _sample(self, row: int, epoch: int, virtual: int) -> dict[str, Any]:
        """Read row `row` of the table and run it through `self.pipeline.at(index=virtual, epoch=epoch)`.

        `label`, `index` and `path` are added afterwards; a DataError without a file gets that of `_path`.
        """

    def _batch(self, rows: Indices, epoch: int, virtual: Indices, take: Take) -> dict[str, Any] | None:
        """What `_sample` gives for several rows at once; None where they have to be read one after another.

        Called from several threads, each with a part of a batch. After a DataError `_sample` is asked for them, or only
        for those that a SomeFailedError names.

        Args:
            rows: of the table, int64 (n,).
            epoch: of the draws.
            virtual: keys of the draws, int64 (n,).
            take: gives the memory for a key's n values: (key, shape of one, dtype) → array (n, *shape).

        Returns:
            By key an array or tensor of n rows, as `Collate` makes of n samples, or a list of what the samples have.
        """
        del rows, epoch, virtual, take
        return None

    @abstractmethod
    def _path(self, row: int) -> str:
        """What stands for row `row` in samples, messages and records: a file, or a folder."""

    def _paths(self, rows: Indices) -> list[str]:
        return [self._path(row) for row in rows.tolist()]

    def _marks(self) -> dict[str, Any]:
        """What else decides which samples there are, by the name of the argument: for `fingerprint`."""
        return {}

    def _compiled(self, mode: Mode) -> Pipeline:
        """The recipe's section for `mode`, or what is left of it to be done with what `_sample` reads."""
        return self.recipe.compile(mode, seed=self.seed, **self._compile)

    @property
    def gathers(self) -> bool:
        """Whether this kind can read several samples at once."""
        place = {name: k for k, kind in reversed([*enumerate(type(self).__mro__)]) for name in vars(kind)}
        # Not where a class further down has changed what a sample is.
        return type(self)._batch is not SampleDataset._batch and place["_batch"] <= min(
            place["_sample"], place["_read"]
        )

    @property
    def image_layout(self) -> str:
        """`chw` or `hwc`, for padding."""
        return layout_of(self.recipe)

    @property
    def ragged_keys(self) -> frozenset[str]:
        """Keys of a sample that differ in length from sample to sample, and become lists in a batch."""
        return frozenset()

    # -- what it holds ------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._table) if self._order is None else len(self._order)

    def __repr__(self) -> str:
        classes = f", {len(self.classes)} classes" if self.classes else ""
        how = f"recipe {self.recipe.name!r}, mode {self.mode!r}, seed {self.seed}"
        return f"{type(self).__name__}({len(self)} samples{classes}, {how})"

    @property
    def table(self) -> Columns:
        """What is known of the rows before they are read."""
        return self._table

    @property
    def classes(self) -> list[str] | None:
        """Class names, sorted; None without. Integer labels of a CSV file are no positions in it: see class_to_idx."""
        return None if self._table.classes is None else list(self._table.classes)

    @property
    def class_to_idx(self) -> dict[str, int] | None:
        """The label of each class name, or None."""
        return None if self._table.class_to_idx is None else dict(self._table.class_to_idx)

    @property
    def labels(self) -> npt.NDArray[np.int64] | None:
        """The label of every sample, int64 (n,), or None without classes."""
        return cast("npt.NDArray[np.int64] | None", self._column(self._table.labels))

    @property
    def weights(self) -> npt.NDArray[np.float64] | None:
        """The weight of every sample, float64 (n,), for `loader(ds, weights=ds.weights)`; or None."""
        return cast("npt.NDArray[np.float64] | None", self._column(self._weights))

    @property
    def groups(self) -> npt.NDArray[np.str_] | None:
        """The group of every sample, text (n,), or None."""
        return cast("npt.NDArray[np.str_] | None", self._column(self._table.groups))

    def path(self, index: int) -> str:
        """The file of a sample, or the folder of a bag; IndexError where `ds[index]` raises one."""
        return self._path(self._row(index))

    def _row(self, index: int) -> int:
        return self._virtual(position_of(as_index(index), len(self))) % len(self._table)

    def rows(self) -> Indices:
        """The row of `table` that each sample is read from."""
        return np.arange(len(self)) if self._order is None else self._order % len(self._table)

    def _column(self, values: Any) -> Any:
        return None if values is None else values[self.rows()]

    def fingerprint(self) -> dict[str, Any]:
        """What must be the same for a saved loader state to make sense."""
        return {
            "recipe": self.recipe.digest[:16],
            "mode": self.mode,
            "dataset_seed": self.seed,
            "files": self._table.digest(),
            "subset": None if self._order is None else digest_of(self._order),
            # What `none` and `exact` make is the same.
            "optimize": "fast" if self.pipeline.optimize == "fast" else "exact",
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

    def __getitem__(self, key: Any) -> dict[str, Any]:
        """Sample `i` of the set epoch, or `(epoch, i)`."""
        now, ((epoch, index),) = current(), self._resolved([key])
        repeat, position = divmod(index, len(self))
        virtual = self._virtual(position, repeat)
        try:
            return self._read(epoch, virtual)
        except DataError as error:
            if self.on_error == "raise":
                raise
            if now and now.defer:
                # The loader replaces it: it knows of which samples, if this dataset is only a part of what it reads.
                raise SkipError(error, self.seed, virtual) from error
            others = (k for k in candidates(self.seed, epoch, virtual, len(self)) if k != position)
            return in_its_place(error, others, lambda other: self._read(epoch, self._virtual(other, repeat)))

    def __getitems__(self, keys: Sequence[Any]) -> list[dict[str, Any]]:
        """`[ds[key] for key in keys]`, which is how torch's DataLoader asks; at once where this kind can."""
        if current() is None and self.gathers and type(self).__getitem__ is SampleDataset.__getitem__:
            keys = self._resolved(keys)
            if (at_once := samples_at_once(self, keys, self.__getitem__)) is not None:
                return at_once
        return [self[key] for key in keys]

    def read_batch(self, epoch: int, indices: Sequence[int], take: Take | None = None) -> dict[str, Any] | None:
        """The samples `ds[epoch, i]` as one batch, or None where they have to be read one after another.

        Args:
            epoch: of the draws.
            indices: not negative; `len(ds)` and more stand for repeats.
            take: gives the memory, see `_batch`; None: memory of its own.

        Raises:
            DataError: one of them cannot be read; a SomeFailedError has the others.
        """
        repeats, positions = np.divmod(np.asarray(indices, np.int64), len(self))
        virtual = (positions if self._order is None else self._order[positions]) + repeats * self._span
        rows = virtual % len(self._table)
        try:
            found = self._batch(rows, epoch, virtual, take or BatchRows(len(rows)).take(range(len(rows))))
        except SomeFailedError as some:
            raise some.of(completed(some.batch, self._table, self._paths, virtual)) from some.__cause__
        return None if found is None else completed(found, self._table, self._paths, virtual)

    def _read(self, epoch: int, virtual: int) -> dict[str, Any]:
        path = self._path(row := virtual % len(self._table))
        try:
            sample = self._sample(row, epoch, virtual)
        except DataError as error:
            raise (error if error.path else error.with_path(path)) from error.__cause__
        if self._table.labels is not None:
            sample.setdefault("label", int(self._table.labels[row]))
        sample["index"], sample["path"] = virtual, path
        return sample

    def _resolved(self, keys: Sequence[Any]) -> list[Key]:
        return resolved(keys, len(self), self.epoch, lambda at: self._visits.next(self._virtual(at), self.clock))

    def _virtual(self, position: int, repeat: int = 0) -> int:
        """The integer that keys the draws: the row of the table, plus multiples of the table's length for repeats."""
        return (position if self._order is None else int(self._order[position])) + repeat * self._span
