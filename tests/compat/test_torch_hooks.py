"""torch of a version that nobody has tried says so; torch without what is needed says what to install."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path

import pytest
from programs import Programs

from augrecipes.compat.torch import PROVEN, end_feeders, proven

ROOT = Path(__file__).parents[2]


def test_what_is_installed_may_be_what_is_proven() -> None:
    pinned = re.search(r'"torch>=([\d.]+),<([\d.]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert pinned is not None
    (first, (major, minor)) = PROVEN
    assert pinned.groups() == (f"{first[0]}.{first[1]}", f"{major}.{minor + 1}")
    assert proven(pinned[1])
    assert not proven(pinned[2])


@pytest.mark.soak
def test_another_version_warns_once(programs: Programs) -> None:
    done = programs("import torch; torch.__version__ = '9.1.0'\nimport augrecipes as ar; ar.ImageFolder; ar.loader")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("UnprovenWarning: torch 9.1.0 is installed") == 1


@pytest.mark.parametrize(
    "lost",
    [
        "from torch.utils.data._utils import fetch; del fetch._MapDatasetFetcher",
        "from torch.utils.data._utils.fetch import _IterableDatasetFetcher; del _IterableDatasetFetcher.fetch",
        "from torch.utils.data._utils import pin_memory; del pin_memory.pin_memory",
    ],
)
def test_what_is_gone_is_named(programs: Programs, lost: str) -> None:
    done = programs(f"import torch.utils.data, torch.autograd\n{lost}\nimport augrecipes as ar; ar.ImageFolder")
    assert "augrecipes.errors.AugrecipesError: torch" in done.stderr, done.stderr
    assert "pip install 'torch>=" in done.stderr


@pytest.mark.parametrize("sends", [False, True])
def test_a_worker_whose_batch_is_still_being_sent_ends_without_unwinding(
    monkeypatch: pytest.MonkeyPatch, sends: bool
) -> None:
    over, ended = threading.Event(), []
    monkeypatch.setattr(os, "_exit", ended.append)
    thread = threading.Thread(target=over.wait, name="QueueFeederThread", daemon=True)
    thread.start()
    if not sends:
        over.set()
    end_feeders()
    assert ended == ([0] if sends else [])
    over.set()
    thread.join()
