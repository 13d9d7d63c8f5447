"""The Dataset: samples of a source, run through a recipe; epochs, repeats, subsets, columns, and broken files."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature, signature
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypedDict

import numpy as np
import torch
from torch.utils.data import Dataset

from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.data.batching import BatchRows, Take, samples_at_once
from augrecipes.data.checks import RefusesWords, as_recipe
from augrecipes.data.epochs import EpochClock, SkipError, candidates, check_epoch, current, in_its_place
from augrecipes.data.known_samples import KnownSamples
from augrecipes.data.order import Indices, check_weights
from augrecipes.data.sample_keys import SampleKeys
from augrecipes.data.source_runs import run_batch, run_sample
from augrecipes.errors import DataError
from augrecipes.images.format import Depth, Frames, chosen_policies
from augrecipes.recipe.model import Bag, Kind, Mode, Optimize
from augrecipes.sharing import SpawnShared
from augrecipes.sources.columns import Classes, Columns
from augrecipes.sources.files import MAX_PIXELS
from augrecipes.sources.sample import RecipeSource

if TYPE_CHECKING:
    pass

_log = logging.getLogger("augrecipes")
TableOrReader = Columns | RecipeSource  # what a dataset is made of: a table of files, or what reads one


class RunSettings(TypedDict, total=False):
    """What every dataset takes, see `RecipeDataset`."""

    mode: Mode
    seed: int
    optimize: Optimize | None
    on_error: Literal["raise", "skip"]
    weights: Any
    samples_per_epoch: int | None
    classes: Classes | None
    save_applied_params: bool


class Settings(RunSettings, total=False):
    """What every dataset of image files takes."""

    exif: Literal["apply", "ignore"]
    channels: int | None
    max_pixels: int
    depth: Depth | None
    frames: Frames | None


class RecipeDataset(RefusesWords, KnownSamples, SpawnShared, Dataset[dict[str, Any]]):
    """Samples of a source, image files, pairs or bags of tiles, each a row of a table, run through a recipe.

    A sample is a pure function of (recipe, seed, epoch, index). `ds[5]` is sample 5 of the epoch that `set_epoch` set,
    `ds[epoch, 5]` of a given one, where indices of `len(ds)` and more stand for repeats: the same row of the table
    with draws of its own. That integer, which keys the draws, is called virtual: `virtual % rows` is the row.

    Args:
        source: reads the rows, or is their table; or a function that gives one of both once the recipe is compiled.
        recipe: a Recipe, the name of a gallery recipe, or the path of a recipe file, of this dataset's kind.
        mode: `train` runs the recipe's steps, `eval` its eval section.
        seed: of the draws.
        optimize: `none`, `exact`, `fast`, or None for what the recipe says.
        on_error: `raise` or `skip`.
        weights: one number a sample, kept as `ds.weights`; instead of the table's.
        samples_per_epoch: length of the dataset, when it is not the number of rows.
        classes: names of classes in the order of their numbers, or numbers by name, such as those of another dataset.
        exif: `apply` or `ignore` the orientation that files say.
        channels: 1, 3, 4 (with alpha), or those of files of more bands; None takes what the recipe's inputs say, or 3.
        max_pixels: larger images are refused before they are decoded.
        depth: `8bit` or `error`, of files of more than 8 bits a sample; None: as AUGRECIPES_DEPTH says.
        frames: `first` or `error`, of files of several pages; None: as AUGRECIPES_FRAMES says.
        save_applied_params: add `applied` to every sample.
        options: other arguments of `Recipe.compile`.

    Attributes:
        recipe: the recipe.
        pipeline: the compiled recipe.
        source: reads its rows; a source for another dataset, too: `ar.Samples(ds.source, recipe)`.
        table: what is known of the rows.
        rule: of bags: which tiles of one make up a sample.
        mode: which section of the recipe it runs.
        seed: of the draws.
        on_error: what happens to samples that cannot be read.
        clock: the epoch, shared with subsets and with copies in workers.

    Raises:
        RecipeError: the recipe is not valid, of another kind, or has no section for `mode`.
    """

    kind: Kind
    table: Columns
    rule = Bag()
    _takes: ClassVar[Any] = Settings

    def __init_subclass__(cls, takes: Any = None) -> None:
        """Show the settings that `**how: Unpack[takes]` stands for in the signature, for `help` and for notebooks."""
        cls._takes = takes or cls._takes
        own = signature(cls.__init__).parameters
        mine = [one for name, one in own.items() if name != "self" and one.kind is not Parameter.VAR_KEYWORD]
        known = signature(RecipeDataset.__init__).parameters | signature(super(cls, cls).__init__).parameters
        shown = [one for name, one in known.items() if name in cls._takes.__annotations__ and name not in own]
        cls.__signature__ = Signature([*mine, *(shown if len(mine) < len(own) - 1 else ())])  # type: ignore[attr-defined]

    def __init__(
        self,
        source: TableOrReader | Callable[[], TableOrReader],
        recipe: Any,
        *,
        mode: Mode = "train",
        seed: int = 0,
        optimize: Optimize | None = None,
        on_error: Literal["raise", "skip"] = "raise",
        weights: Any = None,
        samples_per_epoch: int | None = None,
        classes: Classes | None = None,
        exif: Literal["apply", "ignore"] = "apply",
        channels: int | None = None,
        max_pixels: int = MAX_PIXELS,
        depth: Depth | None = None,
        frames: Frames | None = None,
        save_applied_params: bool = False,
        options: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error must be 'raise' or 'skip', got {on_error!r}")
        self.recipe = as_recipe(recipe, getattr(self, "kind", None))
        self.mode, self.seed, self.on_error, self._classes = mode, int(seed), on_error, classes
        self._compile = {"optimize": optimize, "save_applied_params": save_applied_params, **options}
        # Compiled first: a recipe that cannot run is reported before a folder is listed.
        self.pipeline = self._compiled(mode)
        self.clock = EpochClock()
        chosen_policies(depth, frames)  # or an error for values that are none
        wanted = channels or self.recipe.inputs.channels or 3
        decode = {"exif": exif, "channels": wanted, "max_pixels": max_pixels, "depth": depth, "frames": frames}
        self._decode: dict[str, Any] = decode
        listed = source() if callable(source) else source
        if not isinstance(listed, RecipeSource):
            listed = RecipeSource(listed, self.recipe.inputs, self._decode)
        self.source, self.table = listed, self._numbered(listed.table)
        self._weights = self.table.weights if weights is None else check_weights(weights, len(self.table))
        self._keys = SampleKeys(len(self.table), samples_per_epoch, quiet=mode == "eval")

    def _numbered(self, table: Columns) -> Columns:
        """The table with the numbers that `classes=` gives its classes; the log names those without samples."""
        if self._classes is None:
            return table
        table = table.with_classes(self._classes)
        used = set(() if table.labels is None else np.unique(table.labels).tolist())
        if lacking := [name for name, k in (table.class_to_idx or {}).items() if k not in used]:
            _log.warning("%s: no samples of %s, which classes= names", table.path(0), ", ".join(lacking))
        return table

    # -- epochs and subsets -------------------------------------------------------------------------------------------

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
        part, mode = copy.copy(self), mode or self.mode
        part._keys = self._keys.subset(indices, quiet=None if mode == self.mode else mode == "eval")
        if mode != self.mode:
            part.mode, part.pipeline = mode, part._compiled(mode)
        return part

    def _compiled(self, mode: Mode) -> Pipeline:
        """The recipe's section for `mode`, or what is left of it to be done with what is read."""
        return self.recipe.compile(mode, seed=self.seed, **self._compile)

    def recompiled(self, **options: Any) -> Pipeline:
        """The pipeline once more, compiled with other options of `Recipe.compile`: `save_applied_params=True`."""
        made = copy.copy(self)
        made._compile = {**self._compile, **options}
        return made._compiled(self.mode)

    # -- what a kind may define ---------------------------------------------------------------------------------------

    def _sample(self, row: int, epoch: int, virtual: int) -> dict[str, Any]:
        """Read row `row` of the table and run it through `self.pipeline.at(index=virtual, epoch=epoch)`.

        `label`, `index` and `path` are added afterwards; a DataError without a file gets that of `_path`.
        """
        return run_sample(self, row, epoch, virtual)

    def _batch(self, rows: Indices, epoch: int, virtual: Indices, take: Take) -> dict[str, Any] | None:
        """What `_sample` gives for several rows at once; None where they have to be read one after another.

        Called from several threads, each with a part of a batch. After a DataError `_sample` is asked for them.

        Args:
            rows: of the table, int64 (n,).
            epoch: of the draws.
            virtual: keys of the draws, int64 (n,).
            take: gives the memory for a key's n values: (key, shape of one, dtype) → array (n, *shape).

        Returns:
            By key an array or tensor of n rows, as `Collate` makes of n samples, or a list of what the samples have.
        """
        return run_batch(self, rows, epoch, virtual, take) if self._runs_at_once() else None

    def _runs_at_once(self) -> bool:
        """Whether all steps run natively, and so do their masks."""
        facts = self.recipe.facts
        if facts.tiles or facts.views or not isinstance(self.pipeline, Pipeline):
            return False
        return self.pipeline.why_one_by_one({"mask"} if self.table.masked else set()) is None

    @property
    def gathers(self) -> bool:
        """Whether several samples can be read at once."""
        place = {name: k for k, kind in reversed([*enumerate(type(self).__mro__)]) for name in vars(kind)}
        # Not where a class further down has changed what a sample is.
        return place["_batch"] <= min(place["_sample"], place["_read"]) and self._runs_at_once()

    @property
    def mixes(self) -> bool:
        """Whether batches of its samples are mixed, by the recipe's `batch:`; then samples say their epoch."""
        return self.mode == "train" and bool(self.recipe.batch)

    # -- samples ------------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> dict[str, Any]:
        """Sample `i` of the set epoch, or `(epoch, i)`."""
        now, ((epoch, index),) = current(), self._keys.resolve([key], self.clock)
        repeat, position = divmod(index, len(self))
        virtual = self._keys.key(position, repeat)
        try:
            return self._read(epoch, virtual)
        except DataError as error:
            if self.on_error == "raise":
                raise
            if now and now.lost is not None:
                # The loader replaces it: it knows of which samples, if this dataset is only a part of what it reads.
                raise SkipError(error, self.seed, virtual) from error
            others = (k for k in candidates(self.seed, epoch, virtual, len(self)) if k != position)
            return in_its_place(error, others, lambda other: self._read(epoch, self._keys.key(other, repeat)))

    def __getitems__(self, keys: Sequence[Any]) -> list[dict[str, Any]]:
        """`[ds[key] for key in keys]`, which is how torch's DataLoader asks; at once where this kind can."""
        if current() is None and self.gathers and type(self).__getitem__ is RecipeDataset.__getitem__:
            keys = self._keys.resolve(keys, self.clock)
            if (at_once := samples_at_once(self, keys)) is not None:
                return at_once
        return [self[key] for key in keys]

    def read_batch(self, epoch: int, indices: Sequence[int], take: Take | None = None) -> dict[str, Any] | None:
        """The samples `ds[epoch, i]` as one batch, or None where they have to be read one after another.

        Args:
            epoch: of the draws.
            indices: not negative; `len(ds)` and more stand for repeats.
            take: gives the memory, see `_batch`; None: memory of its own.

        Raises:
            DataError: one of them cannot be read.
        """
        virtual = self._keys.several(indices)
        rows = virtual % len(self.table)
        found = self._batch(rows, epoch, virtual, take or BatchRows(len(rows)).take(range(len(rows))))
        if found is None:
            return None
        batch = {key: torch.from_numpy(v) if isinstance(v, np.ndarray) else v for key, v in found.items()}
        if self.table.labels is not None and "label" not in batch:
            batch["label"] = torch.from_numpy(self.table.labels[rows].astype(np.int64, copy=False))
        batch["index"], batch["path"] = torch.from_numpy(virtual), self._paths(rows)
        return batch | ({"epoch": torch.full((len(rows),), epoch)} if self.mixes else {})

    def _read(self, epoch: int, virtual: int) -> dict[str, Any]:
        path = self._path(row := virtual % len(self.table))
        try:
            sample = self._sample(row, epoch, virtual)
        except DataError as error:
            raise (error if error.path else error.with_path(path)) from error.__cause__
        if self.table.labels is not None:
            sample.setdefault("label", int(self.table.labels[row]))
        sample["index"], sample["path"] = virtual, path
        return sample | ({"epoch": epoch} if self.mixes else {})
