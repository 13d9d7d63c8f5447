"""One cache folder, which AUGRECIPES_CACHE moves, and without which nothing but time is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from augrecipes import machine
from augrecipes.ops import verdicts
from augrecipes.ops.readable import Refusal
from augrecipes.sources import folder_cache


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "_kept", {})


def test_all_that_is_kept_lies_where_the_variable_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(machine.CACHE, str(tmp_path / "mine"))
    verdicts.remember("a", None)
    folder_cache.save(bytes(tmp_path), b"rules", {})
    assert {path.parts[len(tmp_path.parts)] for path in tmp_path.rglob("*")} == {"mine"}
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 2


def test_nobody_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> Path:
        raise RuntimeError("no home")

    monkeypatch.delenv(machine.CACHE)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", nobody)
    verdicts.remember("a", Refusal("no", "x"))
    folder_cache.save(bytes(tmp_path), b"rules", {})
    assert verdicts.look_up("a") is None
    assert folder_cache.load(bytes(tmp_path), b"rules") == {}
