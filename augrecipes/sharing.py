"""What a process shares with workers that it spawns: large arrays lie in memory that all of them map, once.

Workers that are forked have everything already. Those of `spawn` and `forkserver` get a pickle each: a million paths
are 40 MB for the pipe, and 40 MB more in every worker. Here the arrays of an object are written once, into memory (or,
where the system has no such, a file) that has no name: it goes with the last process that maps it, also when all are
killed. The pickle has the rest, and says where the arrays lie; workers see them read-only. Not by tensors that torch
shares: those lie in /dev/shm, which containers make small, and each takes a descriptor.

Of more than `MOST` objects the others travel in the pickle: a descriptor each would not go with a process.

Only while a process is being started: pickles for files, queues and other machines hold everything, as ever.
"""

from __future__ import annotations

import mmap
import os
import pickle
import sys
import tempfile
import threading
import weakref
import zlib
from multiprocessing import context, reduction
from typing import Any

import numpy as np

LEAST = 1 << 16  # bytes of an array that is worth it
MOST = 128  # objects at a time, of a descriptor each: 250 may go with a process that `forkserver` starts
_ALIGNED = 64


def spawning() -> bool:
    """Whether this thread is about to pickle something for a worker, on a system where these can map what it maps."""
    return sys.platform != "win32" and context.get_spawning_popen() is not None


class SpawnShared:
    """Something whose large arrays and bytes travel to spawned workers once. Nobody changes them, and its state is a
    dictionary."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        if spawning():
            state: dict[str, Any] = self.__getstate__() or {}  # type: ignore[assignment]
            large = {name: value for name, value in state.items() if _is_large(value)}
            if large and (memory := _memory_of(self, large)) is not None:
                rest = {name: value for name, value in state.items() if name not in large}
                there = rest, memory.head, reduction.DupFd(memory.file), memory.extents
                return object.__new__, (type(self),), there, None, None, _fill
        return super().__reduce_ex__(protocol)


class _Memory:
    """Memory without a name: what pickling gives out of the pickle lies there, and the pickle is the `head`."""

    def __init__(self, head: bytes, buffers: list[memoryview]) -> None:
        self.head, self.sums, self.file = head, [zlib.crc32(view) for view in buffers], _nameless()
        self.extents: list[tuple[int, int]] = []
        end = 0
        for view in buffers:
            start = at = -(-end // _ALIGNED) * _ALIGNED
            end = start + view.nbytes
            while at < end:
                at += os.pwrite(self.file, view[at - start :], at)
            self.extents.append((start, end))

    def holds(self, head: bytes, buffers: list[memoryview]) -> bool:
        """Whether it is these values that were written: reading them takes far less than starting a process."""
        return self.head == head and self.sums == [zlib.crc32(view) for view in buffers]


# By process, as a fork must not write to what its parent hands on, and by object, for as long as it lives.
_shared: dict[tuple[int, int], _Memory] = {}
_lock = threading.RLock()


def _memory_of(given: SpawnShared, values: dict[str, Any]) -> _Memory | None:
    """Where the values of an object lie; None where as many objects as may be have such a place."""
    found: list[pickle.PickleBuffer] = []
    plain = {
        name: np.ascontiguousarray(value) if isinstance(value, np.ndarray) else pickle.PickleBuffer(value)
        for name, value in values.items()
    }
    head = pickle.dumps(plain, 5, buffer_callback=found.append)
    buffers, key = [buffer.raw() for buffer in found], (os.getpid(), id(given))
    with _lock:
        if key in _shared and not _shared[key].holds(head, buffers):  # a user's own class may change what is its own
            _forget(key)
        if key not in _shared:
            if len(_shared) >= MOST:
                return None
            _shared[key] = _Memory(head, buffers)
            weakref.finalize(given, _forget, key)
        return _shared[key]


def _forget(key: tuple[int, int]) -> None:
    if (memory := _shared.pop(key, None)) is not None:
        os.close(memory.file)


def _is_large(value: Any) -> bool:
    if isinstance(value, bytes | memoryview):
        return len(value) >= LEAST
    plain = type(value) is np.ndarray and not value.dtype.hasobject and value.dtype.names is None
    return plain and value.nbytes >= LEAST


def _fill(given: Any, there: tuple[dict[str, Any], bytes, Any, list[tuple[int, int]]]) -> None:
    """Give a blank object its state, in the worker."""
    rest, head, shared, extents = there
    handle = shared.detach()
    try:
        whole = memoryview(mmap.mmap(handle, 0, access=mmap.ACCESS_READ))
    finally:
        os.close(handle)
    state = {**rest, **pickle.loads(head, buffers=[whole[start:end] for start, end in extents])}
    if hasattr(given, "__setstate__"):
        given.__setstate__(state)
    else:
        given.__dict__.update(state)


def _nameless() -> int:
    """The descriptor of memory, or of a file, that no path leads to."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("augrecipes")
    handle, path = tempfile.mkstemp(prefix="augrecipes-")
    os.unlink(path)  # noqa: PTH108  as a text
    return handle
