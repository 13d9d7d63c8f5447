"""torch's DataLoader as its users set it up, for those peers that bring a Dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from comparison import Batch, Batches
from harness import settle
from torch.utils.data import DataLoader, Dataset


class Files(Dataset[Any]):
    """An image folder: what `make` makes of a file's path, and the label of its subfolder."""

    def __init__(self, root: Path, make: Callable[[str], Any]) -> None:
        self.files, self.make = sorted(map(str, root.rglob("*.jpg"))), make
        classes = sorted({Path(file).parent.name for file in self.files})
        self.labels = [classes.index(Path(file).parent.name) for file in self.files]

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, i: int) -> tuple[Any, int]:
        return self.make(self.files[i]), self.labels[i]


class FilePairs(Dataset[Any]):
    """Pairs of PNG files: what `make` makes of the low and the high resolution."""

    def __init__(self, lr: Path, hr: Path, make: Callable[[Path, Path], Any]) -> None:
        self.files, self.make = list(zip(sorted(lr.glob("*.png")), sorted(hr.glob("*.png")), strict=True)), make

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, i: int) -> Any:
        return self.make(*self.files[i])


class Repeated(Dataset[Any]):
    """A dataset again and again, so that an epoch of few files has many samples."""

    def __init__(self, inner: Any, length: int) -> None:
        self.inner, self.length = inner, length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, i: int) -> Any:
        return self.inner[i % len(self.inner)]


def epochs(ds: Dataset[Any], batch: int, workers: int, names: Sequence[str]) -> Batches:
    """A pass is an epoch: shuffled, by torch; workers are kept from epoch to epoch, and tuned as the others are."""
    options: dict[str, Any] = {"persistent_workers": True, "multiprocessing_context": "fork"} if workers else {}
    loader = DataLoader(ds, batch, shuffle=True, num_workers=workers, worker_init_fn=_settled, **options)

    def run() -> Iterator[Batch]:
        for parts in loader:
            yield dict(zip(names, parts, strict=True))

    return run


def _settled(_: int) -> None:
    settle()
