"""Progress is shown on terminals, after a second, and leaves nothing behind."""

from __future__ import annotations

import io
import sys

import pytest

from augrecipes.data import terminal_line


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("seconds", [0.4, 3.0])
def test_only_long_work_is_shown(monkeypatch, seconds):
    now = iter(range(100))
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(terminal_line.time, "monotonic", lambda: next(now) * seconds / 4)
    with terminal_line.progress_line("reading") as advance:
        for done in range(1, 5):
            advance(done, 4)
    text = sys.stderr.getvalue()
    assert ("reading: 4 of 4" in text) is (seconds > 1)
    assert text == "" or text.endswith("\r")


def test_nothing_is_shown_elsewhere(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with terminal_line.progress_line("reading") as advance:
        assert advance is None
