"""How far work is: nothing within a second, then one line that moves, or lines seconds apart where piped."""

from __future__ import annotations

import io
import re
import sys

import pytest

from augrecipes import progress
from augrecipes.cli.terminal import say


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def told(monkeypatch, stream, seconds, step=0.25):
    """What standard error gets of work that long, which tells of itself at every step."""
    now = [0.0]
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.parts(lambda line: say(line, err=True), lambda: now[0]) as advance:
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
    monkeypatch.setenv("TERM", "xterm")
    text = told(monkeypatch, Terminal(), 21)
    assert "\x1b[31m" not in text  # of the name: spelt out
    frames = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", frame) for frame in text.split("\r")]
    assert sum("reading\\x1b[31m ━━" in frame for frame in frames) > 20
    assert max(map(len, frames)) <= 80
    assert text.count("\n") <= 1
    assert text.endswith("\x1b[1A\x1b[2K")  # the line is gone
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1  # the cursor is back


def test_a_library_says_nothing_where_it_is_piped(monkeypatch):
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    monkeypatch.setattr(progress, "QUIET", -1.0)
    with progress.progress("reading") as advance:
        advance(1, 2)
    assert written.getvalue() == ""


def test_a_terminal_that_moves_nothing_is_like_a_pipe(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    assert moments(told(monkeypatch, Terminal(), 21)) == [1, 6, 11, 16, 21]


def test_frames_in_a_pipe_are_found(monkeypatch):
    """A planted fault: as many lines as steps."""
    monkeypatch.setitem(progress.EVERY, False, 0.0)
    assert moments(told(monkeypatch, io.StringIO(), 21)) != [1, 6, 11, 16, 21]
