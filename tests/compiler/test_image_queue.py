"""Threads that help each other: all is done once, nobody leaves early, and what is raised is heard."""

import ctypes
import itertools
import math
import struct
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.encoded_images import Jpeg

from augrecipes.compiler.executor import program_memory, work_sharing
from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.executor.work_sharing import SharingThreads, of_this_thread
from augrecipes.compiler.run import image_queue
from augrecipes.compiler.run.image_queue import ImageQueue, in_threads
from augrecipes.images.encoded import encoded
from augrecipes.native.kernels import library
from augrecipes.native.layout import PROGRAM
from augrecipes.native.libjpeg import codec
from augrecipes.recipe.parse import parse_text

PIECES = 40
_BYTES = 1 << 32  # addresses are above, sizes below


class Job:
    """Pieces of work that any thread may begin with, and who did them."""

    def __init__(self, wait: Callable[[int], float] = lambda piece: 0.0) -> None:
        self.next, self.wait = itertools.count(), wait
        self.done, self.by = Counter[int](), set[int]()

    def __call__(self) -> None:
        while (piece := next(self.next)) < PIECES:
            time.sleep(self.wait(piece))
            self.done[piece] += 1
            self.by.add(threading.get_ident())

    def is_done_once(self) -> bool:
        return self.done == Counter(range(PIECES))


def threads_here() -> SharingThreads:
    found = of_this_thread()
    assert found is not None
    return found


@given(st.integers(2, 5), st.integers(1, 4))
def test_all_is_done_once(threads: int, jobs: int) -> None:
    made: list[Job] = []

    def work(_: int) -> None:
        for _ in range(jobs):
            job = Job()
            made.append(job)
            threads_here().share(job, job)
            assert job.is_done_once()

    in_threads(work, range(threads))
    assert len(made) == jobs * threads
    assert of_this_thread() is None


def test_who_has_nothing_left_helps_and_is_waited_for() -> None:
    all_have_one = threading.Barrier(3)

    def wait(piece: int) -> float:
        if piece < 3:
            all_have_one.wait(30)
        return 0.3 if piece == PIECES - 1 else 0

    job = Job(wait)

    def work(lane: int) -> None:
        if not lane:
            threads_here().share(job, job)
            assert job.is_done_once()

    in_threads(work, range(3))
    assert len(job.by) == 3


@pytest.mark.parametrize("where", ["work", "helping", "before"])
def test_what_is_raised_is_heard_and_nobody_waits_for_ever(where: str) -> None:
    job = Job(lambda _: 0.002)

    def fails() -> None:
        job()
        raise KeyError(where)

    def work(lane: int) -> None:
        if where == "before" and lane:
            raise KeyError(where)
        if not lane:
            threads_here().share(fails if where == "work" else job, fails if where == "helping" else job)

    with pytest.raises(KeyError, match=where):
        in_threads(work, range(3))
    assert job.is_done_once()


def test_what_was_shared_is_not_kept_while_nobody_has_time_for_it() -> None:
    seen, found = threading.Event(), list[Any]()

    def work(lane: int) -> None:
        if lane:
            seen.wait(10)
            return
        job = Job()
        threads_here().share(job, job)
        found.append(weakref.ref(job))
        del job
        found.append(found[0]())
        seen.set()

    in_threads(work, range(2))
    assert found[1] is None


