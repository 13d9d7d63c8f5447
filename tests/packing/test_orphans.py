"""Whoever kills the parent alone leaves nobody behind; Ctrl-C while workers start is told by the parent alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="kills by signals, and locks files to see who lives")
HERE = Path(__file__).parent
SIGNALS = ("SIGTERM", "SIGKILL", "SIGHUP")
SORTS = ("pack", "fork", "spawn", "forkserver")
PATIENCE = 60.0  # seconds, for a machine that is very busy


def until(true: Callable[[], bool], patience: float = PATIENCE) -> bool:
    """Whether it becomes true."""
    end = time.monotonic() + patience
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    return true()


def alive(folder: Path) -> int:
    """How many workers hold their files."""
    import fcntl

    count = 0
    for path in folder.iterdir():
        with path.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                count += 1
    return count


def left_behind(sort: str, name: str, folder: Path, *planted: str, patience: float = PATIENCE) -> int:
    """How many workers outlive a parent that is killed while they are busy."""
    command = [sys.executable, str(HERE / "orphans.py"), sort, str(folder), *planted]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as parent:
        came = until(lambda: alive(folder) == 2)
        parent.send_signal(getattr(signal, name) if came else signal.SIGKILL)
        ended = until(lambda: parent.poll() is not None)
        parent.kill()
    assert came, "no workers came"
    assert ended, f"{name} did not end the parent"
    until(lambda: not alive(folder), patience)
    left = alive(folder)
    for path in folder.iterdir() if left else ():
        os.kill(int(path.name), signal.SIGKILL)
    return left


@pytest.mark.parametrize(
    ("sort", "name"),
    [
        ("pack", "SIGTERM"),
        ("fork", "SIGKILL"),
        *(pytest.param(sort, name, marks=pytest.mark.soak) for sort in SORTS for name in SIGNALS),
    ],
)
def test_workers_end_with_their_parent(sort: str, name: str, tmp_path: Path) -> None:
    assert left_behind(sort, name, tmp_path) == 0


def test_workers_that_do_not_look_are_caught(tmp_path: Path) -> None:
    assert left_behind("pack", "SIGKILL", tmp_path, "planted", patience=3.0) == 2


def interrupted(folder: Path, *planted: str) -> str:
    """What is said where Ctrl-C, which the terminal sends to all, comes while the workers start."""
    command = [sys.executable, str(HERE / "orphans.py"), "start", str(folder), *planted]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as parent:
        until(lambda: len(list(folder.iterdir())) > 0)
        os.killpg(parent.pid, signal.SIGINT)
        assert parent.stderr is not None
        return parent.stderr.read()


def test_an_interruption_while_workers_start_is_the_parents_alone(tmp_path: Path) -> None:
    assert interrupted(tmp_path) == "interrupted\n"


def test_workers_that_hear_of_it_are_caught(tmp_path: Path) -> None:
    assert "Traceback" in interrupted(tmp_path, "planted")
