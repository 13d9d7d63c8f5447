"""Most tests here look at pixels: deep files are read by their upper bits, and of several frames the first."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _what_is_lost_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUGRECIPES_DEPTH", "8bit")
    monkeypatch.setenv("AUGRECIPES_FRAMES", "first")
