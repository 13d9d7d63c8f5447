"""The only source of random numbers: every step draws from its own key, positioned in constant time.

A draw is a function of (seed, site, epoch, index, tile). Behind numpy's generator stands Philox4x64-10 (Salmon et
al. 2011) with key (seed, site) and counter (0, tile, epoch, index); behind `random.Random`, SplitMix64 started at a
hash of the same integers. What ran before, in which process, thread or order, cannot matter.
"""

import os
import random
import sys
from bisect import bisect_right
from typing import Any

import numpy as np

from augrecipes.seeds import GOLDEN, MASK, finalise, mix, site_key

_UNIT = 2.0**-53


class _CurrentSample:
    """The sample that generators draw for. They look here when they are used, so that moving all of them costs nothing.

    Attributes:
        counter: Philox's first counter: 0, tile, epoch, index.
        hash: hash of epoch, index and tile; a new int object for each visit of a sample, compared by identity.
        turn: what is added to the first word of alternating steps; their hash is that of epoch 0.
        alternates: the steps that look here alternate.
    """

    __slots__ = ("alternates", "counter", "hash", "turn")

    def __init__(self, *, alternates: bool = False) -> None:
        self.counter, self.hash, self.turn, self.alternates = np.zeros(4, np.uint64), mix(0), 0, alternates


class CounterRandom(random.Random):
    """A `random.Random` over SplitMix64 that is repositioned by assigning one integer.

    All distributions of `random.Random` work and depend on `position` alone.

    >>> r = CounterRandom(7)
    >>> first = r.random()
    >>> r.position(7)
    >>> r.random() == first
    True
    """

    def __init__(self, state: int = 0) -> None:
        self._state: int = state
        self._ready: int | None = None
        self._base, self._sample = 0, _CurrentSample()
        self._at = self._sample.hash
        super().__init__(0)
        self.position(state)

    def position(self, state: int) -> None:
        """Start the sequence of `state`, an integer of 64 well-mixed bits: they are the first word themselves."""
        self._at = self._sample.hash
        self._state = self._ready = state
        self.gauss_next = None  # gauss() keeps every second value

    def follow(self, sample: _CurrentSample, base: int) -> None:
        """Follow `sample`: start each sample at the hash of `base` and the sample's own."""
        self._sample, self._base, self._at = sample, base, sample.hash

    def first(self) -> float:
        """The first value of `random` in the current sample, without drawing it."""
        sample = self._sample
        x = self._base ^ sample.hash  # `finalise`, written out: every gate asks for this
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
        x ^= x >> 31
        return ((x + sample.turn & MASK if sample.turn else x) >> 11) * _UNIT

    def _arrive(self) -> None:
        """Move to the current sample's key."""
        self.position(finalise(self._base ^ self._sample.hash) + self._sample.turn & MASK)

    def _word(self) -> int:
        """The next 64 bits. The first word costs nothing: most steps draw once, to decide whether they act."""
        if self._at is not self._sample.hash:
            self._arrive()
        x = self._ready
        if x is not None:
            self._ready = None
            return x
        x = self._state = (self._state + GOLDEN) & MASK
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
        return x ^ (x >> 31)

    def random(self) -> float:
        """The next float in [0, 1), 53 bits."""
        if self._at is not self._sample.hash:
            self._arrive()
        x = self._ready
        if x is None:
            return (self._word() >> 11) * _UNIT
        self._ready = None  # `_word`, written out
        return (x >> 11) * _UNIT

    def gauss(self, mu: float = 0.0, sigma: float = 1.0) -> float:
        """A normally distributed float; every second call in a sample returns the spare value of the one before."""
        if self._at is not self._sample.hash:
            self._arrive()
        return super().gauss(mu, sigma)

    def getrandbits(self, k: int, /) -> int:
        """An integer of `k` random bits."""
        if k < 0:
            raise ValueError("number of bits must be non-negative")
        value = 0
        for _ in range((k + 63) // 64):
            value = (value << 64) | self._word()
        return value >> (-k % 64)

    def _randbelow(self, n: int) -> int:
        """An integer in [0, n), behind randint, choice, shuffle and sample: random.Random's own hook for subclasses.

        The high half of a 64-bit word times n (Lemire 2019), without its rejection: for n up to 2³² no value is
        favoured by more than one part in 2³². One call instead of the standard library's loop of three.
        """
        if n >> 32:
            k = n.bit_length()
            while (value := self.getrandbits(k)) >= n:
                pass
            return value
        return (self._word() * n) >> 64

    def seed(self, a: Any = None, version: int = 2) -> None:
        """Reposition from an integer; None and other seeds are refused, since nothing here may be unkeyed."""
        if not isinstance(a, int):
            raise TypeError(f"CounterRandom is positioned by an integer, got {type(a).__name__}")
        self.position(finalise(a))

    def getstate(self) -> tuple[Any, ...]:
        """The whole state: the counter, the word that is ready, and gauss()'s spare value."""
        if self._at is not self._sample.hash:
            self._arrive()
        return self._state, self._ready, self.gauss_next

    def setstate(self, state: tuple[Any, ...]) -> None:
        """Restore what `getstate` gave."""
        self._at = self._sample.hash
        self._state, self._ready, self.gauss_next = state


class KeyedGenerator(np.random.Generator):
    """A numpy Generator over Philox that follows its sample. Most steps draw from `random.Random` only."""

    def __init__(self, key: tuple[int, int], sample: _CurrentSample) -> None:
        super().__init__(np.random.Philox(key=np.array(key, np.uint64)))
        # The whole state, buffer included (buffer_pos 4: empty), so that nothing is left of the sample before. It
        # holds the sample's counter itself, and is read when it is set.
        self._at_key: Any = super().bit_generator.state
        self._at_key["state"]["counter"] = sample.counter
        self._at = sample.hash
        self._weights: tuple[float, ...] = ()
        self._ends: list[float] = []
        self._base = mix(*key)
        self._sample = sample  # last: without it there is nothing to follow

    def sample_bits(self) -> int:
        """64 bits that belong to this step and this sample alone, without drawing."""
        return finalise(self._base ^ self._sample.hash) + self._sample.turn & MASK

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None, *more: Any, **named: Any) -> Any:
        """numpy's `choice`, with its cumulative weights cached: a OneOf always passes the same weights.

        In a step that alternates the first word chooses.
        """
        if self._sample.alternates:
            return a[self.sample_bits() * len(a) >> 64]
        if size is None and replace and type(a) is int and type(p) is list and not (more or named):
            key = (a, *p)
            if self._weights == key:
                return bisect_right(self._ends, self.random())
            chosen = super().choice(a, p=p)  # checks the weights
            ends = np.cumsum(np.array(p, np.float64))
            self._weights, self._ends = key, (ends / ends[-1]).tolist()
            return chosen
        return super().choice(a, size, replace, p, *more, **named)

    def __getattribute__(self, name: str) -> Any:
        get = super().__getattribute__
        fields = get("__dict__")
        sample = fields.get("_sample")
        if sample is not None and fields["_at"] is not sample.hash:
            fields["_at"] = sample.hash
            get("bit_generator").state = fields["_at_key"]
        return get(name)


