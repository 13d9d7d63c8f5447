"""What programs that read leave behind: no memory from pass to pass, no copies of bags, no thread at their end."""

import os
import sys
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from programs import Programs
from support.folders import bag_folders

from augrecipes import ImageFolder, loader
from augrecipes.recipe.parse import parse_text

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
PROGRAM = """
import sys
sys.path.insert(0, "tests")
import numpy as np
from support.datasets import Counting
from augrecipes.data import batching
from augrecipes.data.batching import allocate_in_batch
from augrecipes.data.loader import loader
import torch
batching.BATCH_BYTES = 0  # how much of this is kept is another law
class Images(Counting):  # 48 kB each, written into batches of 6 MiB
    def __getitem__(self, index):
        image = (allocate_in_batch("image") or np.empty)((128, 128, 3), np.dtype(np.uint8))
        image[:] = index % 256
        return {"image": torch.from_numpy(image), "index": index}
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 2**20
if "fault" in sys.argv:  # one batch in four does not come back
    kept = []
    def kept_now_and_then(size):
        memory = np.empty(size, np.uint8)
        kept.append(memory if len(kept) % 4 == 0 else None)
        return memory
    batching._map_memory = kept_now_and_then
made = loader(Images(750), 128, backend="threads", num_workers=3)
made._readers.reader.writes_rows = True  # as it is of datasets of ours
for k in range(9):
    for batch in made:
        pass
    del batch
    if k == 2:
        before = resident()
print(resident() - before)
"""


def grown(programs: Programs, *more: str) -> float:
    """MiB that a program has grown by, from its third pass to its ninth."""
    return float(programs(PROGRAM, *more).stdout)


@LINUX
def test_passes_do_not_pile_up(programs: Programs) -> None:
    assert grown(programs) < 6


@LINUX
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
    def make_sample(self, *key):
        before = resident("self", "VmRSS")
        return {**super().make_sample(*key), "before": before}

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


@LINUX
@pytest.mark.parametrize("workers", [0, 1])
def test_memory_above_the_result(programs: Programs, tmp_path: Path, workers: int) -> None:
    bag_folders(tmp_path, {"a-large": 400, "small": 4})
    result, above = map(float, programs(LARGE_BAGS, str(tmp_path), str(workers)).stdout.split())
    assert result > 57
    assert above < 30


# However a program ends, no thread of ours is alive when Python shuts down.


# What is registered first is called last.
ENDING = """
import atexit, threading
@atexit.register
def report():
    others = [t.name for t in threading.enumerate() if t is not threading.main_thread()]
    print("alive:", *others, flush=True)
import signal, sys, time
import cv2, numpy as np
sys.path.insert(0, "tests")
from support.datasets import Counting
from augrecipes.data.loader import loader
noise = np.random.default_rng(0).integers(0, 256, (1000, 1000, 3), np.uint8)
class Native(Counting):  # nearly all of the time outside of Python
    def __getitem__(self, index):
        cv2.GaussianBlur(noise, (0, 0), 4)
        return super().__getitem__(index)
def interrupted(number, frame):
    raise KeyboardInterrupt
def interrupt_soon():
    signal.signal(signal.SIGALRM, interrupted)
    signal.setitimer(signal.ITIMER_REAL, 0.15)
def threaded():
    made = iter(loader(Native(3000), 4, backend="threads", num_workers=3))
    next(made)
    return made
"""
ENDINGS = {
    "a pass that is kept": ("kept = threaded()", 0),
    "an error": ("kept = threaded(); 1 / 0", 1),
    "an interrupt": ("interrupt_soon()\nfor _ in threaded(): pass", 130),
}
MORE = {
    "a whole pass": ('list(loader(Native(20), 4, backend="threads", num_workers=3))', 0),
    "a pass that is dropped": ("kept = threaded(); del kept", 0),
    "a cycle": ("kept = [threaded()]; kept.append(kept); del kept", 0),
    "sys.exit": ("kept = threaded(); sys.exit(3)", 3),
    "two passes": ("kept = threaded(), threaded()", 0),
    "another thread's pass": (
        "def read():\n    global kept\n    kept = threaded()\nt = threading.Thread(target=read); t.start(); t.join()", 0
    ),
    "a daemon that reads": (
        "def read():\n    for _ in threaded(): pass\nthreading.Thread(target=read, name='user', daemon=True).start()\n"
        "time.sleep(0.3)", 0
    ),
    "the allocator of a bag": (
        "from pathlib import Path\nimport tempfile\nfrom augrecipes.demo.slides import draw_slides\n"
        "import augrecipes as ar\nroot = draw_slides(Path(tempfile.mkdtemp()), bags=2)\n"
        "ds = ar.TileBags(root, 'stained-tissue-bag', seed=0, threads=3)\ninterrupt_soon()\nwhile True: ds[0]",
        130,
    ),
}  # fmt: skip


