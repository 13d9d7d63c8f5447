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

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import StoreError
from augrecipes.store.columns import DTYPES, Texts

# One fixed version of the layout (HDF5 1.8, of 2008): the same bytes for the same rows.
_HOW = {"libver": ("v108", "v108"), "alignment_threshold": 1, "alignment_interval": 4096}
_MORE = 1 << 16  # bytes that HDF5 may need beside the samples and columns


def h5py() -> Any:
    """Returns the package that writes. StoreError where it is not installed."""
    try:
        import h5py
    except ImportError:
        raise StoreError("writing hdf5 needs h5py: pip install 'augrecipes[hdf5]'") from None
    return h5py


def assemble(
    out: Path,
    staged: Sequence[Path],
    table: Mapping[str, NDArray[Any]],
    columns: Mapping[str, NDArray[Any] | Texts],
) -> int:
    """Writes the items of a target from staged files, and returns where the first one begins in `out`.

    Args:
        out: the file.
        staged: the items one after another, from file to file.
        table: what is known of each item: `augrecipes.store.items.Items`; `start` counts over all files.
        columns: those of the caller.
    """
    lib, shape, sample = h5py(), table["shape"], table["sample"]
    arrays = [one for column in columns.values() for one in _arrays(column)] + [*table.values()]
    needed = sum(path.stat().st_size for path in staged) + sum(array.nbytes for array in arrays) + _MORE
    free = shutil.disk_usage(out.parent).free
    if needed > free:  # HDF5 takes the whole process down where a disk gets full
        why = f"the disk is full: {needed:,} bytes are needed to assemble it, {free:,} are free"
        raise StoreError(f"{why}: make room and run again", str(out))
    alike = len(shape) > 0 and bool((shape == shape[0]).all() and (sample == sample[0]).all())
    dims, dtype = [n for n in shape[0].tolist() if n] if alike else [], DTYPES[sample[0] if alike else 0]
    parts = [np.memmap(path, dtype, "r").reshape(-1, *dims) for path in staged if path.stat().st_size]
    with lib.File(out, "w", track_order=False, **_HOW) as file:
        data, at = file.create_dataset("data", (sum(map(len, parts)), *dims), dtype, track_times=False), 0
        for part in parts:
            data[at : at + len(part)] = part
            at += len(part)
        found: dict[str, Any] = {"rows": table["rows"]}
        if not alike:
            names = np.array([dtype.name for dtype in DTYPES], "S")
            found |= {"offsets": table["start"], "shapes": shape, "dtypes": names[sample]}
        found |= {f"columns/{name.replace('/', '.')}": column for name, column in columns.items()}
        for name, column in found.items():
            how: dict[str, Any] = {"data": column}
            if isinstance(column, Texts):
                texts = [value.encode("utf-8", "surrogateescape") for value in column]
                how = {"data": np.array(texts, object), "dtype": lib.string_dtype("utf-8")}
            file.create_dataset(name, track_times=False, **how)
        return int(data.id.get_offset() or 0)


def _arrays(column: NDArray[Any] | Texts) -> Sequence[NDArray[Any]]:
    return [column.blob, column.offsets] if isinstance(column, Texts) else [column]
