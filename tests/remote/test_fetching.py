"""Fetching files of stores by several threads: nobody waits longer than needed, and the line is never idle."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import shop
from test_cache import content, in_time, nothing

from augrecipes.sources.remote.place import RemotePath
from augrecipes.store import cache
from augrecipes.store.cache import FileCache
from augrecipes.store.reader import FetchedFolder


def test_who_waits_for_a_thread_of_this_process_is_woken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No look at the clock: it would come after an hour."""
    monkeypatch.setattr(cache, "_LOOK", (3_600, 3_600))
    kept, begun, go_on = FileCache(10_000, tmp_path), threading.Event(), threading.Event()

    def fetch(staged: Path) -> None:
        begun.set()
        go_on.wait()
        staged.write_bytes(content(3))

    first = threading.Thread(target=kept.mapped, args=("s", "3", 700, fetch), daemon=True)
    first.start()
    begun.wait()
    waits = threading.Condition.wait
    waiting = lambda self, timeout=None: (timeout == 3_600 and go_on.set(), waits(self, timeout))[1]  # noqa: E731
    monkeypatch.setattr(threading.Condition, "wait", waiting)
    assert bytes(in_time(lambda: kept.mapped("s", "3", 700, nothing))) == content(3)
    first.join()


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
