"""Batches read by worker processes of torch's DataLoader, with errors that explain dead workers."""

import atexit
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import wait
from typing import Any

import cv2
from torch.utils.data import DataLoader

from augrecipes.compat import torch as hooks
from augrecipes.data import fetch, order
from augrecipes.errors import LoaderError
from augrecipes.machine import end_with_parent, tune_allocator

# A dying process closes its connections before the system says that it is dead.
_DYING_SECONDS = 2.0
_LESS = "use fewer workers, smaller batches or a lower prefetch_factor"
_CAUSES = {
    "SIGKILL": f"the system does that where memory runs out: {_LESS}",
    "SIGBUS": f'/dev/shm is full: {_LESS}, or backend="threads", which needs none; a container gets more by --shm-size',
    "SIGTERM": "somebody ended it",
    "SIGINT": "somebody interrupted it",
}
_CRASHED = "a library crashed in it"
_ENDED = (
    "its own code ended it; or, with spawn and forkserver, the script starts work at import: guard it with "
    '`if __name__ == "__main__":`'
)


def init_worker(tune: bool, then: Callable[[int], None] | None, worker: int) -> None:
    """Run once in every new worker, before the user's own `worker_init_fn`.

    Makes the worker end its sending threads at exit, and end with its parent. Switches off OpenCV's threads, as torch's
    are (the workers are the parallelism, and a thread pool does not survive a fork), and tunes the allocator.

    Args:
        tune: whether to tune the allocator.
        then: the user's own function.
        worker: the worker's number.
    """
    deliver_interrupts()
    atexit.register(hooks.end_feeders)
    end_with_parent()
    cv2.setNumThreads(0)
    if tune:
        tune_allocator()
    if then is not None:
        then(worker)


_handler_and_calls: list[Any] = []  # the handler of Ctrl-C while workers are forked, and its delayed calls


@contextmanager
def delay_interrupts() -> Iterator[None]:
    """Delay Ctrl-C to the end of the block: Python drops exceptions that are raised in hooks before or after a fork.

    A signal mask would not do: another thread would receive the signal, and the main thread handle it as usual.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is threading.main_thread() and callable(handler):
        _handler_and_calls[:] = [handler]
        signal.signal(signal.SIGINT, lambda *call: _handler_and_calls.append(call))
    try:
        yield
    finally:
        deliver_interrupts()


def deliver_interrupts() -> None:
    """Let Ctrl-C through again, in parent and child, and raise a delayed one."""
    if _handler_and_calls and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _handler_and_calls[0])
        handler, *calls = _handler_and_calls
        _handler_and_calls.clear()
        for call in calls[:1]:
            try:
                handler(*call)
            except BaseException as interrupt:
                raise interrupt from None


class RequestSampler:
    """The batch sampler of the inner DataLoader: yields `next_pass`, the requests of the next pass."""

    next_pass: Iterator[order.BatchRequest] = iter(())

    def __iter__(self) -> Iterator[order.BatchRequest]:
        return self.next_pass


def unchanged(delivery: Any) -> Any:
    """The inner DataLoader's collate function: the reader has collated already."""
    return delivery


class Processes(Iterator[fetch.Delivery]):
    """The deliveries of a pass, read by the workers of a DataLoader whose batch sampler yields requests.

    A worker that died since the last batch is noticed when the next one is requested.

    Raises:
        LoaderError: a worker died.
    """

    def __init__(self, inner: DataLoader[Any]) -> None:
        self._inner: Any = hooks.persistent_iterator(inner)
        with self._explain_deaths():
            if self._inner is not None:
                self._check_alive()
                iter(inner)  # resets the persistent iterator
                return
            try:
                with delay_interrupts():
                    self._inner = hooks.start_iterator(inner)
            except BaseException:
                if self._inner is not None:
                    self.close()
                raise

    def __next__(self) -> fetch.Delivery:
        if hooks.is_shut_down(self._inner):
            raise LoaderError("the loader was closed, or its process forked: workers are gone; begin another pass")
        with self._explain_deaths():
            self._check_alive()
            delivery: fetch.Delivery = next(self._inner)
        return delivery

    def _check_alive(self) -> None:
        if died := death_of(hooks.workers_of(self._inner)):
            raise died

    @contextmanager
    def _explain_deaths(self) -> Iterator[None]:
        try:
            yield
        except StopIteration as error:
            if hooks.is_worker_error(str(error)):
                raise fetch.stop_as_error(error, "worker_init_fn, or set_epoch of the dataset,") from None
            raise
        except Exception as error:  # a death shows as an error of any type while receiving
            known = dead_worker(error, hooks.workers_of(self._inner))
            if known is None:
                raise
            hooks.terminate(self._inner)  # the others may wait forever for a lock of the dead one
            raise known from (None if known is error else error)

    def close(self) -> None:
        """End the workers."""
        hooks.end_workers(self._inner)


def death_of(workers: Sequence[Any]) -> LoaderError | None:
    """An error that explains the first dead worker; None if all are alive."""
    for number, worker in enumerate(workers):
        if (code := worker.exitcode) is not None:
            how, cause = f"exited with status {code}", _ENDED
            if code < 0:
                name = signal.Signals(-code).name if -code in {*signal.Signals} else "of no name"
                how, cause = f"was killed by signal {-code} ({name})", _CAUSES.get(name, _CRASHED)
            return _worker_died(f"worker {number} of {len(workers)} (pid {worker.pid}) {how}", cause)
    return None


def dead_worker(error: Exception, workers: Sequence[Any] = ()) -> LoaderError | None:
    """Explain an error that was raised while waiting for a batch; None if it is not about a dead worker.

    Args:
        error: an error of torch, of a connection or of unpickling; errors of the user's code in a worker give None.
        workers: the processes, if known.
    """
    if isinstance(error, LoaderError):
        return error
    text = str(error)
    if hooks.is_worker_error(text):  # raised by the user's own code in a worker, and handed on by torch
        return None
    if (died := death_of(workers)) is not None:
        return died
    if hooks.is_timeout_message(text):
        return LoaderError(f"{text}; a sample took longer than timeout= allows, or a worker hangs")
    if workers:  # it may still be dying; or belong to another loader
        dying = wait([worker.sentinel for worker in workers], _DYING_SECONDS)
        for worker in [worker for worker in workers if worker.sentinel in dying]:
            worker.join(_DYING_SECONDS)
        return death_of(workers)
    if hooks.is_dead_worker_message(text):
        return _worker_died(text.splitlines()[0], f"out of memory ({_LESS}); {_CRASHED}; or {_ENDED}")
    return None


def _worker_died(what: str, cause: str) -> LoaderError:
    return LoaderError(
        f"a worker died: {what}\nLikely reason: {cause}. num_workers=0 runs the same samples in this process, where "
        "the reason shows"
    )
