"""Long passes through workers: memory does not grow with samples, nor with the number of files."""

from __future__ import annotations

import sys
from multiprocessing import active_children
from pathlib import Path

import cv2
import numpy as np
import pytest

from augrecipes.data.loader import loader
from augrecipes.kinds.image.dataset import ImageFolder
from augrecipes.recipe.parse import parse_text

MIB = 2**20
RECIPE = parse_text(
    "{version: 1, recipe: soak, steps: [RandomCrop: {height: 24, width: 24}, HorizontalFlip], eval: []}"
)

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc"),
]


def kib(file: str, which: str) -> dict[int, int]:
    """Lines of a file in /proc, summed over those that begin with `which`, by worker."""
    return {
        child.pid: sum(
            int(line.split()[1])
            for line in Path(f"/proc/{child.pid}/{file}").read_text(encoding="ascii").splitlines()
            if line.startswith(which)
        )
        for child in active_children()
        if child.pid
    }


def pictures(folder: Path, count: int) -> Path:
    folder.mkdir()
    draw = np.random.default_rng(0)
    for k in range(count):
        assert cv2.imwrite(str(folder / f"{k}.jpg"), draw.integers(0, 256, (32, 40, 3), np.uint8))
    return folder


def test_workers_do_not_grow(tmp_path: Path) -> None:
    """100,000 samples through two workers, after the first 10,000: at most 20 MB more resident in either."""
    ds = ImageFolder(pictures(tmp_path / "pictures", 200), RECIPE, cache=False)
    made = loader(ds, 50, num_workers=2, samples_per_epoch=110_000, shuffle=True, multiprocessing_context="fork")
    before: dict[int, int] = {}
    for k, _ in enumerate(made):
        if k == 200:
            before = kib("status", "VmRSS")
        if k == 2150:
            after = kib("status", "VmRSS")
    growth = [(after[pid] - before[pid]) / 1024 for pid in before]
    print(f"resident growth over 97,500 samples: {', '.join(f'{g:.1f}' for g in growth)} MiB")
    assert len(growth) == 2
    assert max(growth) * MIB < 20e6


def test_threads_do_not_grow(tmp_path: Path) -> None:
    ds = ImageFolder(pictures(tmp_path / "pictures", 200), RECIPE, cache=False)
    made = loader(ds, 50, backend="threads", num_workers=2, samples_per_epoch=110_000, shuffle=True)
    before = after = 0
    for k, _ in enumerate(made):
        if k in (200, 2150):
            lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
            before, after = after, int(next(line for line in lines if line.startswith("VmRSS")).split()[1])
    print(f"resident growth over 97,500 samples: {(after - before) / 1024:.1f} MiB")
    assert (after - before) * 1024 < 20e6


def test_a_million_paths_cost_workers_little(tmp_path: Path) -> None:
    """1,000,000 files: at most 5 MB private to a worker beyond what a worker of 1,000 files has."""
    real = pictures(tmp_path / "pictures", 1000)
    names = []
    for k in range(1000):
        (tmp_path / f"part-{k:03}").symlink_to(real)
        names += [f"part-{k:03}/{i}.jpg" for i in range(1000)]
    private = {}
    for count in (1000, 1_000_000):
        csv = tmp_path / f"{count}.csv"
        csv.write_text("image\n" + "\n".join(names[:count]) + "\n", encoding="utf-8")
        ds = ImageFolder(files=csv, recipe=RECIPE, outside=True)
        assert len(ds) == count
        made = loader(ds, 50, num_workers=2, samples_per_epoch=20_000, shuffle=True, multiprocessing_context="fork")
        for k, _ in enumerate(made):
            if k == 390:
                private[count] = max(kib("smaps_rollup", "Private_").values())
    more = (private[1_000_000] - private[1000]) / 1024
    print(f"private to a worker: {private[1000] / 1024:.1f} MiB with 1,000 files, {more:+.1f} MiB with 1,000,000")
    assert more * MIB < 5e6
