"""TIFFs of every layout: drawn samples, written as strips or tiles, packed, in either byte order."""

from __future__ import annotations

import random
import struct
import zlib
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

PLAIN, LZW, DEFLATE, OLD_DEFLATE, PACKBITS = 1, 5, 8, 32946, 32773
WHITE_IS_ZERO, BLACK_IS_ZERO, RGB, PALETTE, CMYK = 0, 1, 2, 3, 5
SAMPLES = {WHITE_IS_ZERO: (1, 2), BLACK_IS_ZERO: (1, 2), RGB: (3, 4), PALETTE: (1,), CMYK: (4,)}
BITS = {
    WHITE_IS_ZERO: (1, 2, 4, 8, 16),
    BLACK_IS_ZERO: (1, 2, 4, 8, 16),
    RGB: (8, 16),
    PALETTE: (1, 2, 4, 8),
    CMYK: (8,),
}
REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


@dataclass(frozen=True)
class Drawn:
    """A TIFF that is to be written: `samples` H×W×S, and how."""

    samples: NDArray[np.uint16]
    photometric: int
    bits: int
    packing: int
    part: tuple[int, int]
    tiled: bool = False
    separate: bool = False
    predictor: int = 1
    fill: int = 1
    endian: str = "<"

    def __str__(self) -> str:
        return str(
            {name: value for name, value in vars(self).items() if name != "samples"} | {"size": self.samples.shape}
        )


