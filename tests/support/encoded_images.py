"""Small images in every format and mode, encoded by Pillow, with the arrays to read back."""

import io
import struct
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image
from PIL.TiffImagePlugin import ImageFileDirectory_v2

from augrecipes.images import encoded as decoding

HEIGHT, WIDTH = 13, 22
_y, _x = np.mgrid[:HEIGHT, :WIDTH]
RGB = np.stack([_x * 11 % 256, _y * 19 % 256, (_x * _y * 3) % 256], -1).astype(np.uint8)
ALPHA = ((_x * 7 + _y * 5) % 256).astype(np.uint8)
GREY = ((_x * 5 + _y * 9) % 256).astype(np.uint8)
DEEP = (_x * 2777 + _y * 331).astype(np.uint16)
IDS = ((_x + 2 * _y) % 16).astype(np.uint8)
BITS = (((_x // 2 + _y) % 3) == 0).astype(np.uint8)
PALETTE = np.array([[i * 16, 255 - i * 9, (i * 53) % 256] for i in range(16)], np.uint8)


@dataclass(frozen=True)
class Picture:
    """An encoded image, and its pixels as stored (before EXIF orientation), H×W×C."""

    name: str
    data: bytes
    stored: NDArray[np.uint8]
    exact: bool = True
    mask: NDArray[np.uint16] | None = None

    @property
    def rgb(self) -> NDArray[np.uint8]:
        return np.repeat(self.stored, 3, 2) if self.stored.shape[2] == 1 else self.stored[:, :, :3]


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def _with_palette(colors: int = 16) -> Image.Image:
    image = Image.fromarray(IDS % colors)
    image.putpalette(PALETTE[:colors].tobytes())
    return image


def exif(orientation: int) -> bytes:
    tags = Image.Exif()
    tags[0x0112] = orientation
    return tags.tobytes()


def all_images() -> list[Picture]:
    """Encode an image in each format and mode."""
    rgb, grey, one = Image.fromarray(RGB), Image.fromarray(GREY), Image.fromarray(BITS * 255).convert("1")
    rgba, deep = Image.fromarray(np.dstack([RGB, ALPHA])), Image.fromarray(DEEP)
    grey_alpha = Image.merge("LA", (grey, Image.fromarray(ALPHA)))
    four, colors = np.dstack([RGB, ALPHA]), PALETTE[IDS]
    g, bits, high = GREY[:, :, None], BITS[:, :, None] * np.uint8(255), (DEEP >> 8).astype(np.uint8)[:, :, None]
    grey_four, best = np.dstack([GREY, GREY, GREY, ALPHA]), {"quality": 100, "subsampling": 0}
    out = [
        Picture("rgb.png", encoded(rgb, "PNG"), RGB),
        Picture("rgba.png", encoded(rgba, "PNG"), four),
        Picture("grey.png", encoded(grey, "PNG"), g, mask=GREY),
        Picture("grey-alpha.png", encoded(grey_alpha, "PNG"), grey_four, mask=GREY),
        Picture("bits.png", encoded(one, "PNG"), bits, mask=BITS),
        Picture("deep.png", encoded(deep, "PNG"), high, mask=DEEP),
        Picture("rgb.bmp", encoded(rgb, "BMP"), RGB),
        Picture("rgbx.bmp", encoded(rgba, "BMP"), RGB),
        Picture("grey.bmp", encoded(grey, "BMP"), np.repeat(g, 3, 2), mask=GREY),
        Picture("bits.bmp", encoded(one, "BMP"), np.repeat(bits, 3, 2), mask=BITS),
        Picture("palette.bmp", encoded(_with_palette(), "BMP"), colors, mask=IDS),
        Picture("palette.gif", encoded(_with_palette(), "GIF"), colors, mask=IDS),
        Picture("rgb.webp", encoded(rgb, "WEBP", lossless=True, exact=True), RGB),
        Picture("rgba.webp", encoded(rgba, "WEBP", lossless=True, exact=True), four),
        Picture("lossy.webp", encoded(rgb, "WEBP", quality=100), RGB, exact=False),
        Picture("rgb.ppm", encoded(rgb, "PPM"), RGB),
        Picture("grey.pgm", encoded(grey, "PPM"), g, mask=GREY),
        Picture("bits.pbm", encoded(one, "PPM"), bits, mask=1 - BITS),
        Picture("deep.pgm", encoded(deep, "PPM"), high, mask=DEEP),
        Picture("rgb.jp2", encoded(rgb, "JPEG2000", irreversible=False), RGB),
        Picture("grey.jp2", encoded(grey, "JPEG2000", irreversible=False), g, mask=GREY),
        Picture("rgb.jpg", encoded(rgb, "JPEG", **best), RGB, exact=False),
        Picture("progressive.jpg", encoded(rgb, "JPEG", **best, progressive=True), RGB, exact=False),
        Picture("grey.jpg", encoded(grey, "JPEG", quality=100), g, exact=False),
    ]
    for n in (1, 2, 4, 8):
        ids = IDS % 2 ** min(n, 4)
        data = encoded(_with_palette(2 ** min(n, 4)), "PNG", bits=n)
        out.append(Picture(f"palette{n}.png", data, PALETTE[ids], mask=ids))
    clear = encoded(_with_palette(), "PNG", transparency=bytes(range(0, 256, 16)))
    out.append(Picture("palette-alpha.png", clear, np.dstack([colors, IDS * 16]), mask=IDS))
    for packing in ("raw", "tiff_lzw", "tiff_deflate", "packbits"):
        for name, image, stored, mask in (
            ("rgb", rgb, RGB, None),
            ("rgba", rgba, four, None),
            ("grey", grey, g, GREY),
            ("bits", one, bits, BITS),
            ("palette", _with_palette(), colors, IDS),
            ("deep", deep, high, DEEP),
        ):
            data = encoded(image, "TIFF", compression=packing)
            out.append(Picture(f"{name}-{packing}.tif", data, stored, mask=mask))
    out.append(Picture("fax.tif", encoded(one, "TIFF", compression="group4"), bits, mask=BITS))
    out.append(Picture("big.tif", encoded(rgb, "TIFF", big_tiff=True), RGB))
    return out


# Small JPEGs with fine detail, of every kind that region decoding distinguishes.


SAMPLINGS = {"4:4:4": 0x111111, "4:2:2": 0x211111, "4:2:0": 0x221111, "4:4:0": 0x121111, "4:1:1": 0x411111}


@dataclass(frozen=True)
class Jpeg:
    """The parameters of a JPEG; `components` are 1 for grey, 3 for colour, 4 for CMYK."""

    height: int
    width: int
    seed: int = 0
    components: int = 3
    quality: int = 90
    sampling: str = "4:2:0"
    restart: int = 0
    progressive: bool = False
    turn: int = 1

    @property
    def data(self) -> bytes:
        draw = np.random.default_rng(self.seed)
        size = (self.width, self.height)
        coarse = draw.integers(0, 256, (self.height // 4 + 1, self.width // 4 + 1, 4), np.uint8)
        noise = draw.integers(0, 40, (self.height, self.width, 4), np.uint8)
        image = cv2.add(cv2.resize(coarse, size, interpolation=cv2.INTER_LINEAR), noise)
        if self.components == 4:
            data = encoded(Image.fromarray(image, "CMYK"), "JPEG", quality=self.quality)
        else:
            options = [cv2.IMWRITE_JPEG_QUALITY, self.quality, cv2.IMWRITE_JPEG_RST_INTERVAL, self.restart]
            options += [cv2.IMWRITE_JPEG_PROGRESSIVE, int(self.progressive)]
            if self.components == 3:
                options += [cv2.IMWRITE_JPEG_SAMPLING_FACTOR, SAMPLINGS[self.sampling]]
            image = np.ascontiguousarray(image[:, :, : self.components])
            data = cv2.imencode(".jpg", image, options)[1].tobytes()
        block = exif(self.turn)
        return data[:2] + b"\xff\xe1" + (len(block) + 2).to_bytes(2, "big") + block + data[2:]


JPEGS = st.builds(
    Jpeg,
    height=st.one_of(st.integers(1, 9), st.integers(1, 90)),
    width=st.one_of(st.integers(1, 9), st.integers(1, 90)),
    seed=st.integers(0, 2**16),
    components=st.sampled_from((3, 3, 3, 1, 4)),
    quality=st.sampled_from((10, 50, 90, 100)),
    sampling=st.sampled_from(sorted(SAMPLINGS)),
    restart=st.sampled_from((0, 0, 1, 2, 3, 5, 12)),
    progressive=st.sampled_from((False,) * 7 + (True,)),
    turn=st.integers(1, 8),
)


def decode_image(data: bytes, **how: Any) -> NDArray[np.uint8]:
    """Decode a whole image as the readers of files do; arguments as in `images.encoded.encoded`."""
    return decoding.encoded(data, **how).array()


# A small encoder of baseline JPEGs with any sampling factors, since other encoders support only five layouts.


ORDER = [
    *(0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21),
    *(28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61),
    *(54, 47, 55, 62, 63),
]  # fmt: skip
Layout = tuple[tuple[int, int], ...]
# Sampling factors (across and down, by component) that libjpeg decodes but TurboJPEG has no name for.
LAYOUTS: list[Layout] = [
    tuple((int(blocks[0]), int(blocks[1])) for blocks in layout.split())
    for layout in (
        *("31 11 11", "13 11 11", "42 11 11", "32 11 11", "22 21 12"),
        *("21 11 21", "41 21 11", "11 21 21", "21 21 11", "31 31 11"),
    )
]


class _Bits:
    """A writer of Huffman-coded bits with JPEG's byte stuffing."""

    def __init__(self, lengths: tuple[int, int]) -> None:
        self.out, self._text = bytearray(), ""
        self.of_dc, self._of_ac = lengths

    def ac(self, symbol: int) -> tuple[int, int]:
        """Return a code and its length: 00 for the end of a block, the others from 0100... on."""
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
    """Encode a JPEG of noise on waves.

    Args:
        size: rows and columns.
        layout: sampling factors of each component, across and down.
        seed: seed of the noise.
        restart: minimum coded units between restart markers; 0: none.
        step: quantisation step; a larger one gives a smaller file.
        lengths: bits of DC codes, 4 to 16, and of AC codes, 9 to 16.
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
    """Write a block and return its DC; DC symbols are the size, AC symbols run and size, or the end of block."""
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


Corners = tuple[int, int, int, int]
FRACTIONS = st.tuples(*[st.floats(0, 1, exclude_max=True)] * 4)


def corners_in(image: decoding.Encoded, fractions: tuple[float, ...], reduce: int = 1) -> Corners:
    """Return the corners of a part of an image, from four numbers in [0, 1)."""
    height, width, _ = image.shape
    y0, x0 = (int(part * size) // reduce * reduce for part, size in zip(fractions, (height, width), strict=False))
    y1, x1 = y0 + 1 + int(fractions[2] * (height - y0)), x0 + 1 + int(fractions[3] * (width - x0))
    return y0, x0, y1, x1


def cut(whole: NDArray[np.uint8], corners: Corners, reduce: int = 1) -> NDArray[np.uint8]:
    y0, x0, y1, x1 = corners
    return whole[y0 // reduce : -(-y1 // reduce), x0 // reduce : -(-x1 // reduce)]


# Images of any number of bands.


def bands(count: int, dtype: Any = np.uint8, size: tuple[int, int] = (50, 70)) -> np.ndarray:
    """Draw an image that is smooth in both directions, with another ramp in each band."""
    y, x, band = np.ogrid[: size[0], : size[1], :count]
    return ((3 * y + (band + 1) * x) % 251).astype(dtype) * (257 if dtype == np.uint16 else 1)


def bands_tiff(image: np.ndarray, packing: str = "raw", photometric: int = 2, extra: int = 0, pages: int = 1) -> bytes:
    """Encode interleaved bands as a TIFF: Pillow's grey TIFF with a new directory in place of its own."""
    height, width, count = image.shape
    buffer = io.BytesIO()
    Image.fromarray(image.reshape(height, -1)).save(buffer, "TIFF", compression=packing)
    data = buffer.getvalue() + b"\0" * (len(buffer.getvalue()) % 2)
    tags = ImageFileDirectory_v2(data[:8])
    buffer.seek(tags.next)
    tags.load(buffer)
    colours = {2: 3, 5: 4}.get(photometric, 1)
    values = {tag: np.atleast_1d(tags[tag]).tolist() for tag in (257, 259, 273, 278, 279)}
    values |= {256: [width], 258: [tags[258][0]] * count, 262: [photometric], 277: [count]}
    values |= {338: [extra, *[0] * (count - colours - 1)]} if count > colours else {}
    out = data[:4]
    for page in range(pages):
        at = len(data)
        entries, rest = b"", b""
        behind = at + 6 + 12 * len(values)
        for tag, numbers in sorted(values.items()):
            raw = struct.pack(f"<{len(numbers)}L", *numbers)
            entries += struct.pack("<HHL", tag, 4, len(numbers))
            entries += raw if len(numbers) == 1 else struct.pack("<L", behind + len(rest))
            rest += raw if len(numbers) > 1 else b""
        end = behind + len(rest)
        data += struct.pack("<H", len(values)) + entries + struct.pack("<L", end if page < pages - 1 else 0) + rest
        out += struct.pack("<L", at) if not page else b""
    return out + data[8:]
