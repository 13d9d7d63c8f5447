# pathlib has no names that are bytes.
# ruff: noqa: PTH102, PTH118, PTH123
"""Folders listed: order, layouts, odd names, and a memo that notices every change."""

import errno
import os
import pickle
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augrecipes.errors import DataError
from augrecipes.sources import listing
from augrecipes.sources.columns import Columns
from augrecipes.sources.listing import list_folders
from augrecipes.sources.paths import NOWHERE, PathTable, tile_position


def fill(root: Path, *names: str) -> Path:
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    return root


def list_folder(root: Any, **how: Any) -> Columns:
    return list_folders([root], **how)


def names(found: Columns) -> list[str]:
    return [found.images.name(i).replace(os.sep, "/") for i in range(len(found))]


@pytest.fixture(autouse=True)
def own_cache_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("AUGRECIPES_CACHE", str(place))
    return place


def memos(place: Path) -> list[Path]:
    return sorted(place.rglob("*.memo"))


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten seconds have passed: folders are at rest, so that their times are trusted."""
    monkeypatch.setattr("augrecipes.cache.now_ns", lambda: time.time_ns() + 10**10)


@pytest.fixture
def scanned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the folders that were scanned and not taken from the memo."""
    seen: list[str] = []
    true = listing._scan

    def scan(full: bytes, about: os.stat_result) -> listing.Scan:
        seen.append(Path(os.fsdecode(full)).name)
        return true(full, about)

    monkeypatch.setattr(listing, "_scan", scan)
    return seen


def test_class_folders(tmp_path: Path) -> None:
    files = "b/2.JPG b/deep/1.png a-b/1.tiff a/3.webp a/1.Jpeg a/notes.txt notes.csv empty/x.txt"
    root = fill(tmp_path, *files.split())
    found = list_folder(root)
    assert names(found) == ["a/1.Jpeg", "a/3.webp", "a-b/1.tiff", "b/2.JPG", "b/deep/1.png"]
    assert found.classes == ("a", "a-b", "b", "empty")
    assert found.class_to_idx == {"a": 0, "a-b": 1, "b": 2, "empty": 3}
    assert found.labels.tolist() == [0, 0, 1, 2, 2]
    assert found.images[0] == os.path.join(str(root), "a", "1.Jpeg").replace("a" + os.sep + "1", "a/1")


def test_hidden_things_are_passed_over(tmp_path: Path) -> None:
    files = "a/1.jpg a/._1.jpg a/.hidden.png a/Thumbs.db .git/2.jpg __MACOSX/a/1.jpg a/jpg a/.jpg"
    found = list_folder(fill(tmp_path, *files.split()))
    assert names(found) == ["a/1.jpg"]
    assert found.classes == ("a",)


def test_a_root_of_both_layouts_is_flat_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    root = fill(tmp_path, "1.jpg", "a/2.jpg", "b/c/3.jpg")
    assert names(list_folder(root)) == ["1.jpg", "a/2.jpg", "b/c/3.jpg"]
    (told,) = caplog.messages
    assert told.startswith(f"{root}: 1 image directly in this folder and 2 in its subfolders")
    assert "layout='classes'" in told
    caplog.clear()
    assert names(list_folder(root, layout="flat")) == ["1.jpg", "a/2.jpg", "b/c/3.jpg"]
    assert list_folder(root, layout="flat").classes is None
    assert not caplog.messages
    assert names(list_folder(root, layout="classes")) == ["a/2.jpg", "b/c/3.jpg"]
    assert caplog.messages == [f"{root}: 1 image beside the folders, not read (1.jpg first)"]
    classes = fill(tmp_path.parent / "classes", "a/1.jpg")
    with pytest.raises(DataError, match=r"flat.*layout='classes'") as caught:
        list_folders([classes, root])
    assert caught.value.path == str(root)
    with pytest.raises(ValueError, match="layout"):
        list_folder(root, layout="tree")


