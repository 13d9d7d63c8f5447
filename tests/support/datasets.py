"""Small datasets without files, for tests of the loader (importable by spawned workers)."""

import os
import signal
import threading
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import Dataset

from augrecipes.compiler.run.batch import AllocateTarget
from augrecipes.data.batching import allocate_in_batch
from augrecipes.data.dataset import RecipeDataset
from augrecipes.data.epochs import EpochClock, SkipError, current
from augrecipes.data.loader import Loader, loader
from augrecipes.errors import DataError
from augrecipes.recipe.parse import parse_text
from augrecipes.seeds import mix

WAYS: dict[str, dict[str, Any]] = {
    "here": {"num_workers": 0},
    "threads": {"backend": "threads", "num_workers": 2},
    "forked": {"num_workers": 2, "multiprocessing_context": "fork"},
    "forked, that stay": {"num_workers": 2, "multiprocessing_context": "fork", "persistent_workers": True},
}
"""Loader options: read in this process, with threads, or with forked workers."""


def as_they_are(samples: Any) -> Any:
    """A collate function that returns the samples as they are."""
    return samples


class Wrapped(Dataset[Any]):
    """A user's own wrapper, which knows nothing of epochs."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        return self.dataset[index]


class Counting(Dataset[Any]):
    """Sample i is a hash of (seed, epoch, virtual index), as an ImageFolder's sample is."""

    def __init__(self, n: int, seed: int = 0, broken: frozenset[int] = frozenset(), skip: bool = False) -> None:
        self.n, self.seed, self.broken, self.skip = n, seed, broken, skip
        self.clock = EpochClock()

    def __len__(self) -> int:
        return self.n

    def set_epoch(self, epoch: int) -> None:
        self.clock.set(epoch)

    @property
    def epoch(self) -> int:
        return self.clock.epoch

    def fingerprint(self) -> dict[str, Any]:
        return {"dataset_seed": self.seed}

    def __getitem__(self, index: int) -> dict[str, Any]:
        if not 0 <= index < self.n:
            raise IndexError(index)
        now = current()
        epoch, repeat = (now.epoch, now.repeat) if now else (self.epoch, 0)
        virtual = index + repeat * self.n
        if index in self.broken:
            error = DataError("broken", f"{index}.png")
            raise SkipError(error, self.seed, virtual) if self.skip and now and now.left_out is not None else error
        value = mix(self.seed, epoch, virtual) >> 1
        return {"image": torch.tensor([value]), "index": virtual, "path": f"{index}.png"}


class Settings(Counting):
    """Samples hold the numbers of threads that OpenCV and torch use."""

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"image": torch.tensor([cv2.getNumThreads(), torch.get_num_threads()]), "index": index}


class Dying(Counting):
    """A dataset that kills the process reading sample `at`."""

    def __init__(self, n: int, at: int, how: str) -> None:
        super().__init__(n)
        self.at, self.how = at, how

    def __getitem__(self, index: int) -> dict[str, Any]:
        if index == self.at:
            if self.how == "exit":
                os._exit(3)
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(index)


def here(dataset: Any, *arguments: Any, **options: Any) -> Loader:
    """Return a loader that reads in this process by default."""
    return loader(dataset, *arguments, **{"num_workers": 0, **options})


def indices(loader: Any) -> list[int]:
    """Return the virtual indices of a pass, in order."""
    return [int(i) for batch in loader for i in batch["index"]]


def values(loader: Any) -> list[int]:
    """Return the sample values of a pass, in order."""
    return [int(v) for batch in loader for v in batch["image"].flatten()]


RECIPE = "{version: 1, recipe: gathered, steps: [], eval: []}"


class Names:
    """A table of `n` rows without files."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.labels = np.arange(n, dtype=np.int64) % 3
        self.classes, self.class_to_idx = ("a", "b", "c"), {"a": 0, "b": 1, "c": 2}
        self.groups = self.weights = None

    def __len__(self) -> int:
        return self.n

    def digest(self) -> str:
        return str(self.n)


class Gathering(RecipeDataset):
    """Row r is an image with all values r, except for a hash of the key at its start.

    Args:
        n: number of rows.
        size: side of the images in px.
        broken: rows that cannot be read.
        ragged: images differ in size, so that no batch is read at once.
    """

    kind = "image"

    def __init__(
        self, n: int, size: int = 8, broken: frozenset[int] = frozenset(), ragged: bool = False, **options: Any
    ) -> None:
        super().__init__(Names(n), parse_text(RECIPE), **options)  # type: ignore[arg-type]
        self.size, self.broken, self.ragged = size, broken, ragged
        self.asked: list[tuple[str, int]] = []
        self.pixels = np.arange(n, dtype=np.uint8)[:, None, None, None] + np.zeros((n, 3, size, size), np.uint8)

    def _runs_natively(self) -> bool:
        return True

    def row_path(self, row: int) -> str:
        return f"{row}.png"

    def _mark(self, epoch: int, virtual: int) -> npt.NDArray[np.uint8]:
        return np.frombuffer(mix(epoch, virtual).to_bytes(8, "little"), np.uint8)

    def make_sample(self, row: int, epoch: int, virtual: int) -> dict[str, Any]:
        self.asked.append((threading.current_thread().name, 1))
        if row in self.broken:
            raise DataError("broken")
        size = self.size + (row % 2 if self.ragged else 0)
        allocate = allocate_in_batch("image") or np.empty
        image = allocate((3, size, size), np.dtype(np.uint8))
        image[:, : self.size, : self.size] = self.pixels[row]
        image[0, 0, :8] = self._mark(epoch, virtual)
        return {"image": torch.from_numpy(image)}

    def make_batch(
        self, rows: npt.NDArray[np.int64], epoch: int, virtual: npt.NDArray[np.int64], allocate: AllocateTarget
    ) -> dict[str, Any] | None:
        if self.ragged:
            return None
        self.asked.append((threading.current_thread().name, len(rows)))
        if self.broken & set(rows.tolist()):
            raise DataError("broken")
        image = allocate("image", (3, self.size, self.size), np.dtype(np.uint8))
        np.take(self.pixels, rows, axis=0, out=image)
        image[:, 0, 0, :8] = [self._mark(epoch, int(v)) for v in virtual]
        return {"image": image}
