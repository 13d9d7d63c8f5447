"""All uses of private parts of torch, and the versions against which they are proven.

Another version is allowed with a warning. Where a private part is missing, an error says so.
"""

import os
import re
import select
import sys
import threading
import time
import warnings
import weakref
from contextlib import suppress
from math import prod
from multiprocessing.connection import wait
from traceback import walk_tb
from types import FrameType
from typing import Any

import torch
from torch.utils.data import DataLoader, get_worker_info

from augrecipes.errors import AugrecipesError, UnprovenWarning

# The first and the last release, as pyproject.toml has them.
PROVEN = ((2, 6), (2, 13))
_ALLOWED = "torch>=" + ".".join(map(str, PROVEN[0])) + ",<" + f"{PROVEN[1][0]}.{PROVEN[1][1] + 1}"

try:
    from torch._C import _remove_worker_pids
    from torch.utils._pytree import tree_flatten, tree_unflatten
    from torch.utils.data._utils import MP_STATUS_CHECK_INTERVAL
    from torch.utils.data._utils.fetch import _IterableDatasetFetcher, _MapDatasetFetcher
    from torch.utils.data._utils.pin_memory import pin_memory
    from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter

    # The functions by which every DataLoader reads its dataset, in a worker or not, whatever wraps the dataset.
    _FETCHES = frozenset(vars(kind)["fetch"].__code__ for kind in (_MapDatasetFetcher, _IterableDatasetFetcher))
except (ImportError, AttributeError, KeyError) as error:
    raise AugrecipesError(
        f"torch {torch.__version__} lacks something that augrecipes needs ({error}): pip install '{_ALLOWED}'"
    ) from error

__all__ = ["pin_memory", "tree_flatten", "tree_unflatten"]

_LOOK_SECONDS, _CUT_OFF_SECONDS = 0.25, 1.0
_FEEDER = "QueueFeederThread"  # multiprocessing's name of the thread
_DEAD = re.compile(r"DataLoader worker \(pid\(?s?\)?")


def proven(version: str) -> bool:
    """Whether the hooks are proven against this version of torch.

    >>> proven("2.13.0+cpu"), proven("2.5.1"), proven("3.0")
    (True, False, False)
    """
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return numbers is not None and PROVEN[0] <= (int(numbers[1]), int(numbers[2])) <= PROVEN[1]


if not proven(torch.__version__):
    warnings.warn(
        f"torch {torch.__version__} is installed, and augrecipes is not proven against it: pip install '{_ALLOWED}'",
        UnprovenWarning,
        stacklevel=2,
    )


# Datasets.


def is_called_by_dataloader() -> bool:
    """Whether a DataLoader of torch reads the current sample, by the frames of the stack."""
    if _is_fetch_frame(sys._getframe(1)):
        return True
    if threading.current_thread() is threading.main_thread():
        return False
    # A thread of a user's dataset has its own stack, while the DataLoader waits in another thread.
    return get_worker_info() is not None or any(map(_is_fetch_frame, sys._current_frames().values()))


