"""A packed dataset on a server of S3: its first epoch and a plain download, later ones and the same on this machine.

python benchmarks/remote.py            prints
python benchmarks/remote.py --write    prints, and writes the section `remote` of benchmarks/RESULTS.md
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.request import urlopen

import numpy as np
from harness import Row, met, run, times
from workloads import write_noise

import augrecipes as ar
from augrecipes.remote import RemotePath

_RATE = 125_000_000  # bytes a second: a line of 1 Gbit/s
_SERVER = Path(__file__).parents[1] / "tests" / "remote" / "s3_server.py"
_METHOD = """\
4,000 images of 128×192 packed by `folder-128` (raw, 295 MB in shards of 32 MB) on a server of S3 (moto's) on this
machine, which shares its cores. Epochs are shuffled, batches of 64, read in this thread, so that the first batch needs
almost every shard. First epoch: from opening the dataset with an empty cache to the last batch. A plain download is
s3fs' own `get` of the same folder. All answers of the server share a line of 1 Gbit/s; without that limit server,
download and epoch share two cores, and what is measured is CPU time. Second epoch: compared with the same epoch of the
dataset on this machine. All take turns; medians, and ratios are medians over the turns."""


def _packed(options: Any) -> Iterator[Row]:
    import s3fs

    count, turns, folder = 600 if options.quick else 4_000, 2 if options.quick else 5, options.folder
    write_noise(folder / "images", (128, 192), count)
    ar.pack("folder-128", folder / "images", folder / "packed", shard_size="32M")
    with _served() as server:
        system = s3fs.S3FileSystem()
        system.makedirs("shop", exist_ok=True)
        for path in sorted((folder / "packed").iterdir()):
            RemotePath(f"s3://shop/packed/{path.name}").send(path)
        os.environ["AUGRECIPES_CACHE"] = str(folder / "cache")
        here = ar.Packed(folder / "packed", "folder-128", seed=0)
        _epoch(here, 0)
        second = []
        for rate, line in ((_RATE, "at 1 Gbit/s"), (0, "without a limit")):
            urlopen(f"{server}/rate/{rate}").close()
            found = []
            for turn in range(turns):
                there = None  # lets go of what the turn before fetched, which takes a tenth of a second
                shutil.rmtree(folder / "cache", ignore_errors=True)
                began = perf_counter()
                there = ar.Packed("s3://shop/packed", "folder-128", seed=0)
                _epoch(there, turn)
                first = perf_counter() - began
                shutil.rmtree(folder / "plain", ignore_errors=True)
                began = perf_counter()
                system.get("shop/packed", str(folder / "plain"), recursive=True)
                found.append((first, perf_counter() - began))
                second.append((_epoch(there, turn), _epoch(here, turn)))
            (first, plain), ratio = np.median(found, axis=0), float(np.median([a / b for a, b in found]))
            goal = f", goal ≤ ×1.2: {met(ratio <= 1.2)}" if rate else ""
            yield Row(
                f"first epoch, {line}", f"{first:.2f} s", f"a plain download {plain:.2f} s", f"×{ratio:.2f}{goal}"
            )
        later, local = count / np.median(second, axis=0)
        ratio = float(np.median([b / a for a, b in second]))
        yield Row("second epoch", f"{later:,.0f}/s", f"on this machine {local:,.0f}/s", times(ratio, 0.9))


def _epoch(dataset: ar.Packed, epoch: int) -> float:
    loader = ar.loader(dataset, 64, shuffle=True, num_workers=0)
    loader.set_epoch(epoch)
    began = perf_counter()
    for _ in loader:
        pass
    return perf_counter() - began


@contextmanager
def _served() -> Iterator[str]:
    command = [sys.executable, "-W", "ignore", str(_SERVER)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, **pipes) as program:
        address = f"http://127.0.0.1:{int(program.stdout.readline())}"
        said = {"ENDPOINT_URL": address, "ACCESS_KEY_ID": "me", "SECRET_ACCESS_KEY": "x"}
        os.environ.update({f"AWS_{name}": value for name, value in said.items()}, AWS_DEFAULT_REGION="us-east-1")
        yield address
        program.communicate("")


if __name__ == "__main__":
    run(__file__, __doc__, "Packed datasets elsewhere", _METHOD, {"packed": _packed})
