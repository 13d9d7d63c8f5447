"""What is particular to one format."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
from support import stores

from augrecipes.store import StoreWriter

ROWS = stores.rows()


def test_raw_items_begin_at_lines_of_the_cache(tmp_path: Path) -> None:
    store = stores.write(tmp_path / "s", "raw")
    for target in store.targets:
        assert (store.tables[target].start % 64 == 0).all()


def test_hdf5_of_one_shape_is_read_by_others(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pictures, masks = rng.integers(0, 256, (3, 5, 7, 3), np.uint8), rng.integers(0, 9000, (3, 5, 7)).astype("u2")
    with StoreWriter(
        tmp_path / "s", format="hdf5", kind="image", targets={"image": "image", "mask": "mask"}, rows=3
    ) as writer:
        for row in range(3):
            writer.add(row, {"image": [pictures[row]], "mask": [masks[row]]})
        writer.finish({"label": np.array([3, 1, 2]), "source": ["a", "é", "b\udcff"], "source/mask": ["x", "y", "z"]})
    with h5py.File(tmp_path / "s" / "image-00000.h5") as file:
        assert (file["data"].shape, file["data"].dtype, file["data"].chunks) == ((3, 5, 7, 3), np.uint8, None)
        assert np.array_equal(file["data"][:], pictures)
        assert np.array_equal(file["data"][1], pictures[1])
        assert file["columns/label"][:].tolist() == [3, 1, 2]
        assert file["columns/source"][:].tolist() == [b"a", "é".encode(), b"b\xff"]
        assert file["columns/source.mask"].asstr()[0] == "x"
        assert file["rows"][:].tolist() == [0, 1, 2, 3]
        assert set(file) == {"data", "rows", "columns"}
    with h5py.File(tmp_path / "s" / "mask-00000.h5") as file:
        assert file["data"].dtype == np.uint16
        assert np.array_equal(file["data"][:], masks)


def test_hdf5_of_many_shapes_is_read_by_others(tmp_path: Path) -> None:
    stores.write(tmp_path / "s", "hdf5")
    for target in stores.TARGETS:
        arrays = [array for row in ROWS for array in row.get(target, [])]
        with h5py.File(tmp_path / "s" / f"{target}-00000.h5") as file:
            assert file["data"].ndim == 1
            for at, shape, dtype, array in zip(file["offsets"], file["shapes"], file["dtypes"], arrays, strict=True):
                found = file["data"][at : at + array.nbytes].view(np.dtype(dtype.decode()).newbyteorder("<"))
                assert np.array_equal(found.reshape([n for n in shape if n]), array)


def test_what_is_not_encoded_is_its_array(tmp_path: Path) -> None:
    for format, target in (("raw", "image"), ("hdf5", "image"), ("jpeg", "mask")):
        store = stores.write(tmp_path / format, format)
        assert np.array_equal(store.encoded(target, 0), ROWS[0][target][0])