def test_nothing_to_list(tmp_path: Path) -> None:
    fill(tmp_path, "a/x.txt", "file.jpg")
    for path, reason in (("a", "no images"), ("gone", "no such folder"), ("file.jpg", "not a folder")):
        with pytest.raises(DataError, match=reason) as caught:
            list_folder(tmp_path / path)
        assert caught.value.path == str(tmp_path / path)
    with pytest.raises(DataError, match="no folder"):
        list_folders([])
    with pytest.raises(DataError, match="subfolders"):
        list_folder(tmp_path, layout="classes")


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_links(tmp_path: Path) -> None:
    root = fill(tmp_path / "data", "a/1.jpg")
    fill(tmp_path / "elsewhere", "2.jpg")
    (root / "a" / "up").symlink_to(root)
    (root / "a" / "self").symlink_to(root / "a")
    (root / "b").symlink_to(tmp_path / "elsewhere")
    (root / "b" / "back").symlink_to(root / "b")
    (root / "a" / "gone.jpg").symlink_to(tmp_path / "nowhere")
    # An image that is a dangling link is listed: reading it says what is wrong, rather than nobody.
    assert names(list_folder(root)) == ["a/1.jpg", "a/gone.jpg", "b/2.jpg"]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_links_that_loop(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """As images they are listed, so that whoever reads them names them; others are told of."""
    root = fill(tmp_path / "root", "a/1.jpg", "b/2.jpg")
    (root / "a" / "x.jpg").symlink_to(root / "a" / "y.jpg")
    (root / "a" / "y.jpg").symlink_to("x.jpg")
    (root / "c").symlink_to("c")
    found = list_folder(root)
    assert (found.classes, names(found)) == (("a", "b"), ["a/1.jpg", "a/x.jpg", "a/y.jpg", "b/2.jpg"])
    assert [record.getMessage() for record in caplog.records] == [
        f"{root / 'c'}: passed over: {os.strerror(errno.ELOOP)}"
    ]


@pytest.mark.skipif(os.name == "nt", reason="names are Unicode there")
def test_names_that_are_not_utf8(tmp_path: Path, later: None) -> None:
    root = os.fsencode(tmp_path)
    try:
        os.mkdir(os.path.join(root, b"caf\xe9"))
        with open(os.path.join(root, b"caf\xe9", b"\xff\n.jpg"), "wb"):
            pass
    except OSError:
        pytest.skip("this file system takes UTF-8 only")
    for _ in range(3):
        found = list_folder(root)
        assert found.images.encoded(0) == os.path.join(root, b"caf\xe9/\xff\n.jpg")
        assert found.classes == (os.fsdecode(b"caf\xe9"),)


def test_the_memo_is_used_and_notices_changes(tmp_path: Path, later: None, scanned: list[str]) -> None:
    root = fill(tmp_path / "data", "a/1.jpg", "b/1.jpg", "b/c/1.jpg")
    first = list_folder(root)
    assert sorted(scanned) == ["a", "b", "c", "data"]
    scanned.clear()
    assert names(list_folder(root)) == names(first)
    assert scanned == []

    fill(root, "b/2.jpg")
    assert "b/2.jpg" in names(list_folder(root))
    assert scanned == ["b"]
    (root / "a" / "1.jpg").rename(root / "a" / "9.jpg")
    assert names(list_folder(root))[0] == "a/9.jpg"
    (root / "b" / "c" / "1.jpg").unlink()
    assert "b/c/1.jpg" not in names(list_folder(root))
    fill(root, "new/1.jpg")
    assert list_folder(root).classes == ("a", "b", "new")
    scanned.clear()
    list_folder(root, cache=False)
    assert len(scanned) == 5


def test_a_folder_that_has_just_changed_is_not_trusted(tmp_path: Path, scanned: list[str]) -> None:
    root = fill(tmp_path / "data", "a/1.jpg")
    list_folder(root)
    about = (root / "a").stat()
    fill(root, "a/2.jpg")
    os.utime(root / "a", ns=(about.st_atime_ns, about.st_mtime_ns))  # as if both fell into one tick of the clock
    scanned.clear()
    assert names(list_folder(root)) == ["a/1.jpg", "a/2.jpg"]
    assert "a" in scanned


@pytest.mark.parametrize(
    "harm",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[:40],
        lambda data: data[:-5] + b"\xff" + data[-4:],
        lambda data: b"\x80\x04garbage",
        lambda data: data + b"more",
    ],
)
def test_a_damaged_memo_is_replaced(
    tmp_path: Path, later: None, scanned: list[str], own_cache_folder: Path, harm
) -> None:
    root = fill(tmp_path / "data", "a/1.jpg", "b/1.jpg")
    expected = names(list_folder(root))
    (memo,) = memos(own_cache_folder)
    good = memo.read_bytes()
    memo.write_bytes(harm(good))
    scanned.clear()
    assert names(list_folder(root)) == expected
    assert len(scanned) == 3
    assert memo.read_bytes() == good
    assert [*memo.parent.iterdir()] == [memo]


