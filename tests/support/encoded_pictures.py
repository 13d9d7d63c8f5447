"""Small pictures in every format and mode, made by Pillow, with the arrays that they must be read as."""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

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
    """A file, and its pixels as stored (before EXIF), H×W×C."""

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


def all_pictures() -> list[Picture]:
    """One of each."""
    rgb, grey, one = Image.fromarray(RGB), Image.fromarray(GREY), Image.fromarray(BITS * 255).convert("1")
    rgba, deep = Image.fromarray(np.dstack([RGB, ALPHA])), Image.fromarray(DEEP)
    grey_alpha = Image.merge("LA", (grey, Image.fromarray(ALPHA)))
    four = np.dstack([RGB, ALPHA])
    colors = PALETTE[IDS]
    g, bits, high = GREY[:, :, None], BITS[:, :, None] * np.uint8(255), (DEEP >> 8).astype(np.uint8)[:, :, None]
    grey_four = np.dstack([GREY, GREY, GREY, ALPHA])
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
        Picture("rgb.jpg", encoded(rgb, "JPEG", quality=100, subsampling=0), RGB, exact=False),
        Picture(
            "progressive.jpg", encoded(rgb, "JPEG", quality=100, subsampling=0, progressive=True), RGB, exact=False
        ),
        Picture("grey.jpg", encoded(grey, "JPEG", quality=100), g, exact=False),
    ]
    for n in (1, 2, 4, 8):
        small = 2 ** min(n, 4)
        image = _with_palette(small)
        data = encoded(image, "PNG", bits=n)
        out.append(Picture(f"palette{n}.png", data, PALETTE[IDS % small], mask=IDS % small))
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
