"""The demo as a whole, as small as it goes."""

from __future__ import annotations

import io
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import cv2
import torch
from rich.console import Console

from augrecipes.demo import run
from augrecipes.demo.run import run_demo


def test_the_demo_runs_proves_and_writes(tmp_path: Path) -> None:
    screen, doing = io.StringIO(), []
    report = run_demo(
        tmp_path, console=Console(file=screen, width=120), quick=True,
        progress=lambda: nullcontext(lambda *now: doing.append(now)),
    )  # fmt: skip
    assert report.ok
    assert {what for what, _, total in doing if total == 21} == {"drawing"}
    assert [done for what, done, _ in doing if what.startswith("reading ")] == [*range(6), *range(4), *range(4)]
    assert [done for what, done, _ in doing if what.startswith("drawing what ")] == list(range(12))
    said = screen.getvalue()
    assert [what.partition(",")[0] for what in report.proofs] == ["images", "pairs", "bags"]
    for found in report.proofs.values():
        same = {proof.digest for proof in found if proof.expected != "different"}
        other = [proof.digest for proof in found if proof.expected == "different"]
        assert len(same) == 1
        assert len(set(other)) == len(other) >= 1
        assert not same & set(other)
        assert same.pop()[:12] in said
    assert said.count("✓") == 6 + 4 + 4
    assert [path.stem for path in report.grids] == [
        "stained-tissue", "segmentation", "detection", "imagenet-train", "folder-128", "jpeg-crop-256", "sr-x4",
        "sr-multiscale", "real-esrgan-x4", "stained-tissue-bag", "stained-tissue-stages", "real-esrgan-x4-stages",
    ]  # fmt: skip
    for path in report.grids:
        picture = cv2.imread(str(path))
        assert picture.shape[1] > 300
        assert picture.std() > 10
    assert "\x1b" not in said, "colour only on a terminal"


def test_a_broken_promise_is_told() -> None:
    ways: Any = {how: (expected, [{"path": ["a"], "label": [how]}]) for how, expected in
                 (("one", "reference"), ("two", "same"), ("three", "different"))}  # fmt: skip
    proofs = {"images": tuple(run._prove(ways, "images", lambda *now: None))}
    assert [proof.holds for proof in proofs["images"]] == [True, False, True]
    assert not run.DemoReport(proofs, (), 1.0).ok
    assert ["NOT AS EXPECTED" in line.plain for line in run._lines_of(proofs)] == [False, False, True, False]


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

    first = run.digest_of(batches(4))
    assert run.digest_of(batches(1)) == first
    assert run.digest_of(batches(2, stacked=False)) == first
    assert run.digest_of(batches(4, hr=torch.zeros(3, dtype=torch.int64))) != first
    assert run.digest_of(batches(4, path="other.png")) != first
