"""The only maker of random numbers: every step draws from its own key, positioned in constant time.

A draw is a function of (seed, site, epoch, index, tile). Behind numpy's generator stands Philox4x64-10 (Salmon et
al. 2011) with key (seed, site) and counter (0, tile, epoch, index); behind `random.Random`, SplitMix64 started at a
hash of the same integers. What ran before, in which process, thread or order, cannot matter.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from augrecipes.seeds import GOLDEN, MASK, finalise, mix, site_key

_UNIT = 2.0**-53


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
        super().__init__(0)
        self.position(state)

    def position(self, state: int) -> None:
        """Start the sequence of `state`, an integer of 64 well-mixed bits: they are the first word themselves."""
        self._state = self._ready = state
        self.gauss_next = None  # gauss() keeps every second value

    def _word(self) -> int:
        """The next 64 bits. The first cost nothing: most steps draw once, to decide whether they act at all."""
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
        x = self._ready
        if x is None:
            return (self._word() >> 11) * _UNIT
        self._ready = None  # `_word`, written out: every gate asks for this
        return (x >> 11) * _UNIT

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
        """The whole state: the counter, the word at hand, and gauss()'s spare value."""
        return self._state, self._ready, self.gauss_next

    def setstate(self, state: tuple[Any, ...]) -> None:
        """Restore what `getstate` gave."""
        self._state, self._ready, self.gauss_next = state

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.getstate(),)


def _restore(state: tuple[Any, ...]) -> CounterRandom:
    made = CounterRandom()
    made.setstate(state)
    return made


class KeyedGenerator(np.random.Generator):
    """A numpy Generator over Philox that moves to its key when it is first used.

    Most steps draw from `random.Random` only; setting Philox's state costs more than all the rest of a key.
    """

    def __init__(self, key: tuple[int, int], counter: np.ndarray) -> None:
        super().__init__(np.random.Philox(key=np.array(key, np.uint64)))
        self.due = False
        # The whole state, buffer included (buffer_pos 4: empty), so that nothing is left of the sample before. It
        # holds the caller's counter itself, and is read when it is set.
        self._at_key: Any = super().bit_generator.state
        self._at_key["state"]["counter"] = counter

    def __getattribute__(self, name: str) -> Any:
        get = super().__getattribute__
        if name != "due" and get("__dict__").get("due"):
            self.due = False
            get("bit_generator").state = get("_at_key")
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
        # One counter for all steps, filled once a sample; and one for those whose draw the tiles of a bag share.
        self._counter, self._shared_counter = np.zeros(4, np.uint64), np.zeros(4, np.uint64)
        self._epoch, self._of_epoch = 0, mix(0)  # the hash of the epoch, which seldom changes
        self._steps: list[tuple[KeyedGenerator, CounterRandom, int]] = []
        self._shared: list[tuple[KeyedGenerator, CounterRandom, int]] = []

    def add(self, site: str, *, shared: bool = False) -> tuple[np.random.Generator, CounterRandom]:
        """The two generators of the step labelled `site`; they follow `position` from now on.

        Those of a `shared` step are at tile 0 whatever the tile.
        """
        key = (self.seed & MASK, site_key(site))
        generator = KeyedGenerator(key, self._shared_counter if shared else self._counter)
        py_random = CounterRandom()
        (self._shared if shared else self._steps).append((generator, py_random, mix(*key)))
        return generator, py_random

    def position(self, epoch: int, index: int, tile: int = 0) -> None:
        """Move every generator to the sample (epoch, index, tile), integers of at most 64 bits."""
        if epoch != self._epoch:
            self._epoch, self._of_epoch = epoch, mix(epoch)
        self._counter[1], self._counter[2], self._counter[3] = tile, epoch, index
        _move(self._steps, mix(index, tile, state=self._of_epoch))
        if self._shared:
            self._shared_counter[2], self._shared_counter[3] = epoch, index
            _move(self._shared, mix(index, 0, state=self._of_epoch))


def _move(steps: list[tuple[KeyedGenerator, CounterRandom, int]], sample: int) -> None:
    """Move generators to a sample, by the hash of its epoch, index and tile; Philox reads the counter itself."""
    for generator, py_random, base in steps:
        generator.due = True
        # `CounterRandom.position(finalise(base ^ sample))`, written out.
        x = base ^ sample
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
        py_random._state = py_random._ready = x ^ (x >> 31)
        py_random.gauss_next = None