def ended(programs: Programs, rest: str) -> tuple[int, list[str]]:
    """The status of a program, and the threads that were alive at its end."""
    done = programs(ENDING + rest)
    assert "terminate called" not in done.stderr, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("alive:")]
    return done.returncode, line.split()[1:]


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_thread_outlives_the_program(programs: Programs, ending: str) -> None:
    rest, status = ENDINGS[ending]
    code, alive = ended(programs, rest)
    assert alive == []
    assert code in (status, -2)  # an interrupt is a signal, or a status


@pytest.mark.soak
@pytest.mark.parametrize("ending", MORE)
def test_no_thread_outlives_the_program_however_it_ends(programs: Programs, ending: str) -> None:
    rest, status = MORE[ending]
    code, alive = ended(programs, rest)
    assert [name for name in alive if name != "user"] == []
    assert code in (status, -2)


def test_threads_that_nobody_ends_are_caught(programs: Programs) -> None:
    forgetful = "import atexit\nfrom augrecipes.data import threads\natexit.unregister(threads._end_all)\n"
    rest = forgetful + ENDINGS["a pass that is kept"][0] + "\nimport os; report(); os._exit(0)"
    assert len(ended(programs, rest)[1]) == 3


# Long passes through workers: memory does not grow with samples, nor with the number of files.


MIB = 2**20
RECIPE = parse_text(
    "{version: 1, recipe: soak, steps: [RandomCrop: {height: 24, width: 24}, HorizontalFlip], eval: []}"
)


def kib(file: str, which: str) -> dict[int, int]:
    """Lines of a file in /proc, summed over those that begin with `which`, of this process and of each worker."""
    texts = {
        pid: Path(f"/proc/{pid}/{file}").read_text()
        for pid in (os.getpid(), *(child.pid for child in active_children() if child.pid))
    }
    return {
        pid: sum(int(line.split()[1]) for line in text.splitlines() if line.startswith(which))
        for pid, text in texts.items()
    }


def images(folder: Path, count: int) -> Path:
    folder.mkdir()
    draw = np.random.default_rng(0)
    for k in range(count):
        assert cv2.imwrite(str(folder / f"{k}.jpg"), draw.integers(0, 256, (32, 40, 3), np.uint8))
    return folder


@LINUX
@pytest.mark.soak
@pytest.mark.parametrize("backend", ["processes", "threads"])
def test_readers_do_not_grow(backend: Any, tmp_path: Path) -> None:
    """100,000 samples through two workers, after the first 10,000: at most 20 MB more resident in any process."""
    ds = ImageFolder(images(tmp_path / "images", 200), RECIPE, cache=False)
    forked = {"multiprocessing_context": "fork"} if backend == "processes" else {}
    made = loader(ds, 50, backend=backend, num_workers=2, samples_per_epoch=110_000, shuffle=True, **forked)
    before: dict[int, int] = {}
    for k, _ in enumerate(made):
        if k == 200:
            before = kib("status", "VmRSS")
        if k == 2150:
            after = kib("status", "VmRSS")
    growth = [(after[pid] - before[pid]) / 1024 for pid in before]
    print(f"resident growth over 97,500 samples: {', '.join(f'{g:.1f}' for g in growth)} MiB")
    assert len(growth) == (3 if backend == "processes" else 1)
    assert max(growth) * MIB < 20e6


@LINUX
@pytest.mark.soak
def test_a_million_paths_cost_workers_little(tmp_path: Path) -> None:
    """1,000,000 files: at most 5 MB private to a worker beyond what a worker of 1,000 files has."""
    real = images(tmp_path / "images", 1000)
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
                private[count] = max(v for pid, v in kib("smaps_rollup", "Private_").items() if pid != os.getpid())
    more = (private[1_000_000] - private[1000]) / 1024
    print(f"private to a worker: {private[1000] / 1024:.1f} MiB with 1,000 files, {more:+.1f} MiB with 1,000,000")
    assert more * MIB < 5e6
