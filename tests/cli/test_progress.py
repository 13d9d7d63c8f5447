"""How far work is: nothing within a second, then one line that moves, or lines seconds apart where piped."""

from __future__ import annotations

import io
import sys

import pytest

from augrecipes.cli import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def told(monkeypatch, stream, seconds, step=0.25):
    """What standard error gets of work that long, which tells of itself at every step."""
    now = [0.0]
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.parts(lambda: now[0]) as advance:
        total = int(seconds / step)
        for k in range(total):
            now[0] += step
            advance("reading\x1b[31m", k + 1, total)
    return stream.getvalue()


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_short_work_says_nothing(monkeypatch, stream):
    assert told(monkeypatch, stream(), 0.9) == ""


def moments(text):
    return [int(line.rpartition(", ")[2].removesuffix(" s")) for line in text.splitlines()]


def test_piped_it_is_a_line_every_few_seconds(monkeypatch):
    text = told(monkeypatch, io.StringIO(), 21)
    assert "\r" not in text
    assert "\x1b" not in text
    assert text.splitlines()[0] == "reading\\x1b[31m: 4 of 84, 1 s"
    assert moments(text) == [1, 6, 11, 16, 21]


def test_on_a_terminal_it_is_one_line_that_goes(monkeypatch):
    text = told(monkeypatch, Terminal(), 21)
    assert "\n" not in text
    assert "\x1b" not in text
    *_, last, gone = text.split("\r")[:-1]
    assert last.startswith("reading\\x1b[31m ████")
    assert gone.strip() == ""
    assert max(map(len, text.split("\r"))) < 80


def test_frames_in_a_pipe_are_found(monkeypatch):
    """A planted fault: as many lines as steps."""
    monkeypatch.setitem(progress._EVERY, False, 0.0)
    assert moments(told(monkeypatch, io.StringIO(), 21)) != [1, 6, 11, 16, 21]
