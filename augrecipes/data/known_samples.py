"""What is known of samples before they are run: columns, paths, the fingerprint, and a look at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from augrecipes.data.batching import ragged_keys
from augrecipes.data.checks import as_index, position_of
from augrecipes.data.epochs import EpochClock, check_epoch
from augrecipes.data.order import Indices
from augrecipes.data.sample_keys import SampleKeys
from augrecipes.display import Displayed, renderers
from augrecipes.errors import DataError
from augrecipes.images.format import chosen_policies
from augrecipes.native.kernels import library
from augrecipes.recipe.model import Mode, Recipe
from augrecipes.sources.columns import Columns, digest_of
from augrecipes.sources.sample import RecipeSource, Sample

if TYPE_CHECKING:
    from augrecipes.compiler.run.pipeline import Pipeline
    from augrecipes.preview.sheet import Sheet


class KnownSamples(Displayed):
    """Samples by their indices, as a table and a recipe have them."""

    recipe: Recipe
    pipeline: Pipeline
    mode: Mode
    seed: int
    clock: EpochClock
    source: RecipeSource
    table: Columns
    _keys: SampleKeys
    _weights: Any
    _decode: dict[str, Any]

    def __len__(self) -> int:
        return len(self._keys)

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
        return self._path(self._keys.row(index))

    def rows(self) -> Indices:
        """The row of `table` that each sample is read from."""
        return self._keys.rows_of_samples()

    def _column(self, values: Any) -> Any:
        return None if values is None else values[self.rows()]

    def fingerprint(self) -> dict[str, Any]:
        """What must be the same for a saved loader state to make sense."""
        return {
            "recipe": self.recipe.digest[:16],
            "mode": self.mode,
            "dataset_seed": self.seed,
            "files": self.table.digest(),
            "subset": None if self._keys.listed is None else digest_of(self._keys.listed),
            # What `none` and `exact` make is the same, and without kernels `fast` makes that, too.
            "optimize": "fast" if self.pipeline.optimize == "fast" and library() is not None else "exact",
            **self._marks(),
        }

    def _path(self, row: int) -> str:
        """What stands for row `row` in samples, messages and records: a file, or a folder."""
        return self.table.path(row)

    def _paths(self, rows: Indices) -> list[str]:
        return [self._path(row) for row in rows.tolist()]

    def _marks(self) -> dict[str, Any]:
        """What else decides which samples there are, by the name of the argument: for `fingerprint`."""
        return {**self._decode, **chosen_policies(self._decode["depth"], self._decode["frames"])}

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
        return dict(self.source.decode)

    def indices(self) -> Indices:
        """What keys the draws of each sample, with an epoch: `index` in samples, int64 (n,)."""
        return self._keys.all()

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
        virtual = self._keys.key(position_of(as_index(index), len(self)))
        unit = self.table.units_of(virtual % len(self.table))[tile]
        scales = self.recipe.scales  # files have the largest first
        names = sorted(self.pipeline.targets, key=lambda name: -scales[name]) if scales else ["image"]
        baked = (self.clock.epoch if epoch is None else check_epoch(epoch)) + virtual // len(self.table)
        try:
            return replace(self.source.sample(unit, baked, names=names), index=virtual, tile=tile)
        except DataError as error:
            raise (error if error.path else error.with_path(self.path(index))) from error.__cause__