def test_a_forged_memo_cannot_lead_outside(tmp_path: Path, later: None) -> None:
    root = fill(tmp_path / "data", "a/1.jpg")
    for _ in range(2):
        list_folder(root)
    path, about = b"a", (root / "a").stat()
    forged = listing.Scan(listing._times(about), b"../../../etc/x.jpg", b"")
    listing._remember(os.fsencode(root), {path: forged})
    assert names(list_folder(root)) == ["a/1.jpg"]


# PathTable: a list of paths that is small, and behaves as one.


# Names with :// are addresses, which no folder stands before.
NAMES = st.lists(
    st.binary(min_size=1, max_size=12).filter(lambda b: not (b.startswith(b"/") or b"\0" in b or b"://" in b)),
    max_size=20,
)
ROOTS = st.sampled_from([b"", b"/data", b"/data/", b"caf\xe9"])

pytestmark = pytest.mark.skipif(os.name == "nt", reason="paths as bytes are UTF-8 there")


def plain(names: list[bytes], root: bytes) -> list[str]:
    return [os.fsdecode(os.path.join(root, name)) for name in names]


@given(NAMES, ROOTS)
def test_it_is_the_list(names: list[bytes], root: bytes) -> None:
    table, expected = PathTable.from_paths(names, root=root), plain(names, root)
    assert list(table) == expected
    assert len(table) == len(names)
    assert [table[i - len(names)] for i in range(len(names))] == expected
    assert list(pickle.loads(pickle.dumps(table))) == expected
    assert [os.fsencode(path) for path in table] == [table.encoded(i) for i in range(len(table))]
    for bad in (len(names), -len(names) - 1):
        with pytest.raises(IndexError):
            table[bad]


@given(NAMES, ROOTS, NAMES, ROOTS, st.data())
def test_joined_and_taken(a: list[bytes], root_a: bytes, b: list[bytes], root_b: bytes, data: st.DataObject) -> None:
    table = PathTable.concat([PathTable.from_paths(a, root=root_a), PathTable.from_paths(b, root=root_b)])
    expected = plain(a, root_a) + plain(b, root_b)
    assert list(table) == expected
    assert len(table.roots) <= 2
    if expected:
        chosen = data.draw(st.lists(st.integers(-len(expected), len(expected) - 1)))
        assert list(table.take(chosen)) == [expected[i] for i in chosen]
        assert list(table.take(np.array(chosen, np.int32))) == [expected[i] for i in chosen]
        marks = data.draw(st.lists(st.booleans(), min_size=len(expected), max_size=len(expected)))
        assert list(table.take(np.array(marks))) == [p for p, m in zip(expected, marks, strict=True) if m]


# Places of tiles, read off file names.


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("tile_x1024_y2048.png", (1024, 2048)),
        ("tile_x1024y2048.png", (1024, 2048)),
        ("y7_x5.jpg", (5, 7)),
        ("a/b/X12_Y0.tif", (12, 0)),
        ("slide [x=1024,y=2048,w=512,h=512].jpg", (1024, 2048)),
        ("slide_x_30_y_40.png", (30, 40)),
        ("slide_1024_2048.png", (1024, 2048)),
        ("1024_2048.png", (1024, 2048)),
        ("slide_40x_1024_2048.png", (1024, 2048)),
        ("slide_40x_x5_y7.png", (5, 7)),
        ("slide(1024,2048).png", (1024, 2048)),
        ("TCGA-AA-3812_512_0.jpg", (512, 0)),
        ("a_1_2_3.png", (2, 3)),
        ("x1_y2/tile.png", NOWHERE),
        ("tumour_1.png", NOWHERE),
        ("max1_y2.png", NOWHERE),
        ("2023-01-05.png", NOWHERE),
        ("slide_1.5_3.png", NOWHERE),
        ("tile.png", NOWHERE),
        ("x99999999999999999999_y1.png", NOWHERE),
        ("", NOWHERE),
    ],
)
def test_schemes(name: str, place: tuple[int, int]) -> None:
    assert tile_position(name) == place
