"""Share large arrays with spawned workers: one copy in shared memory, which all of them map.

Forked workers inherit everything. Workers of `spawn` and `forkserver` get a pickle each: a million paths are 40 MB for
the pipe, and 40 MB more in every worker. Here an object's arrays are written once to multiprocessing's shared memory
(an unlinked file, in /dev/shm where that has room), which is freed with the last process that maps it, even if all are
killed. The pickle holds the rest and refers to the arrays; workers see them read-only.

This happens only while a process is being started: pickles for files, queues and other machines hold everything.
"""

import sys
import weakref
import zlib
from multiprocessing import context
from multiprocessing.heap import BufferWrapper
from typing import Any, NamedTuple

import numpy as np

LEAST = 1 << 16  # bytes; smaller arrays are pickled


def spawning() -> bool:
    """Whether this thread is pickling for a worker that is being started, which can map its memory (not on Windows)."""
    return sys.platform != "win32" and context.get_spawning_popen() is not None


class SpawnShared:
    """A base of objects that share large arrays and bytes with spawned workers; the arrays must not change.

    The object's state must be a dict.
    """

    def __reduce_ex__(self, protocol: Any) -> Any:
        if spawning():
            state: dict[str, Any] = self.__getstate__() or {}  # type: ignore[assignment]
            if large := {name: _shared_value(self, name, value) for name, value in state.items() if _is_large(value)}:
                return object.__new__, (type(self),), {**state, **large}, None, None, _fill
        return super().__reduce_ex__(protocol)


class SharedValue(NamedTuple):
    """An array in shared memory, or bytes, which have no shape."""

    memory: Any
    dtype: np.dtype[Any]
    shape: tuple[int, ...] | None


# By id of each living object and name of its value: checksum and size of the value, and its shared memory.
_shared: dict[int, dict[str, tuple[tuple[int, int], Any]]] = {}


def _shared_value(owner: SpawnShared, name: str, value: Any) -> SharedValue:
    plain = isinstance(value, np.ndarray)
    array = np.ascontiguousarray(value if plain else np.frombuffer(value, np.uint8))
    data = array.reshape(-1).view(np.uint8)
    mark = zlib.crc32(data.data), len(data)
    if id(owner) not in _shared:
        _shared[id(owner)] = {}
        weakref.finalize(owner, _shared.pop, id(owner), None)
    known = _shared[id(owner)]
    if name not in known or known[name][0] != mark:  # a user's class may change its arrays all the same
        known[name] = mark, BufferWrapper(len(data))
        known[name][1].create_memoryview()[:] = data
    return SharedValue(known[name][1], array.dtype, value.shape if plain else None)


def _is_large(value: Any) -> bool:
    if isinstance(value, bytes | memoryview):
        return len(value) >= LEAST
    plain = type(value) is np.ndarray and not value.dtype.hasobject and value.dtype.names is None
    return plain and value.nbytes >= LEAST


def _fill(blank: Any, state: dict[str, Any]) -> None:
    """Set the state of a blank object, in the worker."""
    state = {name: _value_of(value) if isinstance(value, SharedValue) else value for name, value in state.items()}
    if hasattr(blank, "__setstate__"):
        blank.__setstate__(state)
    else:
        blank.__dict__.update(state)


def _value_of(value: SharedValue) -> Any:
    data = value.memory.create_memoryview().toreadonly()
    return data if value.shape is None else np.frombuffer(data, value.dtype).reshape(value.shape)
