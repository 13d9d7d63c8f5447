"""Work in several threads at a time."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


def in_threads(work: Callable[[int], object], many: int) -> None:
    """Calls `work(k)` in so many threads at a time; what one raises is raised here, and none may take a minute."""
    with ThreadPoolExecutor(many) as pool:
        for done in [pool.submit(work, k) for k in range(many)]:
            done.result(60)
