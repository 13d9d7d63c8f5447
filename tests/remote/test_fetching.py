"""Fetching files of stores by several threads: the line is never idle."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import shop

from augrecipes.remote import RemotePath
from augrecipes.store.cache import Fetched, FileCache
from augrecipes.store.disk import crc32


def test_files_come_while_others_come(elsewhere: Path) -> None:
    """Four at a time, or none gets on."""
    names = [f"{k}.bin" for k in range(8)]
    for name in names:
        (elsewhere / name).write_bytes(b"0123456789")
    kept = Fetched(RemotePath("shop://"), "digest", FileCache(1_000, elsewhere.parent / "cache"))
    four = threading.Barrier(4)
    shop.Shop.fault = lambda what, name, times: (four.wait(30), "slow")[1]
    with ThreadPoolExecutor(4) as threads:
        found = threads.map(lambda name: kept.mapped(name, 10, crc32(b"0123456789")), names)
        assert [bytes(data) for data in found] == [b"0123456789"] * len(names)
