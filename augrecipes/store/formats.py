"""How images and masks become bytes in the files of a store, and come back: one record a format, and `make_item`.

raw: the samples themselves, one item after another, each at a multiple of 64 bytes, read by mapping the file.
lossless: compressed tiles, about as large as PNGs, read one by one.
jpeg: JPEG files one after another, small, slower to read, and not exactly what was given; masks are raw. An image that
is a JPEG already may be kept with its own coefficients (`augrecipes.packing.bake.kept`): they are exactly what
was given. Of others chroma is kept at full resolution (4:4:4); a restart marker after each row of blocks lets a reader
of a window skip what lies above it, for a sixth of a percent more bytes.
hdf5: the samples in HDF5 files, one a target, for programs that know no other: h5py, MATLAB, Julia, ImageJ …

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import cv2
import numpy as np
import simplejpeg
from numpy.typing import NDArray

from augrecipes.errors import DataError, StoreError
from augrecipes.images import lossless
from augrecipes.store.columns import DTYPES, Texts
from augrecipes.store.disk import crc32

Role = Literal["image", "mask"]
Assemble = Callable[[Path, Sequence[Path], Mapping[str, NDArray[Any]], Mapping[str, NDArray[Any] | Texts]], int]

_SPACES = {1: "GRAY", 3: "RGB"}
_LONGEST = 65_500  # libjpeg's limit
_BLOCK = 8  # px
_JFIF = b"\xff\xe0"  # how plain files go on behind the first marker
_SLAB = 1 << 22  # bytes of an array that is not contiguous, copied at a time


@dataclass(frozen=True, slots=True)
class StoreFormat:
    """How items lie in a file.

    Attributes:
        name: what users call it.
        suffix: of the files.
        alignment: items begin at multiples of so many bytes, and of their samples' size; zeros lie between.
        encode: array and quality (1 to 100) to bytes; None where the samples themselves are kept, in C order,
            little-endian.
        decode: bytes and number of channels to an array; None as in `encode`.
        assemble: writes all items of a target, from staged files, into one file, and returns where the first begins.
        ready: raises StoreError where the format cannot be assembled here, before anything is written.
        masks: the format that masks are kept in, where this one cannot keep them.
        lossless: whether what is encoded comes back as it was, of any dtype.
        undecoded: the bytes and a name to an image of which parts are decoded (`Decodable`); for formats of its own.
    """

    name: str
    suffix: str
    alignment: int = 1
    encode: Callable[[NDArray[Any], int], bytes] | None = None
    decode: Callable[[memoryview, int], NDArray[Any]] | None = None
    assemble: Assemble | None = None
    ready: Callable[[], object] = lambda: None
    masks: StoreFormat | None = None
    lossless: bool = False
    undecoded: Callable[[memoryview, str], Any] | None = None

    def of(self, role: Role) -> StoreFormat:
        """Returns the format that targets of `role` are kept in."""
        return self.masks if role == "mask" and self.masks else self


@contextmanager
def _format_errors() -> Iterator[None]:
    """Turns what cannot be decoded into a ValueError, and a package that is missing into a StoreError."""
    try:
        yield
    except ImportError as error:
        raise StoreError(f"{error}: pip install 'augrecipes[lossless]'") from None
    except DataError as error:
        raise ValueError(error.reason) from None


def _jpeg(array: NDArray[Any], quality: int) -> bytes:
    height, width, channels = array.shape
    if channels not in _SPACES:
        raise StoreError(f"JPEG keeps 1 or 3 channels, not {channels}; pack as raw, lossless or hdf5")
    if max(height, width) > _LONGEST:
        what = f"up to {_LONGEST:,} rows and columns, not {height:,}×{width:,}"
        raise StoreError(f"JPEG keeps {what}; pack as raw, lossless or hdf5")
    options = [
        *(cv2.IMWRITE_JPEG_QUALITY, quality),
        *(cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444),
        *(cv2.IMWRITE_JPEG_RST_INTERVAL, -(-width // _BLOCK)),
    ]
    pixels = array if channels == 1 else cv2.cvtColor(np.ascontiguousarray(array), cv2.COLOR_RGB2BGR)
    return cv2.imencode(".jpg", pixels, options)[1].tobytes()


def _of_jpeg(data: memoryview, channels: int) -> NDArray[np.uint8]:
    if data[2:4] == _JFIF and channels in _SPACES:
        with suppress(ValueError):
            return np.asarray(simplejpeg.decode_jpeg(data, _SPACES[channels]))
    # A file that is kept as it is may be turned, CMYK, or in a layout that simplejpeg does not know.
    from augrecipes.images.encoded import encoded

    with _format_errors():
        return encoded(bytes(data), name="it", channels=channels).array()


def _tiles(array: NDArray[Any], _: int) -> bytes:
    with _format_errors():
        return lossless.encode(array)


def _of_tiles(data: memoryview, _: int) -> NDArray[Any]:
    with _format_errors():
        return lossless.LosslessImage(data, checked=True).array()


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


_RAW = StoreFormat("raw", ".bin", alignment=64)
FORMATS: dict[str, StoreFormat] = {
    "hdf5": StoreFormat("hdf5", ".h5", assemble=assemble, ready=h5py),
    "jpeg": StoreFormat("jpeg", ".jpgs", encode=_jpeg, decode=_of_jpeg, masks=_RAW),
    "lossless": StoreFormat(
        "lossless", ".tiles", encode=_tiles, decode=_of_tiles, lossless=True, undecoded=lossless.LosslessImage
    ),
    "raw": _RAW,
}


class Item(NamedTuple):
    """What a store keeps of one array. Pickles, so that worker processes can make items.

    Attributes:
        data: the samples (an array), or what a format encoded them to (bytes).
        shape: height, width, channels; 0 channels for a mask.
        sample: place of its dtype in `DTYPES`.
        size: bytes.
        checksum: CRC-32 of the bytes.
    """

    data: NDArray[Any] | bytes
    shape: tuple[int, int, int]
    sample: int
    size: int
    checksum: int


def make_item(array: NDArray[Any], *, format: str, role: Role, quality: int = 95) -> Item:
    """Encodes and checksums an array, as `StoreWriter.add` would: for worker processes.

    Args:
        array: uint8 H×W×C for an image; uint8, uint16 or int32 H×W for a mask.
        format: name of a storage format.
        role: whether it is an image or a mask.
        quality: 1 to 100, for formats that lose something.

    Raises:
        StoreError: a store, or this format, cannot keep such an array.

    >>> item = make_item(np.zeros((2, 3, 3), np.uint8), format="raw", role="image")
    >>> item.shape, item.size
    ((2, 3, 3), 18)
    """
    return item_of(array, FORMATS[format].of(role), role, quality)


def item_of(array: NDArray[Any], kept: StoreFormat, role: Role, quality: int) -> Item:
    """Makes an item, for a format that is looked up already."""
    shape, sample = _checked(array, role)
    encode = kept.encode
    data = array.astype(DTYPES[sample], copy=False) if encode is None else encode(array, quality)
    size = checksum = 0
    for piece in pieces(data):
        size, checksum = size + len(piece), crc32(piece, checksum)
    return Item(data, shape, sample, size, checksum)


def encoded_item(data: bytes, array: NDArray[Any]) -> Item:
    """Makes an item of the bytes of a JPEG that decodes to an image, `array`."""
    shape, sample = _checked(array, "image")
    return Item(data, shape, sample, len(data), crc32(data))


def decodes_to(array: NDArray[Any], data: bytes) -> bool:
    """Whether a store gives these pixels for these bytes of a JPEG."""
    try:
        return np.array_equal(_of_jpeg(memoryview(data), array.shape[2]), array)
    except ValueError:
        return False


def pieces(data: NDArray[Any] | bytes) -> Iterator[memoryview]:
    """The bytes of an item in order: at once where they lie together, else copied a slab of rows at a time."""
    if isinstance(data, bytes):
        yield memoryview(data)
    elif data.flags.c_contiguous:
        yield data.reshape(-1).view(np.uint8).data
    else:
        rows = max(1, _SLAB * len(data) // data.nbytes)
        for top in range(0, len(data), rows):
            yield np.ascontiguousarray(data[top : top + rows]).reshape(-1).view(np.uint8).data


def _checked(array: NDArray[Any], role: Role) -> tuple[tuple[int, int, int], int]:
    """The shape of an array, and the place of its dtype in `DTYPES`. StoreError where a store keeps no such array."""
    dimensions, dtypes = (3, DTYPES[:1]) if role == "image" else (2, DTYPES)
    dtype, said = array.dtype.newbyteorder("<"), "×".join(map(str, array.shape))
    if array.ndim != dimensions or dtype not in dtypes:
        allowed = "uint8 H×W×C" if role == "image" else "uint8, uint16 or int32 H×W"
        raise StoreError(f"a store keeps a {role} as {allowed}, not as {array.dtype} {said}")
    if not array.size or max(array.shape) >= 2**31:
        raise StoreError(f"a {role} of {said} has no pixels, or too many")
    height, width, channels = (*array.shape, 0)[:3]
    return (height, width, channels), DTYPES.index(dtype)
