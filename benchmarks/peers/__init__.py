"""The libraries beside which augrecipes is measured, the Datasets of the source articles, and what they share.

`pip install -e '.[peers]'` brings five of them; of what is not there the tables tell how it is installed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from comparison import BATCH, Batch, Batches, Missing, Side
from harness import settle
from torch.utils.data import DataLoader, Dataset
from workloads import Folder

# Those that fork workers stand before those that start threads.
_MODULES = ("articles", "composed", "torchvision", "tensors", "variopinta", "dali")
# The least ratio beside those that set out to be quick themselves: ahead of each, whatever it runs.
AHEAD = dict.fromkeys(("torchtransform", "variopinta", "augrs"), 1.0)
# Larger arrays come fresh from the system, page by page, however glibc's allocator is tuned: more at once is slower.
_KEPT_BYTES = 32 * 2**20


class AbsentError(Exception):
    """A library is not installed, or does not work here."""


@dataclass(frozen=True)
class Library:
    """A library, and its ways of doing workloads.

    Attributes:
        name: in tables.
        package: as the package index names it; empty: it is all here, and has no version.
        load: imports it.
        workloads: by the type of a workload, or one that it derives from, a function that offers the library's ways of
            doing it, as sides.
        without: by the type of a workload, why the library is not measured with it.
        hint: what is installed; empty: the package.
    """

    name: str
    package: str
    load: Callable[[], Any]
    workloads: Mapping[type, Callable[[Any], Iterable[Side]]]
    without: Mapping[type, str] = field(default_factory=dict)
    hint: str = ""

    def find(self) -> str:
        """Its version; AbsentError where it is not there, or cannot be imported."""
        try:
            self.load()
            return version(self.package).partition("+")[0] if self.package else ""
        except (ModuleNotFoundError, PackageNotFoundError):
            raise AbsentError(f"not installed (pip install {self.hint or self.package})") from None
        except Exception as error:  # whatever a broken build of another library raises
            raise AbsentError(f"installed, but cannot be imported: {error}") from error

    def offers(self, workload: Any) -> Iterator[Side | Missing]:
        """What it offers for a workload; nothing where nothing is said of it."""
        kind = type(workload)
        if kind in self.without:
            yield Missing(self.name, self.without[kind])
        for offer in [self.workloads[one] for one in kind.__mro__ if one in self.workloads][:1]:
            try:
                found = self.find()
            except AbsentError as absent:
                yield Missing(self.name, str(absent))
            else:
                yield from (replace(side, maker=self.name, version=found) for side in offer(workload))


def libraries() -> list[Library]:
    """All of them; a module may hold several."""
    return [one for name in _MODULES for one in import_module(f"peers.{name}").LIBRARIES]


def sides_of(workload: Any) -> Iterator[Side | Missing]:
    """What every library offers for a workload, one after another."""
    for library in libraries():
        yield from library.offers(workload)


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


def epochs(ds: Dataset[Any], batch: int, workers: int, names: Sequence[str] = ("image", "label")) -> Batches:
    """A pass is an epoch of torch's DataLoader: shuffled; workers are kept, and tuned as the others are."""
    options: dict[str, Any] = {"persistent_workers": True, "multiprocessing_context": "fork"} if workers else {}
    loader = DataLoader(ds, batch, shuffle=True, num_workers=workers, worker_init_fn=_settled, **options)

    def run() -> Iterator[Batch]:
        for parts in loader:
            yield dict(zip(names, parts, strict=True))

    return run


def _settled(_: int) -> None:
    settle()


def of_files(folder: Folder, make: Callable[[str], Any], form: str = "image folder") -> Side:
    """W3, and W3f with flips: a Dataset of files, under torch's DataLoader."""
    passes = epochs(Files(folder.root, make), folder.batch, folder.workers)
    return Side("", f"{form}, {folder.workers} workers", passes)


def in_parts(
    chain: Callable[[torch.Tensor], torch.Tensor],
    read: Callable[[int], np.ndarray],
    count: int,
    at_once: int | None = None,
) -> Side:
    """For those that take a batch at once. A pass is one batch, in parts, each gathered as uint8, then made floats.

    Args:
        chain: what makes a part of the batch of N×C×H×W floats, 0..1.
        read: an image by its number, uint8 H×W×C.
        count: how many images there are.
        at_once: images in a part; without it, as many as memory that is kept can hold.
    """
    turn = itertools.count()
    at_once = at_once or min(BATCH, 1 << int(np.log2(max(1, _KEPT_BYTES // (4 * read(0).size)))))

    @torch.no_grad()
    def part() -> torch.Tensor:
        pixels = np.stack([read(next(turn) % count) for _ in range(at_once)])
        return chain(torch.from_numpy(pixels).permute(0, 3, 1, 2).to(torch.float32).mul_(1 / 255))

    def run() -> Iterator[Batch]:
        yield {"image": torch.cat([part() for _ in range(BATCH // at_once)])}

    return Side("", f"{at_once} at once", run)
