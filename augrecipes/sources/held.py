"""Samples that a dataset holds, one by one, as they are before its recipe: what a sheet of a dataset shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from augrecipes.errors import DataError
from augrecipes.images.format import UnreadableError
from augrecipes.images.reading import read_file_header
from augrecipes.sources.sample import Sample


@dataclass(frozen=True)
class Held:
    """Some of a dataset's samples; what a `RecipeSource` is for data that no dataset has listed.

    Attributes:
        dataset: one of ours.
        positions: of the samples, in it.
        most_pixels: files of larger pictures are not read; None: all are.
        left_out: nothing: a dataset has said what it left out.
        notes: nothing.
    """

    dataset: Any
    positions: Sequence[int]
    most_pixels: int | None = None
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
        """Of each, where there are some."""
        found = self.dataset.labels
        return None if found is None else found[list(self.positions)]

    @property
    def rule(self) -> Any:
        """Which tiles of a bag make up a sample."""
        return self.dataset.rule

    def row(self, k: int) -> int:
        """The row of the dataset's table that one of them is read from."""
        return int(self.dataset.rows()[self.positions[k]])

    def key(self, k: int) -> int:
        """What keys the draws of one of them, with an epoch."""
        return int(self.dataset.indices()[self.positions[k]])

    def path(self, k: int) -> str:
        """What stands for one of them: a file, or a folder."""
        return str(self.dataset.path(self.positions[k]))

    def read(self, k: int, tile: int = 0, epoch: int | None = None) -> Sample:
        """One of them, or a tile of it; DataError, naming the file, where it cannot be read."""
        self.check(k)
        found: Sample = self.dataset.given(self.positions[k], epoch=epoch, tile=tile)
        return found

    def check(self, k: int) -> None:
        """DataError where a file is larger than is to be read; what is no picture is told when it is read."""
        path = self.path(k)
        if self.most_pixels is None or not Path(path).is_file():
            return
        try:
            header = read_file_header(path)
        except UnreadableError:
            return
        if header.height * header.width > self.most_pixels:
            raise DataError(f"{header.width}×{header.height} px are read only when they are asked for", path)

    def in_epoch(self, k: int, epoch: int, sample: Sample) -> Sample:
        """One of them as it is read in an epoch: stores hold several, where steps that draw were baked."""
        del sample
        return self.read(k, epoch=epoch)

    def pipeline(self, **compiled: Any) -> Any:
        """The dataset's recipe as it runs there, compiled with more arguments."""
        return self.dataset.recompiled(**compiled)
