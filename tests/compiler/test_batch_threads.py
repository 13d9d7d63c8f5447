"""Threads that share a batch: each sample is handed out once, nobody waits long, and what is raised is heard."""

import itertools
import math
import os
import threading
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.encoded_images import Jpeg

from augrecipes.compiler.run import batch_threads
from augrecipes.compiler.run.batch_threads import BatchQueue, ThreadCopies, run_in_threads
from augrecipes.images.encoded import encoded

LARGE = np.zeros((800, 800, 3), np.uint8)
FILE = encoded(Jpeg(375, 500).data, name="it")


def shared(count: int, threads: int, image: Any) -> tuple[list[list[int]], list[int]]:
    """Parts in the order in which threads take them that need as long for each image; and when each thread ends."""
    queue, ends, parts = BatchQueue(count, threads, in_memory=True), [0] * threads, []
    while part := [k for k, _ in queue.take(lambda _: {"image": image})]:
        parts.append(part)
        ends[ends.index(min(ends))] += len(part)
    return parts, ends


@given(st.integers(1, 400), st.integers(2, 8), st.sampled_from([LARGE, FILE]))
def test_threads_end_together(count: int, threads: int, image: Any) -> None:
    parts, ends = shared(count, threads, image)
    assert [k for part in parts for k in part] == [*range(count)]
    assert max(ends) - min(ends) <= 1
    assert len(parts) <= 4 * threads * (2 + math.log(count))


def test_small_images_are_handed_out_many_at_once() -> None:
    parts, _ = shared(320, 2, np.zeros((32, 32, 3), np.uint8))
    assert {len(part) for part in parts} == {32}


def test_large_arrays_that_are_read_are_not_all_held_at_once() -> None:
    queue = BatchQueue(20, 1)
    assert [k for k, _ in queue.take(lambda _: {"image": LARGE})] == [0, 1, 2]


def test_who_takes_as_many_to_the_end_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_threads, "_FILE", 0.25)
    with pytest.raises(AssertionError):
        test_threads_end_together.hypothesis.inner_test(30, 2, FILE)  # type: ignore[attr-defined]


@given(st.integers(1, 6))
def test_each_call_has_a_thread_of_its_own(count: int) -> None:
    together, threads = threading.Barrier(count), list[int]()

    def work() -> None:
        together.wait(30)
        threads.append(threading.get_ident())

    run_in_threads(work, count)
    assert len(set(threads)) == count
    assert threading.get_ident() in threads


@pytest.mark.parametrize("where", [0, 1, 2])
def test_what_is_raised_is_heard_when_all_are_done(where: int) -> None:
    ended, numbers = list[int](), itertools.count()

    def work() -> None:
        at = next(numbers)
        if at == where:
            raise KeyError(at)
        time.sleep(0.05)
        ended.append(at)

    with pytest.raises(KeyError, match=str(where)):
        run_in_threads(work, 3)
    assert len(ended) == 2


def test_who_interrupts_the_waiting_leaves_none_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are at pipelines that the next batch takes."""
    wait, interrupts, ended = batch_threads.wait, [KeyboardInterrupt()], list[int]()
    here = threading.get_ident()

    def interrupted(others: Any) -> Any:
        if interrupts:
            raise interrupts.pop()
        return wait(others)

    def work() -> None:
        if threading.get_ident() != here:
            time.sleep(0.3)
            ended.append(1)

    monkeypatch.setattr(batch_threads, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_in_threads(work, 2)
    assert ended == [1]


def test_opencv_has_no_threads_meanwhile() -> None:
    import cv2

    before, seen = cv2.getNumThreads(), list[int]()
    run_in_threads(lambda: seen.append(cv2.getNumThreads()), 2)
    assert (seen, cv2.getNumThreads()) == ([1, 1], before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_has_threads_of_its_own() -> None:
    run_in_threads(lambda: None, 3)
    with batch_threads._lock:  # as another thread may have it
        child = os.fork()
        if not child:
            run_in_threads(lambda: None, 3)
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


# Copies of what holds state: no two threads at once have one, and a thread goes on with that of one that has ended.


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
    monkeypatch.setattr(batch_threads, "threading", SimpleNamespace(**vars(threading) | {"get_ident": lambda: number}))
    assert found_by(copies, make, 1) == [0]


def test_a_forked_process_takes_none_over(monkeypatch: pytest.MonkeyPatch) -> None:
    copies, make = ThreadCopies[int](), itertools.count()
    assert copies.of_this_thread(make.__next__) == 0
    monkeypatch.setattr(batch_threads, "os", SimpleNamespace(getpid=lambda: -1))
    assert copies.of_this_thread(make.__next__) == 1
