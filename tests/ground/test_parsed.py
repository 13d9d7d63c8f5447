"""Headers of arrays are read again where Python's parser fails because another thread is at it, too."""

from __future__ import annotations

import ast
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from augrecipes import cache, errors
from augrecipes.images import arrays
from augrecipes.sources.tar.shards import value_of

ARRAY = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)


def saved() -> bytes:
    file = io.BytesIO()
    np.save(file, ARRAY)
    return file.getvalue()


def recalled() -> Any:
    cache.keep(cache.SLIDES, "key", "stamp", {"a": ARRAY})
    found = cache.recall(cache.SLIDES, "key", "stamp")
    return found and found["a"].shape


READERS = {
    "an image": lambda: arrays.header(saved()).layout.shape,
    "a part of a tar archive": lambda: value_of("npy", saved()).shape,
    "a cache": recalled,
}


@pytest.fixture
def busy_parser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A parser that fails twice before it reads a text."""
    parse, calls = ast.parse, [0]

    def fails(*args: Any, **named: Any) -> Any:
        calls[0] += 1
        if calls[0] % 3:
            raise SystemError("AST constructor recursion depth mismatch (before=42, after=41)")
        return parse(*args, **named)

    monkeypatch.setattr(ast, "parse", fails)
    monkeypatch.setenv("AUGRECIPES_CACHE", str(tmp_path))


@pytest.mark.usefixtures("busy_parser")
@pytest.mark.parametrize("name", READERS)
def test_it_is_read_again(name: str) -> None:
    assert READERS[name]() == ARRAY.shape


@pytest.mark.usefixtures("busy_parser")
@pytest.mark.parametrize("name", READERS)
def test_one_try_is_not_enough(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "_TRIES", 0)
    with pytest.raises(Exception, match="recursion depth mismatch"):
        READERS[name]()
