"""Baseline JPEGs with blocks of luma and chroma in any layout: a small encoder, because others know five."""

from __future__ import annotations

import struct

import cv2
import numpy as np
from numpy.typing import NDArray

ORDER = [
    *(0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21),
    *(28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61),
    *(54, 47, 55, 62, 63),
]  # fmt: skip
Layout = tuple[tuple[int, int], ...]
# What libjpeg reads, and TurboJPEG has no name for: of each component its blocks across and down.
LAYOUTS: list[Layout] = [
    ((3, 1), (1, 1), (1, 1)),
    ((1, 3), (1, 1), (1, 1)),
    ((4, 2), (1, 1), (1, 1)),
    ((3, 2), (1, 1), (1, 1)),
    ((2, 2), (2, 1), (1, 2)),
    ((2, 1), (1, 1), (2, 1)),
    ((4, 1), (2, 1), (1, 1)),
    ((1, 1), (2, 1), (2, 1)),
    ((2, 1), (2, 1), (1, 1)),
    ((3, 1), (3, 1), (1, 1)),
]


class _Bits:
    """Bits, stuffed as JPEGs have them."""

    def __init__(self, lengths: tuple[int, int]) -> None:
        self.out, self._text = bytearray(), ""
        self.of_dc, self._of_ac = lengths

    def ac(self, symbol: int) -> tuple[int, int]:
        """A code and its length: one of 2 bits, 00, for the end of a block, the others from 0100... on."""
        place = _SYMBOLS.index(symbol)
        return (0, 2) if place == 0 else ((1 << (self._of_ac - 2)) + place - 1, self._of_ac)

    def put(self, value: int, count: int) -> None:
        self._text += f"{value:0{count}b}" if count else ""

    def flush(self) -> None:
        text = self._text + "1" * (-len(self._text) % 8)
        self.out += bytes(int(text[i : i + 8], 2) for i in range(0, len(text), 8)).replace(b"\xff", b"\xff\x00")
        self._text = ""


def odd_jpeg(
    size: tuple[int, int],
    layout: Layout,
    *,
    seed: int = 0,
    restart: int = 0,
    step: int = 12,
    lengths: tuple[int, int] = (5, 9),
) -> bytes:
    """A JPEG of noise on waves.

    Args:
        size: rows and columns.
        layout: of each component its blocks across and down in a minimum coded unit.
        seed: of the noise.
        restart: units between restart markers.
        step: of quantisation: the larger, the smaller the file.
        lengths: of codes of DC, 4 to 16 bits, and of AC, 9 to 16.
    """
    height, width = size
    across, down = max(h for h, _ in layout), max(v for _, v in layout)
    if len(layout) == 1:
        layout, across, down = ((1, 1),), 1, 1
    columns, rows = -(-width // (8 * across)), -(-height // (8 * down))
    planes = [_coefficients(rows * v, columns * h, step, seed + k) for k, (h, v) in enumerate(layout)]
    bits, before, count = _Bits(lengths), [0] * len(layout), 0
    for unit in range(rows * columns):
        if restart and unit and unit % restart == 0:
            bits.flush()
            bits.out += bytes([0xFF, 0xD0 + count % 8])
            before, count = [0] * len(layout), count + 1
        row, column = divmod(unit, columns)
        for k, (h, v) in enumerate(layout):
            for y in range(v):
                for x in range(h):
                    before[k] = _block(bits, planes[k][row * v + y, column * h + x], before[k])
    bits.flush()
    return _head(size, layout, restart, step, lengths) + bytes(bits.out) + b"\xff\xd9"


def _coefficients(rows: int, columns: int, step: int, seed: int) -> NDArray[np.int64]:
    draw = np.random.default_rng(seed)
    coarse = draw.uniform(-120, 120, (rows + 1, columns + 1)).astype(np.float32)
    plane = cv2.resize(coarse, (8 * columns, 8 * rows)) + draw.normal(0, 9, (8 * rows, 8 * columns)).astype(np.float32)
    blocks = plane.clip(-128, 127).reshape(rows, 8, columns, 8).swapaxes(1, 2)
    found = np.array([[cv2.dct(np.ascontiguousarray(block)).reshape(64)[ORDER] for block in row] for row in blocks])
    return np.rint(found / step).astype(np.int64)


def _block(bits: _Bits, values: NDArray[np.int64], before: int) -> int:
    """Its bits; codes of DC are the size, of AC the byte of run and size, or the end."""
    _number(bits, int(values[0]) - before, lambda size: (size, bits.of_dc))
    run = 0
    for value in values[1:]:
        if value:
            while run > 15:
                bits.put(*bits.ac(0xF0))
                run -= 16
            _number(bits, int(value), lambda size, run=run: bits.ac(run << 4 | size))  # type: ignore[misc]
            run = 0
        else:
            run += 1
    if run:
        bits.put(*bits.ac(0))
    return int(values[0])


def _number(bits: _Bits, value: int, code: object) -> None:
    size = abs(value).bit_length()
    bits.put(*code(size))  # type: ignore[operator]
    bits.put(value if value >= 0 else value + (1 << size) - 1, size)


_SYMBOLS = [0, 0xF0, *(run << 4 | size for size in range(1, 11) for run in range(16))]


def _head(size: tuple[int, int], layout: Layout, restart: int, step: int, lengths: tuple[int, int]) -> bytes:
    def segment(marker: int, body: bytes) -> bytes:
        return bytes([0xFF, marker]) + struct.pack(">H", len(body) + 2) + body

    frame = struct.pack(">BHHB", 8, *size, len(layout))
    frame += b"".join(bytes([k + 1, h << 4 | v, 0]) for k, (h, v) in enumerate(layout))
    counts = np.zeros((2, 16), np.uint8)
    counts[0, lengths[0] - 1], counts[1, 1], counts[1, lengths[1] - 1] = 12, 1, len(_SYMBOLS) - 1
    dc, ac = bytes([0, *counts[0], *range(12)]), bytes([0x10, *counts[1], *_SYMBOLS])
    scan = bytes([len(layout), *(byte for k in range(len(layout)) for byte in (k + 1, 0)), 0, 63, 0])
    jfif = segment(0xE0, b"JFIF\0\1\1\0\0\1\0\1\0\0")
    tables = segment(0xDB, bytes([0, *[step] * 64])) + segment(0xC0, frame) + segment(0xC4, dc) + segment(0xC4, ac)
    return b"\xff\xd8" + jfif + tables + segment(0xDD, struct.pack(">H", restart)) + segment(0xDA, scan)
