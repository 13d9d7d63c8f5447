"""Files fetched before they are needed, in the order in which they will be: by threads of this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from augrecipes.errors import AugrecipesError

_THREADS = 6  # more than files of a store come at a time: the others compare what has come


@dataclass(frozen=True, slots=True)
class Needed:
    """A file that will be needed.

    Attributes:
        place: when: a number that grows as reading goes on.
        size: bytes.
        fetch: brings it here, where it is not yet.
    """

    place: int
    size: int
    fetch: Callable[[], object]


class ReadAhead:
    """Fetches files in order, as far ahead of reading as they may lie unread. Threads start with `reached`.

    What cannot be fetched is left to whoever reads it, who says why.

    Args:
        needed: the files, in the order in which they are needed first.
        room: how many bytes may have been fetched of files that are not needed yet; None: all, which stay.
    """

    def __init__(self, needed: Sequence[Needed], room: int | None) -> None:
        self._needed, self._room = needed, room
        self._next, self._place, self._ended = 0, -1, False
        self._ahead: list[Needed] = []
        self._moved = threading.Condition()
        self._threads: list[threading.Thread] = []

    def reached(self, place: int) -> None:
        """Says how far reading has come."""
        with self._moved:
            self._place = place
            self._ahead = [one for one in self._ahead if one.place > place]
            self._moved.notify_all()
        if self._needed and not self._threads and not self._ended:
            self._threads = [
                threading.Thread(target=self._work, daemon=True, name="augrecipes-ahead") for _ in range(_THREADS)
            ]
            for thread in self._threads:
                thread.start()

    def end(self) -> None:
        """Fetches nothing more; what is under way is finished by threads that nobody waits for."""
        with self._moved:
            self._ended = True
            self._moved.notify_all()

    def join(self) -> None:
        """Waits until all that may be fetched by now is."""
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while (one := self._taken()) is not None:
            with suppress(AugrecipesError, OSError):
                one.fetch()

    def _taken(self) -> Needed | None:
        """The next file, once there is room for it; None where nothing is left to do."""
        with self._moved:
            while not self._ended and self._next < len(self._needed):
                one = self._needed[self._next]
                if self._room is not None and one.place < self._place:  # read by now, and maybe gone again
                    self._next += 1
                    continue
                # Of what reading waits for already, or is about to, there is always room.
                fits = self._room is None or sum(other.size for other in self._ahead) + one.size <= self._room
                if fits or not self._ahead or one.place <= self._place:
                    self._next += 1
                    if one.place > self._place:
                        self._ahead.append(one)
                    return one
                self._moved.wait()
            return None
