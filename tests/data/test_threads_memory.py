"""Reading in threads keeps no memory from pass to pass, but for what it says, and what malloc holds of small things."""

from __future__ import annotations

import sys

import pytest
from programs import Programs

PROGRAM = """
import sys
sys.path.insert(0, "tests/data")
import numpy as np
from counting import Counting
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
