"""Samples as a recipe takes them, before it runs: read one by one, of whatever source they are; no torch here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.flow import Dtype
from augrecipes.recipe.model import Inputs
from augrecipes.sources.columns import Columns


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


@dataclass(eq=False)
class RecipeSource:
    """The images, scenes or tiles that a recipe is to run over, each read when it is asked for.

    Attributes:
        table: what is known of them before they are read: paths, labels, boxes.
        inputs: what the recipe takes beside the image.
        decode: arguments of `read_image`.
        left_out: what is wrong with files that are in no sample.
        notes: what else should be known.
    """

    table: Columns
    inputs: Inputs
    decode: dict[str, Any]
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.table.units

    @property
    def labels(self) -> NDArray[np.int64] | None:
        """Of each sample, where there are some."""
        return self.table.labels

    def path(self, k: int) -> str:
        """The file of one of them; of a pair that of its largest target."""
        return next(iter(self.table.paths(k).values()))

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
        return self.table.parts(k, self.inputs, undecoded=undecoded, names=names, **self.decode)

    def read(self, k: int, epoch: int = 0, *, undecoded: bool = False, names: Sequence[str] | None = None) -> Sample:
        """One of them as a sample; arguments and errors as of `parts`."""
        rest, _ = self.parts(k, epoch, undecoded=undecoded, names=names)
        images = {name: rest.pop(name) for name in names or self.table.images_by_target()}
        return Sample(*self.table.place(k), self.path(k), images, rest)

    def in_epoch(self, k: int, epoch: int, sample: Sample) -> Sample:
        """The same sample: files are what they are in every epoch."""
        del k, epoch
        return sample


@dataclass(frozen=True)
class DataArguments:
    """The data as a Dataset takes them.

    Attributes:
        root: folders, of a pair by target; with annotations the folder of their pictures; slides; or None.
        files: a CSV file or annotations, or None.
        more: other arguments of the Dataset that go with `files`: `split`, `columns`, and of pictures `box_classes`,
            `crowds` and `outside`.
    """

    root: Any
    files: Any = None
    more: Mapping[str, Any] = field(default_factory=dict)


def least_shown(labels: NDArray[Any], share: range, shown: Sequence[int]) -> list[int]:
    """The rows of `share`, those whose label was shown least (`shown`: which rows were) first.

    >>> least_shown(np.array([0, 0, 1, 1]), range(1, 4), [0])
    [2, 3, 1]
    """
    times = np.zeros(len(share), np.int64)
    for k in shown:
        times += labels[share.start : share.stop] == labels[k]
    return (share.start + np.argsort(times, kind="stable")).tolist()
