"""What is drawn at random inside a block, from whichever generator, is decided by a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch

from augrecipes.seeds import mix

_MOST = 2**63 - 1


class _Generator(NamedTuple):
    """How a generator's state is had and set, how it is given a seed of 64 bits, and how it draws an integer."""

    state: Callable[[], Any]
    set_state: Callable[[Any], Any]
    seed: Callable[[int], Any]
    draw: Callable[[], Any]


def _torchs(own: torch.Generator) -> _Generator:
    return _Generator(
        own.get_state,
        own.set_state,
        lambda seed: own.manual_seed(seed >> 1),
        lambda: torch.randint(_MOST, (), generator=own, device=own.device),
    )


def _pythons(own: Any) -> _Generator:
    return _Generator(own.getstate, own.setstate, own.seed, lambda: own.getrandbits(63))


def _numpys_first(own: Any) -> _Generator:
    bits = getattr(np.random, own.get_state(legacy=False)["bit_generator"])

    def seeded(seed: int) -> None:
        if bits is np.random.MT19937:
            own.seed(seed & 0xFFFFFFFF)
        else:  # `seed` is of Mersenne twisters alone
            own.set_state(bits(seed).state)

    return _Generator(
        lambda: own.get_state(legacy=False), own.set_state, seeded, lambda: own.randint(_MOST, dtype=np.int64)
    )


def _numpys(own: np.random.Generator) -> _Generator:
    bits: Any = own.bit_generator

    def set_state(state: Any) -> None:
        bits.state = state

    return _Generator(
        lambda: bits.state,
        set_state,
        lambda seed: set_state(type(bits)(seed).state),
        lambda: own.integers(_MOST),
    )


_KINDS: dict[type, Callable[[Any], _Generator]] = {
    torch.Generator: _torchs,
    random.Random: _pythons,
    np.random.RandomState: _numpys_first,
    np.random.Generator: _numpys,
}


@contextmanager
def decided_by(seed: int, owners: Iterable[Any] = ()) -> Iterator[None]:
    """Inside the block random generators are those of a seed, and afterwards as they were.

    Args:
        seed: of 64 bits.
        owners: whose attributes may be generators, too. What such a one gives is decided by its state as well, so that
            what its owner seeded it with counts. A `random.SystemRandom` has none, and stays what nothing decides.
    """
    with ExitStack() as afterwards:
        for each in (_torchs(torch.default_generator), _pythons(random), _numpys_first(np.random)):
            afterwards.callback(each.set_state, each.state())
            each.seed(seed)
        for each in [generator for owner in owners for generator in _of(owner)]:
            afterwards.callback(each.set_state, each.state())
            each.seed(mix(seed, int(each.draw())))
        yield


def _of(owner: Any) -> Iterator[_Generator]:
    for own in getattr(owner, "__dict__", {}).values():
        if not isinstance(own, random.SystemRandom):
            yield from (opened(own) for kind, opened in _KINDS.items() if isinstance(own, kind))
