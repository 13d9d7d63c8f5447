"""Work in threads, answered piece by piece, that a newer request of the same kind from the same tab ends.

A step cannot be interrupted; so threads look between steps whether their turn has ended, and until then newer work has
threads of its own.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from typing import Any, TypeVar

_TABS = 256  # whose turns are known
_THREADS = 24
_END = object()

Say = Callable[[Any], None]
Piece = Callable[[Say], None]  # reports results, as often as it likes
T = TypeVar("T")


class EndedError(BaseException):
    """The turn has ended: nobody waits for the result. No Exception: those that steps raise are their faults."""


class WorkTurn:
    """One request's right to be worked on, until `end`."""

    def __init__(self) -> None:
        self.ended = False
        self.superseded = False  # by a newer request
        self._then: list[Callable[[], None]] = []

    def end(self) -> None:
        """Nobody waits for the rest any longer."""
        self.ended = True
        for do in list(self._then):
            do()

    def on_end(self, do: Callable[[], None]) -> None:
        """Call `do` when it ends, or now where it has; perhaps twice."""
        self._then.append(do)
        if self.ended:
            do()


_here = threading.local()


def go_on() -> None:
    """Raise EndedError where this thread's work is no longer needed; called between the steps of recipes."""
    turn: WorkTurn | None = getattr(_here, "turn", None)
    if turn is not None and turn.ended:
        raise EndedError


class WorkTurns:
    """The turns that run: one for each kind of work of each tab; the next ends the one before."""

    def __init__(self) -> None:
        self._of: OrderedDict[tuple[str, str], WorkTurn] = OrderedDict()

    def next(self, tab: str, what: str) -> WorkTurn:
        """A turn for some work of a tab; the tab's earlier work of that kind ends."""
        before = self._of.pop((tab, what), None)
        if before is not None:
            before.superseded = True
            before.end()
        turn = self._of[tab, what] = WorkTurn()
        while len(self._of) > _TABS:
            self._of.popitem(last=False)[1].end()
        return turn

    @property
    def running(self) -> list[WorkTurn]:
        """The latest of each kind of each tab."""
        return list(self._of.values())


class WorkThreads:
    """Threads for the work of all requests."""

    def __init__(self, lanes: int) -> None:
        self.lanes = max(lanes, 1)
        self._threads = ThreadPoolExecutor(_THREADS, "studio")

    async def run(self, work: Callable[[], T], turn: WorkTurn | None = None) -> T:
        """The result of some work in a thread; EndedError where its turn ends before."""
        if turn is None:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        async with aclosing(self.stream(turn, [lambda say: say(work())], 1)) as results:
            async for result in results:
                found: T = result
                return found
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
            try:
                while not turn.ended:
                    with taking:
                        piece = next(waiting, None)
                    if piece is None:
                        break
                    piece(say)
            except EndedError:
                pass
            except BaseException as error:  # it is raised where it was waited for
                put(error)
            finally:
                _here.turn = None
                put(_END)

        count = lanes or self.lanes
        turn.on_end(lambda: put(_END))
        for _ in range(count):
            self._threads.submit(work)
        try:
            while count:
                result = await results.get()
                if turn.ended:
                    return
                if result is _END:
                    count -= 1
                elif isinstance(result, BaseException):
                    raise result
                else:
                    yield result
        finally:
            turn.end()

    def close(self) -> None:
        """Take no more work, and wait for none."""
        self._threads.shutdown(wait=False, cancel_futures=True)
