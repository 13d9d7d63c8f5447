"""Slides as DICOM has them: one file a level, all of one series."""

import struct
from pathlib import Path

import cv2
import numpy as np

from augrecipes.demo.slides import reduced

_KINDS = ("ORIGINAL\\PRIMARY\\VOLUME\\NONE", "DERIVED\\PRIMARY\\VOLUME\\RESAMPLED")
_LONG = ("OB", "OW", "SQ", "UN", "UT")
_ROOT = "1.2.826.0.1.3680043.8.498"
WHOLE_SLIDE = "1.2.840.10008.5.1.4.1.1.77.1.6"
JPEG = "1.2.840.10008.1.2.4.50"


def element(group: int, number: int, kind: str, value: bytes | str | int) -> bytes:
    """An element of a DICOM file."""
    if isinstance(value, int):
        value = struct.pack({"US": "<H", "UL": "<I"}[kind], value)
    elif isinstance(value, str):
        value = value.encode()
    value += (b"\0" if kind in ("UI", "OB") else b" ") * (len(value) % 2)
    tag = struct.pack("<HH", group, number)
    if kind in _LONG:
        return tag + kind.encode() + struct.pack("<HI", 0, len(value)) + value
    return tag + kind.encode() + struct.pack("<H", len(value)) + value


def sequence(group: int, number: int, *items: bytes, open_end: bool) -> bytes:
    """A sequence, with lengths or with marks of its ends."""
    tag = struct.pack("<HH", group, number) + b"SQ\0\0"
    if not open_end:
        body = b"".join(struct.pack("<HHI", 0xFFFE, 0xE000, len(item)) + item for item in items)
        return tag + struct.pack("<I", len(body)) + body
    ends = struct.pack("<HHI", 0xFFFE, 0xE00D, 0)
    body = b"".join(struct.pack("<HHI", 0xFFFE, 0xE000, 0xFFFFFFFF) + item + ends for item in items)
    return tag + struct.pack("<I", 0xFFFFFFFF) + body + struct.pack("<HHI", 0xFFFE, 0xE0DD, 0)


def begin(number: int) -> bytes:
    """What any such file begins with."""
    meta = element(2, 1, "OB", b"\0\1") + element(2, 2, "UI", WHOLE_SLIDE) + element(2, 3, "UI", f"{_ROOT}.{number}")
    meta += element(2, 0x10, "UI", JPEG) + element(2, 0x12, "UI", _ROOT)
    return bytes(128) + b"DICM" + element(2, 0, "UL", len(meta)) + meta


def write_dicom(folder: Path, name: str, image: np.ndarray, series: int, *, tile: int = 64) -> list[Path]:
    """A slide: two files, of level 0 and of half of it."""
    paths = []
    for k, level in enumerate((image, reduced(image, 2))):
        paths.append(folder / f"{name}-{k}.dcm")
        paths[-1].write_bytes(_level(level, series, 10 * series + k, tile))
    return paths


