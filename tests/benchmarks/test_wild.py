"""benchmarks/wild.py: where the time of recipes that gain little goes, and nothing but rows."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import wild
from breakdown import REST, shares

from augrecipes.recipe.parse import parse_text

STEPS = """
- OneOf: {p: 1.0, steps: [Transpose: {p: 1.0}, ChannelShuffle: {p: 1.0}]}
- Rotate: {p: 1.0}
- Resize: {height: 16, width: 16}
"""
RECIPE = f"version: 1\nrecipe: tiny\nsteps:{STEPS}eval: []\n".replace("\n-", "\n  -")


@pytest.mark.parametrize(
    ("optimize", "parts"),
    [
        ("none", {"Transpose", "ChannelShuffle", "Rotate", "Resize", "sink", REST}),
        ("fast", {"Transpose", "ChannelShuffle", "JoinedWarps", "sink", REST}),
    ],
)
def test_shares_are_of_classes_and_make_a_whole(optimize: str, parts: set[str]) -> None:
    given = [{"image": np.zeros((24, 32, 3), np.uint8)}]
    found = shares(parse_text(RECIPE), optimize, given, 12)
    assert set(found) == parts
    assert sum(found.values()) == pytest.approx(1)
    assert list(found.values()) == sorted(found.values(), reverse=True)


@pytest.mark.parametrize(("little", "told"), [(1e9, True), (0.0, False)])
def test_recipes_that_gain_little_have_a_row_of_shares(
    little: float,
    told: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    twice = RECIPE.replace("  - Rotate: {p: 1.0}\n", "  - Rotate: {p: 1.0}\n  - Rotate: {p: 1.0}\n")
    (tmp_path / "tiny.yaml").write_text(twice, encoding="utf-8")  # a lint says that equal steps want an id
    (tmp_path / "pipelines.json").write_text(json.dumps([{"id": "tiny", "size": [24, 32]}]), encoding="utf-8")
    monkeypatch.setattr(wild, "_LITTLE", little)
    monkeypatch.setattr(sys, "argv", ["wild.py", "--quick", "--recipes", str(tmp_path)])
    wild.main()
    lines, noise = capsys.readouterr()
    rows = [line for line in lines.splitlines() if "where it goes" in line]
    assert len(rows) == told
    assert all(line.startswith("tiny") and REST in line and "%" in line for line in rows)
    assert not noise
    assert not caplog.records