class Draws:
    """The generators of all steps of a pipeline, moved together to the key of a sample.

    Args:
        seed: any integer.

    >>> draws = Draws(seed=0)
    >>> numpy_generator, py_random = draws.add("RandomCrop#1")
    >>> draws.position(epoch=0, index=5)
    >>> a = py_random.random()
    >>> draws.position(epoch=0, index=6)
    >>> py_random.random() == a
    False
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._sample = _CurrentSample()  # of all steps but those that tiles share or that alternate
        self._others: dict[tuple[bool, int], _CurrentSample] = {}
        self._epoch, self._epoch_hash = 0, mix(0)  # the hash of the epoch, which seldom changes

    def add(self, site: str, *, shared: bool = False, turn: int = 0) -> tuple[np.random.Generator, CounterRandom]:
        """Add the step labelled `site`; return its two generators, which follow `position`.

        A `shared` step draws for tile 0 whatever the tile. With a `turn`, for draws that alternate, the first word in
        an epoch is that of epoch 0 plus `turn` for each epoch since.
        """
        key, sample = (self.seed & MASK, site_key(site)), self._sample
        if shared or turn:
            sample = self._others.setdefault((shared, turn), _CurrentSample(alternates=turn > 0))
        py_random = CounterRandom()
        py_random.follow(sample, mix(*key))
        return KeyedGenerator(key, sample), py_random

    def position(self, epoch: int, index: int, tile: int = 0) -> None:
        """Move every generator to the sample (epoch, index, tile), integers of at most 64 bits."""
        if epoch != self._epoch:
            self._epoch, self._epoch_hash = epoch, mix(epoch)
        sample = self._sample
        sample.counter[1], sample.counter[2], sample.counter[3] = tile, epoch, index
        sample.hash = mix(index, tile, state=self._epoch_hash)
        for (shared, turn), sample in self._others.items():
            own_epoch, own_tile = 0 if turn else epoch, 0 if shared else tile
            sample.counter[1], sample.counter[2], sample.counter[3] = own_tile, own_epoch, index
            sample.hash, sample.turn = mix(own_epoch, index, own_tile), epoch * turn & MASK


# Bare calls of different processes must differ.


def home_process() -> int:
    """The process whose bare calls are keyed by a count alone; −1 in a DataLoader worker, which mixes in its seed."""
    return -1 if _worker_seed() is not None else os.getpid()


def process_stream() -> int:
    """A number for this process's bare calls: from the DataLoader worker's seed, else from the operating system."""
    seed = _worker_seed()
    return mix(int.from_bytes(os.urandom(8), "little") if seed is None else seed) & (MASK >> 1)


def _worker_seed() -> int | None:
    """The seed of this DataLoader worker; None in other processes."""
    # No import: in a worker of torch's DataLoader torch is imported already.
    torch = sys.modules.get("torch")
    worker = torch.utils.data.get_worker_info() if torch is not None else None
    return None if worker is None else int(worker.seed)
