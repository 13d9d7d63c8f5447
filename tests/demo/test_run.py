"""The demo as a whole, as small as it goes."""

from __future__ import annotations

import io
from pathlib import Path

import cv2
import pytest
from rich.console import Console

from augrecipes.demo import proofs
from augrecipes.demo.run import run_demo


def test_the_demo_runs_proves_and_writes(tmp_path: Path) -> None:
    screen = io.StringIO()
    report = run_demo(
        tmp_path, console=Console(file=screen, width=120), tiles=12, photos=3, shrink=4, spawn=False, seconds=0.02,
        rows=2, columns=2,
    )  # fmt: skip
    assert report.ok
    same = {proof.digest for proof in report.proofs if proof.expected != "different"}
    other = [proof.digest for proof in report.proofs if proof.expected == "different"]
    assert len(same) == 1
    assert len(other) == 2
    assert not same & set(other)
    assert other[0] != other[1]
    assert [path.name for path in report.grids] == [
        "stained-tissue.png", "segmentation.png", "detection.png", "imagenet-train.png", "folder-128.png",
        "jpeg-crop-256.png", "stained-tissue-stages.png",
    ]  # fmt: skip
    for path in report.grids:
        picture = cv2.imread(str(path))
        assert picture.shape[1] > 300
        assert picture.std() > 10
    assert len(report.speeds) == 6
    for speed in report.speeds:
        assert speed.parallel is not None
        assert min(speed.none, speed.exact, speed.parallel) > 0
    said = screen.getvalue()
    assert "\x1b" not in said, "colour only on a terminal"
    assert same.pop()[:12] in said
    assert said.count("✓") == 7
    assert "samples per second" in said.lower()


def test_a_broken_promise_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    digests = iter("abcdefghij")
    monkeypatch.setattr(proofs, "digest_of", lambda batches: next(digests) * 64)
    screen = io.StringIO()
    report = run_demo(
        tmp_path, console=Console(file=screen, width=120), tiles=3, photos=3, shrink=6, spawn=False, seconds=0,
        rows=1, columns=1,
    )  # fmt: skip
    assert not report.ok
    assert "NOT AS EXPECTED" in screen.getvalue()
    assert report.speeds == ()
