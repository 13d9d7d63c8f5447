"""The Dataset: samples of a source, run through a recipe; epochs, repeats, subsets, columns, and broken files."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import numpy as np
import numpy.typing as npt
from torch.utils.data import Dataset

from augrecipes import report, sharing
from augrecipes.compiler.run.batch import AllocateTarget
from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.data import batching, checks, epochs, order, sample_keys, source_runs
from augrecipes.images.losses import Depth, Frames, chosen_policies
from augrecipes.native.kernels import library
from augrecipes.recipe.model import Bag, Kind, Mode, Optimize
from augrecipes.sources import columns, files, sample

if TYPE_CHECKING:
    from augrecipes.preview.sheet import Sheet

TableOrReader = columns.Columns | sample.RecipeSource  # what a dataset is made of: a table of files, or what reads one


class RecipeDataset(checks.TakesSettings, report.Displayed, sharing.SpawnShared, Dataset[dict[str, Any]]):
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
        classes: names of classes in the order of their numbers, such as those of another dataset.
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
        sample_keys: the row and the key of the draws of each sample.
        rule: of bags: which tiles of one make up a sample.
        mode: which section of the recipe it runs.
        seed: of the draws.
        on_error: what happens to samples that cannot be read.
        clock: the epoch, shared with subsets and with copies in workers.

    Raises:
        RecipeError: the recipe is not valid, of another kind, or has no section for `mode`.
    """

    kind: Kind
    table: columns.Columns
    rule = Bag()

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
        classes: columns.Classes | None = None,
        exif: Literal["apply", "ignore"] = "apply",
        channels: int | None = None,
        max_pixels: int = files.MAX_PIXELS,
        depth: Depth | None = None,
        frames: Frames | None = None,
        save_applied_params: bool = False,
        options: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error must be 'raise' or 'skip', got {on_error!r}")
        self.recipe = checks.as_recipe(recipe, getattr(self, "kind", None))
        self.mode, self.seed, self.on_error, self._classes = mode, int(seed), on_error, classes
        self._compile = {"optimize": optimize, "save_applied_params": save_applied_params, **options}
        # Compiled first: a recipe that cannot run is reported before a folder is listed.
        self.pipeline = self._compiled(mode)
        self.clock = epochs.EpochClock()
        self._decode = sample.decode_arguments(
            self.recipe.inputs, channels, exif=exif, max_pixels=max_pixels, depth=depth, frames=frames
        )
        listed = source() if callable(source) else source
        if not isinstance(listed, sample.RecipeSource):
            listed = sample.RecipeSource(listed, self.recipe.inputs, self._decode).for_recipe(self.recipe)
        self.source, self.table = listed, listed.table if classes is None else listed.table.with_classes(classes)
        self._weights = self.table.weights if weights is None else order.check_weights(weights, len(self.table))
        self.sample_keys = sample_keys.SampleKeys(len(self.table), samples_per_epoch, quiet=mode == "eval")

    @property
    def epoch(self) -> int:
        """The epoch that `ds[i]` reads."""
        return self.clock.epoch

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, for this dataset, its subsets, and copies in workers; a loader's next pass runs it."""
        self.clock.set(epochs.check_epoch(epoch))

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
        part.sample_keys = self.sample_keys.subset(indices, quiet=None if mode == self.mode else mode == "eval")
        if mode != self.mode:
            part.mode, part.pipeline = mode, part._compiled(mode)
        return part

    def _compiled(self, mode: Mode) -> Pipeline:
        """The recipe's section for `mode`, or what is left of it to be done with what is read."""
        return self.recipe.compile(mode, seed=self.seed, **self._compile)

    def recompiled(self, **options: Any) -> Pipeline:
        """The pipeline once more, compiled with other options of `Recipe.compile`: `save_applied_params=True`."""
        other = copy.copy(self)
        other._compile = {**self._compile, **options}
        return other._compiled(self.mode)

    def __len__(self) -> int:
        return len(self.sample_keys)

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
    def labels(self) -> npt.NDArray[Any] | None:
        """The label of every sample, int64 (n,); of several classes each float32 (n, classes); None without classes."""
        return cast("npt.NDArray[Any] | None", self._column(self.table.labels))

    @property
    def weights(self) -> npt.NDArray[np.float64] | None:
        """The weight of every sample, float64 (n,), for `loader(ds, weights=ds.weights)`; or None."""
        return cast("npt.NDArray[np.float64] | None", self._column(self._weights))

    @property
    def groups(self) -> npt.NDArray[np.str_] | None:
        """The group of every sample, text (n,), or None."""
        return cast("npt.NDArray[np.str_] | None", self._column(self.table.groups))

    def path(self, index: int) -> str:
        """The file of a sample, or the folder of a bag; IndexError where `ds[index]` raises one."""
        return self.row_path(self.sample_keys.row(index))

    def _column(self, values: Any) -> Any:
        return None if values is None else values[self.sample_keys.rows_of_samples()]

    def fingerprint(self) -> dict[str, Any]:
        """What must be the same for a saved loader state to make sense."""
        return {
            "recipe": self.recipe.digest[:16],
            "mode": self.mode,
            "dataset_seed": self.seed,
            "files": self.table.digest(),
            "subset": None if self.sample_keys.listed is None else columns.digest_of(self.sample_keys.listed),
            # What `none` and `exact` make is the same, and without kernels `fast` makes that, too.
            "optimize": "fast" if self.pipeline.optimize == "fast" and library() is not None else "exact",
            **self._identity(),
        }

    def row_path(self, row: int) -> str:
        """What stands for row `row` in samples, messages and records: a file, or a folder."""
        return self.table.path(row)

    def row_paths(self, rows: order.Indices) -> list[str]:
        """Those of several rows."""
        return [self.row_path(row) for row in rows.tolist()]

    def _identity(self) -> dict[str, Any]:
        """What else decides which samples there are, by the name of the argument: for `fingerprint`."""
        chosen = chosen_policies(self._decode["depth"], self._decode["frames"])
        # Pages are channels where `channels` says so.
        return {**self._decode, **chosen, "frames": "first" if chosen["frames"] == "first" else "error"}

    def show(
        self, samples: int | Sequence[int] | None = None, *, draws: int | None = None, stages: bool = False,
        epoch: int | None = None, pairs: int | None = None,
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
            pairs: so many degraded tiles of pairs instead, with the steps that degraded them.

        Raises DataError where none of them can be read, or where they are no pairs.
        """
        sheet: Sheet = report.renderers["dataset"](self, samples, draws, stages=stages, epoch=epoch, pairs=pairs)
        return sheet

    def given(self, index: int, *, epoch: int | None = None, tile: int = 0) -> sample.Sample:
        """Sample `index` as it is read, before the recipe: its images by target, mask, boxes and points; no draws.

        Args:
            index: as in `ds[index]`.
            epoch: of a store that holds several; None: the set epoch.
            tile: of a bag, by its number among all of the bag.

        Raises:
            DataError: it cannot be read.
            IndexError: where `ds[index]` raises one, or there is no such tile.
        """
        return source_runs.sample_as_given(self, index, epoch, tile)

    def make_sample(self, row: int, epoch: int, virtual: int) -> dict[str, Any]:
        """Read row `row` of the table and run it through `self.pipeline.at(index=virtual, epoch=epoch)`.

        `label`, `index` and `path` are added afterwards; a DataError without a file gets that of `row_path`.
        """
        return source_runs.run_sample(self, row, epoch, virtual)

    def make_batch(
        self, rows: order.Indices, epoch: int, virtual: order.Indices, allocate: AllocateTarget
    ) -> batching.Batch | None:
        """What `make_sample` gives for several rows at once, by key an array or tensor of n rows, or a list.

        None where they have to be read one after another. Called from several threads, each with a part of a batch.
        After a DataError `make_sample` is asked for them. `rows` and `virtual` are int64 (n,); `allocate` gives the
        memory for a key's n values: (key, shape of one, dtype) → array (n, *shape).
        """
        return source_runs.run_batch(self, rows, epoch, virtual, allocate) if self._runs_at_once() else None

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
        return place["make_batch"] <= min(place["make_sample"], place["read_sample"]) and self._runs_at_once()

    @property
    def mixes(self) -> bool:
        """Whether batches of its samples are mixed, by the recipe's `batch:`; then samples say their epoch."""
        return self.mode == "train" and bool(self.recipe.batch)

    def __getitem__(self, key: Any) -> dict[str, Any]:
        """Sample `i` of the set epoch, or `(epoch, i)`."""
        ((epoch, index),) = self.sample_keys.resolve([key], self.clock)
        return source_runs.read_or_replace(self, epoch, index)

    def __getitems__(self, keys: Sequence[Any]) -> list[dict[str, Any]]:
        """`[ds[key] for key in keys]`, which is how torch's DataLoader asks; at once where this kind can."""
        if epochs.current() is None and self.gathers and type(self).__getitem__ is RecipeDataset.__getitem__:
            keys = self.sample_keys.resolve(keys, self.clock)
            if (at_once := batching.samples_at_once(self, keys)) is not None:
                return at_once
        return [self[key] for key in keys]

    def read_batch(
        self, epoch: int, indices: Sequence[int], allocate: AllocateTarget | None = None
    ) -> batching.Batch | None:
        """The samples `ds[epoch, i]` as one batch, or None where they have to be read one after another.

        Indices are not negative; `len(ds)` and more stand for repeats. `allocate` gives the memory, see `make_batch`;
        None: memory of its own. DataError: one of them cannot be read.
        """
        return source_runs.read_batch(self, epoch, indices, allocate)

    def read_sample(self, epoch: int, virtual: int) -> dict[str, Any]:
        """The sample of a key in an epoch, with its label, index and path; DataError names the file."""
        return source_runs.read_sample(self, epoch, virtual)
