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

import numpy as np
from options import Part, parser, run
from results import Row, met, times

import augrecipes as ar
from augrecipes.sources.remote.place import RemotePath

_SHARD, _BATCH = "32M", 64
_SERVER = Path(__file__).parents[1] / "tests" / "remote" / "s3_server.py"
_METHOD = """\
4,000 pictures of 128×192 packed by `folder-128` (raw, 295 MB in shards of 32 MB) on a server of S3 (moto's) on this
machine, which shares its cores. Epochs are shuffled, batches of 64, read in this thread. First epoch: from opening the
store with an empty cache to the last batch. A plain download is s3fs' own `get` of the same folder; beside both stands
what whoever downloads first and reads afterwards waits. Second epoch: beside the same epoch of the store on this
machine. All take turns; medians, and ratios are medians over the turns."""


def main() -> None:
    options = parser(__doc__).parse_args()
    count, turns = (600, 2) if options.quick else (4_000, 5)
    with tempfile.TemporaryDirectory() as name, _served():
        parts: dict[str, Part] = {"store": lambda: _store(Path(name), count, turns)}
        run(__file__, "Stores elsewhere", _METHOD, parts, options)


def _store(folder: Path, count: int, turns: int) -> Iterator[Row]:
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
    first, download, local, later = [], [], [], []
    for turn in range(turns):
        shutil.rmtree(folder / "cache", ignore_errors=True)
        began = perf_counter()
        there = ar.Packed("s3://shop/store", "folder-128", seed=0)
        _epoch(there, turn)
        first.append(perf_counter() - began)
        shutil.rmtree(folder / "plain", ignore_errors=True)
        began = perf_counter()
        system.get("shop/store", str(folder / "plain"), recursive=True)
        download.append(perf_counter() - began)
        local.append(_epoch(here, turn))
        later.append(_epoch(there, turn))
    plain = [a + b for a, b in zip(download, local, strict=True)]
    took = median(a / b for a, b in zip(first, plain, strict=True))
    alone = median(a / b for a, b in zip(first, download, strict=True))
    ours, plainly = f"{median(first):.2f} s", f"{median(download):.2f} s"
    yield Row("first epoch", ours, f"a plain download {plainly}", f"×{alone:.2f}, goal ≤ ×1.2: {met(alone <= 1.2)}")
    yield Row("first epoch", ours, f"the download, and an epoch of {median(local):.2f} s", f"×{took:.2f}")
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
def _served() -> Iterator[None]:
    command = [sys.executable, "-W", "ignore", str(_SERVER)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, **pipes) as program:
        port = int(program.stdout.readline())
        said = {"ENDPOINT_URL": f"http://127.0.0.1:{port}", "ACCESS_KEY_ID": "me", "SECRET_ACCESS_KEY": "x"}
        os.environ.update({f"AWS_{name}": value for name, value in said.items()}, AWS_DEFAULT_REGION="us-east-1")
        yield
        program.communicate("")


if __name__ == "__main__":
    main()
