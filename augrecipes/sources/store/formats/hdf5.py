"""The samples in HDF5 files, one a target, for programs that know no other: h5py, MATLAB, Julia, ImageJ …

    /data             all items of one shape: uint8 N×H×W×C (masks N×H×W), contiguous, not compressed;
                      else uint8, the bytes of all items one after another, and then also
    /offsets          int64 N, where each item begins in /data,
    /shapes           int32 N×3, height, width, channels (0 for a mask),
    /dtypes           text N: uint8, uint16 or int32
    /rows             int64 rows + 1: items rows[r] to rows[r + 1] belong to row r
    /columns/NAME     what is known of each row: labels, sources … (a slash in a name is a dot here)

`augrecipes` itself maps /data into memory: h5py is needed to write, not to read. The items are written while the file
is no HDF5 file yet: HDF5 is asked where it would put such data, that much is left free at the beginning, and what it
writes around the data is added at the end. So a run that was interrupted can go on; a file that HDF5 was writing could
not be saved.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from augrecipes.errors import StoreError
from augrecipes.sources.store.columns import Texts
from augrecipes.sources.store.format import DTYPES, Contents, Frame, StoreFormat

if TYPE_CHECKING:
    import h5py

_PAGE = 4096


class _WithoutItems(io.RawIOBase):
    """A file in memory with a hole: what is written between `start` and `end` is dropped, and reads as zeros.

    HDF5 is not let near the disk: where that is full, it takes the whole process down.
    """

    def __init__(self, start: int, end: int) -> None:
        self.head, self.tail = bytearray(start), bytearray()
        self._end, self._at, self._size = end, 0, 0

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset if whence == io.SEEK_SET else self._size + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        view[:] = bytes(len(view))
        for part, start in ((self.head, 0), (self.tail, self._end)):
            low, high = max(self._at, start), min(self._at + len(view), start + len(part))
            if low < high:
                view[low - self._at : high - self._at] = part[low - start : high - start]
        return len(view)

    def write(self, data: Any) -> int:
        end = self._at + len(data)
        self.truncate(max(self._size, end))
        for part, start in ((self.head, 0), (self.tail, self._end)):
            low, high = max(self._at, start), min(end, start + len(part))
            if low < high:
                part[low - start : high - start] = data[low - self._at : high - self._at]
        return len(data)

    def truncate(self, size: int | None = None) -> int:
        self._size = self._at if size is None else size
        length = max(0, self._size - self._end)
        del self.tail[length:]
        self.tail.extend(bytes(length - len(self.tail)))
        return self._size


def _head(target: str) -> int:
    """Where HDF5 puts the first data of a file, whatever their shape."""
    with _created(_WithoutItems(0, 0), target) as file:
        return int(_contiguous(file, (1,), "u1").id.get_offset())


def _frame(contents: Contents) -> Frame:
    """Lets HDF5 write the file without its data, and returns what it wrote around them."""
    frame = _WithoutItems(contents.head, contents.end)
    with _created(frame, contents.target) as file:
        shape, dtype = _layout(contents)
        offset = _contiguous(file, shape, dtype).id.get_offset()
        if contents.end > contents.head and offset != contents.head:
            raise StoreError(f"HDF5 puts data at {offset}, not at {contents.head}; discard it and pack again")
        _describe(file, contents, flat=len(shape) == 1)
    return bytes(frame.head), bytes(frame.tail)


def _created(frame: _WithoutItems, target: str) -> h5py.File:
    try:
        import h5py
    except ImportError:
        raise StoreError("writing hdf5 needs h5py: pip install 'augrecipes[hdf5]'") from None
    # One fixed version of the layout (HDF5 1.8, of 2008), and every block at a page: nothing depends on sizes.
    v18 = ("v108", "v108")
    file = h5py.File(frame, "w", libver=v18, alignment_threshold=1, alignment_interval=_PAGE, track_order=False)
    file.attrs["target"] = target
    return file


def _contiguous(file: h5py.File, shape: tuple[int, ...], dtype: str) -> h5py.Dataset:
    """A data set whose bytes have their place at once, and are left as they are."""
    import h5py

    how = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    how.set_layout(h5py.h5d.CONTIGUOUS)
    how.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    how.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    how.set_obj_track_times(False)
    kind = h5py.h5t.py_create(np.dtype(dtype))
    return h5py.Dataset(h5py.h5d.create(file.id, b"data", kind, h5py.h5s.create_simple(shape), how))


def _layout(contents: Contents) -> tuple[tuple[int, ...], str]:
    """N×H×W×C where all items are of one shape and dtype, else flat bytes."""
    shape, sample = contents.table["shape"], contents.table["sample"]
    if len(shape) and (shape == shape[0]).all() and (sample == sample[0]).all():
        height, width, channels = shape[0].tolist()
        return (len(shape), height, width, *([channels] if channels else [])), DTYPES[sample[0]].str
    return (contents.end - contents.head,), "u1"


def _describe(file: h5py.File, contents: Contents, *, flat: bool) -> None:
    import h5py

    def put(name: str, values: Any, dtype: Any = None) -> None:
        file.create_dataset(name, data=values, dtype=dtype, track_times=False)

    text, table = h5py.string_dtype("utf-8"), contents.table
    if flat:
        put("offsets", table["start"] - contents.head)
        put("shapes", table["shape"])
        put("dtypes", np.array([dtype.name for dtype in DTYPES], "S")[table["sample"]])
    put("rows", table["rows"])
    for name, column in contents.columns.items():
        place = f"columns/{name.replace('/', '.')}"
        if isinstance(column, Texts):
            put(place, np.array([value.encode("utf-8", "surrogateescape") for value in column], object), text)
        else:
            put(place, column)


FORMAT = StoreFormat(name="hdf5", suffix=".h5", alignment=1, head=_head, frame=_frame)
