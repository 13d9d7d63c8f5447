"""Sources for a preview: a folder, a CSV file or one image, read one by one."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.data.checks import check_targets, untaken
from augrecipes.data.tables.table import Table, table_of_csv, table_of_folders
from augrecipes.errors import DataError
from augrecipes.recipe.model import Recipe
from augrecipes.sources.files import read_image, read_mask
from augrecipes.sources.paths import PathTable

TABLES = {".csv", ".tsv"}


@dataclass(frozen=True, slots=True)
class Sample:
    """One source as it was read.

    Attributes:
        index: its place in the data, which is also its index in a Dataset over them.
        path: the image's file.
        image: uint8 H×W×C.
        mask: integers H×W, or None.
        boxes: float32 (n, 4) in the recipe's format, or None.
        labels: one a box; empty where boxes have none.
        keypoints: float32 (n, 2) in the recipe's format, or None.
    """

    index: int
    path: str
    image: NDArray[Any]
    mask: NDArray[Any] | None = None
    boxes: NDArray[Any] | None = None
    labels: tuple[int, ...] = ()
    keypoints: NDArray[Any] | None = None

    @property
    def caption(self) -> str:
        """File name and folder."""
        path = Path(self.path)
        return f"{path.parent.name}/{path.name}" if path.parent.name else path.name

    @property
    def note(self) -> str:
        """Width, height and index."""
        height, width = self.image.shape[:2]
        return f"{width}×{height} px · index {self.index}"


@dataclass(frozen=True, slots=True)
class Samples:
    """What a preview can choose from.

    Attributes:
        table: paths, boxes and keypoints.
        channels: of the images, as the recipe's Datasets deliver them.
    """

    table: Table
    channels: int

    def __len__(self) -> int:
        return len(self.table)

    @property
    def box_classes(self) -> tuple[str, ...]:
        """Names of the boxes' labels, by number; empty where they have none."""
        return (self.table.boxes.classes or ()) if self.table.boxes else ()

    def choose_order(self, share: range, shown: Sequence[int]) -> list[int]:
        """The indices of `share`, those of classes that were shown least (`shown`: indices) first."""
        labels = self.table.labels
        if labels is None:
            return list(share)
        seen = Counter(int(labels[index]) for index in shown)
        return sorted(share, key=lambda index: seen[int(labels[index])])

    def path(self, index: int) -> str:
        """The image's file."""
        return str(self.table.images[index])

    def read(self, index: int) -> Sample:
        """Read one source; DataError, naming the file, where it cannot be read."""
        table = self.table
        labels = table.boxes.labels_of(index) if table.boxes else None
        return Sample(
            index,
            self.path(index),
            read_image(self.path(index), channels=self.channels),
            mask=read_mask(table.masks[index]) if table.masks else None,
            boxes=table.boxes.rows(index) if table.boxes else None,
            labels=() if labels is None else tuple(labels.tolist()),
            keypoints=table.keypoints.rows(index) if table.keypoints else None,
        )


def open_samples(
    data: str | os.PathLike[str], recipe: Recipe, *, masks: str | os.PathLike[str] | None = None
) -> Samples:
    """Look at what `data` holds, without reading an image.

    Args:
        data: a folder (class folders or flat), a `.csv` or `.tsv` file, or one image.
        recipe: says how many channels images have, 3 where it is silent.
        masks: a folder of masks that match the images' names.

    Raises:
        DataError: there is nothing there, or it is not as it should be.
    """
    name = os.fsdecode(data)
    path = Path(name)
    if path.is_dir():
        table = table_of_folders([name], [masks] if masks is not None else [], cache=False)
    elif not path.exists():
        raise DataError("no such file or folder", path=name)
    elif path.suffix.lower() in TABLES:
        table = table_of_csv(name, ignore=untaken(recipe))
    else:
        table = Table(images=PathTable.from_paths([name]))
    check_targets(recipe, table)
    return Samples(table, recipe.inputs.channels or 3)


def targets_of(sample: Sample, recipe: Recipe) -> dict[str, Any]:
    """The sample as arguments of a pipeline: only what the recipe takes."""
    inputs = recipe.inputs
    targets: dict[str, Any] = {"image": sample.image}
    if sample.mask is not None and inputs.mask != "absent":
        targets["mask"] = sample.mask
    if sample.boxes is not None and inputs.boxes and inputs.boxes.presence != "absent":
        targets["boxes"] = sample.boxes
        if inputs.boxes.labels:
            targets[inputs.boxes.labels] = np.array(sample.labels or [0] * len(sample.boxes), np.int64)
    if sample.keypoints is not None and inputs.keypoints and inputs.keypoints.presence != "absent":
        targets["keypoints"] = sample.keypoints
    return targets
