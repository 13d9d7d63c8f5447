"""Sample: the input of a pipeline; RecipeSource: reads samples for a recipe. Free of torch."""

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import DataError
from augrecipes.flow import Dtype
from augrecipes.images import encoded, losses
from augrecipes.recipe.model import Inputs, Recipe
from augrecipes.sources.columns import Columns, label_at, single_labels
from augrecipes.sources.source import Source
from augrecipes.sources.stains import BagStains, source_methods


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample, read but not augmented.

    Attributes:
        index: the index in a Dataset over the data; it keys the random draws.
        tile: the number of a bag's tile; 0 for other kinds.
        path: the file; for a pair the file of its largest target.
        images: by target, H×W×C of uint8 (0..255), uint16 or float32.
        rest: mask, boxes, box labels and keypoints, if any.
    """

    index: int
    tile: int
    path: str
    images: dict[str, NDArray[Any]]
    rest: dict[str, Any] = field(default_factory=dict)

    @property
    def targets(self) -> dict[str, Any]:
        """The pipeline's inputs."""
        return {**self.images, **self.rest}

    def run(self, pipeline: Any, epoch: int, **replaced: Any) -> dict[str, Any]:
        """Run a pipeline over the sample, with some targets replaced. A DataError names the file."""
        try:
            result: dict[str, Any] = pipeline.at(self.index, epoch, self.tile)(**{**self.targets, **replaced})
        except DataError as error:
            raise (error if error.path else error.with_path(self.path)) from error.__cause__
        return result

    def as_dtype(self, dtype: Dtype) -> "Sample":
        """The sample with its uint8 images (0..255) as float32 (0..1) if `dtype` is float32; else the sample itself."""
        if dtype != "float32":
            return self
        return replace(self, images={
            name: image.astype(np.float32) / np.float32(255) if image.dtype == np.uint8 else image
            for name, image in self.images.items()
        })  # fmt: skip


def other_channels(channels: int, first: str, count: int) -> str:
    """The message for an image whose channels differ from those of the first file, where the recipe names no number."""
    cure = f"say `inputs: {{channels: {count}}}` in the recipe, or leave it out"
    return f"an image of {channels} channels, and {first} has {count}: {cure}"


