"""Faults that are planted: the law that is there for each of them has to find it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

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
