"""Columns come back as they were given, read-only; what cannot be kept is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examples import DEAR
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from support import stores

from augrecipes.errors import StoreError
from augrecipes.store import StoreWriter, columns, open_store
from augrecipes.store.columns import Texts
from augrecipes.store.disk import map_file

_numbers = arrays.arrays(
    st.one_of(
        arrays.integer_dtypes(), arrays.unsigned_integer_dtypes(), arrays.floating_dtypes(), st.just(np.dtype("?"))
    ),
    arrays.array_shapes(min_dims=1, min_side=0, max_side=4),
)


@DEAR
@given(
    st.dictionaries(st.sampled_from(["a", "b/c", "dé"]), _numbers | st.lists(st.text("ab é", max_size=3)), min_size=1)
)
def test_columns_come_back(given_columns: dict[str, Any]) -> None:
    tables = columns.tables_of(given_columns)
    blob = columns.render(tables)
    assert columns.render(dict(reversed(tables.items()))) == blob
    with stores.quick_folder() as folder:
        (folder / "columns").write_bytes(blob)
        found = columns.load(map_file(folder / "columns", len(blob)), "columns")
        with np.load(folder / "columns") as others:
            assert all(name in others or f"{name}.text" in others for name in given_columns)
    assert found.keys() == given_columns.keys()
    for name, column in given_columns.items():
        if isinstance(column, list):
            assert list(found[name]) == column
        else:
            assert found[name].dtype == column.dtype.newbyteorder("=")
            assert np.array_equal(found[name], column, equal_nan=column.dtype.kind == "f")
            assert not found[name].flags.writeable
            assert found[name].flags.aligned


def test_texts_behave_as_a_sequence() -> None:
    texts = Texts.of(["a", "", "ü"])
    assert (len(texts), texts[-1], texts[1], list(texts)) == (3, "ü", "", ["a", "", "ü"])
    for index in (3, -4):
        with pytest.raises(IndexError):
            _ = texts[index]
    assert list(Texts.of([])) == []


@pytest.mark.parametrize(
    ("name", "column", "reason"),
    [
        ("label", np.array(["a"]), "numbers and booleans"),
        ("label", np.array([None]), "numbers and booleans"),
        ("label", np.array([1j]), "numbers and booleans"),
        ("label", [1, 2], "neither an array nor a list of str"),
        ("label", ["a\0b"], "cannot be kept"),
        ("label", ["\ud800"], "neither an array nor a list of str"),
        ("label", ["\udcc3\udca9"], "cannot be kept"),
        ("items/image/start", np.zeros(1), "cannot be named"),
        ("../label", np.zeros(1), "cannot be named"),
        ("", np.zeros(1), "cannot be named"),
    ],
)
def test_what_is_no_column(name: str, column: Any, reason: str, tmp_path: Path) -> None:
    with StoreWriter(tmp_path / "s", format="raw", kind="image", targets={"image": "image"}, rows=0) as writer:
        with pytest.raises(StoreError, match=reason):
            writer.finish({name: column})
        writer.finish({"label": np.zeros(0)})
    assert open_store(tmp_path / "s").columns["label"].shape == (0,)


@pytest.mark.parametrize("about", [{"a": {1, 2}}, {"a": float("nan")}, {"a": object()}])
def test_what_is_not_json(about: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="must be JSON"):
        stores.opened(tmp_path / "s", "raw", stores.rows(), about=about)
    assert list(tmp_path.iterdir()) == []


def test_more_is_said_at_the_end(tmp_path: Path) -> None:
    with StoreWriter(
        tmp_path / "s", format="raw", kind="image", targets={"image": "image"}, rows=0, about={"a": 1, "b": (2,)}
    ) as writer:
        writer.finish(about={"a": 3, "c": {"unreadable": ["x.jpg"]}})
    assert open_store(tmp_path / "s").about == {"a": 3, "b": [2], "c": {"unreadable": ["x.jpg"]}}
