"""Work in threads, answered piece by piece, that a newer request of the same kind from the same tab ends.

A step cannot be interrupted; so threads look between steps whether their turn has ended, and until then newer work has
threads of its own.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

_TABS = 256  # that are remembered
_THREADS = 24
_END = object()

Say = Callable[[Any], None]
Piece = Callable[[Say], None]  # says what it has found, as often as it likes
T = TypeVar("T")


class EndedError(BaseException):
    """The turn has ended: what is being done is for nobody. No Exception: those that steps raise are their faults."""


class WorkTurn:
    """One request's right to be worked on, until `end`."""

    def __init__(self) -> None:
        self._ended = threading.Event()
        self.superseded = False  # by a newer request
        self._then: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    @property
    def ended(self) -> bool:
        """Whether nobody waits for the rest any longer."""
        return self._ended.is_set()

    def end(self) -> None:
        """Let it be."""
        with self._lock:
            self._ended.set()
            then, self._then = self._then, []
        for do in then:
            do()

    def on_end(self, do: Callable[[], None]) -> None:
        """Call `do` when it ends, or now where it has."""
        with self._lock:
            if not self._ended.is_set():
                self._then.append(do)
                return
        do()


_here = threading.local()


@contextmanager
def working(turn: WorkTurn) -> Iterator[None]:
    """What this thread does is done for a turn."""
    _here.turn = turn
    try:
        yield
    finally:
        _here.turn = None


def go_on() -> None:
    """Raises EndedError where what this thread does is for nobody any longer; called between the steps of recipes."""
    turn: WorkTurn | None = getattr(_here, "turn", None)
    if turn is not None and turn.ended:
        raise EndedError


class WorkTurns:
    """The turns that run: one for each kind of work of each tab; the next ends the one before."""

    def __init__(self) -> None:
        self._of: OrderedDict[tuple[str, str], WorkTurn] = OrderedDict()

    def next(self, tab: str, what: str) -> WorkTurn:
        """A turn for some work of a tab; what it was doing of that kind ends."""
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

    def end(self) -> None:
        """End all of them."""
        for turn in self._of.values():
            turn.end()


def _tell(loop: asyncio.AbstractEventLoop, ended: asyncio.Future[None]) -> None:
    def tell() -> None:
        if not ended.done():
            ended.set_result(None)

    with suppress(RuntimeError):  # the loop is closed: nobody waits
        loop.call_soon_threadsafe(tell)


class WorkThreads:
    """Threads for the work of all requests."""

    def __init__(self, lanes: int) -> None:
        self.lanes = max(lanes, 1)
        self._threads = ThreadPoolExecutor(_THREADS, "studio")

    async def run(self, work: Callable[[], T], turn: WorkTurn | None = None) -> T:
        """Something done in a thread until its turn ends, which raises EndedError; what it raises is raised."""
        loop = asyncio.get_running_loop()
        if turn is None:
            return await loop.run_in_executor(self._threads, work)
        ended = loop.create_future()

        def mine() -> T:
            with working(turn):
                go_on()
                return work()

        turn.on_end(lambda: _tell(loop, ended))
        running = loop.run_in_executor(self._threads, mine)
        await asyncio.wait([running, ended], return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            return running.result()
        running.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody asks how it went
        raise EndedError

    async def stream(self, turn: WorkTurn, pieces: Iterable[Piece], lanes: int | None = None) -> AsyncIterator[Any]:
        """What the pieces say, as it comes; ends early, without waiting for what still runs, with the turn.

        Args:
            turn: of the request; closing this iterator ends it.
            pieces: taken one after another by the threads, not before they are needed.
            lanes: threads at once; None: as many as the crew has.
        """
        loop, results = asyncio.get_running_loop(), asyncio.Queue[Any]()
        waiting, taking = iter(pieces), threading.Lock()

        def put(result: Any) -> None:
            try:
                loop.call_soon_threadsafe(results.put_nowait, result)
            except RuntimeError:  # the loop is closed: nobody listens
                turn.end()

        def say(result: Any) -> None:
            if turn.ended:
                raise EndedError
            put(result)

        def work() -> None:
            try:
                while not turn.ended:
                    with taking:
                        piece = next(waiting, None)
                    if piece is None:
                        break
                    with working(turn):
                        piece(say)
            except EndedError:
                pass
            except BaseException as error:  # it is raised where it was waited for
                put(error)
            finally:
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
