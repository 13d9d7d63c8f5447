"""Large arrays travel to spawned workers once: their pickles do not grow with the data, and read alike."""

import json
import os
import pickle
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import context, reduction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from augrecipes import sharing
from augrecipes.report import Note, Report, TextTable, to_plain
from augrecipes.sharing import SpawnShared

pytestmark = pytest.mark.skipif(os.name == "nt", reason="nothing is handed on there")


class Handle:
    """A descriptor as a child of `spawn` gets it, here in the same process."""

    def __init__(self, number: int) -> None:
        self.number = number

    def detach(self) -> int:
        return os.dup(self.number)


class Starting:
    """A process that is being started, which wants each descriptor once, as that of `spawn` does."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def duplicate_for_child(self, number: int) -> int:
        assert number not in self.seen
        self.seen.append(number)
        return number

    def DupFd(self, number: int) -> Handle:  # noqa: N802
        return Handle(number)


@contextmanager
def starting() -> Iterator[None]:
    context.set_spawning_popen(Starting())  # type: ignore[attr-defined]
    try:
        yield
    finally:
        context.set_spawning_popen(None)  # type: ignore[attr-defined]


def sent(given: Any) -> tuple[int, Any]:
    """How large the pickle for a worker is, and what the worker makes of it."""
    with starting():
        data = bytes(reduction.ForkingPickler.dumps(given))
    return len(data), pickle.loads(data)


class Anything(SpawnShared):
    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


DTYPES = st.sampled_from([np.dtype(d) for d in ("u1", "i4", "i8", "f4", "f8", "?", "U3", "c8")])
ARRAYS = DTYPES.flatmap(lambda dtype: arrays(dtype, array_shapes(min_side=0, max_side=9, max_dims=3)))
VALUES = st.one_of(ARRAYS, ARRAYS.map(np.transpose), st.binary(max_size=300), st.none(), st.text(max_size=5))


def reads_alike(values: dict[str, Any]) -> None:
    _, again = sent(Anything(**values))
    assert vars(again).keys() == values.keys()
    for name, value in values.items():
        found = vars(again)[name]
        if isinstance(value, np.ndarray):
            assert (found.dtype, found.shape) == (value.dtype, value.shape)
            assert found.tobytes() == value.tobytes()
        else:
            assert (bytes(found) if isinstance(found, memoryview) else found) == value


@settings(max_examples=60)
@given(st.dictionaries(st.sampled_from("abcdef"), VALUES), st.integers(1, 40))
def test_whatever_is_sent_reads_alike(values: dict[str, Any], least: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sharing, "LEAST", least)
        reads_alike(values)


def test_what_changed_since_is_sent_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two passes a user's own class may give itself other arrays, or write into those that it has."""

    def follows() -> None:
        one: Any = Anything(a=np.zeros(9), b=b"123456")
        changes: list[Any] = [
            lambda: None,
            lambda: one.__dict__.update(a=np.ones(9)),
            lambda: one.a.__setitem__(3, 5),
            lambda: one.__dict__.update(a=one.a.view(np.int64)),
            lambda: one.__dict__.update(a=one.a.reshape(3, 3)),
            lambda: one.__dict__.update(b=b"654321", c=np.arange(4)),
        ]
        for change in changes:
            change()
            again = sent(one)[1]
            assert (again.a.dtype, again.a.tolist()) == (one.a.dtype, one.a.tolist())
            assert bytes(again.b) == one.b

    monkeypatch.setattr(sharing, "LEAST", 1)
    follows()
    monkeypatch.setattr(sharing.zlib, "crc32", lambda data: 0)  # a planted fault
    with pytest.raises(AssertionError):
        follows()


def test_a_planted_shift_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "LEAST", 1)
    true = np.frombuffer
    monkeypatch.setattr(sharing.np, "frombuffer", lambda data, dtype: true(bytes([9, *bytes(data)[:-1]]), dtype))
    with pytest.raises(AssertionError):
        reads_alike({"a": np.arange(5), "b": np.arange(5, 10)})


