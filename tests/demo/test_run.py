"""The demo as a whole, as small as it goes."""

from __future__ import annotations

import io
import itertools
import os
import time
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import cv2
import pytest
import torch
from rich.console import Console

from augrecipes.demo import arrivals as demo_arrivals
from augrecipes.demo import proofs
from augrecipes.demo.arrivals import arrivals
from augrecipes.demo.run import run_demo
from augrecipes.demo.slides import draw_slides
from augrecipes.demo.tables import arrival_table


def test_the_demo_runs_proves_and_writes(tmp_path: Path) -> None:
    screen = io.StringIO()
    report = run_demo(
        tmp_path, console=Console(file=screen, width=120), tiles=12, photos=3, scenes=3, bags=3, shrink=2, spawn=False,
        seconds=0.02, rows=2, columns=2,
    )  # fmt: skip
    assert report.ok
    said = screen.getvalue()
    assert [what.partition(",")[0] for what in report.proofs] == ["images", "pairs", "bags"]
    for found in report.proofs.values():
        same = {proof.digest for proof in found if proof.expected != "different"}
        other = [proof.digest for proof in found if proof.expected == "different"]
        assert len(same) == 1
        assert len(set(other)) == len(other) >= 1
        assert not same & set(other)
        assert same.pop()[:12] in said
    assert said.count("✓") == 7 + 4 + 4
    assert [path.stem for path in report.grids] == [
        "stained-tissue", "segmentation", "detection", "imagenet-train", "folder-128", "jpeg-crop-256", "sr-x4",
        "sr-multiscale", "real-esrgan-x4", "stained-tissue-bag", "stained-tissue-stages", "real-esrgan-x4-stages",
    ]  # fmt: skip
    for path in report.grids:
        picture = cv2.imread(str(path))
        assert picture.shape[1] > 300
        assert picture.std() > 10
    assert [speed.recipe for speed in report.speeds[-3:]] == ["sr-x4", "sr-multiscale", "real-esrgan-x4"]
    assert len(report.speeds) == 9
    for speed in report.speeds:
        assert speed.parallel is not None
        assert min(speed.none, speed.exact, speed.parallel) > 0
    assert report.tiles is not None
    assert min(report.tiles.one, report.tiles.two) > 0
    assert "\x1b" not in said, "colour only on a terminal"
    assert "samples per second" in said.lower()
    assert "tiles per second" in said


def test_bags_are_delivered_when_they_are_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The large bag is begun first: in order the small ones wait for it, and not with in_order=False."""
    small_is_done, plain = get_context("fork").Semaphore(0), demo_arrivals._Stamped.__getitem__

    warm: list[int] = []  # each worker has its own

    def read(self: Any, index: Any) -> Any:
        """When workers are warm, the large bag takes longer than the small one on any machine."""
        sample = plain(self, index)
        if not warm:
            warm.append(index)
        elif sample["bag"] == "slide-2":
            small_is_done.release()
        else:
            assert small_is_done.acquire(timeout=60)
            time.sleep(2)  # the small one is on its way, on a busy machine too
            sample["done"] = time.monotonic()
        return sample

    monkeypatch.setattr(demo_arrivals._Stamped, "__getitem__", read)
    slides = draw_slides(tmp_path, bags=2, shrink=2)
    found = arrivals(os.fspath(slides), "stained-tissue-bag")
    assert [(one.bag, one.tiles) for one in found] == [("slide-1", 48), ("slide-2", 6)]
    large, small = found
    assert small.in_order.delivered >= large.in_order.delivered
    assert small.in_order.waited > 0
    assert small.at_once.delivered < large.at_once.delivered
    assert all(one.at_once.done <= one.at_once.delivered for one in found)
    screen = io.StringIO()
    Console(file=screen, width=100).print(arrival_table(found, 2))
    lines = screen.getvalue().splitlines()
    assert lines[0].split()[:2] == ["bag", "tiles"]
    assert "╌" in lines[2]
    assert lines[3].startswith("in all")


def test_what_is_logged_is_said_once(tmp_path: Path) -> None:
    screen = io.StringIO()
    run_demo(
        tmp_path, console=Console(file=screen, width=250), tiles=3, photos=3, scenes=3, bags=2, spawn=False, seconds=0,
        rows=1, columns=1, shrink=2,
    )  # fmt: skip
    assert screen.getvalue().count("the top left is used") == 1


def test_a_broken_promise_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    digests = itertools.count()
    monkeypatch.setattr(proofs, "digest_of", lambda batches: f"{next(digests):064}")
    screen = io.StringIO()
    report = run_demo(
        tmp_path, console=Console(file=screen, width=120), tiles=3, photos=3, scenes=1, bags=2, shrink=2, spawn=False,
        seconds=0, rows=1, columns=1,
    )  # fmt: skip
    assert not report.ok
    assert "NOT AS EXPECTED" in screen.getvalue()
    assert report.speeds == ()
    assert report.tiles is None


def test_digests_see_every_tensor_and_not_the_batches() -> None:
    samples = [{"lr": torch.full((2,), k), "hr": torch.full((3,), k), "path": f"{k}.png"} for k in range(4)]

    def batches(size: int, *, stacked: bool = True, **change: Any) -> list[dict[str, Any]]:
        changed = [sample | change for sample in samples]
        parts = [changed[k : k + size] for k in range(0, 4, size)]
        return [
            {
                name: torch.stack([one[name] for one in part])
                if stacked and name != "path"
                else [one[name] for one in part]
                for name in part[0]
            }
            for part in parts
        ]

    first = proofs.digest_of(batches(4))
    assert proofs.digest_of(batches(1)) == first
    assert proofs.digest_of(batches(2, stacked=False)) == first
    assert proofs.digest_of(batches(4, hr=torch.zeros(3, dtype=torch.int64))) != first
    assert proofs.digest_of(batches(4, path="other.png")) != first
