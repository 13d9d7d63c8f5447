"""Small images in every format and mode, made by Pillow, with the arrays that they must be read as."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from augrecipes.images.encoded import encoded as encoded_decoding

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


# JPEGs of every kind that region decoding tells apart, small and full of detail.


SAMPLINGS = {"4:4:4": 0x111111, "4:2:2": 0x211111, "4:2:0": 0x221111, "4:4:0": 0x121111, "4:1:1": 0x411111}


@dataclass(frozen=True)
class Jpeg:
    """What is encoded, and how; `components` are 1 for grey, 3 for colour, 4 for CMYK."""

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


# Bytes of an image to its pixels, as the readers of files do it.


def decode_image(data: bytes, **how: Any) -> NDArray[np.uint8]:
    """The whole image; arguments as `encoded` has them."""
    return encoded_decoding(data, **how).array()
