"""A worker process that died: which one, how, of what likely, and what helps."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from multiprocessing.connection import wait
from typing import Any

from augrecipes.compat.torch import from_worker, says_dead_worker, says_timeout
from augrecipes.errors import LoaderError

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


def the_dead(workers: Sequence[Any]) -> LoaderError | None:
    """The error that tells of the first worker that is dead; None where all live."""
    for number, worker in enumerate(workers):
        if (code := worker.exitcode) is not None:
            return _worker_died(f"worker {number} of {len(workers)} (pid {worker.pid}) {_how(code)}", _cause(code))
    return None


def dead_worker(error: Exception, workers: Sequence[Any] = ()) -> LoaderError | None:
    """What an error means that came up while a batch was waited for; None where it is not about a dead worker.

    Args:
        error: of torch, of a connection or of what was received; what a worker's own code raised is left alone.
        workers: the processes, as far as they are known.
    """
    if isinstance(error, LoaderError):
        return error
    text = str(error)
    if from_worker(text):  # raised by the user's own code in a worker, and handed on by torch
        return None
    if (died := the_dead(workers)) is not None:
        return died
    if says_timeout(text):
        return LoaderError(f"{text}; a sample took longer than timeout= allows, or a worker hangs")
    if workers:  # it may still be dying; or it is of another loader
        dying = wait([worker.sentinel for worker in workers], _DYING_SECONDS)
        for worker in workers:
            if worker.sentinel in dying:
                worker.join(_DYING_SECONDS)
        return the_dead(workers)
    if says_dead_worker(text):
        return _worker_died(text.splitlines()[0], f"out of memory ({_LESS}); {_CRASHED}; or {_ENDED}")
    return None


def _how(code: int) -> str:
    if code >= 0:
        return f"exited with status {code}"
    return f"was killed by signal {-code} ({_name(-code)})"


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "of no name"


def _cause(code: int) -> str:
    return _ENDED if code >= 0 else _CAUSES.get(_name(-code), _CRASHED)


def _worker_died(what: str, cause: str) -> LoaderError:
    return LoaderError(
        f"a worker died: {what}\nLikely reason: {cause}. num_workers=0 runs the same samples in this process, where "
        "the reason shows"
    )
