"""Samples of files: pictures, pairs and tiles of bags, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from augrecipes import kinds
from augrecipes.data.read import read_targets
from augrecipes.data.reading.find import list_data
from augrecipes.data.reading.listing import Data, DataListing, StrPath
from augrecipes.flow import Dtype
from augrecipes.recipe.model import Inputs, Recipe
from augrecipes.sources.files import read_image


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample as it was read.

    Attributes:
        index: key of its draws; its index in a Dataset over the data.
        tile: of a bag; 0 for other kinds.
        path: the file, of a pair that of its largest target.
        images: uint8 (0..255) or float32 (0..1) H×W×C by target.
        rest: mask, boxes, box labels and keypoints, where there are some.
    """

    index: int
    tile: int
    path: str
    images: dict[str, NDArray[Any]]
    rest: dict[str, Any] = field(default_factory=dict)

    @property
    def targets(self) -> dict[str, Any]:
        """What goes into a pipeline."""
        return {**self.images, **self.rest}

    def run(self, pipeline: Any, epoch: int, **instead: Any) -> dict[str, Any]:
        """The sample through a pipeline; `instead` of its own pictures, boxes or keypoints."""
        done: dict[str, Any] = pipeline.at(self.index, epoch, self.tile)(**{**self.targets, **instead})
        return done

    def of(self, dtype: Dtype) -> Sample:
        """The sample with its pictures as uint8 (0..255), which they are read as, or float32 (0..1)."""
        if dtype == "uint8":
            return self
        return replace(self, images={name: in_unit_range(image) for name, image in self.images.items()})


def in_unit_range(image: NDArray[Any]) -> NDArray[Any]:
    """A uint8 image as float32, 0..1; one of floats as it is."""
    return image.astype(np.float32) / np.float32(255) if image.dtype == np.uint8 else image


class Reader(Protocol):
    """What is there, read one by one."""

    def __len__(self) -> int:
        """How many there are."""

    def read(self, k: int) -> Sample:
        """One of them; DataError, naming the file, where it cannot be read."""


@dataclass(frozen=True)
class Files:
    """The pictures, pairs or tiles of a listing.

    Attributes:
        listing: the files.
        inputs: what the recipe takes beside the picture.
    """

    listing: DataListing
    inputs: Inputs

    def __len__(self) -> int:
        return self.listing.table.units

    @property
    def labels(self) -> NDArray[np.int64] | None:
        """Of each, where there are some."""
        return self.listing.table.labels

    def path(self, k: int) -> str:
        """The file of one of them; of a pair that of its largest target."""
        return next(iter(self.listing.table.paths(k).values()))

    def read(self, k: int) -> Sample:
        """One of them; DataError, naming the file, where it cannot be read."""
        table, decode = self.listing.table, self.listing.decode
        rest = read_targets(table, k, inputs=self.inputs, undecoded=False, **decode)
        images = {name: rest.pop(name) for name in table.images_by_target()}
        return Sample(*table.place(k), self.path(k), images, rest)

    def in_epoch(self, k: int, epoch: int, sample: Sample) -> Sample:
        """The same: files are what they are in every epoch."""
        del k, epoch
        return sample


def least_shown(labels: NDArray[Any], share: range, shown: Sequence[int]) -> list[int]:
    """The rows of `share`, those whose label was shown least (`shown`: which rows were) first.

    >>> least_shown(np.array([0, 0, 1, 1]), range(1, 4), [0])
    [2, 3, 1]
    """
    times = np.zeros(len(share), np.int64)
    for k in shown:
        times += labels[share.start : share.stop] == labels[k]
    return (share.start + np.argsort(times, kind="stable")).tolist()


def open_data(recipe: Recipe, targets: Sequence[str], data: Data, masks: StrPath | None = None) -> Files:
    """Look at what `data` holds, without reading pictures; arguments and errors are those of `list_data`."""
    return Files(list_data(recipe, targets, data, masks=masks), recipe.inputs)


def read_first(recipe: Recipe, targets: Sequence[str], data: Data, masks: StrPath | None = None) -> Sample:
    """One sample to try a recipe on: the files themselves (a pair's by target, a bag's tile), or the first of a folder.

    Args:
        recipe: of any kind.
        targets: of a pair, those that are read.
        data: as `list_data` has it; a file in the place of a folder is read as it is.
        masks: a folder of masks that match the images' names.

    Raises:
        DataError: it cannot be read, or is not what the recipe needs.
    """
    files = kinds.part(recipe.kind, "reader").alone(recipe, targets, data)
    if not files:
        return open_data(recipe, targets, data, masks).read(0)
    channels = recipe.inputs.channels or 3
    images = {name: read_image(path, channels=channels) for name, path in files.items()}
    return Sample(0, 0, files[targets[0]], images)
