"""Slides that text files describe, as small as OpenSlide opens them: MIRAX."""

import struct
from pathlib import Path

import cv2
import numpy as np

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
