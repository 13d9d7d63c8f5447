"""Writers of small TIFF, PNG, PNM and NPY files of more than 8 bits per sample, from the arrays to read back."""

import io
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

FORMATS = {"u": 1, "i": 2, "f": 3}
_TYPES = {"H": 3, "I": 4, "Q": 16}


def numbers(dtype: str, channels: int, size: tuple[int, int] = (37, 53), seed: int = 0) -> NDArray[Any]:
    """Draw an array H×W×C over the whole range of an integer dtype, or normal floats."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return (rng.normal(size=(*size, channels)) * 1000).astype(dtype)
    least, most = np.iinfo(dtype).min, int(np.iinfo(dtype).max)
    return rng.integers(least, most, (*size, channels), dtype, endpoint=True)


def _differences(block: NDArray[Any], predictor: int) -> NDArray[Any]:
    """Apply a TIFF predictor to a block of rows × columns × samples."""
    if predictor == 2:
        levels = block.view(f"{block.dtype.byteorder}u{block.dtype.itemsize}".replace("|", "")).copy()
        levels[:, 1:] -= levels[:, :-1].copy()
        return levels
    if predictor == 3:
        rows, columns, samples = block.shape
        planes = block.astype(block.dtype.newbyteorder(">")).view(np.uint8).reshape(rows, columns * samples, -1)
        steps = np.ascontiguousarray(planes.swapaxes(1, 2)).reshape(rows, -1, samples)
        steps[:, 1:] -= steps[:, :-1].copy()
        return steps
    return block


def tiff(
    *pages: NDArray[Any], order: str = "<", block: tuple[int, int] | None = None, tiles: bool = False,
    planar: bool = False, predictor: int = 1, packed: bool = False, photometric: int | None = None,
    extra: int | None = None, turn: int = 1, big: bool = False,
) -> bytes:  # fmt: skip
    """Encode arrays H×W×C as a TIFF, a page each, in strips or tiles."""
    data = bytearray((b"II" if order == "<" else b"MM") + struct.pack(order + "H", 42 + big))
    data += struct.pack(order + "HHQ", 8, 0, 0) if big else struct.pack(order + "I", 0)
    link, place = len(data) - (8 if big else 4), "Q" if big else "I"
    for page in pages:
        array = np.ascontiguousarray(page, page.dtype.newbyteorder(order))
        height, width, samples = array.shape
        tall, wide = block or (height, width)
        starts, sizes = [], []
        for plane in [array[:, :, k : k + 1] for k in range(samples)] if planar else [array]:
            for y in range(0, height, tall):
                for x in range(0, width, wide):
                    part = plane[y : y + tall, x : x + wide]
                    if tiles:
                        room = (tall - part.shape[0], wide - part.shape[1])
                        part = np.pad(part, [(0, room[0]), (0, room[1]), (0, 0)])
                    raw = _differences(np.ascontiguousarray(part), predictor).tobytes()
                    raw = zlib.compress(raw) if packed else raw
                    starts, sizes = [*starts, len(data)], [*sizes, len(raw)]
                    data += raw
        colours = 3 if photometric == 2 else 1
        tags: dict[int, tuple[str, list[int]]] = {
            256: ("I", [width]), 257: ("I", [height]), 258: ("H", [8 * array.itemsize] * samples),
            259: ("H", [8 if packed else 1]), 262: ("H", [1 if photometric is None else photometric]),
            274: ("H", [turn]), 277: ("H", [samples]), 284: ("H", [2 if planar else 1]), 317: ("H", [predictor]),
            339: ("H", [FORMATS[array.dtype.kind]] * samples),
        }  # fmt: skip
        tags |= {338: ("H", [extra or 0] + [0] * (samples - colours - 1))} if samples > colours else {}
        tags |= {322: ("I", [wide]), 323: ("I", [tall])} if tiles else {278: ("I", [tall])}
        tags |= {324 if tiles else 273: (place, starts), 325 if tiles else 279: (place, sizes)}
        entries = b""
        for tag, (kind, values) in sorted(tags.items()):
            raw = struct.pack(order + kind * len(values), *values)
            if len(raw) > struct.calcsize(place):
                raw, data = struct.pack(order + place, len(data)), data + raw
            room = struct.calcsize(place)
            entries += struct.pack(order + "HH" + place, tag, _TYPES[kind], len(values)) + raw.ljust(room, b"\0")
        struct.pack_into(order + place, data, link, len(data))
        data += struct.pack(order + ("Q" if big else "H"), len(tags)) + entries + bytes(struct.calcsize(place))
        link = len(data) - struct.calcsize(place)
    return bytes(data)


def png(array: NDArray[np.uint16], turn: int = 1) -> bytes:
    """Encode grey, grey and alpha, RGB or RGBA as a 16-bit PNG, rows with the filter Sub."""
    height, width, samples = array.shape
    rows = array.astype(">u2").view(np.uint8).reshape(height, -1)
    left = np.pad(rows, [(0, 0), (2 * samples, 0)])[:, : -2 * samples]
    stored = np.hstack([np.ones((height, 1), np.uint8), rows - left]).tobytes()
    kind = {1: 0, 2: 4, 3: 2, 4: 6}[samples]
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 16, kind, 0, 0, 0))]
    chunks += [(b"eXIf", b"II*\0" + struct.pack("<IHHHIHHI", 8, 1, 0x112, 3, 1, turn, 0, 0))]
    chunks += [(b"IDAT", zlib.compress(stored)), (b"IEND", b"")]
    pieces = (struct.pack(">I", len(c)) + name + c + struct.pack(">I", zlib.crc32(name + c)) for name, c in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(pieces)


def pnm(array: NDArray[np.uint16], most: int = 65535) -> bytes:
    """Encode a 16-bit PGM or PPM."""
    height, width, samples = array.shape
    return f"P{5 if samples == 1 else 6} {width} {height} {most}\n".encode() + array.astype(">u2").tobytes()


def npy(array: NDArray[Any]) -> bytes:
    """Encode an array as `.npy`."""
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def turned(array: NDArray[Any], how: int) -> NDArray[Any]:
    """Turn an array by an EXIF orientation, 1 to 8."""
    moves: dict[int, Any] = {
        1: lambda a: a, 2: lambda a: a[:, ::-1], 3: lambda a: a[::-1, ::-1], 4: lambda a: a[::-1],
        5: lambda a: a.swapaxes(0, 1), 6: lambda a: a[::-1].swapaxes(0, 1),
        7: lambda a: a[::-1, ::-1].swapaxes(0, 1), 8: lambda a: a[:, ::-1].swapaxes(0, 1),
    }  # fmt: skip
    return moves[how](array)
