"""Slides of every kind that scanners and libraries write, small, and what they hold."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from PIL import Image

from augrecipes.demo.pyramids import Layout, halved, jpeg_layout, without_tables, write_pyramid

Image.MAX_IMAGE_PIXELS = None


@dataclass(frozen=True)
class Slide:
    """A slide that a test wrote.

    Attributes:
        path: of its file.
        levels: what was encoded, uint8 H×W×C.
        known: OpenSlide opens it.
        direct: its tiles are read without OpenSlide.
        lossless: its pixels are those of `levels`.
    """

    path: Path
    levels: list[np.ndarray]
    known: bool
    direct: bool
    lossless: bool


def tissue(height: int, width: int, seed: int = 0) -> np.ndarray:
    """Smooth colours with grain: what JPEG is made for, different everywhere."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(60, 240, (height // 24 + 3, width // 24 + 3, 3)).astype(np.uint8)
    smooth = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
    return np.clip(smooth + rng.normal(0, 6, (height, width, 3)), 0, 255).astype(np.uint8)


def _as_rgb(tile: np.ndarray) -> bytes:
    """A JPEG whose components are red, green and blue; nothing in it says so."""
    out = io.BytesIO()
    Image.fromarray(tile).save(out, "jpeg", quality=90, subsampling=0, keep_rgb=True)
    jpeg = bytearray(without_application(out.getvalue()))
    frame, scan = jpeg.index(b"\xff\xc0"), jpeg.index(b"\xff\xda")
    for k in range(3):  # components by number, as libtiff writes them, not by the letters R, G and B
        jpeg[frame + 10 + 3 * k] = jpeg[scan + 5 + 2 * k] = k + 1
    return bytes(jpeg)


def _as_grey(tile: np.ndarray) -> bytes:
    return cv2.imencode(".jpg", tile, [cv2.IMWRITE_JPEG_QUALITY, 90])[1].tobytes()


def _as_jp2(tile: np.ndarray) -> bytes:
    out = io.BytesIO()
    Image.fromarray(tile).save(out, "jpeg2000", irreversible=False, no_jp2=True)
    return out.getvalue()


def without_application(jpeg: bytes) -> bytes:
    """A JPEG without the segments of JFIF and Adobe; its tables stay where they are."""
    tables, rest = without_tables(jpeg)
    return tables[:-2] + rest[2:]


def _plain(compression: int, encode: Callable[[np.ndarray], bytes], photometric: int = 2) -> Callable[..., Layout]:
    return lambda image, **options: Layout(encode, compression=compression, photometric=photometric, **options)


def _with_own_tables(image: np.ndarray, **options: Any) -> Layout:
    made = jpeg_layout(image, 80, "420", **options)
    head = made.tables
    return replace(made, encode=lambda tile: head[:-2] + made.encode(tile)[2:], tables=b"")


# By name: the layout, whether OpenSlide opens it, whether it is read directly, whether it loses nothing.
KINDS: dict[str, tuple[Callable[..., Layout], bool, bool, bool]] = {
    "420": (lambda image, **more: jpeg_layout(image, 85, "420", **more), True, True, False),
    "422": (lambda image, **more: jpeg_layout(image, 60, "422", **more), True, True, False),
    "444": (lambda image, **more: jpeg_layout(image, 95, "444", **more), True, True, False),
    "own tables": (_with_own_tables, True, True, False),
    "rgb": (_plain(7, _as_rgb), True, True, False),
    "grey": (_plain(7, _as_grey, 1), True, True, False),
    "aperio": (lambda image, **more: jpeg_layout(image, 70, "422", about="Aperio Image Library v1 |MPP = 0.5", **more),
               True, True, False),
    "strips": (lambda image, **more: jpeg_layout(image, 85, "420", strips=True, **more), False, True, False),
    "rgb strips": (lambda image, **more: replace(_plain(7, _as_rgb)(image, **more), strips=True), False, True, False),
    "below": (lambda image, **more: jpeg_layout(image, 85, "420", below=True, **more), True, True, False),
    "raw": (_plain(1, lambda tile: np.ascontiguousarray(tile).tobytes()), True, False, True),
    "deflate": (_plain(8, lambda tile: zlib.compress(np.ascontiguousarray(tile).tobytes())), True, False, True),
    "jp2": (lambda image, **more: Layout(_as_jp2, compression=33005, photometric=2,
                                         about="Aperio Image Library v1 |MPP = 0.5", **more), True, False, True),
}  # fmt: skip


def write_slide(
    folder: Path, kind: str, *, height: int = 300, width: int = 420, tile: int = 64, factors: tuple[int, ...] = (2, 4),
    seed: int = 0, name: str = "slide", image: np.ndarray | None = None, mpp: float | None = 0.5,
) -> Slide:  # fmt: skip
    """A slide of a kind in `KINDS`."""
    made, known, direct, lossless = KINDS[kind]
    image = tissue(height, width, seed) if image is None else image
    image = image[:, :, :1] if kind == "grey" else image
    levels = [image, *(halved(image, k) for k in factors)]
    suffix = ".svs" if "about" in kind or kind in ("aperio", "jp2") else ".tif"
    path = write_pyramid(folder / f"{name}{suffix}", levels, made(image, tile=tile, mpp=mpp))
    return Slide(path, levels, known, direct, lossless)