def _level(image: np.ndarray, series: int, number: int, tile: int) -> bytes:
    height, width = image.shape[:2]
    frames = []
    for y in range(0, height, tile):
        for x in range(0, width, tile):
            square = np.full((tile, tile, 3), 255, np.uint8)
            part = image[y : y + tile, x : x + tile]
            square[: part.shape[0], : part.shape[1]] = part
            frames.append(cv2.imencode(".jpg", square[:, :, ::-1])[1].tobytes())
    data = struct.pack("<HHI", 0xFFFE, 0xE000, 0)
    for frame in frames:
        even = frame + b"\0" * (len(frame) % 2)
        data += struct.pack("<HHI", 0xFFFE, 0xE000, len(even)) + even
    pixels = struct.pack("<HH", 0x7FE0, 0x10) + b"OB\0\0" + struct.pack("<I", 0xFFFFFFFF) + data
    other = element(0x20, 0xE, "UI", f"{_ROOT}.99.{number}")  # of another series, which is only named
    measures = element(0x28, 0x30, "DS", "0.0005\\0.0005")
    return b"".join([
        begin(number),
        element(8, 8, "CS", _KINDS[number % 10]),
        element(8, 0x16, "UI", WHOLE_SLIDE),
        element(8, 0x18, "UI", f"{_ROOT}.{number}"),
        element(8, 0x60, "CS", "SM"),
        sequence(8, 0x1115, other, open_end=number % 2 == 0),
        element(0x20, 0xD, "UI", f"{_ROOT}.1"),
        element(0x20, 0xE, "UI", f"{_ROOT}.2.{series}"),
        element(0x20, 0x52, "UI", f"{_ROOT}.3"),
        element(0x20, 0x9311, "CS", "TILED_FULL"),
        element(0x28, 2, "US", 3),
        element(0x28, 4, "CS", "YBR_FULL_422"),
        element(0x28, 6, "US", 0),
        element(0x28, 8, "IS", str(len(frames))),
        element(0x28, 0x10, "US", tile),
        element(0x28, 0x11, "US", tile),
        element(0x28, 0x100, "US", 8),
        element(0x28, 0x101, "US", 8),
        element(0x28, 0x102, "US", 7),
        element(0x28, 0x103, "US", 0),
        element(0x48, 6, "UL", width),
        element(0x48, 7, "UL", height),
        sequence(0x5200, 0x9229, sequence(0x28, 0x9110, measures, open_end=False), open_end=True),
        pixels,
        struct.pack("<HHI", 0xFFFE, 0xE0DD, 0),
    ])  # fmt: skip


# Slides that text files describe, as small as OpenSlide opens them: MIRAX.


_IDENTITY = b"01.02" + b"IDENTITY"
_LAYER = """
[LAYER_{0}]
OVERLAP_X=0
OVERLAP_Y=0
MICROMETER_PER_PIXEL_X=0.25
MICROMETER_PER_PIXEL_Y=0.25
IMAGE_FORMAT=JPEG
IMAGE_FILL_COLOR_BGR=16777215
DIGITIZER_WIDTH={1}
DIGITIZER_HEIGHT={1}
IMAGE_CONCAT_FACTOR={0}
"""
_SLIDE = """[GENERAL]
SLIDE_VERSION=01.02
SLIDE_ID=IDENTITY
IMAGENUMBER_X={0}
IMAGENUMBER_Y={0}
OBJECTIVE_MAGNIFICATION=20
CameraImageDivisionsPerSide=1
[HIERARCHICAL]
INDEXFILE=Index.dat
HIER_COUNT=1
NONHIER_COUNT=0
HIER_0_NAME=Slide zoom level
HIER_0_COUNT=2
HIER_0_VAL_0_SECTION=LAYER_0
HIER_0_VAL_1_SECTION=LAYER_1
[DATAFILE]
FILE_COUNT=1
FILE_0=Data0000.dat
"""


def write_mirax(folder: Path, images: int = 4, side: int = 64) -> tuple[Path, Path]:
    """A MIRAX slide of two levels, and the text that describes it."""
    inside = folder / "a"
    inside.mkdir()
    noise = np.random.default_rng(0).integers(0, 255, (side, side, 3), np.uint8)
    data, jpeg = bytearray(), cv2.imencode(".jpg", noise)[1].tobytes()
    root = len(_IDENTITY) + 8
    index = bytearray(_IDENTITY + struct.pack("<ii", root, 0) + bytes(8))
    for level in range(2):
        struct.pack_into("<i", index, root + 4 * level, len(index))
        corners = [(x, y) for y in range(0, images, 1 + level) for x in range(0, images, 1 + level)]
        index += struct.pack("<iiii", 0, len(index) + 8, len(corners), 0)
        for x, y in corners:
            index += struct.pack("<iiii", y * images + x, len(data), len(jpeg), 0)
            data += jpeg
    (inside / "Index.dat").write_bytes(index)
    (inside / "Data0000.dat").write_bytes(data)
    told = inside / "Slidedat.ini"
    told.write_text(_SLIDE.format(images) + "".join(_LAYER.format(level, side) for level in range(2)))
    (folder / "a.mrxs").touch()
    return folder / "a.mrxs", told
