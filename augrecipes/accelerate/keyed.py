"""Copies of other people's pipelines, each call of which draws by a key of its own."""

from __future__ import annotations

import itertools
import operator
import os
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from augrecipes.accelerate.report import Acceleration, Timing
from augrecipes.compiler.run import streams
from augrecipes.recipe.model import Optimize
from augrecipes.seeds import END_OF_KEYS, MASK, mix

_MADE_ANEW = ("_pipeline", "_runs", "_count", "_last", "_draws", "random_generator", "py_random")


class KeyedCopy:
    """What an accelerated pipeline is, whosever it was: a copy that keys its draws, pickles, and says how it runs.

    Attributes:
        source: the class that it was made of.
        why_not: why nothing is accelerated; empty: something may be.
    """

    source: Any
    why_not = ""
    _optimize: Optimize
    _timing: Timing | None = None
    _report: Callable[[], Acceleration]

    @classmethod
    def copy_of(cls, pipeline: Any, optimize: Optimize) -> Any:
        """A copy of a pipeline; it draws nothing yet."""
        made = cls.__new__(cls)
        try:
            state = deepcopy(vars(pipeline))
        except Exception:  # it holds what cannot be copied, and goes on with that
            state = dict(vars(pipeline))
        made.__dict__.update(carried(state), _optimize=optimize, _timing=None)
        return made

    def start(self, seed: int | None) -> None:
        """Begin the draws of a seed; None: of one that chance gives."""
        number = int.from_bytes(os.urandom(8), "little") if seed is None else mix(operator.index(seed))
        self._number, self._home, self._count = number, streams.home(), itertools.count()
        self._stream = END_OF_KEYS | (number & (MASK >> 1))
        self._key_generators()

    def _key_generators(self) -> None:
        """Let generators of others, where it has some, go by the calls of this."""

    def _key(self) -> tuple[int, int]:
        """Epoch and index of the next call: no other call has both."""
        if os.getpid() != self._home:  # a worker: its own draws, in each epoch others
            self._home = os.getpid()
            self._stream = END_OF_KEYS | (mix(self._number, streams.of_this_process()) & (MASK >> 1))
        return self._stream, next(self._count)

    def _pickled(self, class_of: Callable[[Any], type[KeyedCopy]]) -> tuple[Any, ...]:
        """What `__reduce__` returns, of a class that this function makes of the source."""
        return _restored, (class_of, self.source, carried(vars(self)), int(repr(self._count)[6:-1]))  # "count(7)"

    def _plain(self) -> Any:
        """What it was made of."""
        made = self.source.__new__(self.source)
        made.__dict__.update(vars(self))
        return made

    def __repr__(self) -> str:
        return str(self._report())


def carried(state: dict[str, Any]) -> dict[str, Any]:
    """What a copy takes along of an object's state: not what it makes by itself."""
    return {name: value for name, value in state.items() if name not in _MADE_ANEW}


def _restored(class_of: Callable[[Any], type[KeyedCopy]], source: Any, state: dict[str, Any], count: int) -> KeyedCopy:
    """What was pickled, or copied: it goes on where that was."""
    cls = class_of(source)
    made = cls.__new__(cls)
    made.__dict__.update(state, _count=itertools.count(count))
    made._key_generators()
    return made
