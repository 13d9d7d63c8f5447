# pathlib has no names that are bytes.
# ruff: noqa: PTH118
"""PathTable: a list of paths that is small, and behaves as one."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augrecipes.sources.paths import PathTable

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


def test_absolute_paths_stay_and_zero_bytes_do_not() -> None:
    assert PathTable.from_paths(["/a/b.png"], root="/c")[0] == "/a/b.png"
    with pytest.raises(ValueError, match="zero byte"):
        PathTable.from_paths(["a\0b"])
    with pytest.raises(IndexError):
        PathTable.from_paths(["a"]).take([1])
    with pytest.raises(IndexError):
        PathTable.from_paths(["a"]).take(np.array([True, False]))


def test_a_hundred_thousand_pickle_small() -> None:
    names = [f"class{i % 100:03}/{i:08}.jpg" for i in range(100_000)]
    table = PathTable.from_paths(names, root="/some/where")
    size = len(pickle.dumps(table))
    assert size < sum(map(len, names)) + 12 * len(names) + 1000
    assert table[54_321].endswith("class021/00054321.jpg")