def draw(rng: random.Random) -> Drawn:
    """Any that this package reads by itself."""
    photometric = rng.choice(list(SAMPLES))
    bits, count, tiled = rng.choice(BITS[photometric]), rng.choice(SAMPLES[photometric]), rng.random() < 0.3
    height, width = rng.randint(1, 40), rng.randint(1, 40)
    part = (16 * rng.randint(1, 2), 16 * rng.randint(1, 2)) if tiled else (rng.choice([1, 2, 7, height, 99]), width)
    numbers = np.random.default_rng(rng.getrandbits(32))
    small = numbers.integers(0, 2**bits, (4, 4, count))
    samples = np.kron(small, np.ones((-(-height // 4), -(-width // 4), 1), np.int64))[:height, :width]
    samples = (samples + numbers.integers(0, rng.choice([1, 2, 40]), samples.shape)) % 2**bits
    packing = rng.choice([PLAIN, LZW, DEFLATE, OLD_DEFLATE, PACKBITS])
    predictor = rng.choice([1, 2]) if bits >= 8 and packing in (LZW, DEFLATE, OLD_DEFLATE) else 1
    separate, fill, endian = count > 1 and rng.random() < 0.3, rng.choice([1, 1, 2]), rng.choice("<>")
    return Drawn(samples.astype(np.uint16), photometric, bits, packing, part, tiled, separate, predictor, fill, endian)


def written(tiff: Drawn) -> tuple[bytes, list[tuple[int, int]]]:
    """The file, and where its strips or tiles lie."""
    count = tiff.samples.shape[2]
    planes = np.split(tiff.samples, count, axis=2) if tiff.separate else [tiff.samples]
    parts = [_packed(part, tiff) for plane in planes for part in _parts(plane, tiff)]
    out, places = bytearray(8), []
    for part in parts:
        places.append((len(out), len(part)))
        out += part.translate(REVERSED) if tiff.fill == 2 else part
    (height, width), one = tiff.samples.shape[:2], [1]
    starts, sizes = [at for at, _ in places], [size for _, size in places]
    tags = {256: [width], 257: [height], 258: [tiff.bits] * count, 259: [tiff.packing], 262: [tiff.photometric]}
    tags |= {266: [tiff.fill], 277: [count], 284: [2 if tiff.separate else 1], 317: [tiff.predictor]}
    tags |= {322: [tiff.part[1]], 323: [tiff.part[0]], 324: starts, 325: sizes} if tiff.tiled else {}
    tags |= {} if tiff.tiled else {273: starts, 278: [tiff.part[0]], 279: sizes}
    tags |= {338: one * (count % 2 == 0)} if tiff.photometric != CMYK and count % 2 == 0 else {}
    tags |= {320: palette(tiff.bits).reshape(-1).tolist()} if tiff.photometric == PALETTE else {}
    records = b""
    for tag, values in sorted(tags.items()):
        letter, kind = ("H", 3) if tag in (258, 259, 262, 266, 277, 284, 317, 320, 338) else ("I", 4)
        packed = struct.pack(f"{tiff.endian}{len(values)}{letter}", *values)
        if len(packed) > 4:
            packed, place = struct.pack(tiff.endian + "I", len(out)), packed
            out += place
        records += struct.pack(tiff.endian + "HHI", tag, kind, len(values)) + packed.ljust(4, b"\0")
    order = b"II" if tiff.endian == "<" else b"MM"
    out[:8] = order + struct.pack(tiff.endian + "HI", 42, len(out))
    return bytes(out + struct.pack(tiff.endian + "H", len(tags)) + records + bytes(4)), places


def palette(bits: int) -> NDArray[np.uint16]:
    """3×2**bits colours of 16 bits."""
    return np.random.default_rng(bits).integers(256, 65536, (3, 2**bits)).astype(np.uint16)


def upright(tiff: Drawn) -> Drawn:
    """The same pixels in the plainest file."""
    return replace(
        tiff, packing=PLAIN, tiled=False, separate=False, predictor=1, fill=1, endian="<", part=tiff.samples.shape[:2]
    )


def _parts(plane: NDArray[np.uint16], tiff: Drawn) -> list[NDArray[np.uint16]]:
    (height, width), (rows, columns) = plane.shape[:2], tiff.part
    found = [plane[y : y + rows, x : x + columns] for y in range(0, height, rows) for x in range(0, width, columns)]
    if tiff.tiled:
        return [np.pad(part, [(0, rows - len(part)), (0, columns - part.shape[1]), (0, 0)], "edge") for part in found]
    return found


def _packed(part: NDArray[np.uint16], tiff: Drawn) -> bytes:
    if tiff.predictor == 2:
        part = np.diff(part, axis=1, prepend=np.zeros_like(part[:, :1]))
    if tiff.bits < 8:
        bits = np.unpackbits(part.astype(np.uint8)[..., None], axis=3)[..., 8 - tiff.bits :]
        data = np.packbits(bits.reshape(len(part), -1), axis=1).tobytes()
    else:
        data = part.astype(np.uint8 if tiff.bits == 8 else tiff.endian + "u2").tobytes()
    match tiff.packing:
        case 1:
            return data
        case 5:
            return lzw(data)
        case 32773:
            return packbits(data)
    return zlib.compress(data)


def packbits(data: bytes) -> bytes:
    """Runs where three bytes are equal."""
    out, at = bytearray(), 0
    while at < len(data):
        run = 1
        while run < min(128, len(data) - at) and data[at + run] == data[at]:
            run += 1
        if run > 2:
            out += bytes([257 - run, data[at]])
        else:
            out += bytes([run - 1]) + data[at : at + run]
        at += run
    return bytes(out)


def lzw(data: bytes) -> bytes:
    """Codes of 9 to 12 bits, high bits first."""
    codes, table, width, known = [], {bytes([i]): i for i in range(256)}, 9, b""
    codes.append((256, 9))
    for byte in data:
        longer = known + bytes([byte])
        if longer in table:
            known = longer
            continue
        codes.append((table[known], width))
        table[longer] = len(table) + 2
        if len(table) + 2 == 2**width:
            width += 1
        if len(table) + 2 == 4095:
            codes.append((256, width))
            table, width = {bytes([i]): i for i in range(256)}, 9
        known = bytes([byte])
    codes += [(table[known], width)] if known else []
    width += len(table) + 3 == 2**width
    bits = "".join(f"{code:0{size}b}" for code, size in [*codes, (257, min(width, 12))])
    return int(bits.ljust(-(-len(bits) // 8) * 8, "0"), 2).to_bytes(-(-len(bits) // 8), "big")
