"""Samples as a recipe takes them, before it runs, and the source that reads them; no torch here."""

from __future__ import annotations

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
from augrecipes.sources.columns import Columns, label_at, one_label_each
from augrecipes.sources.source import Source
from augrecipes.sources.stains import BagStains, source_methods


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample as it was read.

    Attributes:
        index: key of its draws; its index in a Dataset over the data.
        tile: of a bag; 0 for other kinds.
        path: the file, of a pair that of its largest target.
        images: uint8 (0..255), uint16 or float32 H×W×C by target.
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
        """The sample through a pipeline; `instead` of its own images, boxes or keypoints. DataError names the file."""
        try:
            done: dict[str, Any] = pipeline.at(self.index, epoch, self.tile)(**{**self.targets, **instead})
        except DataError as error:
            raise (error if error.path else error.with_path(self.path)) from error.__cause__
        return done

    def of(self, dtype: Dtype) -> Sample:
        """The sample with images that were read as uint8 (0..255) as float32 (0..1), where these are asked for."""
        if dtype != "float32":
            return self
        return replace(self, images={
            name: image.astype(np.float32) / np.float32(255) if image.dtype == np.uint8 else image
            for name, image in self.images.items()
        })  # fmt: skip


def other_channels(channels: int, first: str, count: int) -> str:
    """What is wrong with an image of so many channels where the first file has `count`, and nobody says how many."""
    cure = f"say `inputs: {{channels: {count}}}` in the recipe, or leave it out"
    return f"an image of {channels} channels, and {first} has {count}: {cure}"


