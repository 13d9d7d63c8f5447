"""What a process hands to workers that it spawns: large arrays lie in memory that all of them map, once.

Workers that are forked have everything already. Those of `spawn` and `forkserver` get a pickle each: a million paths
are 40 MB for the pipe, and 40 MB more in every worker. Here the arrays of an object are written once, into memory (or,
where the system has no such, a file) that has no name: it goes with the last process that maps it, also when all are
killed. The pickle has the rest, and says where the arrays lie; workers see them read-only.

Of more than `MOST` objects the others travel in the pickle: a descriptor each would not go with a process.

Only while a process is being started: pickles for files, queues and other machines hold everything, as ever.
"""

from __future__ import annotations

import mmap
import os
import sys
import tempfile
import threading
import weakref
import zlib
from multiprocessing import context, reduction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

LEAST = 1 << 16  # bytes of an array that is worth it
MOST = 128  # objects at a time, of a descriptor each: 250 may go with a process that `forkserver` starts
_ALIGNED = 64


def spawning() -> bool:
    """Whether this thread is about to pickle something for a worker, on a system where these can map what it maps."""
    return sys.platform != "win32" and context.get_spawning_popen() is not None


class Spawned:
    """Something whose large arrays and bytes travel to spawned workers once. Nobody changes them, and its state is a
    dictionary."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        if spawning():
            state: dict[str, Any] = self.__getstate__() or {}  # type: ignore[assignment]
            large = {name: value for name, value in state.items() if _is_large(value)}
            if large and (shared := _shared_of(self, large)) is not None:
                rest = {name: value for name, value in state.items() if name not in large}
                there = rest, reduction.DupFd(shared.file), shared.places
                return _blank, (type(self),), there, None, None, _fill
        return super().__reduce_ex__(protocol)


class _Extent(NamedTuple):
    """Where something lies: in which bytes, and what they are; bytes have neither dtype nor shape."""

    start: int
    end: int
    dtype: str | None = None
    shape: tuple[int, ...] = ()


class _Nameless:
    """Memory without a name, and what was written to it."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.file = _nameless()
        self.places: dict[str, _Extent] = {}
        end = 0
        self._sums = {}
        for name, value in values.items():
            view = _bytes_of(value)
            self._sums[name] = zlib.crc32(view)
            start = at = -(-end // _ALIGNED) * _ALIGNED
            end = start + view.nbytes
            while at < end:
                at += os.pwrite(self.file, view[at - start :], at)
            self.places[name] = _Extent(start, end, *_described(value))

    def holds(self, values: dict[str, Any]) -> bool:
        """Whether it is these values that were written: reading them takes far less than starting a process."""
        return self.places.keys() == values.keys() and all(
            self.places[name][2:] == (_described(value) or (None, ()))
            and self._sums[name] == zlib.crc32(_bytes_of(value))
            for name, value in values.items()
        )


def _described(value: Any) -> tuple[Any, ...]:
    return (value.dtype.str, value.shape) if _is_array(value) else ()


def _bytes_of(value: Any) -> memoryview:
    return np.ascontiguousarray(value).reshape(-1).view(np.uint8).data if _is_array(value) else memoryview(value)


# By process, as a fork must not write to what its parent hands on, and by object, for as long as it lives.
_shared: dict[tuple[int, int], _Nameless] = {}
_lock = threading.RLock()


def _shared_of(given: Spawned, values: dict[str, Any]) -> _Nameless | None:
    """Where the values of an object lie; None where as many objects as may be have such a place."""
    key = os.getpid(), id(given)
    with _lock:
        if key in _shared and not _shared[key].holds(values):  # a user's own class may change what is its own
            _forget(key)
        if key not in _shared:
            if len(_shared) >= MOST:
                return None
            _shared[key] = _Nameless(values)
            weakref.finalize(given, _forget, key)
        return _shared[key]


def _forget(key: tuple[int, int]) -> None:
    if (shared := _shared.pop(key, None)) is not None:
        os.close(shared.file)


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and not value.dtype.hasobject and value.dtype.names is None


def _is_large(value: Any) -> bool:
    if isinstance(value, bytes | memoryview):
        return len(value) >= LEAST
    return _is_array(value) and type(value) is np.ndarray and value.nbytes >= LEAST


def _blank(made: Any) -> Any:
    return made.__new__(made)


def _fill(given: Any, there: tuple[dict[str, Any], Any, dict[str, _Extent]]) -> None:
    """Give a blank object its state, in the worker."""
    rest, shared, places = there
    handle = shared.detach()
    try:
        whole = mmap.mmap(handle, 0, access=mmap.ACCESS_READ)
    finally:
        os.close(handle)
    state = {**rest, **{name: _found(whole, place) for name, place in places.items()}}
    if hasattr(given, "__setstate__"):
        given.__setstate__(state)
    else:
        given.__dict__.update(state)


def _found(whole: mmap.mmap, place: _Extent) -> memoryview | npt.NDArray[Any]:
    view = memoryview(whole)[place.start : place.end]
    return view if place.dtype is None else np.frombuffer(view, place.dtype).reshape(place.shape)


def _nameless() -> int:
    """The descriptor of memory, or of a file, that no path leads to."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("augrecipes")
    handle, path = tempfile.mkstemp(prefix="augrecipes-")
    os.unlink(path)  # noqa: PTH108  as a text
    return handle
