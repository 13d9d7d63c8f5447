"""The data that the studio shows: listed once for each way that recipes read them, and read sample by sample."""

from __future__ import annotations

import itertools
import os
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.errors import DataError
from augrecipes.recipe.model import Mode, Recipe
from augrecipes.sources.opening import Data, open_data
from augrecipes.sources.sample import RecipeSource, Sample
from augrecipes.sources.stored import Store, StoredSource, baked_of, behind, check_targets, open_store
from augrecipes.store import is_store
from augrecipes.studio.asked import Refused
from augrecipes.studio.decoded_once import DecodedOnce
from augrecipes.studio.demo_pictures import DemoPictures
from augrecipes.studio.kept import Kept

MOST_BYTES = 160 << 20  # of samples that are kept, as they were read
DECODED_PX = 4 << 20  # larger pictures are kept as files, and what a plan needs of them is decoded each time
MOST_PX = 40_000_000  # larger ones are not shown
NAMES = 1_000


@dataclass
class Shelf:
    """Reads samples for recipes.

    Attributes:
        data: as `augrecipes.preview` takes them; None: pictures that the demo draws; or a packed store.
        masks: a folder of masks.
        store: the packed store that the data are, open; None of files.

    Raises:
        StoreError: the data are a store that is damaged, or newer.
        DataError: masks beside a store.
    """

    data: Data | None = None
    masks: Any = None
    store: Store | None = field(init=False, default=None)
    _files: Kept[tuple[int, RecipeSource]] = field(default_factory=lambda: Kept(16))
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _baked: Kept[int] = field(default_factory=lambda: Kept(64))
    _samples: Kept[Sample] = field(default_factory=lambda: Kept(MOST_BYTES, nbytes_of))
    _demo: DemoPictures = field(default_factory=DemoPictures)

    def __post_init__(self) -> None:
        if isinstance(self.data, str | os.PathLike) and is_store(self.data, damaged=True):
            self.store = open_store(self.data)
            if self.masks is not None:
                raise DataError("a store has the masks that it was packed with: leave --masks out", str(self.data))

    def left(self, recipe: Recipe, mode: Mode, seed: int) -> tuple[Recipe, tuple[str, ...]]:
        """What of a recipe is left to be done with the data as they are read, and the labels of what a store has done.

        Raises:
            StoreError: the recipe does not begin with the steps that the store was packed with.
        """
        store = self.store
        if store is None or recipe.section(mode) is None:
            return recipe, ()
        # The digest decides which steps are baked, and not all that a recipe says: `optimize` is none of it.
        baked = self._baked.get((recipe.digest, mode, seed), lambda: baked_of(recipe, store, mode, seed))
        return behind(recipe, store, mode, baked)

    @property
    def seed(self) -> int | None:
        """That a store's draws were baked with; None where any seed will do."""
        return None if self.store is None else self.store.about["seed"]

    @property
    def demo(self) -> bool:
        """Whether the demo's pictures are shown."""
        return self.data is None

    def given(self, recipe: Recipe, pipeline: Pipeline) -> tuple[Any, Any]:
        """The data and the masks, or the demo's for this recipe."""
        return self._demo.data_for(recipe, pipeline.targets) if self.demo else (self.data, self.masks)

    def files(self, recipe: Recipe, pipeline: Pipeline) -> RecipeSource:
        """What there is for a recipe; of a store for what `left` has left. Raises DataError where it cannot take it."""
        return self.listed(recipe, pipeline)[1]

    def listed(self, recipe: Recipe, pipeline: Pipeline) -> tuple[int, RecipeSource]:
        """The same, behind a number that no other listing ever has: what is kept of its samples is kept by it."""
        if (store := self.store) is not None:
            check_targets(store, pipeline.targets, pipeline.mode)
            key = _listing_key(recipe, pipeline, store.digest)
            return self._files.get(key, lambda: (next(self._numbers), StoredSource(store, recipe, pipeline.targets)))
        data, masks = self.given(recipe, pipeline)
        return self._files.get(
            _listing_key(recipe, pipeline, data),
            lambda: (next(self._numbers), open_data(recipe, pipeline.targets, data, masks)),
        )

    def sample(self, recipe: Recipe, pipeline: Pipeline, unit: int, epoch: int = 0) -> Sample:
        """One picture, scene or tile as the pipeline takes it: of large files no more is decoded than it asks for.

        Raises:
            DataError: it cannot be read.
        """
        number, files = self.listed(recipe, pipeline)
        if not 0 <= unit < len(files):
            raise Refused(404, "index", f"there are {len(files)} samples; the last is number {len(files) - 1}")
        fast = pipeline.optimize == "fast" and pipeline.reads
        if isinstance(files, StoredSource):
            stored, baked = files, epoch % files.epochs
            _check_size(stored.shape(unit, baked), stored.path(unit))
            key = (number, unit, fast, baked)
            return self._samples.get(key, lambda: stored.read(unit, baked, undecoded=fast))
        of_files = files
        self._inside(files, unit)
        key = (number, unit, fast, 0)
        return self._samples.get(key, lambda: _read(of_files, unit, as_files=fast, reads=pipeline.reads))

    def _inside(self, files: RecipeSource, unit: int) -> None:
        """Refused for a file that a link in a folder of data leads out to."""
        given = self.data.values() if isinstance(self.data, Mapping) else [self.data]
        named = [one for some in given for one in (some if isinstance(some, list) else [some])]
        roots = [Path(os.fsdecode(one)).resolve() for one in named if isinstance(one, str | os.PathLike)]
        if not roots or not all(root.is_dir() for root in roots):
            return  # a list of files names where they are
        for path in files.table.paths(unit).values():
            if not any(Path(path).resolve().is_relative_to(root) for root in roots):
                message = f"{path}: a link that leads out of the folder of data is not followed"
                raise Refused(403, "outside", message, "give the folder that it leads to as --data")

    @property
    def nbytes(self) -> int:
        """Of the samples that are kept."""
        return self._samples.total

    def close(self) -> None:
        """Remove what was drawn for the demo."""
        self._demo.close()


def _listing_key(recipe: Recipe, pipeline: Pipeline, data: Any) -> Hashable:
    return recipe.kind, pipeline.targets, recipe.inputs, repr(recipe.scales.plain()), str(data)


def _read(files: RecipeSource, unit: int, *, as_files: bool, reads: bool) -> Sample:
    """A sample with its pictures decoded, or as files where the plan reads them better, or they are large."""
    sample = files.read(unit, undecoded=True)
    for name, image in sample.images.items():
        pixels = _check_size(image.shape, sample.path)
        if not isinstance(image, np.ndarray) and not (reads and pixels > DECODED_PX):
            sample.images[name] = DecodedOnce(image) if as_files else image.array()
    if not isinstance(mask := sample.rest.get("mask"), np.ndarray | None):
        sample.rest["mask"] = mask.array()[:, :, 0]
    return sample


def _check_size(shape: tuple[int, ...], path: str) -> int:
    """How many pixels; Refused where they are too many to be shown."""
    pixels = shape[0] * shape[1]
    if pixels > MOST_PX:
        raise Refused(413, "too-large", f"{path}: more than {MOST_PX:,} pixels are not shown here")
    return pixels


def nbytes_of(sample: Sample) -> int:
    """What a sample takes in memory."""
    return sum(int(getattr(part, "nbytes", 64)) for part in sample.targets.values())
