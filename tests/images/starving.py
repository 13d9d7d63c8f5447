"""Decodes images of every format with too little memory, and prints what came of it.

    python -m images.starving [PLANTED]

One line a format: how many limits let it be decoded, how many ended in a MemoryError, and any other outcome by name.
"""

from __future__ import annotations

import collections
import os
import resource
import sys
import tempfile
from pathlib import Path

import cv2
import numpy as np
from PIL import Image
from support.encoded_pictures import decode_image

from augrecipes.images import pillow

SIDE = 1200  # px; an image is larger than what freed memory is lying about
SIZE = SIDE * SIDE * 3
LIMITS = [round(SIZE * part) for part in (0.5, 1.1, 1.6, 2.2, 3.2, 6, 40)]


def draw(folder: Path) -> None:
    small = np.random.default_rng(0).integers(0, 256, (40, 40, 3), np.uint8)
    image = cv2.resize(small, (SIDE, SIDE), interpolation=cv2.INTER_NEAREST)
    names = ("jpg", "png", "tiff", "bmp", "webp", "ppm", "jp2", "avif")
    for name in names:
        options = {"jp2": [cv2.IMWRITE_JPEG2000_COMPRESSION_X1000, 100], "avif": [cv2.IMWRITE_AVIF_SPEED, 10]}
        (folder / name).write_bytes(cv2.imencode(f".{name}", image, options.get(name, []))[1].tobytes())
    Image.fromarray(image).save(folder / "gif", "gif")
    Image.fromarray(image).save(folder / "tiff lzw", "tiff", compression="tiff_lzw")


def pictures() -> dict[str, bytes]:
    """An image of every format; drawn in a fork, since memory that was freed here would be used again."""
    with tempfile.TemporaryDirectory() as folder:
        if not os.fork():
            draw(Path(folder))
            os._exit(0)
        os.wait()
        return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def outcome(name: str, data: bytes, more: int) -> str:
    """What decoding comes to in a fork that may take so many bytes more."""
    read, write = os.pipe()
    if not os.fork():
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + more, taken + more))
        try:
            decode_image(data, name=name)
            said = "decoded"
        except MemoryError:
            said = "MemoryError"
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(write, said.encode()[:300])
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read().decode()
    os.wait()
    return said or "killed"


def main(planted: bool) -> None:
    cv2.setNumThreads(0)
    for name, data in pictures().items():
        found = collections.Counter(outcome(name, data, more) for more in LIMITS)
        print(f"{name}:", dict(found))
        if planted and any("damaged" in what for what in found):
            break  # it is seen


if __name__ == "__main__":
    if len(sys.argv) > 1:  # planted: nobody asks whether there was memory
        pillow.check_memory = lambda *given: None
    main(len(sys.argv) > 1)
