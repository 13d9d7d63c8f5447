"""Work on many images that several threads share: who takes which, and how many at once."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from augrecipes.compiler.executor.work_sharing import SharingThreads
from augrecipes.compiler.run.quiet import quiet

_MOST, _BYTES = 32, 1 << 22  # images, and bytes of them, that are taken at once
_LEAST = 1 << 20  # bytes of pixels that threads take at least: handing out smaller work takes longer than what it evens
_FILE = 4  # times as long as on pixels in memory works who has to decode them

Read = Callable[[int], Any]


class ImageQueue:
    """The numbers of the images of a batch, some at a time, as threads ask for them.

    At first they are many, for few calls, and fewer towards the end: no thread waits long for another's last ones.

    Args:
        count: of images.
        threads: that share them.
        held: all are in memory anyway, so that only their number matters.
        evened: who is done helps the others: each takes its share at once, and of what is in memory as much as it may.
    """

    def __init__(self, count: int, threads: int, *, held: bool = False, evened: bool = False) -> None:
        self.count, self._next, self._bytes = count, itertools.count(), math.inf if held else _BYTES
        self._threads, self._evened = threads, evened
        self._most = _MOST if held and evened else min(_MOST, -(-count // threads))

    def take(self, read: Read) -> Iterator[tuple[int, Any]]:
        """The next ones, in order, with what `read` gives (one, or targets by name), until that is enough for once."""
        size = pixels = 0
        few = self._most
        for taken in range(self._most):
            enough = size > self._bytes or (taken >= few and pixels >= _LEAST)
            if enough or (k := next(self._next)) >= self.count:
                return
            found = read(k)
            several = isinstance(found, dict)
            size += sum(getattr(one, "nbytes", 0) for one in (found.values() if several else (found,)))
            image = found.get("image") if several else found
            if not taken and self._threads > 1 and not self._evened:
                few = (self.count - k) // (2 * self._threads)
            pixels += _pixels(image)
            yield k, found


def _pixels(image: Any) -> int:
    """How many values of pixels an image is; of a file as many as take as long."""
    shown = math.prod(getattr(image, "shape", ()) or (_LEAST,))
    return shown if isinstance(image, np.ndarray) else _FILE * shown


def busy_threads(threads: int, images: Sequence[Any]) -> int:
    """How many of these threads a batch of images keeps busy: to begin one takes as long as some small images.

    >>> small = [np.zeros((32, 32, 3), np.uint8)] * 256
    >>> busy_threads(4, small), busy_threads(4, 3 * small), busy_threads(1, [])
    (1, 2, 1)
    """
    if threads < 2:
        return 1
    return max(1, min(threads, len(images), sum(map(_pixels, images)) // _LEAST))


def in_threads(work: Callable[[Any], None], lanes: Sequence[Any]) -> None:
    """Let each lane work in a thread of its own, the first in this one, and wait for all.

    Who is done helps the others. What is raised is raised here, of several the first lane's.
    """
    if len(lanes) == 1:
        work(lanes[0])
        return
    raised: dict[int, BaseException] = {}
    helping = SharingThreads(len(lanes))

    def guarded(at: int) -> None:
        try:
            with helping.at_work():
                if not helping.ended:
                    work(lanes[at])
        except BaseException as error:  # whatever it is, who waits for it is to have it
            raised[at] = error

    with quiet.held():
        # Begun for this batch alone: threads that waited for the next one would not outlive a fork.
        others = [threading.Thread(target=guarded, args=(at,)) for at in range(1, len(lanes))]
        try:
            for thread in others:
                thread.start()
            guarded(0)
        finally:
            helping.ended = True  # whatever has come between
            for thread in others:
                while thread.is_alive():
                    try:
                        thread.join()
                    except KeyboardInterrupt as error:  # it is at a pipeline that the next batch takes
                        raised[0] = error
    if raised:
        raise raised[min(raised)]
