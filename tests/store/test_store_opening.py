"""What is no whole store is refused when it is opened, by an error that names the file."""

from __future__ import annotations

import io
import json
import os
import pickle
import random
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import stores

from augrecipes.errors import AugrecipesError, StoreError
from augrecipes.store import StoreWriter, index, open_store, writer


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


def test_a_store_that_is_not_finished(tmp_path: Path) -> None:
    with stores.opened(tmp_path / "s", "raw", stores.rows()) as begun:
        begun.add(0, {})
    refused(tmp_path / "s", "not finished.*run it again")
    refused(tmp_path / ".s.partial", "no index.json")


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[]", b"\0\1", b"7", b"{" * 100_000, b"[" * 100_000, b'{"store": "other", "version": 1}', b"\xff"],
)
def test_an_index_of_something_else(content: bytes, place: Path) -> None:
    (place / "index.json").chmod(0o644)
    (place / "index.json").write_bytes(content)
    assert refused(place, "not the index of a store").path == str(place / "index.json")


def test_a_newer_version(place: Path) -> None:
    (place / "index.json").chmod(0o644)
    (place / "index.json").write_text(json.dumps({"store": "augrecipes", "version": 7, "what": ["is", "new"]}))
    refused(place, "version 7; this augrecipes reads version 3")


@pytest.mark.parametrize("version", [0, -1, "1", None, 7.5, []])
def test_a_version_that_never_was(version: Any, place: Path) -> None:
    (place / "index.json").chmod(0o644)
    (place / "index.json").write_text(json.dumps({"store": "augrecipes", "version": version}))
    refused(place, "this augrecipes reads version 3")


def test_an_edited_index(place: Path) -> None:
    path = place / "index.json"
    path.chmod(0o644)
    text = path.read_text()
    for edited in (text.replace('"rows": 5', '"rows": 4'), text + " ", text.replace(" ", "  ", 1), text[:-20]):
        assert edited != text
        path.write_text(edited)
        refused(place, "edited or damaged|not the index")


def crafted(place: Path, **changes: Any) -> None:
    """An index with a digest that fits, of another content."""
    content = index.load(place)
    del content["digest"]
    (place / "index.json").chmod(0o644)
    (place / "index.json").write_bytes(index.render({**content, **changes}))


@pytest.mark.parametrize(
    "changes",
    [
        {"rows": 4},
        {"rows": "five"},
        {"rows": 10**30},
        {"format": "hdf5"},
        {"format": "zip"},
        {"targets": []},
        {"targets": {}},
        {"targets": {"image": {}}},
        {"targets": {"../image": "image"}},
        {"columns": {}},
        {"columns": {"size": -1, "checksum": 0}},
    ],
)
def test_an_index_that_makes_no_sense(changes: dict[str, Any], place: Path) -> None:
    crafted(place, **changes)
    refused(place, None)


@pytest.mark.parametrize("version", [1, 2])
def test_a_store_of_before(version: int, place: Path) -> None:
    (place / "index.json").chmod(0o644)
    (place / "index.json").write_text(json.dumps({"store": "augrecipes", "version": version}))
    refused(place, "augrecipes convert-store OLD NEW")


def recolumned(place: Path, data: bytes) -> None:
    """Other columns, and an index that speaks of them."""
    (place / "columns.npz").chmod(0o644)
    (place / "columns.npz").write_bytes(data)
    crafted(place, columns={"size": len(data), "checksum": zlib.crc32(data)})


def test_columns_that_make_no_sense(place: Path) -> None:
    """Damaged anywhere, under an index that says so: an error, or columns that nothing is read wrongly by."""
    whole, rng = (place / "columns.npz").read_bytes(), random.Random(0)
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(rng.choice([1, 1, 3])):
            data[rng.randrange(len(data))] = rng.randrange(256)
        recolumned(place, bytes(data[: rng.choice([len(data), rng.randrange(len(data))])]))
        with suppress(StoreError):
            store = open_store(place)
            for target in store.targets:
                for item in range(store.count(target)):
                    store.array(target, item)
    for data in (b"", b"PK", whole[:-22], np.arange(3).tobytes()):
        recolumned(place, data)
        refused(place, None)
    packed, pickled = io.BytesIO(), io.BytesIO()
    np.savez_compressed(packed, label=np.zeros(5))
    np.savez(pickled, label=np.array([{}], object), allow_pickle=True)
    for made in (packed, pickled):
        recolumned(place, made.getvalue())
        refused(place, "no columns of a store")


@pytest.mark.parametrize("name", ["start", "size", "shape", "sample", "rows"])
@pytest.mark.parametrize("value", [-1, 3, 255, 2**31 - 1])
def test_tables_that_make_no_sense(name: str, value: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that is wrong: nothing that it published is read from outside the file."""
    publish = writer.publish

    def wrong(folder: Path, items: Any, *rest: Any) -> None:
        table = {key: column.copy() for key, column in items["image"].items()}
        table[name].flat[1] = value if table[name].dtype.kind == "i" else value % 256
        if np.array_equal(table[name], items["image"][name]):
            table[name].flat[1] ^= 4
        publish(folder, {**items, "image": table}, *rest)

    monkeypatch.setattr(writer, "publish", wrong)
    with pytest.raises(StoreError, match=r"columns\.npz: items/.*edited or damaged"):
        stores.write(tmp_path / "s", "raw")


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


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a user whom permissions bind")
def test_no_permission(place: Path) -> None:
    for name in ("image-00000.bin", "index.json"):
        (place / name).chmod(0)
        refused(place, "no permission")
        (place / name).chmod(0o444)


def test_published_files_are_read_only(place: Path) -> None:
    assert {path.stat().st_mode & 0o777 for path in place.iterdir()} == {0o444}


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


def test_many_threads_read_one_store(place: Path) -> None:
    found = open_store(place)
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: tuple(stores.differences(found)), range(64))) == {()}


def test_what_is_asked_for_must_be_there(place: Path) -> None:
    found = open_store(place)
    with pytest.raises(KeyError):
        found.array("picture", 0)
    with pytest.raises(IndexError):
        found.array("image", found.count("image"))
    for row in (-1, found.rows):
        with pytest.raises(IndexError):
            found.items("image", row)
    assert "5 rows of image, mask" in repr(found)


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