def test_who_interrupts_the_waiting_for_threads_leaves_none_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are at pipelines that the next batch takes."""
    join, interrupts, ended = threading.Thread.join, [KeyboardInterrupt()], list[int]()

    def interrupted(self: threading.Thread, timeout: float | None = None) -> None:
        if interrupts:
            raise interrupts.pop()
        join(self, timeout)

    begun = threading.Event()

    def work(lane: int) -> None:
        if not lane:
            begun.wait(10)
            raise KeyboardInterrupt
        begun.set()
        time.sleep(0.3)
        ended.append(lane)

    monkeypatch.setattr(threading.Thread, "join", interrupted)
    monkeypatch.setattr(SharingThreads, "_help", lambda self: None)  # an interrupt has ended that, too
    with pytest.raises(KeyboardInterrupt):
        in_threads(work, range(2))
    assert ended == [1]


# -- what plans make of it ---------------------------------------------------------------------------------------------

RECIPE = parse_text(
    "{version: 1, recipe: r, steps: [D4, Rotate: {limit: 30}, RandomCrop: {height: 20, width: 20}], eval: []}"
)
OF_FILES = parse_text("{version: 1, recipe: r, steps: [RandomCrop: {height: 20, width: 20}, D4], eval: []}")


def check_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_queue, "_LEAST", 1)
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 256, (40, 50, 3), np.uint8) for _ in range(24)]
    pipeline = RECIPE.compile(optimize="exact")
    wanted = pipeline.batch(images)
    for _ in range(3):
        np.testing.assert_array_equal(pipeline.batch(images, threads=3), wanted)


@pytest.fixture
def others_do_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_sharing.SharingThreads, "share", lambda self, work, helping: (helping(), work()))


@pytest.mark.skipif(library() is None, reason="no native kernels here")
@pytest.mark.usefixtures("others_do_all")
class TestHelpersMake:
    def test_what_the_others_would_make(self, monkeypatch: pytest.MonkeyPatch) -> None:
        check_batch(monkeypatch)

    @pytest.mark.parametrize("files", [False, True])
    def test_in_memory_of_their_own(self, monkeypatch: pytest.MonkeyPatch, files: bool) -> None:
        whole, seen = Program._in_spare_workspace, list[bool]()
        monkeypatch.setattr(image_queue, "_LEAST", 1)

        def looked_at(self: Program, work: Callable[[int], object], *more: Any) -> None:
            def wrapped(plan: int) -> None:
                at = plan + PROGRAM.offset("decode")
                theirs = program_memory._WORKSPACE.unpack(ctypes.string_at(at, program_memory._WORKSPACE.size))
                ours = self._room.numbers
                assert theirs[0] == ours[0]
                assert all(their >= our for their, our in zip(theirs[3::2], ours[3::2], strict=True))
                assert all(their != our for their, our in zip(theirs[1:], ours[1:], strict=True) if our > _BYTES)
                seen.append(bool(ours[0]))
                work(plan)

            whole(self, wrapped, *more)

        monkeypatch.setattr(Program, "_in_spare_workspace", looked_at)
        if files:
            images = [encoded(Jpeg(60, 80).data, name="it")] * 6
            pipeline = OF_FILES.compile(optimize="exact")
            wanted = pipeline.batch([one.array() for one in images])
            np.testing.assert_array_equal(pipeline.batch(images, threads=3), wanted)
        else:
            check_batch(monkeypatch)
        assert set(seen) == {files and codec() is not None}

    def test_planted_faults_are_found(self, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = Program._in_spare_workspace

        def of_another_epoch(self: Program, work: Callable[[int], object], plan: bytes, *more: Any) -> None:
            whole(self, work, plan[:8] + struct.pack("=Q", 99) + plan[16:], *more)

        monkeypatch.setattr(Program, "_in_spare_workspace", of_another_epoch)
        with pytest.raises(AssertionError):
            check_batch(monkeypatch)


# Images that threads share: each is handed out once, and no thread waits for more than another's last one.


LARGE = np.zeros((800, 800, 3), np.uint8)
FILE = encoded(Jpeg(375, 500).data, name="it")


def shared(count: int, threads: int, image: Any) -> tuple[list[list[int]], list[int]]:
    """Parts in the order in which threads take them that need as long for each image; and when each thread ends."""
    turns, ends, parts = ImageQueue(count, threads, held=True), [0] * threads, []
    while part := [k for k, _ in turns.take(lambda _: image)]:
        parts.append(part)
        ends[ends.index(min(ends))] += len(part)
    return parts, ends


@given(st.integers(1, 400), st.integers(2, 8), st.sampled_from([LARGE, FILE, {"image": FILE}]))
def test_threads_end_together(count: int, threads: int, image: Any) -> None:
    parts, ends = shared(count, threads, image)
    assert [k for part in parts for k in part] == [*range(count)]
    assert max(ends) - min(ends) <= 1
    assert len(parts) <= 4 * threads * (2 + math.log(count))


@given(st.integers(1, 400), st.integers(2, 8), st.booleans())
def test_threads_that_help_each_other_take_a_share_each(count: int, threads: int, held: bool) -> None:
    turns, parts = ImageQueue(count, threads, held=held, evened=True), list[list[int]]()
    while part := [k for k, _ in turns.take(lambda _: np.zeros((8, 8, 3), np.uint8))]:
        parts.append(part)
    assert [k for part in parts for k in part] == [*range(count)]
    left = count
    for part in parts:
        assert len(part) == min(32, count if held else -(-count // threads), left)
        left -= len(part)


def test_small_images_are_handed_out_many_at_once() -> None:
    parts, _ = shared(320, 2, np.zeros((32, 32, 3), np.uint8))
    assert {len(part) for part in parts} == {32}


def test_who_takes_as_many_to_the_end_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_queue, "_FILE", 0.25)
    with pytest.raises(AssertionError):
        test_threads_end_together.hypothesis.inner_test(30, 2, FILE)  # type: ignore[attr-defined]
