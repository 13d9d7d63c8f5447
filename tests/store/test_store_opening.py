"""What is no whole store is refused when it is opened, by an error that names the file."""

import ctypes
import json
import os
import pickle
import shutil
import subprocess
import sys
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import stores
from support.checks import DEAR

from augrecipes.errors import AugrecipesError, StoreError
from augrecipes.store import StoreWriter, items, open_store


@pytest.fixture
def place() -> Iterator[Path]:
    with stores.quick_folder() as folder:
        stores.write(folder / "s", "raw")
        yield folder / "s"


def refused(path: Path, reason: str | None) -> StoreError:
    with pytest.raises(StoreError, match=reason) as caught:
        open_store(path)
    assert str(caught.value.path).startswith(str(path))
    assert pickle.loads(pickle.dumps(caught.value)).path == caught.value.path
    assert isinstance(caught.value, AugrecipesError)
    return caught.value


def test_what_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    for name, reason in {
        "folder": "no index.json",
        "file": "it is a file",
        "gone": "no such store",
        "file/s": "no such store",
        "loop": "no such store",
        "x" * 300: "no such store|too long",
    }.items():
        refused(tmp_path / name, reason)


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[]", b"\0\1", b"7", b"{" * 100_000, b"[" * 100_000, b'{"store": "other", "version": 1}', b"\xff"],
)
def test_an_index_of_something_else(content: bytes, place: Path) -> None:
    (place / "index.json").chmod(0o644)
    (place / "index.json").write_bytes(content)
    assert refused(place, "not the index of a store").path == str(place / "index.json")


OTHER_VERSIONS: dict[str, list[Any]] = {
    "version 7; this augrecipes reads version 3": [7],
    "this augrecipes reads version 3": [0, 1, 2, -1, "1", None, 7.5, []],
}


@pytest.mark.parametrize(("said", "version"), [(said, one) for said, some in OTHER_VERSIONS.items() for one in some])
def test_another_version(said: str, version: Any, place: Path) -> None:
    (place / "index.json").chmod(0o644)
    (place / "index.json").write_text(json.dumps({"store": "augrecipes", "version": version, "what": ["is", "new"]}))
    refused(place, said)


def cut_at_any_size(folder: Path) -> None:
    """The law: a store of which any file was cut, or grew, is refused."""
    for format in stores.FORMS:
        whole = Path(stores.write(folder / format, format).path)
        for file in sorted(whole.iterdir()):
            data = file.read_bytes()
            file.chmod(0o644)
            sizes = {0, 1, len(data) // 2, len(data) - 1, len(data) + 1, len(data) + 5000}
            for size in sorted(sizes - {len(data)}):
                file.write_bytes((data + bytes(6000))[:size])
                refused(whole, None)
            file.write_bytes(data)
        open_store(whole)


def test_a_store_that_was_cut() -> None:
    with stores.quick_folder() as folder:
        cut_at_any_size(folder)


def test_opening_without_a_look_at_sizes_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("augrecipes.store.reader.map_file", lambda path, size: path.read_bytes().ljust(size, b"\0"))
    with stores.quick_folder() as folder, pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        cut_at_any_size(folder)


@pytest.mark.skipif(os.name == "nt", reason="needs pipes and links")
def test_files_that_are_not_what_they_should_be(place: Path) -> None:
    for name in ("image-00000.bin", "columns.npz", "index.json"):
        file, kept = place / name, place.parent / name
        file.rename(kept)
        refused(place, "no such file|no index.json")
        file.mkdir()
        refused(place, "folder|not a regular file")
        file.rmdir()
        os.mkfifo(file)
        refused(place, "not a regular file")
        file.unlink()
        file.symlink_to(file)
        refused(place, "no index.json|the system says|cannot be read|a link")
        file.unlink()
        file.symlink_to(kept)
        if name == "index.json":
            open_store(place)
        else:
            refused(place, "a link that leaves the store")
        file.unlink()
        kept.rename(file)
    open_store(place)


def test_a_store_travels_as_its_path(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place.parent)
    found = open_store("s")
    sent = pickle.dumps(found)
    monkeypatch.chdir("/")
    assert len(sent) < 300
    assert list(stores.differences(pickle.loads(sent))) == []
    with pytest.raises(StoreError):
        shutil.rmtree(place)
        pickle.loads(sent)
    assert list(stores.differences(found)) == []  # its files are open


def test_a_store_may_be_replaced_under_a_reader(place: Path) -> None:
    before = open_store(place)
    place.rename(place.with_name("old"))
    shutil.rmtree(place.with_name("old"))
    other = stores.rows(seed=1)
    after = stores.write(place, "raw", other)
    assert list(stores.differences(before)) == []
    assert list(stores.differences(after, other)) == []
    assert before.digest != after.digest


PRIVATE = """
import re, sys
import numpy as np
from augrecipes.store import open_store

def private():
    text = open("/proc/self/smaps_rollup").read()
    return int(re.search(r"Anonymous:\\s+(\\d+)", text)[1]) / 1024

def opened(path):
    calls = 0
    def count(frame, event, arg):
        nonlocal calls
        calls += 1
    sys.setprofile(count)
    try:
        return open_store(path), calls
    finally:
        sys.setprofile(None)

open_store(sys.argv[2])
before, (_, few) = private(), opened(sys.argv[2])
store, many = opened(sys.argv[1])
for item in range(0, store.count("image"), 7):
    store.array("image", item)
print(many - few, private() - before)
"""


def many(folder: Path, items: int) -> tuple[int, float]:
    """How many calls more than a small store's it takes to open a store of so many items, and how much memory.

    The memory is in MiB, beside the mapped files, after reading all.
    """
    tiny = np.zeros((1, 2, 3), np.uint8)
    per_row = 1000
    for name, rows in (("many", items // per_row), ("few", 1)):
        with StoreWriter(folder / name, format="raw", kind="bag", targets={"image": "image"}, rows=rows) as begun:
            for row in range(rows):
                begun.add(row, {"image": [tiny] * per_row})
            columns = {
                "label": np.arange(rows * per_row),
                "source": [f"class/{i:07}.jpg" for i in range(rows * per_row)],
            }
            begun.finish(columns)
    done = subprocess.run(
        [sys.executable, "-c", PRIVATE, str(folder / "many"), str(folder / "few")], capture_output=True, check=True
    )
    calls, mebibytes = done.stdout.split()
    return int(calls), float(mebibytes)


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="reads Linux's account of memory")
@pytest.mark.parametrize(("items", "most"), [(20_000, 1.5), pytest.param(1_000_000, 5, marks=pytest.mark.soak)])
def test_opening_costs_little(items: int, most: float) -> None:
    with stores.quick_folder() as folder:
        calls, mebibytes = many(folder, items)
        assert calls < items / 200
        assert mebibytes < most


# Stores in shards: what bounds them, what the table of items says of them, that they are opened when they are read.


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
        mapped = table.mapped(np.arange(len(flat)))
        for (address, *_), array in zip(mapped.places.tolist(), flat, strict=True):
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


def many_shards(folder: Path, count: int) -> Any:
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
    store = many_shards(tmp_path / "s", 40)
    assert held() == 0
    assert store.array("image", 3)[0, 0, 0] == 3
    assert held() == 1
    first = store.array("image", 0)
    assert [store.array("image", k)[1, 2, 0] for k in range(40)] == list(range(40))
    assert held() <= 7
    assert first[0, 0, 0] == 0  # a view keeps its file


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
