"""Helpers of many tests: planted faults, commands, threads, counted work, equality, and numbers of examples."""

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
"""Exceptions of a law that fails for an example, or for several in different ways."""


def planted_faults(
    table: Mapping[str, tuple[Any, ...]], errors: type[BaseException] | tuple[type[BaseException], ...] = FAILURES
) -> Callable[..., None]:
    """Return a test for every row of a table: a check that must fail, and its patches (owner, name, replacement)."""

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
    """Return a fault to plant: the record of a class states other facts."""
    return records, "_BY_NAME", records._BY_NAME | {name: replace(op_record(name), **facts)}


# Numbers of examples of a law: what it can afford per hundred, scaled up in a soak.


def tries(of_hundred: int) -> settings:
    """Return settings for a share of the profile's examples, in percent; a soak's profile has more."""
    return settings(max_examples=max(2, settings.default.max_examples * of_hundred // 100))


def in_a_soak(name: str, usual: Any, often: Any) -> pytest.MarkDecorator:
    """Parametrize a test by its usual value, and by another in a soak."""
    return pytest.mark.parametrize(name, [usual, pytest.param(often, marks=pytest.mark.soak)], ids=["", "long"])


# Recipes without problems, with a warning, with a lint error, and with errors; and a runner of commands on them.

GOOD = "version: 1\nrecipe: good\nsteps:\n  - HorizontalFlip\neval: []\n"
WARNS = "version: 1\nrecipe: warns\nsteps:\n  - HorizontalFlip\n"
LINTS = "version: 1\nrecipe: lints\nsteps: []\neval:\n  - HorizontalFlip\n"
BROKEN = "version: 1\nrecipe: broken\nsteps:\n  - HorizontalFlop\n  - Rotate: {limt: 3}\n"


def status(*words: str) -> Any:
    """Run a command in this process, and return its exit status."""
    with pytest.raises(SystemExit) as ended:
        main([*words])
    return ended.value.code or 0


# Work in several threads at a time.


def in_threads(work: Callable[[int], object], many: int) -> None:
    """Call `work(k)` in `many` threads at once; raise what one of them raises, or if one takes over a minute."""
    with ThreadPoolExecutor(many) as pool:
        for done in [pool.submit(work, k) for k in range(many)]:
            done.result(60)


def in_a_thread(work: Callable[[], Any]) -> Any:
    """Return the result of `work` in a new thread."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result(60)


# Counted work: the number of executed lines of Python, which is the same on every run.


def lines(work: Callable[[], object]) -> int:
    """Count the calls and lines of Python that `work` runs in this thread; each iteration of a loop counts."""
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
    """Return the factor by which work grows when the size doubles, without its constant part.

    It is 2 for linear work, 4 for quadratic work, and 0 for constant work.
    """
    lines(make(size))  # from Python 3.12 on, the first traced run of code is not counted
    one, two, four = (lines(make(times * size)) for times in (1, 2, 4))
    return (four - two) / (two - one) if two != one else 0.0


def read_only(array: np.ndarray) -> np.ndarray:
    """Copy an array, and make the copy read-only."""
    copy = array.copy()
    copy.flags.writeable = False
    return copy


# Equality of samples or batches, to the bit.


def same(a: Any, b: Any) -> None:
    """Assert equal types, keys, shapes, dtypes and values."""
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
"""Settings for laws of whole samples, whose examples take milliseconds."""
PLANTED = settings(max_examples=300, phases=[Phase.generate], derandomize=True, database=None)
"""Settings for a law that a planted fault must break: up to 300 examples in any profile, without shrinking."""
SEEDS = st.integers(0, 2**32)


def holds(law: Callable[..., object], *examples: st.SearchStrategy[Any], tried: settings = DEAR) -> None:
    """Try a law on random examples of its positional arguments."""

    @tried
    @given(st.tuples(*examples))
    def on_all(arguments: tuple[Any, ...]) -> None:
        law(*arguments)

    on_all()


def planted(law: Callable[..., object], *examples: st.SearchStrategy[Any]) -> Callable[[Any], None]:
    """Return a check for `planted_faults` that tries a law until an example breaks it."""
    return lambda _: holds(law, *examples, tried=PLANTED)


@cache
def read(file: str) -> dict[str, Any]:
    """Read the YAML file of the same name as a test file."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's is ten times as fast
    return yaml.load(Path(file).with_suffix(".yaml").read_text(encoding="utf-8"), loader)


def table(file: str, name: str, *keys: str) -> pytest.MarkDecorator:
    """Parametrize a test by a table of its YAML file; each of `keys` is an argument."""
    cases = read(file)[name]
    return pytest.mark.parametrize(keys, [[case.get(key, "") for key in keys] for case in cases.values()], ids=cases)


def rows(file: str, name: str) -> list[list[Any]]:
    """Return a table of lists in the YAML file of a test file."""
    return read(file)[name]