def decode_arguments(
    inputs: Inputs, channels: int | None = None, *, exif: str = "apply", max_pixels: int = encoded.MAX_PIXELS,
    depth: Any = None, frames: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """The arguments of `read_image` for the images that a recipe takes.

    Args:
        inputs: the recipe's `inputs`, with depth and channels (default: 3; for 16 bits and floats those of each file).
        channels: the user's number of channels, if any.
        exif: see `read_image`.
        max_pixels: see `read_image`.
        depth: see `read_image`.
        frames: see `read_image`; by default grey pages are channels if the recipe or the user names a number.

    Raises:
        ValueError: `depth` or `frames` has no allowed value.
    """
    losses.chosen_policies(depth, frames)
    wanted, is_deep = channels or inputs.stored_channels, inputs.dtype in ("uint16", "float32")
    frames = "channels" if wanted and frames is None and not os.environ.get(losses.FRAMES) else frames
    decode = {"exif": exif, "channels": wanted or (None if is_deep else 3), "max_pixels": max_pixels}
    decode |= {"depth": depth, "frames": frames} | ({"icc": inputs.icc} if inputs.icc else {})
    return decode | ({"dtype": inputs.dtype, "has_range": inputs.range is not None} if is_deep else {})


@dataclass(eq=False)
class RecipeSource(Source):
    """The source of the units (images, scenes or tiles) of a table, read for a recipe one by one.

    Attributes:
        table: paths, labels, boxes and so on of all units.
        inputs: the recipe's `inputs`.
        decode: arguments of `read_image`.
        left_out: messages on files that are in no sample.
        notes: other remarks on the data.
        stains: stains of the slides or bags, if steps of the recipe take them; see `for_recipe`.
    """

    table: Columns
    inputs: Inputs
    decode: dict[str, Any]
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    stains: BagStains | None = field(default=None, init=False, repr=False)
    _channels: dict[str, int] | None = field(default=None, init=False, repr=False)
    epochs = 1
    """The number of epochs that are read from different pixels: files are the same in every epoch."""

    def for_recipe(self, recipe: Recipe) -> Self:
        """Add the stains that steps of a recipe take to the samples; returns the source."""
        methods = source_methods(recipe)
        self.stains = BagStains(copy(self), methods) if methods else None
        return self

    def __len__(self) -> int:
        return self.table.units

    @property
    def columns(self) -> Mapping[str, Any]:  # type: ignore[override]
        """The columns `path`, and, unless rows are bags, `label`, `weight` and `group`."""
        table = self.table
        columns = {"label": table.labels, "weight": table.weights, "group": table.groups}
        paths = next(iter(table.images_by_target().values()))
        return {"path": paths} | {
            name: values for name, values in columns.items() if values is not None and len(values) == len(self)
        }

    @property
    def classes(self) -> Sequence[str] | None:  # type: ignore[override]
        """Names of the labels 0, 1, ..., or None."""
        numbers = self.table.class_to_idx or {}
        return self.table.classes if [*numbers.values()] == [*range(len(numbers))] else None

    @property
    def labels(self) -> NDArray[np.int64] | None:
        """The label of each row of the table; None unless every row has exactly one."""
        return single_labels(self.table.labels)

    def path(self, index: int) -> str:
        """The file of a unit; for a pair the file of its largest target."""
        return next(iter(self.table.paths(index).values()))

    def present_images(self, k: int, _epoch: int = 0, /) -> Collection[str]:
        """Names of the images that unit k has."""
        return self.table.paths(k)

    def digest(self) -> str:
        """The table's digest."""
        return self.table.digest()

    def parts(
        self, k: int, epoch: Any = 0, *, undecoded: bool = False, names: Sequence[str] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The pipeline's inputs of unit k, and its other fields; DataError where it cannot be read.

        Args:
            k: the unit.
            epoch: the epoch, for a store that holds several; files are the same in every epoch.
            undecoded: leave images encoded, for a plan that decodes only the window that it needs.
            names: the targets to read; None: all.
        """
        targets, beside = self.table.parts(k, self.inputs, undecoded=undecoded, names=names, **self.decode)
        self._check_channels(k, targets)
        return targets | self.stains_of(k), beside

    def stains_of(self, k: int) -> dict[str, Any]:
        """The target `stains` of unit k's slide or bag; empty if no step takes it."""
        return {} if self.stains is None else {"stains": self.stains.of_bag(self.table.place(k)[0])}

    def _check_channels(self, k: int, targets: Mapping[str, Any]) -> None:
        """DataError where images are read with their own number of channels, and it differs from the first unit's."""
        if self.decode.get("channels", 3) is not None:
            return
        if self._channels is None:
            first: Mapping[str, Any] = targets
            with suppress(DataError):  # if unit 0 is unreadable, this unit sets the number
                first = self.table.parts(0, self.inputs, undecoded=True, **self.decode)[0]
            self._channels = {name: first[name].shape[-1] for name in self.table.images_by_target() if name in first}
        for name, count in self._channels.items():
            if name in targets and targets[name].shape[-1] != count:
                what = other_channels(targets[name].shape[-1], self.table.paths(0)[name], count)
                raise DataError(what, self.table.paths(k)[name])

    def read(self, index: int) -> dict[str, Any]:
        """Images, mask, boxes, keypoints and label of a unit, as `ar.Samples` takes them."""
        targets, beside = self.parts(index)
        labels = self.columns.get("label")
        return targets | beside | ({} if labels is None else {"label": label_at(labels, index)})

    def sample(self, k: int, epoch: int = 0, *, undecoded: bool = False, names: Sequence[str] | None = None) -> Sample:
        """Unit k as a Sample; arguments and errors as of `parts`."""
        rest, _ = self.parts(k, epoch, undecoded=undecoded, names=names)
        images = {name: rest.pop(name) for name in names or self.table.images_by_target() if name in rest}
        return Sample(*self.table.place(k), self.path(k), images, rest)


@dataclass(frozen=True)
class DatasetView:
    """Some samples of a dataset, with the interface of `RecipeSource`.

    Attributes:
        dataset: one of our datasets.
        positions: positions of the samples in the dataset.
        left_out: empty: the dataset has logged what it left out.
        notes: empty.
    """

    dataset: Any
    positions: Sequence[int]
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def words(self) -> str:
        """The dataset's class, for messages."""
        return type(self.dataset).__name__

    @property
    def table(self) -> Any:
        """The dataset's table."""
        return self.dataset.table

    @property
    def labels(self) -> NDArray[Any] | None:
        """The label of each sample; None unless every sample has exactly one."""
        labels = single_labels(self.dataset.labels)
        return None if labels is None else labels[list(self.positions)]

    @property
    def rule(self) -> Any:
        """The rule by which tiles of a bag are picked."""
        return self.dataset.rule

    def row(self, k: int) -> int:
        """The row of the dataset's table that sample k is read from."""
        return int(self.dataset.sample_keys.rows_of_samples()[self.positions[k]])

    def key(self, k: int) -> int:
        """The index that keys the draws of sample k, together with an epoch."""
        return int(self.dataset.sample_keys.all()[self.positions[k]])

    def path(self, k: int) -> str:
        """The path of sample k: a file, or a folder."""
        return str(self.dataset.path(self.positions[k]))

    def sample(self, k: int, tile: int = 0, epoch: int | None = None) -> Sample:
        """Sample k, or one of its tiles; a DataError names the file that cannot be read."""
        return self.dataset.given(self.positions[k], epoch=epoch, tile=tile)

    @property
    def epochs(self) -> int:
        """The number of epochs that are read from different pixels."""
        return int(self.dataset.source.epochs)

    def pipeline(self, **compiled: Any) -> Any:
        """The dataset's pipeline, compiled with further arguments."""
        return self.dataset.recompiled(**compiled)


@dataclass(frozen=True)
class DataArguments:
    """The arguments of a Dataset that name its data.

    Attributes:
        root: folders (for a pair by target), the folder of annotated images, or slides; or None.
        files: a CSV file or annotations, or None.
        more: further arguments that go with `files`: `split`, `columns`, and for images `box_classes`, `crowds`,
            `drop_shapes` and `outside`.
    """

    root: Any
    files: Any = None
    more: Mapping[str, Any] = field(default_factory=dict)
