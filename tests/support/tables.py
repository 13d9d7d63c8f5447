"""Tables of cases in YAML beside the tests that run them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml


@cache
def read(file: str) -> dict[str, Any]:
    """The YAML file that is called as a test file."""
    return yaml.safe_load(Path(file).with_suffix(".yaml").read_text(encoding="utf-8"))


def table(file: str, name: str, *keys: str) -> pytest.MarkDecorator:
    """Parametrize a test by a table of the YAML file that is called as the test file: one of `keys` an argument."""
    cases = read(file)[name]
    return pytest.mark.parametrize(keys, [[case.get(key, "") for key in keys] for case in cases.values()], ids=cases)
