"""RecipeDataset: samples of a source, run through a recipe; epochs, repeats, subsets, columns, and broken files."""

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

TableOrReader = columns.Columns | sample.RecipeSource  # a table of files, or a source that reads one


class RecipeDataset(checks.TakesSettings, report.Displayed, sharing.SpawnShared, Dataset[dict[str, Any]]):
    """A torch Dataset of the samples of a source (images, pairs or bags of tiles), run through a recipe.

    A sample is a pure function of (recipe, seed, epoch, index). `ds[5]` is sample 5 of the epoch that `set_epoch` set,
    `ds[epoch, 5]` of the named epoch. Indices of `len(ds)` and more are repeats: the same row of the table with draws
    of its own. The integer that keys the draws is called virtual; `virtual % rows` is the row.

    Args:
        source: the source of the rows, or their table; or a function that returns either once the recipe is compiled.
        recipe: a Recipe, the name of a gallery recipe, or the path of a recipe file, of this dataset's kind.
        mode: `train` runs the recipe's steps, `eval` its eval section.
        seed: of the random draws.
        optimize: `none`, `exact`, `fast`, or None: as the recipe says.
        on_error: `raise` or `skip`.
        weights: one number per sample, kept as `ds.weights`, instead of the table's.
        samples_per_epoch: length of the dataset, by default the number of rows.
        classes: names of classes in the order of their numbers, such as those of another dataset.
        exif: `apply` or `ignore` the EXIF orientation of files.
        channels: 1, 3, 4 (with alpha), or the bands of multispectral files; None: as the recipe's inputs say, or 3.
        max_pixels: the largest image allowed, checked before decoding.
        depth: `8bit` or `error`, for files of more than 8 bits per sample; None: as AUGRECIPES_DEPTH says.
        frames: `first` or `error`, for files of several pages; None: as AUGRECIPES_FRAMES says.
        save_applied_params: add `applied` to every sample.
        options: other arguments of `Recipe.compile`.

    Attributes:
        recipe: the recipe.
        pipeline: the compiled recipe.
        source: reads the rows; also a source for another dataset: `ar.Samples(ds.source, recipe)`.
        table: the table of the rows.
        sample_keys: the row and the draws' key of each sample.
        rule: for bags: which tiles of a bag make up a sample.
        mode: the section of the recipe.
        seed: of the random draws.
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
        """Set the epoch of this dataset, its subsets, and copies in workers; a loader's next pass runs it."""
        self.clock.set(epochs.check_epoch(epoch))

    def subset(self, indices: Any, *, mode: Mode | None = None) -> Self:
        """A dataset of some of the samples.

        A sample keeps the index, and so the draws, that it has here. An index that occurs again is a repeat with draws
        of its own. The subset shares this dataset's epoch.

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
        """The pipeline for `mode`, without steps that are baked into the data."""
        return self.recipe.compile(mode, seed=self.seed, **self._compile)

    def recompiled(self, **options: Any) -> Pipeline:
        """The pipeline, compiled with other options of `Recipe.compile`, such as `save_applied_params=True`."""
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
        """Class names by number, or None. Integer labels in a CSV file need not be positions here: see class_to_idx."""
        return None if self.table.classes is None else list(self.table.classes)

    @property
    def class_to_idx(self) -> dict[str, int] | None:
        """The label of each class name, or None."""
        return None if self.table.class_to_idx is None else dict(self.table.class_to_idx)

    @property
    def labels(self) -> npt.NDArray[Any] | None:
        """The label of every sample, int64 (n,), or float32 (n, classes) of 0 and 1 for multi-label data; or None."""
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
        """The settings that must be equal for a saved loader state to apply."""
        return {
            "recipe": self.recipe.digest[:16],
            "mode": self.mode,
            "dataset_seed": self.seed,
            "files": self.table.digest(),
            "subset": None if self.sample_keys.listed is None else columns.digest_of(self.sample_keys.listed),
            # `none` and `exact` give equal samples, and so does `fast` without kernels.
            "optimize": "fast" if self.pipeline.optimize == "fast" and library() is not None else "exact",
            **self._identity(),
        }

    def row_path(self, row: int) -> str:
        """The path that identifies row `row` in samples, messages and records: a file, or a folder."""
        return self.table.path(row)

    def row_paths(self, rows: order.Indices) -> list[str]:
        """The paths of several rows."""
        return [self.row_path(row) for row in rows.tolist()]

    def _identity(self) -> dict[str, Any]:
        """Further settings that decide the samples, by the names of arguments, for `fingerprint`."""
        chosen = chosen_policies(self._decode["depth"], self._decode["frames"])
        # `frames: channels` follows from `channels`.
        return {**self._decode, **chosen, "frames": "first" if chosen["frames"] == "first" else "error"}

    def show(
        self, samples: int | Sequence[int] | None = None, *, draws: int | None = None, stages: bool = False,
        epoch: int | None = None, pairs: int | None = None,
    ) -> "Sheet":  # fmt: skip
        """A sheet of some samples, which a notebook shows and `.save("sheet.png")` writes.

        It shows images as `ds[epoch, i]` yields them, with `draws` or `stages` beside their source; pairs as the whole
        scene and its crops; bags as tiles and their positions.

        Args:
            samples: the number of samples, spread evenly over the dataset and its classes; or their indices. None: a
                number that fits the sheet.
            draws: draws per sample, in successive epochs; for bags the number of tiles to show.
            stages: show one draw after each step instead.
            epoch: of the first draw; None: the set epoch.
            pairs: show this many degraded tiles of pairs instead, with the steps that degraded them.

        Raises:
            DataError: none of the samples can be read; or `pairs=` for a recipe of another kind.
        """
        return report.renderers["dataset"](self, samples, draws, stages=stages, epoch=epoch, pairs=pairs)

    def given(self, index: int, *, epoch: int | None = None, tile: int = 0) -> sample.Sample:
        """Sample `index` before the recipe: its images by target, mask, boxes and keypoints, without draws.

        Args:
            index: as in `ds[index]`.
            epoch: the baked epoch, for a store that holds several; None: the set epoch.
            tile: for a bag, the number of the tile among all of the bag.

        Raises:
            DataError: the sample cannot be read.
            IndexError: the index is out of range, or there is no such tile.
        """
        return source_runs.read_unprocessed(self, index, epoch, tile)

    def make_sample(self, row: int, epoch: int, virtual: int) -> dict[str, Any]:
        """Read row `row` of the table and run it through `self.pipeline.at(index=virtual, epoch=epoch)`.

        The caller adds `label`, `index` and `path`, and names the file of `row_path` in a DataError without one.
        """
        return source_runs.run_sample(self, row, epoch, virtual)

    def make_batch(
        self, rows: order.Indices, epoch: int, virtual: order.Indices, allocate: AllocateTarget
    ) -> batching.Batch | None:
        """`make_sample` for several rows at once: for each key an array or tensor of n rows, or a list.

        None if the rows must be read one by one. It is called from several threads, each with a part of a batch. After
        a DataError the caller falls back to `make_sample`. `rows` and `virtual` are int64 (n,); `allocate` allocates
        the memory for a key's n values: (key, shape of one, dtype) → array (n, *shape).
        """
        return source_runs.run_batch(self, rows, epoch, virtual, allocate) if self._runs_natively() else None

    def _runs_natively(self) -> bool:
        """Whether all steps run natively, on masks too."""
        facts = self.recipe.facts
        if facts.tiles or facts.views or not isinstance(self.pipeline, Pipeline):
            return False
        return self.pipeline.why_one_by_one({"mask"} if self.table.masked else set()) is None

    @property
    def gathers(self) -> bool:
        """Whether several samples can be read by one call."""
        place = {name: k for k, kind in reversed([*enumerate(type(self).__mro__)]) for name in vars(kind)}
        # Not where a subclass overrides how a single sample is made.
        return place["make_batch"] <= min(place["make_sample"], place["read_sample"]) and self._runs_natively()

    @property
    def mixes(self) -> bool:
        """Whether the recipe's `batch:` steps mix batches of its samples; then samples carry their epoch."""
        return self.mode == "train" and bool(self.recipe.batch)

    def __getitem__(self, key: Any) -> dict[str, Any]:
        """Sample `i` of the set epoch, or `(epoch, i)`."""
        ((epoch, index),) = self.sample_keys.resolve([key], self.clock)
        return source_runs.read_or_replace(self, epoch, index)

    def __getitems__(self, keys: Sequence[Any]) -> list[dict[str, Any]]:
        """`[ds[key] for key in keys]`, as torch's DataLoader requests a batch; by one call if possible."""
        if epochs.current() is None and self.gathers and type(self).__getitem__ is RecipeDataset.__getitem__:
            keys = self.sample_keys.resolve(keys, self.clock)
            if (at_once := batching.samples_at_once(self, keys)) is not None:
                return at_once
        return [self[key] for key in keys]

    def read_batch(
        self, epoch: int, indices: Sequence[int], allocate: AllocateTarget | None = None
    ) -> batching.Batch | None:
        """The samples `ds[epoch, i]` as one batch, or None if they must be read one by one.

        Indices are not negative; `len(ds)` and more are repeats. `allocate` allocates the memory, see `make_batch`;
        None: new memory. DataError: a sample cannot be read.
        """
        return source_runs.read_batch(self, epoch, indices, allocate)

    def read_sample(self, epoch: int, virtual: int) -> dict[str, Any]:
        """The sample of a key in an epoch, with its label, index and path; DataError names the file."""
        return source_runs.read_sample(self, epoch, virtual)
