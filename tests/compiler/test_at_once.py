"""Pictures that threads share: each is handed out once, and no thread waits for more than another's last one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.drawn_jpegs import Jpeg

from augrecipes.compiler.run import at_once
from augrecipes.compiler.run.at_once import PictureQueue
from augrecipes.images.encoded import encoded

LARGE = np.zeros((800, 800, 3), np.uint8)
FILE = encoded(Jpeg(375, 500).data, name="it")


def shared(count: int, threads: int, picture: Any) -> tuple[list[list[int]], list[int]]:
    """Parts in the order in which threads take them that need as long for each picture; and when each thread ends."""
    turns, ends, parts = PictureQueue(count, threads, held=True), [0] * threads, []
    while part := [k for k, _ in turns.take(lambda _: picture)]:
        parts.append(part)
        ends[ends.index(min(ends))] += len(part)
    return parts, ends


@given(st.integers(1, 400), st.integers(2, 8), st.sampled_from([LARGE, FILE, {"image": FILE}]))
def test_threads_end_together(count: int, threads: int, picture: Any) -> None:
    parts, ends = shared(count, threads, picture)
    assert [k for part in parts for k in part] == [*range(count)]
    assert max(ends) - min(ends) <= 1
    assert len(parts) <= 4 * threads * (2 + math.log(count))


@given(st.integers(1, 400), st.integers(2, 8), st.sampled_from([LARGE, FILE]))
def test_threads_that_help_each_other_take_a_share_each(count: int, threads: int, picture: Any) -> None:
    turns, parts = PictureQueue(count, threads, held=True, evened=True), list[list[int]]()
    while part := [k for k, _ in turns.take(lambda _: picture)]:
        parts.append(part)
    assert [k for part in parts for k in part] == [*range(count)]
    left = count
    for part in parts:
        assert len(part) == min(32, -(-left // threads))
        left -= len(part)


def test_small_pictures_are_handed_out_many_at_once() -> None:
    parts, _ = shared(320, 2, np.zeros((32, 32, 3), np.uint8))
    assert {len(part) for part in parts} == {32}


def test_who_takes_as_many_to_the_end_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_once, "_FILE", 0.25)
    with pytest.raises(AssertionError):
        test_threads_end_together.hypothesis.inner_test(30, 2, FILE)  # type: ignore[attr-defined]