OWNER = """
import multiprocessing, sys, time
import numpy as np
from augrecipes.sharing import SpawnShared

class Held(SpawnShared):
    def __init__(self, values): self.values = values

def work(held, pipe):
    try:
        while True:
            pipe.send((pipe.recv(), int(held.values.sum()), held.values.flags.writeable))
    except EOFError:
        pass  # its owner is gone

if __name__ == "__main__":
    import os
    known = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()
    mine, its = multiprocessing.Pipe()
    worker = multiprocessing.get_context(sys.argv[1]).Process(target=work, args=(Held(np.arange(200_000)), its))
    worker.start()
    for k in range(2):
        mine.send(k)
        assert mine.recv() == (k, 19_999_900_000, False)
    names = set(os.listdir("/dev/shm")) - known if known else set()
    print(worker.pid, sorted(name for name in names if "pym-" in name), flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_nothing_stays_of_an_owner_that_is_killed(tmp_path: Path, method: str) -> None:
    script = tmp_path / "owner.py"
    script.write_text(OWNER)
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, str(script), method]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as owner:
        try:
            pid, named = owner.stdout.readline().split(maxsplit=1)
            maps = Path(f"/proc/{pid}/maps")
            if maps.exists():
                assert re.search(r"pym-\d+-.* .deleted.", maps.read_text())  # it maps memory
            assert named.strip() == "[]"  # which no name leads to
        finally:
            owner.send_signal(signal.SIGKILL)


# Reports: within the width, with every word, in colour on terminals alone; and values as JSON.


WORDS = (
    "limit: [-5, 5]",
    "arguments that take effect",
    "JoinedWarps(Rotate#1 + RandomCrop#1)",
    "fill: 0",
    "near",
    "猫",
)
STYLES = ("", "error", "good", "warning")


def random_report(rng: np.random.Generator) -> Report:
    def text(most: int) -> str:
        return " ".join(rng.choice(WORDS, rng.integers(most + 1)))

    def table(columns: int, rows: int) -> TextTable:
        right = {k for k in range(1, columns) if rng.random() < 0.6}
        cells = [
            [f"{rng.random():.3f} ± 0.001" if k in right else text(12) for k in range(columns)] for _ in range(rows)
        ]
        heads = [f"column {k}" for k in range(columns)]
        return TextTable(text(5), heads, cells, right, styles=[*rng.choice(STYLES, rows)], notes=[Note(text(30))])

    tables = [table(int(rng.integers(1, 9)), int(rng.integers(5))) for _ in range(3)]
    return Report({"recipe": text(3), "output": text(40)}, tables, [Note(text(30), "warning:", "warning")])


def characters_of(report: Report) -> Counter[str]:
    texts = [*report.facts.values(), *(note.text for note in report.notes)]
    for table in report.tables:
        texts += [table.title, *(cell for row in table.rows for cell in row), *(note.text for note in table.notes)]
    return Counter("".join(texts).replace(" ", ""))


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_reports_keep_within_the_width_and_lose_nothing(columns):
    from rich.cells import cell_len

    for seed in range(12):
        report = random_report(np.random.default_rng(seed))
        shown = report.text(columns)
        assert max(map(cell_len, shown.splitlines())) <= columns
        assert not any(line != line.rstrip() for line in shown.splitlines())
        assert Counter(shown) >= characters_of(report)
        coloured = report.text(columns, colour=True)
        assert re.sub(r"\x1b\[[0-9;]*m", "", coloured).replace(" ", "") == shown.replace(" ", "")


@dataclass
class Part:
    path: Path
    ratio: float
    hidden: int = field(default=3, compare=False)


def test_values_become_json():
    found = {"parts": (Part(Path("a"), float("nan")),), 3: {np.float32(0.5)}, "array": np.arange(2)}
    plain = {"parts": [{"path": "a", "ratio": None}], "3": [0.5], "array": [0, 1]}
    assert to_plain(found) == plain == json.loads(json.dumps(to_plain(found), allow_nan=False))
