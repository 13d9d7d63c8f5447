"""Tests that need OpenCV's bits on x86 are skipped other_processors, and only where the probes say that bits differ."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support import other_processors

HERE = Path(__file__).parent / "laws"


def marked(name: str, machine: str) -> list[Any]:
    marks: list[Any] = []
    item: Any = SimpleNamespace(path=HERE / "test_native_plan.py", name=name, add_marker=marks.append)
    other_processors.skip_what_python_does([item], machine)
    return marks


@pytest.mark.parametrize(
    ("machine", "same", "skips"), [("aarch64", False, 1), ("aarch64", True, 0), ("x86_64", False, 0)]
)
def test_a_test_is_skipped_where_bits_differ(
    monkeypatch: pytest.MonkeyPatch, machine: str, same: bool, skips: int
) -> None:
    monkeypatch.setattr(other_processors, "has_bits", lambda what: same)
    assert len(marked("test_other_draws_are_noticed", machine)) == skips
    assert not marked("test_every_step_is_asked", machine)


@pytest.mark.parametrize("file", sorted(other_processors.NEEDS))
def test_what_is_named_is_there(file: str) -> None:
    text = (HERE / file).read_text(encoding="utf-8")
    assert all(f"def {name.partition('[')[0]}" in text for name in other_processors.NEEDS[file])
