"""A packed store on a server of S3: its first epoch beside a plain download, later ones beside the store here.

python benchmarks/remote.py            prints
python benchmarks/remote.py --write    prints, and writes the section `remote` of benchmarks/RESULTS.md
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from urllib.request import urlopen

import numpy as np
from options import Part, parser, run
from results import Row, met, times

import augrecipes as ar
from augrecipes.remote import RemotePath

_SHARD, _BATCH = "32M", 64
_RATE = 125_000_000  # bytes a second: a line of 1 Gbit/s
_SERVER = Path(__file__).parents[1] / "tests" / "remote" / "s3_server.py"
_METHOD = """\
4,000 pictures of 128×192 packed by `folder-128` (raw, 295 MB in shards of 32 MB) on a server of S3 (moto's) on this
machine, which shares its cores. Epochs are shuffled, batches of 64, read in this thread, so that the first batch needs
almost every shard. First epoch: from opening the store with an empty cache to the last batch. A plain download is s3fs'
own `get` of the same folder; beside both stands what whoever downloads first and reads afterwards waits. All answers of
the server share a line of 1 Gbit/s; without that limit server, download and epoch share two cores, and what is measured
is processor time. Second epoch: beside the same epoch of the store on this machine. All take turns; medians, and ratios
are medians over the turns."""


def main() -> None:
    options = parser(__doc__).parse_args()
    count, turns = (600, 2) if options.quick else (4_000, 5)
    with tempfile.TemporaryDirectory() as name, _served() as server:
        parts: dict[str, Part] = {"store": lambda: _store(Path(name), count, turns, server)}
        run(__file__, "Stores elsewhere", _METHOD, parts, options)


def _store(folder: Path, count: int, turns: int, server: str) -> Iterator[Row]:
    import s3fs

    _draw(folder / "pictures", count)
    ar.pack("folder-128", folder / "pictures", folder / "store", shard_size=_SHARD)
    system = s3fs.S3FileSystem()
    system.makedirs("shop", exist_ok=True)
    for path in sorted((folder / "store").iterdir()):
        RemotePath(f"s3://shop/store/{path.name}").send(path)
    os.environ["AUGRECIPES_CACHE"] = str(folder / "cache")
    here = ar.Packed(folder / "store", "folder-128", seed=0)
    _epoch(here, 0)
    local, later = [], []
    for rate, line in ((_RATE, "at 1 Gbit/s"), (0, "without a limit")):
        urlopen(f"{server}/rate/{rate}").close()
        first, download, after = [], [], []
        for turn in range(turns):
            there = None  # lets go of what the turn before fetched, which takes a tenth of a second
            shutil.rmtree(folder / "cache", ignore_errors=True)
            began = perf_counter()
            there = ar.Packed("s3://shop/store", "folder-128", seed=0)
            _epoch(there, turn)
            first.append(perf_counter() - began)
            shutil.rmtree(folder / "plain", ignore_errors=True)
            began = perf_counter()
            system.get("shop/store", str(folder / "plain"), recursive=True)
            download.append(perf_counter() - began)
            after.append(_epoch(here, turn))
            later.append(_epoch(there, turn))
        local += after
        plain = [a + b for a, b in zip(download, after, strict=True)]
        took = median(a / b for a, b in zip(first, plain, strict=True))
        alone = median(a / b for a, b in zip(first, download, strict=True))
        ours, plainly = f"{median(first):.2f} s", f"{median(download):.2f} s"
        goal = f", goal ≤ ×1.2: {met(alone <= 1.2)}" if rate else ""
        yield Row(f"first epoch, {line}", ours, f"a plain download {plainly}", f"×{alone:.2f}{goal}")
        beside = f"the download, and an epoch of {median(after):.2f} s"
        yield Row(f"first epoch, {line}", ours, beside, f"×{took:.2f}")
    ratio = median(a / b for a, b in zip(local, later, strict=True))
    rates = [f"{count / median(seconds):,.0f}/s" for seconds in (later, local)]
    yield Row("second epoch", rates[0], f"the store on this machine {rates[1]}", times(ratio, 0.9))


def _epoch(dataset: ar.Packed, epoch: int) -> float:
    loader = ar.loader(dataset, _BATCH, shuffle=True, num_workers=0)
    loader.set_epoch(epoch)
    began = perf_counter()
    for _ in loader:
        pass
    return perf_counter() - began


def _draw(folder: Path, count: int) -> None:
    import cv2

    folder.mkdir()
    noise = np.random.default_rng(0).integers(0, 256, (40, 60, 3), np.uint8)
    for k in range(count):
        cv2.imwrite(str(folder / f"{k:05}.jpg"), cv2.resize(np.roll(noise, k, axis=1), (192, 128)))


@contextmanager
def _served() -> Iterator[str]:
    command = [sys.executable, "-W", "ignore", str(_SERVER)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, **pipes) as program:
        port = int(program.stdout.readline())
        said = {"ENDPOINT_URL": f"http://127.0.0.1:{port}", "ACCESS_KEY_ID": "me", "SECRET_ACCESS_KEY": "x"}
        os.environ.update({f"AWS_{name}": value for name, value in said.items()}, AWS_DEFAULT_REGION="us-east-1")
        yield said["ENDPOINT_URL"]
        program.communicate("")


if __name__ == "__main__":
    main()
