"""The data that the studio shows: listed once for each way that recipes read them, and read sample by sample."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.data.read import read_targets
from augrecipes.data.reading.listing import Data
from augrecipes.data.reading.sample import Files, Sample, open_data
from augrecipes.recipe.model import Recipe
from augrecipes.studio.asked import Refused
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
        data: as `augrecipes.preview` takes them; None: pictures that the demo draws.
        masks: a folder of masks.
    """

    data: Data | None = None
    masks: Any = None
    _files: Kept[Files] = field(default_factory=lambda: Kept(16))
    _samples: Kept[Sample] = field(default_factory=lambda: Kept(MOST_BYTES, nbytes_of))
    _demo: DemoPictures = field(default_factory=DemoPictures)

    @property
    def demo(self) -> bool:
        """Whether the demo's pictures are shown."""
        return self.data is None

    def given(self, recipe: Recipe, pipeline: Pipeline) -> tuple[Any, Any]:
        """The data and the masks, or the demo's for this recipe."""
        return self._demo.data_for(recipe, pipeline.targets) if self.demo else (self.data, self.masks)

    def files(self, recipe: Recipe, pipeline: Pipeline) -> Files:
        """What there is for a recipe. Raises DataError where that is nothing it can take."""
        data, masks = self.given(recipe, pipeline)
        return self._files.get(
            _listing_key(recipe, pipeline, data), lambda: open_data(recipe, pipeline.targets, data, masks)
        )

    def sample(self, recipe: Recipe, pipeline: Pipeline, unit: int) -> Sample:
        """One picture, scene or tile as the pipeline takes it: of large files no more is decoded than it asks for.

        Raises:
            DataError: it cannot be read.
        """
        files = self.files(recipe, pipeline)
        if not 0 <= unit < len(files):
            raise Refused(404, "index", f"there are {len(files)} samples; the last is number {len(files) - 1}")
        fast = pipeline.optimize == "fast" and pipeline.reads
        self._inside(files, unit)
        key = (id(files), unit, fast)
        return self._samples.get(key, lambda: _read(files, unit, as_files=fast, reads=pipeline.reads))

    def _inside(self, files: Files, unit: int) -> None:
        """Refused for a file that a link in a folder of data leads out to."""
        given = self.data.values() if isinstance(self.data, Mapping) else [self.data]
        named = [one for some in given for one in (some if isinstance(some, list) else [some])]
        roots = [Path(os.fsdecode(one)).resolve() for one in named if isinstance(one, str | os.PathLike)]
        if not roots or not all(root.is_dir() for root in roots):
            return  # a list of files names where they are
        for path in files.listing.table.paths(unit).values():
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


def _read(files: Files, unit: int, *, as_files: bool, reads: bool) -> Sample:
    """A sample with its pictures decoded, or as files where the plan reads them better, or they are large."""
    table, decode = files.listing.table, files.listing.decode
    rest = read_targets(table, unit, inputs=files.inputs, undecoded=True, **decode)
    images = {name: rest.pop(name) for name in table.images_by_target()}
    for name, image in images.items():
        pixels = image.shape[0] * image.shape[1]
        if pixels > MOST_PX:
            raise Refused(413, "too-large", f"{files.path(unit)}: more than {MOST_PX:,} pixels are not shown here")
        if not isinstance(image, np.ndarray) and not as_files and not (reads and pixels > DECODED_PX):
            images[name] = image.array()
    return Sample(*table.place(unit), files.path(unit), images, rest)


def nbytes_of(sample: Sample) -> int:
    """What a sample takes in memory."""
    return sum(int(getattr(part, "nbytes", 64)) for part in sample.targets.values())
