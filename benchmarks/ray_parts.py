"""Packing on Ray beside the same parts by hand: what it costs that somebody else starts them.

python benchmarks/ray_parts.py            prints
python benchmarks/ray_parts.py --write    prints, and writes the section `ray_parts` of benchmarks/RESULTS.md
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from shutil import rmtree
from statistics import median
from time import perf_counter

import cv2
import numpy as np
from options import Part, parser, run
from results import Row, met

from augrecipes.sources.store import open_store

_WORKERS, _GOAL = 2, 1.15
_RECIPE = "{version: 1, recipe: small, steps: [Resize: {height: 48, width: 48}], eval: derived}\n"
_METHOD = """\
20,000 JPEGs of 64×64 px, in folders of 1,000, packed to 48×48 (raw, 138 MB) by the command line. By hand: two
processes at once, `pack --part 1/2` and `--part 2/2` with `--workers 0`, and `pack --merge` behind them. On Ray:
`pack --engine ray --address` of a cluster of two cores on this machine that runs already, with as many parts as it
takes of itself; what `ray.init` took stands apart. Both times hold the start of Python, of augrecipes and of Ray's
workers, and the merge. They take turns, each into an empty place, behind a turn to warm up; the ratio is the median
over the turns, and the stores hold the same pictures."""


def main() -> None:
    options = parser(__doc__).parse_args()
    if find_spec("ray") is None:
        print("skipped: Ray is not installed (pip install '.[ray]')")
        return
    count, turns = (2_000, 1) if options.quick else (20_000, 3)
    with tempfile.TemporaryDirectory() as name:
        parts: dict[str, Part] = {"parts": lambda: _beside(Path(name), count, turns)}
        run(__file__, "Parts on Ray", _METHOD, parts, options)


def _beside(folder: Path, count: int, turns: int) -> Iterator[Row]:
    _draw(folder / "pictures", count)
    (folder / "small.yaml").write_text(_RECIPE)
    os.environ |= {"AUGRECIPES_CACHE": str(folder / "cache"), "RAY_USAGE_STATS_ENABLED": "0"}
    with _cluster() as (address, started):
        by_hand, on_ray = [], []
        for turn in range(turns + 1):
            took = _by_hand(folder), _on_ray(folder, address)
            if turn:
                by_hand.append(took[0])
                on_ray.append(took[1])
            _same(folder / "by-hand", folder / "on-ray")
    ratio = median(ray / hand for ray, hand in zip(on_ray, by_hand, strict=True))
    beside = f"--part by hand {median(by_hand):.1f} s; ray.init {started:.1f} s"
    verdict = f"×{ratio:.2f}, goal ≤ ×{_GOAL:g}: {met(ratio <= _GOAL)}"
    yield Row(f"--engine ray, {count:,} pictures, two workers", f"{median(on_ray):.1f} s", beside, verdict)


def _by_hand(folder: Path) -> float:
    rmtree(folder / "by-hand", ignore_errors=True)
    began = perf_counter()
    _done([_packing(folder, "by-hand", f"--part={k}/{_WORKERS}", "--workers=0") for k in range(1, _WORKERS + 1)])
    _done([_augrecipes("--merge", str(folder / "by-hand"))])
    return perf_counter() - began


def _on_ray(folder: Path, address: str) -> float:
    rmtree(folder / "on-ray", ignore_errors=True)
    began = perf_counter()
    _done([_packing(folder, "on-ray", "--engine=ray", f"--address={address}")])
    return perf_counter() - began


def _packing(folder: Path, out: str, *options: str) -> subprocess.Popen[str]:
    return _augrecipes(str(folder / "small.yaml"), str(folder / "pictures"), "--out", str(folder / out), *options)


def _augrecipes(*words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "augrecipes", "pack", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def _done(running: list[subprocess.Popen[str]]) -> None:
    told = [one.communicate()[0] for one in running]
    for one, text in zip(running, told, strict=True):
        if one.returncode:
            raise SystemExit(f"{' '.join(map(str, one.args))} failed:\n{text}")


def _same(one: Path, other: Path) -> None:
    sums = [open_store(path).tables["image"].checksum.tolist() for path in (one, other)]
    if sums[0] != sums[1]:
        raise SystemExit(f"{one} and {other} are not the same store")


@contextmanager
def _cluster() -> Iterator[tuple[str, float]]:
    """Ray on this machine: its address, and how many seconds it took to begin."""
    import ray

    began = perf_counter()
    ray.init(
        address="local", num_cpus=_WORKERS, include_dashboard=False, object_store_memory=100_000_000,
        log_to_driver=False, logging_level="error",
    )  # fmt: skip
    try:
        yield ray.get_runtime_context().gcs_address, perf_counter() - began
    finally:
        ray.shutdown()


def _draw(folder: Path, count: int) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (20, 20, 3), np.uint8)
    for k in range(count):
        place = folder / f"{k // 1_000:02}"
        place.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(place / f"{k:05}.jpg"), cv2.resize(np.roll(noise, k, axis=1) ^ (k // 20 % 256), (64, 64)))


if __name__ == "__main__":
    main()
