"""The samples in HDF5 files, one a target, for programs that know no other: h5py, MATLAB, Julia, ImageJ …

    /data             all items of one shape: uint8 N×H×W×C (masks N×H×W), contiguous, not compressed;
                      else uint8, the bytes of all items one after another, and then also
    /offsets          int64 N, where each item begins in /data,
    /shapes           int32 N×3, height, width, channels (0 for a mask),
    /dtypes           text N: uint8, uint16 or int32
    /rows             int64 rows + 1: items rows[r] to rows[r + 1] belong to row r
    /columns/NAME     what is known of each row: labels, sources … (a slash in a name is a dot here)

`augrecipes` itself maps /data into memory: h5py is needed to write, not to read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import StoreError
from augrecipes.sources.store.columns import Texts
from augrecipes.sources.store.disk import free_bytes
from augrecipes.sources.store.format import DTYPES, Contents, StoreFormat

_PAGE = 4096
_SLAB = 1 << 24
_MORE = 1 << 16  # bytes that HDF5 may need beside the samples and columns


def _h5py() -> Any:
    try:
        import h5py
    except ImportError:
        raise StoreError("writing hdf5 needs h5py: pip install 'augrecipes[hdf5]'") from None
    return h5py


def _assemble(out: Path, contents: Contents) -> int:
    h5py = _h5py()
    sizes = [path.stat().st_size for path in contents.files]
    needed = sum(sizes) + sum(map(_bytes, [*contents.columns.values(), *contents.table.values()])) + _MORE
    if needed > (free := free_bytes(out.parent)):  # HDF5 takes the whole process down where a disk gets full
        why = (
            f"the disk is full: {needed:,} bytes are needed to assemble it, {free:,} are free: make room and run again"
        )
        raise StoreError(why, str(out))
    shape, dtype = _layout(contents, sum(sizes))
    # One fixed version of the layout (HDF5 1.8, of 2008): the same bytes for the same rows.
    how = {"libver": ("v108", "v108"), "alignment_threshold": 1, "alignment_interval": _PAGE}
    with h5py.File(out, "w", track_order=False, **how) as file:
        data, at = file.create_dataset("data", shape, dtype, track_times=False), 0
        for path, size in zip(contents.files, sizes, strict=True):
            if not size:
                continue
            items = np.memmap(path, np.dtype(dtype), "r").reshape(-1, *shape[1:])
            step = max(1, _SLAB // items[:1].nbytes)
            for first in range(0, len(items), step):
                part = items[first : first + step]
                data[at : at + len(part)] = part
                at += len(part)
        _describe(h5py, file, contents, flat=len(shape) == 1)
        return int(data.id.get_offset() or 0)


def _bytes(column: NDArray[Any] | Texts) -> int:
    return column.blob.nbytes + column.offsets.nbytes if isinstance(column, Texts) else column.nbytes


def _layout(contents: Contents, size: int) -> tuple[tuple[int, ...], str]:
    """N×H×W×C where all items are of one shape and dtype, else flat bytes."""
    shape, sample = contents.table["shape"], contents.table["sample"]
    if len(shape) and (shape == shape[0]).all() and (sample == sample[0]).all():
        height, width, channels = shape[0].tolist()
        return (len(shape), height, width, *([channels] if channels else [])), DTYPES[sample[0]].str
    return (size,), "u1"


def _describe(h5py: Any, file: Any, contents: Contents, *, flat: bool) -> None:
    def put(name: str, values: Any, dtype: Any = None) -> None:
        file.create_dataset(name, data=values, dtype=dtype, track_times=False)

    text, table = h5py.string_dtype("utf-8"), contents.table
    if flat:
        put("offsets", table["start"])
        put("shapes", table["shape"])
        put("dtypes", np.array([dtype.name for dtype in DTYPES], "S")[table["sample"]])
    put("rows", table["rows"])
    for name, column in contents.columns.items():
        place = f"columns/{name.replace('/', '.')}"
        if isinstance(column, Texts):
            put(place, np.array([value.encode("utf-8", "surrogateescape") for value in column], object), text)
        else:
            put(place, column)


FORMAT = StoreFormat(name="hdf5", suffix=".h5", alignment=1, assemble=_assemble, ready=_h5py)