def _is_fetch_frame(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code in _FETCHES:
            return True
        frame = frame.f_back
    return False


def empty_shared(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """An uninitialised tensor in shared memory, as torch's own collate makes it in a worker."""
    nothing = torch.empty(0, dtype=dtype)
    storage = nothing._typed_storage()._new_shared(prod(shape), device=nothing.device)  # type: ignore[no-untyped-call]
    return nothing.new(storage).resize_(shape)


# DataLoaders, and their iterators with workers.


def persistent_iterator(loader: DataLoader[Any]) -> Any | None:
    """The iterator of a loader with persistent workers; None where there is none, or its workers are gone."""
    if loader._iterator is not None and is_shut_down(loader._iterator):
        loader._iterator = None
    return loader._iterator


def is_shut_down(iterator: Any) -> bool:
    """Whether the workers of an iterator are gone, for which torch would wait for ever."""
    return bool(iterator._shutdown)


_iterators: weakref.WeakSet[Any] = weakref.WeakSet()


def _forget_parent_iterators() -> None:
    """In a forked process, keep copies of the parent's iterators from using or ending its workers."""
    for iterator in _iterators:
        iterator._shutdown = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parent_iterators)


def start_iterator(loader: DataLoader[Any]) -> Any:
    """A new iterator of a DataLoader with workers, without torch's signal handler for their death.

    The handler would raise at any point of the main thread, even while a connection is being closed, which is then
    closed twice. Instead the iterator waits for data and deaths together.
    """
    try:
        iterator: Any = iter(loader)
    except BaseException as error:
        _clean_up_interrupted(error)
        raise
    if iterator._worker_pids_set:
        iterator._worker_pids_set = False
        _remove_worker_pids(id(iterator))
    reference, receive, receive_steps = weakref.ref(iterator), type(iterator)._try_get_data, [0]

    def received(timeout: float = MP_STATUS_CHECK_INTERVAL) -> tuple[bool, Any]:
        this: Any = reference()
        until = time.monotonic() + timeout
        if this._pin_memory:  # a thread receives, and torch checks for dead workers at each timeout
            return receive(this, timeout)
        receive_steps[0] += 1
        try:
            ready = wait([this._worker_result_queue._reader, *(worker.sentinel for worker in this._workers)], timeout)
            if not ready:
                return False, None
            if ready != [this._worker_result_queue._reader]:
                raise EOFError("a worker is gone")
            return receive(this, timeout=max(0.0, until - time.monotonic()))
        finally:
            receive_steps[0] += 1

    iterator._try_get_data = received
    iterator._workers_done_event = _DoneEvent(iterator._workers_done_event, iterator._workers)
    _iterators.add(iterator)
    arguments = iterator._workers, iterator._worker_result_queue, receive_steps
    threading.Thread(target=_complete_messages, args=arguments, name="cut-off-messages", daemon=True).start()
    return iterator


def _clean_up_interrupted(error: BaseException) -> None:
    """Clean up after an iterator that was interrupted while it was made, as when a worker dies at once.

    Torch would remember its workers for ever, by an id that a later iterator may get again.
    """
    for frame, _ in walk_tb(error.__traceback__):
        this = frame.f_locals.get("self")
        if isinstance(this, _MultiProcessingDataLoaderIter):
            with suppress(ValueError):  # they were not registered yet
                _remove_worker_pids(id(this))
            terminate(this)
            for queue in getattr(this, "_index_queues", ()):
                queue._notempty.acquire(timeout=_CUT_OFF_SECONDS)  # an interrupted `put` may have left it locked
                queue._notempty.release()
            this._shutdown = True  # so that `__del__` does nothing


class _DoneEvent:
    """The event that tells workers to end; with a timeout, as a killed worker may hold its lock for ever."""

    def __init__(self, event: Any, workers: list[Any]) -> None:
        self._event, self._workers, self._is_set = event, workers, False

    def is_set(self) -> bool:
        return self._is_set  # only this process sets it

    def set(self) -> None:
        self._is_set, lock, flag = True, self._event._cond._lock, self._event._flag
        if lock.acquire(timeout=_CUT_OFF_SECONDS):
            flag.acquire(False)
            flag.release()
            lock.release()
        else:
            for worker in self._workers:
                worker.terminate()


def _complete_messages(workers: list[Any], messages: Any, receive_steps: list[int]) -> None:
    """Complete a message that a dead worker has sent in part, with zeros: the reader would wait for ever."""
    wait([worker.sentinel for worker in workers])
    step, since = receive_steps[0], time.monotonic()
    while step % 2 and receive_steps[0] == step:  # a message is being received; the next step checks for dead workers
        if time.monotonic() - since < _CUT_OFF_SECONDS:
            time.sleep(_LOOK_SECONDS)
        elif select.select([], [messages._writer], [], _LOOK_SECONDS)[1]:
            os.write(messages._writer.fileno(), bytes(select.PIPE_BUF))


def workers_of(iterator: Any) -> list[Any]:
    """The worker processes of an iterator; empty while it is being made."""
    return list(getattr(iterator, "_workers", ()))


def terminate(iterator: Any) -> None:
    """Terminate the workers of an iterator."""
    for worker in workers_of(iterator):
        worker.terminate()


def end_workers(iterator: Any) -> None:
    """End the workers of a DataLoader's iterator now, not when it is garbage-collected.

    An error's traceback keeps the iterator in a cycle, and torch then waits five seconds for each worker, at any later
    moment, because the collector has closed their queues.
    """
    # torch's signal handler for dead workers may raise anywhere, here too.
    with suppress(RuntimeError):
        iterator._shutdown_workers()


def end_feeders() -> None:
    """Wait for the threads that send batches, for which torch does not wait at a worker's end.

    A thread that returns from native code while Python shuts down is unwound through C++ that does not allow it, and
    the process aborts: "terminate called without an active exception"; its parent reports a dead worker. So if a thread
    still runs after a second, as on a loaded machine, the process exits without shutting Python down.
    """
    feeders = [thread for thread in threading.enumerate() if thread.name == _FEEDER]
    for thread in feeders:
        thread.join(1.0)
    if any(thread.is_alive() for thread in feeders):
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        os._exit(0)


def is_dead_worker_message(text: str) -> bool:
    """Whether a message of torch reports a dead worker.

    >>> is_dead_worker_message("DataLoader worker (pid(s) 7, 8) exited unexpectedly")
    True
    """
    return _DEAD.match(text) is not None


def is_full_memory_message(text: str) -> bool:
    """Whether a message of torch reports that shared memory is full."""
    return "unable to allocate shared memory" in text


def is_timeout_message(text: str) -> bool:
    """Whether a message of torch reports a timeout of a worker."""
    return text.startswith("DataLoader timed out")


def is_worker_error(text: str) -> bool:
    """Whether a message of torch passes on an error of a worker's own code."""
    return text.startswith("Caught ")
