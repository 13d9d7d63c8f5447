"""Tests leave the cache folder of whoever runs them alone."""

from __future__ import annotations

import os
import shutil
import tempfile

import pytest

_kept: list[str] = []


def pytest_configure(config: pytest.Config) -> None:
    _kept.append(tempfile.mkdtemp(prefix="augrecipes-cache-"))
    os.environ["AUGRECIPES_CACHE"] = _kept[-1]


def pytest_unconfigure(config: pytest.Config) -> None:
    while _kept:
        shutil.rmtree(_kept.pop(), ignore_errors=True)
