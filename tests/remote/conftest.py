"""What lies elsewhere in these tests: a shop for each, and a cache of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support import shop

from augrecipes import remote
from augrecipes.cache import CACHE


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder behind `shop://`, which nobody has to wait for, and an empty cache."""
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    monkeypatch.setenv("SHOP", "")
    monkeypatch.setattr(remote, "PAUSE", 0.0)
    yield shop.opened(tmp_path)
    shop.Shop.fault = None
