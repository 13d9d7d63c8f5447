"""Work in threads, answered piece by piece, that a newer request of the same kind from the same tab ends.

A step cannot be interrupted; so threads look between steps whether their turn has ended, and until then newer work has
threads of its own. What they make is cached for the next request.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing
from typing import Any, TypeVar

_THREADS = 24

Say = Callable[[Any], None]
Piece = Callable[[Say], None]  # reports results, as often as it likes
T = TypeVar("T")


class EndedError(BaseException):
    """The turn has ended: nobody waits for the result. No Exception: those that steps raise are their faults."""


class WorkTurn:
    """One request's right to be worked on, until `end`.

    Attributes:
        ended: nobody waits for the rest any longer.
        superseded: by a newer request.
        wake: called when it ends.
    """

    def __init__(self) -> None:
        self.ended = self.superseded = False
        self.wake: Callable[[], object] = lambda: None

    def end(self) -> None:
        """Nobody waits for the rest any longer."""
        self.ended = True
        self.wake()


_here = threading.local()


def go_on() -> None:
    """Raise EndedError where this thread's work is no longer needed; called between the steps of recipes."""
    turn: WorkTurn | None = getattr(_here, "turn", None)
    if turn is not None and turn.ended:
        raise EndedError


class WorkThreads:
    """Threads for the work of all requests."""

    def __init__(self, lanes: int) -> None:
        self.lanes = max(lanes, 1)
        self._threads = ThreadPoolExecutor(_THREADS, "studio")

    async def run(self, work: Callable[[], T], turn: WorkTurn | None = None) -> T:
        """The result of some work in a thread; EndedError where its turn ends before."""
        async with aclosing(self.stream(turn or WorkTurn(), [lambda say: say(work())], 1)) as results:
            async for result in results:
                first: T = result
                return first
        raise EndedError

    async def stream(self, turn: WorkTurn, pieces: Iterable[Piece], lanes: int | None = None) -> AsyncGenerator[Any]:
        """The results of the pieces, as they come; ends early, without waiting for what still runs, with the turn.

        Args:
            turn: of the request; closing this iterator ends it.
            pieces: taken one after another by the threads, not before they are needed.
            lanes: threads at the same time; None: as many as there are lanes.
        """
        loop, results = asyncio.get_running_loop(), asyncio.Queue[Any]()
        waiting, taking = iter(pieces), threading.Lock()

        def put(result: Any) -> None:
            try:
                loop.call_soon_threadsafe(results.put_nowait, result)
            except RuntimeError:  # the loop is closed: nobody listens
                turn.ended = True

        def say(result: Any) -> None:
            go_on()
            put(result)

        def work() -> None:
            _here.turn = turn
            while not turn.ended:
                with taking:
                    piece = next(waiting, None)
                if piece is None:
                    return
                piece(say)

        count = lanes or self.lanes
        turn.wake = lambda: put(None)
        for _ in range(count):
            self._threads.submit(work).add_done_callback(put)
        try:
            while count and not turn.ended:
                result = await results.get()
                if turn.ended:
                    return
                if isinstance(result, Future):
                    count -= 1
                    result.result()  # what was raised in the thread is raised here
                else:
                    yield result
        finally:
            turn.end()

    def close(self) -> None:
        """Take no more work, and wait for none."""
        self._threads.shutdown(wait=False, cancel_futures=True)
