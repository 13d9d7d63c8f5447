"""Switch OpenCV's own threads off while ours work."""

import threading
from typing import Any

import cv2


class SingleThread:
    """A lock that many threads may hold at once; OpenCV's threads, one setting per process, are off meanwhile.

    The last `release` restores the user's setting, unless it was changed meanwhile.

    >>> before = cv2.getNumThreads()
    >>> cv2_single_thread.acquire(); cv2_single_thread.acquire(); cv2_single_thread.release(); cv2.getNumThreads()
    1
    >>> cv2_single_thread.release(); cv2.getNumThreads() == before
    True
    """

    def __init__(self) -> None:
        self._holders, self._before = 0, 1
        self._lock = threading.RLock()  # the garbage collector may release while another call is under way

    def acquire(self) -> None:
        """Switch OpenCV's threads off."""
        with self._lock:
            if not self._holders:
                self._before = cv2.getNumThreads()
                cv2.setNumThreads(0)
            self._holders += 1

    def release(self) -> None:
        """End an `acquire`; the last one switches OpenCV's threads on again."""
        with self._lock:
            self._holders -= 1
            if not self._holders and cv2.getNumThreads() == 1 != self._before:
                cv2.setNumThreads(self._before)

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: Any) -> None:
        self.release()


# Whatever works in threads of this process holds this lock.
cv2_single_thread = SingleThread()
