"""What many tests do: plant faults, run commands, work in threads, and say how many examples a law is tried on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import settings

from augrecipes.cli import main

Fixture = Callable[[str], Any]
"""Gives a fixture by its name."""
Check = Callable[[Fixture], object]


def planted_faults(
    table: Mapping[str, tuple[Any, ...]], errors: type[BaseException] | tuple[type[BaseException], ...] = AssertionError
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


# How many examples a law is tried on: the share of a hundred that it can pay for, and as many times more in a soak.


def tries(of_hundred: int) -> settings:
    """So many examples by default; in a soak the same share of its profile's."""
    return settings(max_examples=max(2, settings.default.max_examples * of_hundred // 100))


# Commands, as they are typed; and recipes that are fine, that warn, that lint, and that are none.

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
