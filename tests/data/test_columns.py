"""Sources of columns: a dict of arrays, an HDF5 file; their rows are samples."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import augrecipes as ar
from augrecipes.sources import rows
from augrecipes.sources.rows import OpenedSource


@given(st.dictionaries(st.sampled_from(["image", "label", "id", "other"]), st.integers(0, 4), min_size=1))
def test_law_columns_of_one_length_are_rows(lengths: dict[str, int]) -> None:
    """Whatever the columns are called: of one length they are rows, of several an error says each."""
    columns = {name: np.arange(10 * count).reshape(count, 10) for name, count in lengths.items()}
    if len(set(lengths.values())) > 1:
        with pytest.raises(TypeError, match="columns of a source have one length") as raised:
            OpenedSource(columns)
        assert all(f"{name}: {count}" in str(raised.value) for name, count in lengths.items())
        return
    source = OpenedSource(lambda: columns)
    assert len(source) == next(iter(lengths.values()))
    for index in range(len(source)):
        row = source.row(index)
        assert row.keys() == columns.keys()
        assert all((value == columns[name][index]).all() for name, value in row.items())


def test_columns_of_an_hdf5_file_and_splits(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    pictures = np.random.default_rng(0).integers(0, 256, (5, 140, 150, 3), np.uint8)
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["image"], file["label"] = pictures, np.arange(5)
    ds = ar.Samples(partial(h5py.File, tmp_path / "data.h5"), "folder-128")
    expected = ar.Samples([{"image": picture, "label": k} for k, picture in enumerate(pictures)], "folder-128")
    assert len(ds) == 5
    for k in range(5):
        assert (ds[k]["label"], ds[k]["image"].tolist()) == (k, expected[k]["image"].tolist())
    with pytest.raises(TypeError, match=r"holds splits, train, test: give one of them, source\['train'\]"):
        ar.Samples({"train": list(pictures), "test": list(pictures)}, "folder-128")


def test_a_fault_that_is_planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of the next sample's values would be noticed."""
    monkeypatch.setattr(
        rows.NamedColumns, "__getitem__", lambda self, k: {n: c[k - 1] for n, c in self.columns.items()}
    )
    with pytest.raises(AssertionError):
        test_law_columns_of_one_length_are_rows.hypothesis.inner_test({"image": 3})  # type: ignore[attr-defined]
