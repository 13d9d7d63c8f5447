"""A bag is written once, where it stays: little memory beyond the result, in process and in a worker."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from bag_folders import bag_folders
from programs import Programs

# 400 tiles of 112² float32: 57 MiB. One copy more would double it.
PROGRAM = """
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
    result, above = map(float, programs(PROGRAM, str(tmp_path), str(workers)).stdout.split())
    assert result > 57
    assert above < 30
