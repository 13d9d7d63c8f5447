"""Sides of a comparison: each makes batches of the same workload in its own way; a turn of it is one pass of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import augrecipes as ar

# What is in a batch, by name: arrays or tensors, the sample first.
Batch = Mapping[str, Any]
Batches = Callable[[], Iterable[Batch]]
# One sample: the number of the call, and where to put the picture.
Sample = Callable[[int, np.ndarray], None]

BATCH = 32
FLOATS = "float32 C×H×W"


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison.

    Attributes:
        maker: who makes it: `augrecipes`, `kornia`.
        form: which of its ways: "`fast`", "on PIL images"; may be empty.
        batches: begins a pass; what is timed in one turn.
        makes: the pictures' dtype and layout.
        version: of its library.
    """

    maker: str
    form: str
    batches: Batches
    makes: str = FLOATS
    version: str = ""

    @property
    def name(self) -> str:
        """As goals name it.

        >>> Side("kornia", "batches of 8", list, version="0.9.0").name
        'kornia, batches of 8'
        """
        return ", ".join(part for part in (self.maker, self.form) if part)

    def __str__(self) -> str:
        return ", ".join(part for part in (f"{self.maker} {self.version}".rstrip(), self.form) if part)


@dataclass(frozen=True, slots=True)
class Missing:
    """A peer that is not measured, and why."""

    maker: str
    why: str

    def __str__(self) -> str:
        return f"{self.maker}: {self.why}"


class Each(Sequence[Any]):
    """What a function makes of each item, when it is asked for."""

    def __init__(self, items: Sequence[Any], make: Callable[[Any], Any]) -> None:
        self.items, self.make = items, make

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, k: int) -> Any:  # type: ignore[override]
        return self.make(self.items[k])


def in_batches(sample: Sample, shape: Sequence[int], dtype: Any = np.float32, batch: int = BATCH) -> Batches:
    """Passes of one batch each, filled sample by sample; call after call the samples go on."""
    turn, out = itertools.count(), np.zeros((batch, *shape), dtype)

    def run() -> Iterator[Batch]:
        for place in out:
            sample(next(turn), place)
        yield {"image": out}

    return run


def counted(sample: Sample, batch: np.ndarray) -> Callable[[], None]:
    """One sample a call, going through the batch again and again: for `measure.in_turns`."""
    turn = itertools.count()

    def work() -> None:
        k = next(turn)
        sample(k, batch[k % len(batch)])

    return work


def ours(recipe: ar.Recipe, optimize: str, pool: Sequence[Any], **more: Any) -> Sample:
    """A compiled recipe, writing into the batch. `pool`: arrays or files' bytes; `more`: what else a sample has."""
    pipeline = recipe.compile(optimize=optimize)  # type: ignore[arg-type]

    def sample(k: int, out: np.ndarray) -> None:
        pipeline.at(k)(image=pool[k % len(pool)], out=out, **more)

    return sample


def at_once(
    recipe: ar.Recipe, optimize: str, pool: Sequence[Any], shape: Sequence[int], *, threads: int = 1, batch: int = BATCH
) -> Batches:
    """Passes of one batch each, by one call that may share it among threads; the samples are those of `ours`."""
    pipeline: Any = recipe.compile(optimize=optimize)  # type: ignore[arg-type]
    turn, out = itertools.count(0, batch), np.zeros((batch, *shape), np.float32)

    def run() -> Iterator[Batch]:
        first = next(turn)
        pictures = [pool[k % len(pool)] for k in range(first, first + batch)]
        yield {"image": pipeline.batch(pictures, range(first, first + batch), out=out, threads=threads)}

    return run
