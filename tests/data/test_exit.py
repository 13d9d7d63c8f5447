"""However a program ends, no thread of ours is alive when Python shuts down.

One that comes out of native code then is unwound through C++ that does not allow it, and the program aborts.
"""

from __future__ import annotations

import pytest
from programs import Programs

# What is registered first is called last.
PROGRAM = """
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
    done = programs(PROGRAM + rest)
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


def test_a_planted_fault_is_caught(programs: Programs) -> None:
    forgetful = "import atexit\nfrom augrecipes.data import threads\natexit.unregister(threads._end_all)\n"
    rest = forgetful + ENDINGS["a pass that is kept"][0] + "\nimport os; report(); os._exit(0)"
    assert len(ended(programs, rest)[1]) == 3
