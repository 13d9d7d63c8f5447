"""What many tests do: plant faults, run commands, work in threads, and say how many examples a law is tried on."""

import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from augrecipes.cli import main
from augrecipes.ops import records
from augrecipes.ops.records import op_record

FAILURES = (AssertionError, ExceptionGroup)
"""What a law raises that does not hold for some example, or for several in several ways."""


def planted_faults(
    table: Mapping[str, tuple[Any, ...]], errors: type[BaseException] | tuple[type[BaseException], ...] = FAILURES
) -> Callable[..., None]:
    """A test for every row of a table: what fails, and (where, name, replacement) of what is replaced before it."""

    @pytest.mark.parametrize("fault", table)
    def test_planted_faults_are_caught(
        fault: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        check, *changes = table[fault]
        for change in changes:
            monkeypatch.setattr(*change)
        with pytest.raises(errors):
            check(request.getfixturevalue)

    return test_planted_faults_are_caught


def claimed(name: str, **facts: Any) -> tuple[Any, ...]:
    """A fault to plant: the record of a class claims other facts."""
    return records, "_BY_NAME", records._BY_NAME | {name: replace(op_record(name), **facts)}


# How many examples a law is tried on: the share of a hundred that it can pay for, and as many times more in a soak.


def tries(of_hundred: int) -> settings:
    """So many examples by default; in a soak the same share of its profile's."""
    return settings(max_examples=max(2, settings.default.max_examples * of_hundred // 100))


def in_a_soak(name: str, usual: Any, often: Any) -> pytest.MarkDecorator:
    """A parameter of a test, and another value of it in a soak."""
    return pytest.mark.parametrize(name, [usual, pytest.param(often, marks=pytest.mark.soak)], ids=["", "long"])


# Commands, as they are typed.
# Recipes that are fine, that warn, that lint, and that are none.

GOOD = "version: 1\nrecipe: good\nsteps:\n  - HorizontalFlip\neval: []\n"
WARNS = "version: 1\nrecipe: warns\nsteps:\n  - HorizontalFlip\n"
LINTS = "version: 1\nrecipe: lints\nsteps: []\neval:\n  - HorizontalFlip\n"
BROKEN = "version: 1\nrecipe: broken\nsteps:\n  - HorizontalFlop\n  - Rotate: {limt: 3}\n"


def status(*words: str) -> Any:
    """Runs a command in this process; its exit status."""
    with pytest.raises(SystemExit) as ended:
        main([*words])
    return ended.value.code or 0


# Work in several threads at a time.


def in_threads(work: Callable[[int], object], many: int) -> None:
    """Calls `work(k)` in so many threads at a time; what one raises is raised here, and none may take a minute."""
    with ThreadPoolExecutor(many) as pool:
        for done in [pool.submit(work, k) for k in range(many)]:
            done.result(60)


def in_a_thread(work: Callable[[], Any]) -> Any:
    """What `work` gives in a thread of its own."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result(60)


# How much work something is, counted: the lines of Python code that run. The same on every run.


def lines(work: Callable[[], object]) -> int:
    """The number of calls and lines of all Python code that `work` runs here; each turn of a loop is a line."""
    count = 0

    def inside(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        del frame, argument
        count += event == "line"
        return inside

    def enter(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        del frame, event, argument
        count += 1
        return inside

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def growth(make: Callable[[int], Callable[[], object]], size: int) -> float:
    """How many times the work of twice the size is that of `size`, once what does not grow is taken away.

    2 for linear work, 4 for quadratic, 0 where nothing grows.
    """
    lines(make(size))  # from Python 3.12 on, code that is traced for the first time is not counted
    one, two, four = (lines(make(times * size)) for times in (1, 2, 4))
    return (four - two) / (two - one) if two != one else 0.0


def read_only(array: np.ndarray) -> np.ndarray:
    """A copy that cannot be written to."""
    copy = array.copy()
    copy.flags.writeable = False
    return copy


# Whether two samples, or batches of them, are the same, to the bit.


def same(a: Any, b: Any) -> None:
    """Fails where types, keys, shapes, dtypes or values differ."""
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            same(a[key], b[key])
    elif isinstance(a, torch.Tensor | np.ndarray):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
    elif isinstance(a, list):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            same(one, other)
    else:
        assert a == b


DEAR = settings(max_examples=settings.default.max_examples // 3)
"""For laws of whole samples, where an example takes milliseconds."""
PLANTED = settings(max_examples=300, phases=[Phase.generate], derandomize=True, database=None)
"""For a law that a planted fault must break: it ends with the first example that does, whatever the profile."""
SEEDS = st.integers(0, 2**32)


def holds(law: Callable[..., object], *examples: st.SearchStrategy[Any], tried: settings = DEAR) -> None:
    """Tries a law on random examples, of its positional arguments."""

    @tried
    @given(st.tuples(*examples))
    def on_all(arguments: tuple[Any, ...]) -> None:
        law(*arguments)

    on_all()


def planted(law: Callable[..., object], *examples: st.SearchStrategy[Any]) -> Callable[[Any], None]:
    """A law as `support.checks.planted_faults` has it: tried until an example breaks it."""
    return lambda _: holds(law, *examples, tried=PLANTED)


@cache
def read(file: str) -> dict[str, Any]:
    """The YAML file that is called as a test file."""
    return yaml.safe_load(Path(file).with_suffix(".yaml").read_text(encoding="utf-8"))


def table(file: str, name: str, *keys: str) -> pytest.MarkDecorator:
    """Parametrize a test by a table of the YAML file that is called as the test file: one of `keys` an argument."""
    cases = read(file)[name]
    return pytest.mark.parametrize(keys, [[case.get(key, "") for key in keys] for case in cases.values()], ids=cases)


def rows(file: str, name: str) -> list[list[Any]]:
    """A table of lists of the YAML file that is called as the test file."""
    return read(file)[name]
