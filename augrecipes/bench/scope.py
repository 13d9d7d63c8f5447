"""How much a sweep measures: which settings, epochs of which sizes, how often."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from augrecipes.bench.cold import Evicted
from augrecipes.data.choice import Backend
from augrecipes.machine import cores

_PARTS = (16, 4, 1)  # epochs are so many times smaller than the largest
_FEWEST_BATCHES = 4  # of an epoch; of the largest twice as many
ENOUGH_BATCHES = 64  # of the largest, where the data has fewer
_FOR_EACH_WORKER = 2  # batches of the largest
_FEWEST_ROUNDS, _ENOUGH_ROUNDS, _MOST_ROUNDS = 3, 5, 9

Workers = tuple[Backend, int]


@dataclass(frozen=True)
class Scope:
    """How it is read.

    Attributes:
        workers: how many threads, and how many processes; 0: this process.
        batch_size: samples in a batch.
        sizes: samples of an epoch; None: from the data, and from what the time allows.
        seconds: for each of `workers` and each recipe, roughly.
        seed: of the order.
        cold: files are dropped from the page cache before each epoch, and counted here.
    """

    workers: Sequence[int]
    batch_size: int
    sizes: Sequence[int] | None = None
    seconds: float = 10.0
    seed: int = 0
    cold: Evicted | None = None

    @property
    def settings(self) -> list[Workers]:
        """Every backend with every number, the simplest first."""
        many = sorted(count for count in self.workers if count)
        alone: list[Workers] = [("batches", 0)] if 0 in self.workers else []
        return [*alone, *(("threads", count) for count in many), *(("processes", count) for count in many)]

    @property
    def share(self) -> float:
        """Seconds that an epoch of the largest size may take in this process."""
        return self._epochs / sum(1 / part for part in _PARTS) / (1 + _ENOUGH_ROUNDS)

    def rounds(self, seconds: float) -> int:
        """How many there is time for, where an epoch of each size takes so long together, in this process."""
        return max(_FEWEST_ROUNDS, min(_MOST_ROUNDS, int(self._epochs / seconds) - 1))

    @property
    def _epochs(self) -> float:
        """Seconds of a recipe that fall to this process, where workers are as much quicker as there are cores."""
        together = sum(1 / min(max(count, 1), cores()) for _, count in self.settings)
        return self.seconds * len(self.workers) / together


def default_sizes(available: int, scope: Scope, pace: float) -> tuple[int, ...]:
    """A sixteenth, a quarter and all of the data, or of what the time allows.

    Few samples are read more than once, so that what workers bring, and what an epoch costs them, can be seen.

    Args:
        available: samples of the data.
        scope: how they are read.
        pace: seconds a sample, in this process.

    >>> default_sizes(10_000, Scope([0, 2], 8), 1e-4), default_sizes(24, Scope([0, 2], 8), 1e-4)
    ((624, 2496, 10000), (32, 128, 512))
    >>> default_sizes(10_000, Scope([0, 16], 1), 10.0)
    (4, 32)
    """
    batch = scope.batch_size
    fitting = int(scope.share / pace)
    least = _FEWEST_BATCHES * batch
    largest = min(max(available, ENOUGH_BATCHES * batch), fitting)
    needed = max(2 * least, _FOR_EACH_WORKER * max(scope.workers) * batch)
    if largest < needed:
        return least, needed
    whole = largest if largest == available else largest // batch * batch
    return tuple(sorted({max(whole // part // batch * batch, least) for part in _PARTS[:-1]} | {whole}))
