"""The files of every kind of dataset, drawn once for all tests of a process: they only read them."""

from __future__ import annotations

from pathlib import Path

import pytest
from kinds import KINDS


@pytest.fixture(scope="session")
def roots(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By kind the folder of its twelve samples; beside it lie the stores that tests pack of them."""
    made = {kind.name: tmp_path_factory.mktemp(kind.name) / "files" for kind in KINDS}
    for kind in KINDS:
        made[kind.name].mkdir()
        kind.fill(made[kind.name])
    return made
