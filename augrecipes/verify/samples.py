"""The samples that are compared: pictures, pairs and tiles of bags, read as the Datasets read them."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from augrecipes.compiler.pipeline import Pipeline
from augrecipes.data.tables.bag_table import BagTable
from augrecipes.data.tables.pair_table import Found, find_in_csv, find_in_folders
from augrecipes.errors import DataError
from augrecipes.flow import Dtype
from augrecipes.preview.bags import open_bags
from augrecipes.preview.pairs import check_roots
from augrecipes.preview.samples import TABLES, Samples, open_samples, targets_of
from augrecipes.recipe.model import Recipe
from augrecipes.sources.files import read_image
from augrecipes.sources.pair_roots import Roots

StrPath = str | os.PathLike[str]
Data = StrPath | Mapping[str, Roots]


@dataclass(frozen=True, slots=True)
class Given:
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

    def run(self, pipeline: Any, epoch: int, **instead: Any) -> dict[str, Any]:
        """The sample through a pipeline; `instead` of its own pictures, boxes or keypoints."""
        done: dict[str, Any] = pipeline.at(self.index, epoch, self.tile)(**{**self.images, **self.rest, **instead})
        return done

    def of(self, dtype: Dtype) -> Given:
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

    def read(self, k: int) -> Given:
        """One of them; DataError, naming the file, where it cannot be read."""


@dataclass(frozen=True)
class _Images:
    recipe: Recipe
    samples: Samples

    def __len__(self) -> int:
        return len(self.samples)

    def read(self, k: int) -> Given:
        sample = self.samples.read(k)
        rest = targets_of(sample, self.recipe)
        return Given(k, 0, sample.path, {"image": rest.pop("image")}, rest)


@dataclass(frozen=True)
class _Pairs:
    found: Found
    channels: int

    def __len__(self) -> int:
        return len(self.found.scenes)

    def read(self, k: int) -> Given:
        paths = dict(zip(self.found.targets, self.found.scenes[k], strict=True))
        return Given(
            k, 0, self.found.scenes[k][0], {n: read_image(p, channels=self.channels) for n, p in paths.items()}
        )


@dataclass(frozen=True)
class _Tiles:
    table: BagTable
    channels: int

    def __len__(self) -> int:
        return len(self.table.tiles)

    def read(self, k: int) -> Given:
        bag = bisect_right(self.table.offsets, k) - 1
        path = str(self.table.tiles[k])
        tile = k - int(self.table.offsets[bag])
        return Given(bag, tile, path, {"image": read_image(path, channels=self.channels)})


def open_data(recipe: Recipe, pipeline: Any, data: Data, masks: StrPath | None = None) -> Reader:
    """Look at what `data` holds, without reading pictures.

    Args:
        recipe: of any kind.
        pipeline: of the recipe; it says which targets of a pair are read.
        data: a folder, a CSV file, or one image; for pairs a folder by target, or a CSV file; for bags a folder of
            bags, or a CSV file.
        masks: a folder of masks that match the images' names.

    Raises:
        DataError: there is nothing there, or it is not as it should be.
    """
    channels = recipe.inputs.channels or 3
    if recipe.kind == "pair":
        scales = {name: int(recipe.scales[name]) for name in pipeline.targets}
        if isinstance(data, Mapping):
            check_roots(recipe, pipeline.targets, data)
            found = find_in_folders(data, scales, None, cache=False)
        else:
            if Path(data).is_dir():
                check_roots(recipe, pipeline.targets, {})  # a pair has a folder for each target
            found = find_in_csv(data, scales, pipeline.targets, None)
        if not found.scenes and found.defects:
            raise DataError(f"no pair can be read; the first: {found.defects[0].message}")
        return _Pairs(found, channels)
    if isinstance(data, Mapping):
        raise DataError(f"{recipe.name} is of kind {recipe.kind}: give one folder, or a CSV file")
    if recipe.kind == "bag":
        return _Tiles(open_bags(data), channels)
    return _Images(recipe, open_samples(data, recipe, masks=masks))


def first_of(recipe: Recipe, pipeline: Any, data: Data, masks: StrPath | None = None) -> Given:
    """One sample to try a recipe on: the files themselves (a pair's by target, a bag's tile), or the first of a folder.

    Args:
        recipe: of any kind.
        pipeline: of the recipe.
        data: as `open_data` has it; a file in the place of a folder is read as it is.
        masks: a folder of masks that match the images' names.

    Raises:
        DataError: it cannot be read, or is not what the recipe needs.
    """
    channels = recipe.inputs.channels or 3
    is_file = not isinstance(data, Mapping) and Path(data).is_file() and Path(data).suffix.lower() not in TABLES
    if recipe.kind == "pair" and is_file:
        check_roots(recipe, pipeline.targets, {})  # a pair has a file for each target
    if isinstance(data, Mapping):
        if recipe.kind == "pair" and all(isinstance(path, str) and Path(path).is_file() for path in data.values()):
            check_roots(recipe, pipeline.targets, data)
            images = {name: read_image(str(path), channels=channels) for name, path in data.items()}
            return Given(0, 0, str(data[pipeline.targets[0]]), images)
    elif recipe.kind == "bag" and is_file:
        return Given(0, 0, os.fsdecode(data), {"image": read_image(data, channels=channels)})
    return open_data(recipe, pipeline, data, masks).read(0)


def origins(recipe: Recipe, pipeline: Pipeline) -> dict[str, str]:
    """From each picture that comes out to the one that it is made of."""
    found = {name: name for name in pipeline.targets}
    for step in recipe.section(pipeline.mode) or ():
        if step.name == "Degrade":
            found[step.args["target"]] = found[step.args["source"]]
    return {name: found.get(name, name) for name in pipeline.outputs}