def decode_arguments(
    inputs: Inputs, channels: int | None = None, *, exif: str = "apply", max_pixels: int = encoded.MAX_PIXELS,
    depth: Any = None, frames: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """Arguments of `read_image` for the images that a recipe takes.

    Args:
        inputs: of the recipe: in which depth they are read, and with how many channels: 3 where nobody says that, in 16
            bits and floats those of each file.
        channels: that a user asks for.
        exif: as `read_image` has it.
        max_pixels: the same.
        depth: the same.
        frames: the same; where nobody says anything, grey pages are channels that somebody asks for.

    Raises:
        ValueError: `depth` or `frames` is none of those that there are.
    """
    losses.chosen_policies(depth, frames)
    wanted, is_deep = channels or inputs.stored_channels, inputs.dtype in ("uint16", "float32")
    frames = "channels" if wanted and frames is None and not os.environ.get(losses.FRAMES) else frames
    decode = {"exif": exif, "channels": wanted or (None if is_deep else 3), "max_pixels": max_pixels}
    decode |= {"depth": depth, "frames": frames} | ({"icc": inputs.icc} if inputs.icc else {})
    return decode | ({"dtype": inputs.dtype, "has_range": inputs.range is not None} if is_deep else {})


@dataclass(eq=False)
class RecipeSource(Source):
    """The images, scenes or tiles that a recipe is to run over, each read when it is asked for.

    Attributes:
        table: what is known of them before they are read: paths, labels, boxes.
        inputs: what the recipe takes beside the image.
        decode: arguments of `read_image`.
        left_out: what is wrong with files that are in no sample.
        notes: what else should be known.
        stains: of the slides or bags, where steps of the recipe take them; see `for_recipe`.
    """

    table: Columns
    inputs: Inputs
    decode: dict[str, Any]
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    stains: BagStains | None = field(default=None, init=False, repr=False)
    _channels: dict[str, int] | None = field(default=None, init=False, repr=False)
    epochs = 1
    """How many epochs differ in what is read: files are what they are in every one."""

    def for_recipe(self, recipe: Recipe) -> Self:
        """The same, whose samples come with the stains that steps of a recipe take."""
        methods = source_methods(recipe)
        self.stains = BagStains(copy(self), methods) if methods else None
        return self

    def __len__(self) -> int:
        return self.table.units

    @property
    def columns(self) -> Mapping[str, Any]:  # type: ignore[override]
        """Paths; and where samples are rows of the table, its labels, weights and groups."""
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
        """Of each row of the table, where each has one."""
        return one_label_each(self.table.labels)

    def path(self, index: int) -> str:
        """The file of one of them; of a pair that of its largest target."""
        return next(iter(self.table.paths(index).values()))

    def there(self, k: int, _epoch: int = 0, /) -> Collection[str]:
        """Names of the images that one of them has."""
        return self.table.paths(k)

    def digest(self) -> str:
        """That of the table."""
        return self.table.digest()

    def parts(
        self, k: int, epoch: Any = 0, *, undecoded: bool = False, names: Sequence[str] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """What a pipeline takes of one of them, and what travels beside it; DataError where it cannot be read.

        Args:
            k: which.
            epoch: of the samples of a store, which may hold several; files are the same in every epoch.
            undecoded: leave images encoded, for a plan that decodes no more than it needs.
            names: of the targets that are wanted; None: all.
        """
        del epoch
        targets, beside = self.table.parts(k, self.inputs, undecoded=undecoded, names=names, **self.decode)
        self._check_channels(k, targets)
        return targets | self.stains_of(k), beside

    def stains_of(self, k: int) -> dict[str, Any]:
        """The stains of the slide or bag of one of them, as a target; none where no step takes them."""
        return {} if self.stains is None else {"stains": self.stains.of_bag(self.table.place(k)[0])}

    def _check_channels(self, k: int, targets: Mapping[str, Any]) -> None:
        """DataError where images that are read with the channels that they have, have others than the first ones."""
        if self.decode.get("channels", 3) is not None:
            return
        if self._channels is None:
            first: Mapping[str, Any] = targets
            with suppress(DataError):  # told when it is read; then any other is the first
                first = self.table.parts(0, self.inputs, undecoded=True, **self.decode)[0]
            self._channels = {name: first[name].shape[-1] for name in self.table.images_by_target() if name in first}
        for name, count in self._channels.items():
            if name in targets and targets[name].shape[-1] != count:
                what = other_channels(targets[name].shape[-1], self.table.paths(0)[name], count)
                raise DataError(what, self.table.paths(k)[name])

    def read(self, index: int) -> dict[str, Any]:
        """Images, mask, boxes, keypoints and label of one of them, as `ar.Samples` takes them."""
        targets, beside = self.parts(index)
        labels = self.columns.get("label")
        return targets | beside | ({} if labels is None else {"label": label_at(labels, index)})

    def sample(self, k: int, epoch: int = 0, *, undecoded: bool = False, names: Sequence[str] | None = None) -> Sample:
        """One of them, to be run; arguments and errors as of `parts`."""
        rest, _ = self.parts(k, epoch, undecoded=undecoded, names=names)
        images = {name: rest.pop(name) for name in names or self.table.images_by_target() if name in rest}
        return Sample(*self.table.place(k), self.path(k), images, rest)


@dataclass(frozen=True)
class DatasetView:
    """Some of a dataset's samples; what a `RecipeSource` is for data that no dataset has listed.

    Attributes:
        dataset: one of ours.
        positions: of the samples, in it.
        left_out: nothing: a dataset has said what it left out.
        notes: nothing.
    """

    dataset: Any
    positions: Sequence[int]
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def words(self) -> str:
        """The data, for messages."""
        return type(self.dataset).__name__

    @property
    def table(self) -> Any:
        """What is known of the dataset's rows."""
        return self.dataset.table

    @property
    def labels(self) -> NDArray[Any] | None:
        """Of each, where each has one."""
        labels = one_label_each(self.dataset.labels)
        return None if labels is None else labels[list(self.positions)]

    @property
    def rule(self) -> Any:
        """Which tiles of a bag make up a sample."""
        return self.dataset.rule

    def row(self, k: int) -> int:
        """The row of the dataset's table that one of them is read from."""
        return int(self.dataset.sample_keys.rows_of_samples()[self.positions[k]])

    def key(self, k: int) -> int:
        """What keys the draws of one of them, with an epoch."""
        return int(self.dataset.sample_keys.all()[self.positions[k]])

    def path(self, k: int) -> str:
        """What stands for one of them: a file, or a folder."""
        return str(self.dataset.path(self.positions[k]))

    def sample(self, k: int, tile: int = 0, epoch: int | None = None) -> Sample:
        """One of them, or a tile of it; DataError, naming the file, where it cannot be read."""
        sample: Sample = self.dataset.given(self.positions[k], epoch=epoch, tile=tile)
        return sample

    @property
    def epochs(self) -> int:
        """How many epochs differ in what is read."""
        return int(self.dataset.source.epochs)

    def pipeline(self, **compiled: Any) -> Any:
        """The dataset's recipe as it runs there, compiled with more arguments."""
        return self.dataset.recompiled(**compiled)


@dataclass(frozen=True)
class DataArguments:
    """The data as a Dataset takes them.

    Attributes:
        root: folders, of a pair by target; with annotations the folder of their images; slides; or None.
        files: a CSV file or annotations, or None.
        more: other arguments of the Dataset that go with `files`: `split`, `columns`, and of images `box_classes`,
            `crowds`, `drop_shapes` and `outside`.
    """

    root: Any
    files: Any = None
    more: Mapping[str, Any] = field(default_factory=dict)
