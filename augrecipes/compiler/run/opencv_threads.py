"""OpenCV's own threads, off while ours work: they are the parallelism."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import cv2


class SingleThread:
    """OpenCV's threads are off while anyone holds this: all threads of a process have one setting in common.

    The user's setting comes back with the last `release`, unless it was changed meanwhile.

    >>> before = cv2.getNumThreads()
    >>> cv2_single_thread.hold(); cv2_single_thread.hold(); cv2_single_thread.release(); cv2.getNumThreads()
    1
    >>> cv2_single_thread.release(); cv2.getNumThreads() == before
    True
    """

    def __init__(self) -> None:
        self._held, self._before = 0, 1
        self._lock = threading.RLock()  # the garbage collector may release while another call is under way

    def hold(self) -> None:
        """Switch them off."""
        with self._lock:
            if not self._held:
                self._before = cv2.getNumThreads()
                cv2.setNumThreads(0)
            self._held += 1

    def release(self) -> None:
        """Once for every `hold`."""
        with self._lock:
            self._held -= 1
            if not self._held and cv2.getNumThreads() == 1 != self._before:
                cv2.setNumThreads(self._before)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Off inside the block."""
        self.hold()
        try:
            yield
        finally:
            self.release()


# Whatever works in threads of this process holds this one.
cv2_single_thread = SingleThread()
