"""Reading keeps no memory from pass to pass, but for what it says, and what malloc holds of small things."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from programs import Programs
from support.folders import bag_folders

PROGRAM = """
import sys
sys.path.insert(0, "tests")
import numpy as np
from support.datasets import Counting
from augrecipes.data import batching
from augrecipes.data.batching import room
from augrecipes.data.loader import loader
import torch
batching.BATCH_BYTES = 0  # how much of this is kept is another law
class Pictures(Counting):  # 48 kB each, written into batches of 6 MiB
    def __getitem__(self, index):
        image = (room("image") or np.empty)((128, 128, 3), np.dtype(np.uint8))
        image[:] = index % 256
        return {"image": torch.from_numpy(image), "index": index}
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 2**20
if "fault" in sys.argv:
    batching._of_the_system = lambda size: np.empty(size, np.uint8)
made = loader(Pictures(1500), 128, backend="threads", num_workers=3)
made._readers.reader.has_rows = True  # as it is of datasets of ours
for k in range(40):
    for batch in made:
        pass
    del batch
    if k == 2:
        before = resident()
print(resident() - before)
"""


def grown(programs: Programs, *more: str) -> float:
    """MiB that a program has grown by, from its third pass to its fortieth."""
    return float(programs(PROGRAM, *more).stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc")
def test_passes_do_not_pile_up(programs: Programs) -> None:
    assert grown(programs) < 6


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc")
def test_a_planted_fault_is_caught(programs: Programs) -> None:
    assert grown(programs, "fault") > 6


# A bag is written once, where it stays: little memory beyond the result, in process and in a worker.


# 400 tiles of 112² float32: 57 MiB. One copy more would double it.
LARGE_BAGS = """
import sys
from multiprocessing import active_children
import augrecipes as ar
from augrecipes.recipe.parse import parse_text

def resident(process, which):
    with open(f"/proc/{process}/status") as file:
        return int(next(line for line in file if line.startswith(which)).split()[1]) / 1024

class Watched(ar.TileBags):
    def _sample(self, *key):
        before = resident("self", "VmRSS")
        return {**super()._sample(*key), "before": before}

root, workers = sys.argv[1], int(sys.argv[2])
recipe = parse_text("{version: 1, recipe: t, kind: bag, steps: [Resize: {height: 112, width: 112}], eval: []}")
ds = Watched(root, recipe, threads=2)
options = {"num_workers": workers, "multiprocessing_context": "fork", "prefetch_factor": 1} if workers else {}
passing = iter(ar.loader(ds.subset([1, 0, 1, 1]), **options))
next(passing)
batch = next(passing)
result = batch["image"].nbytes / 2**20
process = str(active_children()[0].pid) if workers else "self"
print(result, resident(process, "VmHWM") - float(batch["before"]) - result)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("workers", [0, 1])
def test_memory_above_the_result(programs: Programs, tmp_path: Path, workers: int) -> None:
    bag_folders(tmp_path, {"a-large": 400, "small": 4})
    result, above = map(float, programs(LARGE_BAGS, str(tmp_path), str(workers)).stdout.split())
    assert result > 57
    assert above < 30
