"""Stores in shards: what bounds them, what the table of items says of them, that they are opened when they are read."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_stores
from examples import DEAR
from hypothesis import given, settings
from hypothesis import strategies as st

from augrecipes.errors import StoreError
from augrecipes.sources.store import StoreWriter, index, open_store, sharded_blob, shards
from augrecipes.sources.store.blob import Blob
from augrecipes.sources.store.intact import StoredFile
from augrecipes.sources.store.item import bytes_item
from augrecipes.sources.store.sharded_blob import ShardedBlob
from augrecipes.sources.store.shards import MappedShards, Shard, one_behind_another, shards_of
from augrecipes.sources.store.verify import verify_store


def laid(sizes: list[int], most: int, step: int) -> None:
    """The law: shards hold no more than they may, and the places of the items alone say which they are."""
    with small_stores.quick_folder() as folder:
        blob = ShardedBlob(folder / "image.bin", most)
        rng = np.random.default_rng(len(sizes))
        data = [rng.bytes(size) for size in sizes]
        start = np.array([blob.put(bytes_item(one), step) for one in data], np.int64)
        blob.finish(None)
        found = shards_of(start, np.array(sizes, np.int64))
        files = sorted(folder.iterdir())
        assert [path.name for path in files] == [f"image-{k:05}.bin" for k in range(len(found))]
        assert [path.stat().st_size for path in files] == [shard.size for shard in found]
        mapped = MappedShards(
            [
                StoredFile(path.name, shard.base, 0, shard.size, 0, range(0))
                for path, shard in zip(files, found, strict=True)
            ],
            lambda file: (folder / file.name).read_bytes(),
        )
        held: list[list[int]] = [[] for _ in found]
        for place, one in zip(start.tolist(), data, strict=True):
            held[mapped.number(place)].append(len(one))
            whole, at = mapped.at(place)
            assert whole[at : at + len(one)] == one
            assert at % step == 0
        for shard, several in zip(found, held, strict=True):
            assert several
            assert shard.size <= most or len(several) == 1


_some = st.lists(st.one_of(st.integers(1, 300), st.integers(1, 20_000)), max_size=20)


@settings(DEAR, derandomize=True)
@given(_some, st.integers(1, 30_000), st.sampled_from([1, 2, 4, 64]))
def test_places_say_where_shards_begin(sizes: list[int], most: int, step: int) -> None:
    laid(sizes, most, step)


def test_shards_without_a_hole_between_them_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharded_blob, "base_behind", lambda end: -(-end // 64) * 64)
    with pytest.raises(AssertionError):
        laid([100, 200, 300], 250, 64)


@settings(DEAR, derandomize=True)
@given(st.lists(_some, min_size=1, max_size=4), st.integers(1, 9000))
def test_tables_one_behind_another_are_those_of_one_store(parts: list[list[int]], most: int) -> None:
    """What several writers laid, joined, has the shards of all of them, in their order."""
    tables, wanted = [], []
    for sizes in parts:
        with small_stores.quick_folder() as folder:
            blob = ShardedBlob(folder / "image.bin", most)
            start = np.array([blob.put(bytes_item(bytes(size)), 64) for size in sizes], "<i8")
            blob.close()
        size = np.array(sizes, "<i8")
        rows = np.append(0, np.cumsum(size % 2))
        rows[-1] = len(sizes)
        tables.append({"start": start, "size": size, "rows": np.minimum(rows, len(sizes))})
        wanted += [shard.size for shard in shards_of(start, size)]
    joined = one_behind_another(tables)
    assert [shard.size for shard in shards_of(joined["start"], joined["size"])] == wanted
    assert joined["size"].tolist() == [size for sizes in parts for size in sizes]
    assert (np.diff(joined["rows"]) >= 0).all()
    assert (joined["rows"][0], joined["rows"][-1]) == (0, len(joined["size"]))


def test_a_store_has_no_more_than_it_needs(tmp_path: Path) -> None:
    store = small_stores.write(tmp_path / "s", "raw-300")
    assert store.version == 2
    assert small_stores.write(tmp_path / "one", "raw").version == 1  # which earlier releases read
    names = sorted(path.name for path in store.path.iterdir())
    assert names[0] == "columns.arrays"
    assert {"image-00000.bin", "image-00001.bin", "mask-00000.bin"} <= set(names)
    assert store.block("image") is None


def test_hdf5_is_one_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="shards are of raw and jpeg"):
        small_stores.write(tmp_path / "s", "hdf5-300")
    with pytest.raises(ValueError, match="at least 1"):
        small_stores.write(tmp_path / "s", "raw-0")


def test_a_run_that_goes_on_bounds_its_files_as_the_first_one(tmp_path: Path) -> None:
    content = small_stores.rows()
    with small_stores.opened(tmp_path / "s", "raw-300", content) as writer:
        writer.add(0, content[0])
    with pytest.raises(StoreError, match="other: shard_bytes"):
        small_stores.opened(tmp_path / "s", "raw-301", content)


def many(folder: Path, count: int) -> Any:
    with StoreWriter.open(
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
        return sum("image-" in str(one.readlink()) for one in Path("/proc/self/fd").iterdir() if one.is_symlink())

    store = many(tmp_path / "s", 40)
    assert held() == 0
    assert store.array("image", 3)[0, 0, 0] == 3
    assert held() == 1
    monkeypatch.setattr(shards, "_MAPPED", 5)
    first = store.array("image", 0)
    assert [store.array("image", k)[1, 2, 0] for k in range(40)] == list(range(40))
    assert held() <= 7
    assert first[0, 0, 0] == 0  # a view keeps its file


def test_a_shard_that_is_not_what_it_was(tmp_path: Path) -> None:
    whole = many(tmp_path / "s", 4).path
    for damage, reason in ((b"", "cut short"), (bytes(90), "too long"), (None, "no such file")):
        shutil.copytree(whole, tmp_path / "damaged")
        path = tmp_path / "damaged" / "image-00002.bin"
        path.unlink()
        if damage is not None:
            path.write_bytes(damage)
        with pytest.raises(StoreError, match=reason) as caught:
            open_store(path.parent)
        assert caught.value.path == str(path)
        assert verify_store(path.parent)[0].path == str(path)
        shutil.rmtree(path.parent)


@pytest.mark.parametrize(
    "said",
    [
        [],
        [{"file": "image-00000.bin", "size": 18}],
        [{"file": "image-00000.bin", "size": 18}, {"file": "image-00001.bin", "size": 19}],
        [{"file": "image-00000.bin", "size": 18}, {"file": "../image-00001.bin", "size": 18}],
        [{"file": "image-00000.bin", "size": 18}, {"file": "/image-00001.bin", "size": 18}],
        [{"file": "image-00000.bin", "size": 18}, {"file": "columns.arrays", "size": 18}],
        [{"file": "image-00000.bin"}, {"file": "image-00001.bin", "size": 18}],
        [{"file": "image-00000.bin", "size": 18}] * 3,
        "image-00000.bin",
    ],
)
def test_an_index_whose_shards_make_no_sense(said: Any, tmp_path: Path) -> None:
    path = many(tmp_path / "s", 2).path
    content = index.load(path)
    del content["digest"]
    (path / "index.json").chmod(0o644)
    (path / "index.json").write_bytes(
        index.render({**content, "targets": {"image": {"role": "image", "shards": said}}})
    )
    with pytest.raises(StoreError, match="shards"):
        open_store(path)


def test_files_that_no_row_lies_in_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that was killed in a new shard: what goes on has no file of its own accord that nothing names."""

    def staged(folder: Path) -> set[str]:
        content = [{"image": [np.zeros((9, 9, 3), np.uint8)]} for _ in range(4)]
        with small_stores.opened(folder / "s", "raw-300", content) as writer:
            writer.add(0, content[0])
            (writer._stage.folder / "image-00001.bin").write_bytes(b"torn")
            (writer._stage.folder / "image-00007.bin").write_bytes(b"torn")
        with small_stores.opened(folder / "s", "raw-300", content) as writer:
            return {path.name for path in writer._stage.folder.iterdir() if path.name.startswith("image")}

    assert staged(tmp_path) == {"image-00000.bin"}
    (tmp_path / "planted").mkdir()
    monkeypatch.setattr(sharded_blob, "numbers_of", lambda folder, file: {})
    assert staged(tmp_path / "planted") != {"image-00000.bin"}


def test_a_blob_and_shards_answer_alike(tmp_path: Path) -> None:
    assert {name for name in vars(Blob) if not name.startswith("_")} - {"write_frame"} <= set(dir(ShardedBlob))
    assert Shard(1, 2).base == 1
