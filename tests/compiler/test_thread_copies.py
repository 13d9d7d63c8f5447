"""Copies of what holds state: no two threads at once have one, and a thread goes on with that of one that has ended."""

import itertools
import threading
from types import SimpleNamespace

import pytest

from augrecipes.compiler.run import thread_copies
from augrecipes.compiler.run.thread_copies import ThreadCopies


def found_by(copies: ThreadCopies[int], make: itertools.count, threads: int) -> list[int]:
    """What so many threads have that are there at once."""
    met, found = threading.Barrier(threads), []

    def work() -> None:
        met.wait()
        mine = {copies.of_this_thread(make.__next__) for _ in range(9)}
        met.wait()  # none has ended before all have asked
        found.extend(mine)

    at_work = [threading.Thread(target=work) for _ in range(threads)]
    for thread in at_work:
        thread.start()
    for thread in at_work:
        thread.join()
    return sorted(found)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_that_are_there_at_once_have_copies_of_their_own(threads: int) -> None:
    copies, make = ThreadCopies[int](), itertools.count()
    for _ in range(4):
        assert len({*found_by(copies, make, threads)}) == threads


def test_copies_do_not_pile_up() -> None:
    copies, make = ThreadCopies[int](), itertools.count()
    for _ in range(20):
        found_by(copies, make, 3)
    assert len(copies._copies) <= 6


def test_a_thread_that_bears_the_number_of_another_goes_on_with_its_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    copies, make = ThreadCopies[int](), itertools.count()
    assert [copies.of_this_thread(make.__next__) for _ in range(2)] == [0, 0]
    number = threading.get_ident()
    monkeypatch.setattr(thread_copies, "threading", SimpleNamespace(**vars(threading) | {"get_ident": lambda: number}))
    assert found_by(copies, make, 1) == [0]


def test_a_forked_process_takes_none_over(monkeypatch: pytest.MonkeyPatch) -> None:
    copies, make = ThreadCopies[int](), itertools.count()
    assert copies.of_this_thread(make.__next__) == 0
    monkeypatch.setattr(thread_copies, "os", SimpleNamespace(getpid=lambda: -1))
    assert copies.of_this_thread(make.__next__) == 1
