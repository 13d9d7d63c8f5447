"""Fetching files of stores by several threads: the line is never idle."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import shop

from augrecipes.sources.remote import RemotePath
from augrecipes.store.cache import FileCache
from augrecipes.store.reader import FetchedFolder


def test_files_come_while_others_are_compared(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four come at a time, or none gets on; what has come makes room for the next before it is known to be right."""
    names = [f"{k}.bin" for k in range(8)]
    for name in names:
        (elsewhere / name).write_bytes(b"0123456789")
    compared, all_came = [], threading.Event()

    def check(staged: Path) -> None:
        compared.append(staged)
        if len(compared) == len(names):
            all_came.set()
        assert all_came.wait(30), "who compares keeps others from coming"

    kept = FetchedFolder(RemotePath("shop://"), "digest", FileCache(1_000, elsewhere.parent / "cache"))
    four = threading.Barrier(4)
    shop.Shop.fault = lambda what, name, times: (four.wait(30), "slow")[1]
    with ThreadPoolExecutor(len(names)) as threads:
        assert [bytes(data) for data in threads.map(lambda name: kept.mapped(name, 10, check), names)] == [
            b"0123456789"
        ] * len(names)
    assert shop.Shop.most <= 4
