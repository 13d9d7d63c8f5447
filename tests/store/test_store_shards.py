"""Stores in shards: what bounds them, what the table of items says of them, that they are opened when they are read."""

from __future__ import annotations

import ctypes
import shutil
from bisect import bisect_left
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examples import DEAR
from hypothesis import given, settings
from hypothesis import strategies as st
from support import stores

from augrecipes.errors import StoreError
from augrecipes.store import StoreWriter, index, items, open_store


def laid(sizes: list[list[int]], most: int) -> None:
    """The law: shards hold no more than they may, but for a row that is larger, and the places say where items are."""
    rng = np.random.default_rng(len(sizes))
    content = [[rng.integers(0, 256, (1, size, 1), np.uint8) for size in row] for row in sizes]
    with stores.quick_folder() as folder:
        with StoreWriter(
            folder / "s", format="raw", kind="bag", targets={"image": "image"}, rows=len(sizes), shard_bytes=most
        ) as writer:
            for row, arrays in enumerate(content):
                writer.add(row, {"image": arrays})
            writer.finish()
        store = open_store(folder / "s")
        table = store.tables["image"]
        files = table.shards.files
        assert sorted(path.name for path in (folder / "s").glob("image*")) == [file.name for file in files]
        assert [(folder / "s" / file.name).stat().st_size for file in files] == [file.size for file in files]
        for file in files:
            rows = {table.row_of(item) for item in file.numbers}
            assert file.size <= most or len(rows) == 1
        flat = [array for arrays in content for array in arrays]
        assert all(np.array_equal(store.array("image", k), array) for k, array in enumerate(flat))
        lying = table.lie(np.arange(len(flat)))
        assert lying is not None
        for (address, *_), array in zip(lying.lie.tolist(), flat, strict=True):
            assert bytes((ctypes.c_uint8 * array.size).from_address(address)) == array.tobytes()


_some = st.lists(st.lists(st.one_of(st.integers(1, 300), st.integers(1, 20_000)), max_size=4), max_size=12)


@settings(DEAR, derandomize=True)
@given(_some, st.integers(1, 30_000))
def test_places_say_where_items_are(sizes: list[list[int]], most: int) -> None:
    laid(sizes, most)


def test_items_of_another_shard_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(items, "bisect_right", bisect_left)
    with pytest.raises(StoreError, match="is damaged"):
        laid([[100], [200], [300]], 250)


def test_hdf5_is_one_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be in shards"):
        stores.write(tmp_path / "s", "hdf5-300")
    with pytest.raises(ValueError, match="at least 1"):
        stores.write(tmp_path / "s", "raw-0")


def many(folder: Path, count: int) -> Any:
    with StoreWriter(
        folder, format="raw", kind="image", targets={"image": "image"}, rows=count, shard_bytes=64
    ) as writer:
        for row in range(count):
            writer.add(row, {"image": [np.full((2, 3, 3), row % 251, np.uint8)]})
        writer.finish()
    return open_store(folder)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files")
def test_shards_are_opened_when_they_are_read_and_not_all_stay_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def held() -> int:
        files = (str(one.readlink()) for one in Path("/proc/self/fd").iterdir() if one.is_symlink())
        return sum(name.startswith(str(tmp_path)) and "image-" in name for name in files)

    monkeypatch.setattr(items, "_MAPPED", 5)
    store = many(tmp_path / "s", 40)
    assert held() == 0
    assert store.array("image", 3)[0, 0, 0] == 3
    assert held() == 1
    first = store.array("image", 0)
    assert [store.array("image", k)[1, 2, 0] for k in range(40)] == list(range(40))
    assert held() <= 7
    assert first[0, 0, 0] == 0  # a view keeps its file


def test_few_shards_are_open_from_the_beginning(tmp_path: Path) -> None:
    store = many(tmp_path / "s", 4)
    shutil.rmtree(store.path)
    assert [store.array("image", k)[1, 2, 0] for k in range(4)] == list(range(4))


def shard(rows: int = 1, target: str = "image", size: int = 18, **more: Any) -> dict[str, Any]:
    return {"rows": rows, "files": {target: {"size": size, "checksum": 0}}, **more}


@pytest.mark.parametrize(
    "said",
    [
        [],
        [shard()],
        [shard(), shard(size=17)],
        [shard(), shard(part="../part-1-of-2")],
        [shard(), shard(part="part-1-of-2")],
        [shard(), shard(target="mask")],
        [shard(), shard(-1)],
        [shard(), shard(target="../image")],
        [shard(2)],
        [shard()] * 3,
        "image-00000.bin",
    ],
)
def test_an_index_whose_shards_make_no_sense(said: Any, tmp_path: Path) -> None:
    path = many(tmp_path / "s", 2).path
    content = index.load(path)
    del content["digest"]
    (path / "index.json").chmod(0o644)
    (path / "index.json").write_bytes(index.render({**content, "shards": said}))
    with pytest.raises(StoreError, match=r"shards|start, size|no such file"):
        open_store(path)


def test_files_that_no_row_lies_in_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that was killed in a new shard: what goes on has no file of its own accord that nothing names."""
    content = [{"image": [np.zeros((9, 9, 3), np.uint8)]} for _ in range(4)]

    def staged(folder: Path) -> set[str]:
        with stores.opened(folder / "s", "raw-300", content) as writer:
            for row in range(3):
                writer.add(row, content[row])
            (folder / ".s.partial" / "store" / "image-00007.bin").write_bytes(b"torn")
        with stores.opened(folder / "s", "raw-300", content) as writer:
            assert writer.done == 2
            return {path.name for path in (folder / ".s.partial" / "store").glob("image*")}

    assert staged(tmp_path) == {"image-00000.bin", "image-00001.bin"}
    (tmp_path / "planted").mkdir()
    monkeypatch.setattr("augrecipes.store.staging.forget", lambda *_: None)
    monkeypatch.setattr("augrecipes.store.writer.forget", lambda *_: None)
    assert staged(tmp_path / "planted") != {"image-00000.bin", "image-00001.bin"}
