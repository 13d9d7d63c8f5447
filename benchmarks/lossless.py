"""Images without loss: bytes, and time to read whole and in windows, compared with PNG and WebP; and PNGs themselves.

python benchmarks/lossless.py                     prints
python benchmarks/lossless.py --write             prints, and writes the section `lossless` of benchmarks/RESULTS.md
python benchmarks/lossless.py --images FOLDER     measures those images too, as they are
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from harness import Row, in_turns, met, run, times
from PIL import Image
from workloads import photos, tissue

from augrecipes.demo.tissue import CLASSES, LABORATORIES, render_tile
from augrecipes.images.encoded import encoded
from augrecipes.images.lossless import LosslessImage, encode
from augrecipes.sources.files import read_image

_WINDOW = 128  # px a side
_METHOD = f"""\
uint8 RGB in memory, one thread, both sides in one process, in turns: all images of a set are read, each into a new
array. Medians; a ratio is the median over the turns, and above 1 augrecipes is the faster. augrecipes compares its
checksums while it reads. Sizes are those of all images, per pixel; the goal is at most a twentieth more than the
peer. A window is {_WINDOW} × {_WINDOW} px at a random place; PNG and WebP must read the whole image. Drawn
sets are those of the demo; nuclei are label maps, with a number for each nucleus."""


class Peer(NamedTuple):
    """Another lossless format: its name, both ways, and how much faster than it reading shall be."""

    name: str
    write: Callable[[np.ndarray], bytes]
    read: Callable[[bytes], np.ndarray]
    goal: float | None = None


def _by_opencv(image: np.ndarray) -> bytes:
    return cv2.imencode(".png", image[:, :, ::-1] if image.ndim == 3 else image)[1].tobytes()


def _read_by_opencv(data: bytes, how: int = cv2.IMREAD_COLOR_RGB) -> np.ndarray:
    return cv2.imdecode(np.frombuffer(data, np.uint8), how)


def _by_pillow(image: np.ndarray, **options: object) -> bytes:
    file = io.BytesIO()
    Image.fromarray(image).save(file, **options)
    return file.getvalue()


def _read_by_pillow(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)))


_OF_LABELS = [Peer("PNG by OpenCV", _by_opencv, partial(_read_by_opencv, how=cv2.IMREAD_UNCHANGED), 5.0)]
_PEERS = [
    Peer("PNG by OpenCV", _by_opencv, _read_by_opencv, 5.0),
    Peer("PNG by Pillow", partial(_by_pillow, format="png"), _read_by_pillow, 5.0),
    Peer("WebP by Pillow", partial(_by_pillow, format="webp", lossless=True, method=2), _read_by_pillow),
]


def _read(what: str, images: Sequence[np.ndarray], options: Any, peers: Sequence[Peer] = _PEERS) -> Iterator[Row]:
    """Sizes, and reading all of each."""
    made, pixels = [encode(image) for image in images], sum(math.prod(one.shape[:2]) for one in images)
    mine = sum(map(len, made)) / pixels
    for peer in peers:
        theirs = [peer.write(image) for image in images]
        for image, own, other in zip(images, made, theirs, strict=True):
            if not all(np.array_equal(found, image) for found in (LosslessImage(own).array(), peer.read(other))):
                raise SystemExit(f"{what}: {peer.name} or ours gives other pixels")
        size = sum(map(len, theirs)) / pixels
        goal = f", goal ≤ 1.05: {met(mine <= 1.05 * size)}" if peer.goal else ""
        yield Row(f"{what}: bytes a pixel", f"{mine:.2f}", f"{peer.name} {size:.2f}", f"{mine / size:.2f} of it{goal}")
        pair = in_turns(
            lambda: [LosslessImage(data).array() for data in made],
            lambda: [peer.read(data) for data in theirs],  # noqa: B023  called within the turn of the loop
            3 if options.quick else 60,
        )
        yield pair.row(f"{what}: read, all of them", peer.name, peer.goal)


def _windows(options: Any) -> Iterator[Row]:
    images, rng = photos(1024, 1536)[:2], np.random.default_rng(0)
    places = [(k % 2, *(int(rng.integers(n - _WINDOW)) for n in (1024, 1536))) for k in range(16)]
    made = [encode(image) for image in images]
    for peer in _PEERS:
        theirs = [peer.write(image) for image in images]
        pair = in_turns(
            lambda: [LosslessImage(made[k]).view(y, x, y + _WINDOW, x + _WINDOW) for k, y, x in places],
            lambda: [peer.read(theirs[k])[y : y + _WINDOW, x : x + _WINDOW] for k, y, x in places],  # noqa: B023
            2 if options.quick else 20,
        )
        yield pair.row(f"16 windows of {_WINDOW} px of 1024×1536", peer.name, peer.goal)


def _folder(options: Any) -> Iterator[Row]:
    if options.images is not None:
        files = [path for path in sorted(options.images.rglob("*")) if path.suffix.lower() in {".png", ".jpg", ".tif"}]
        images = [image for image in map(read_image, files[:32]) if image.dtype == np.uint8 and image.shape[2] == 3]
        yield from _read("images of the folder", images, options)


def _png(options: Any) -> Iterator[Row]:
    """Our decoder of PNGs: the whole, and windows, for which OpenCV decodes all of it."""
    (image, *_) = photos(1356, 2040)
    rng = np.random.default_rng(0)
    at = [(int(rng.integers(1356 - 192)), int(rng.integers(2040 - 192))) for _ in range(8)]
    for writer, data in (("OpenCV", _by_opencv(image)), ("Pillow", _by_pillow(image, format="png"))):
        peer = partial(_read_by_opencv, data)
        if not np.array_equal(peer(), encoded(data, name="it").array()):
            raise SystemExit("other pixels")
        turns = 3 if options.quick else 30
        whole = in_turns(lambda data=data: encoded(data, name="it").array(), peer, turns)
        yield whole.row(f"a PNG of 2040×1356 that {writer} wrote", "OpenCV", 1.7)
        windows = in_turns(
            lambda data=data: [encoded(data, name="it").view(y, x, y + 192, x + 192) for y, x in at], peer, turns
        )
        ours = windows.ours.median / len(at)
        peer_ms, ratio = windows.peer.in_units("ms"), windows.ratio * len(at)
        yield Row(f"a window of 192 px of it, {writer}", f"{1e3 * ours:.2f} ms", f"OpenCV {peer_ms}", times(ratio, 3.0))


if __name__ == "__main__":
    nuclei = np.random.default_rng(3)
    parts = {
        "photographs": lambda options: _read("photographs, 375×500", photos(375, 500)[:8], options),
        "tissue": lambda options: _read("tissue, 512×512", tissue(512)[:8], options),
        "labels": lambda options: _read(
            "nuclei, uint16, 512×512",
            [render_tile(kind, (512, 512), LABORATORIES[0], nuclei).ids for kind in CLASSES],
            options,
            _OF_LABELS,
        ),
        "windows": _windows,
        "folder": _folder,
        "png": _png,
    }
    images = {"type": Path, "metavar": "FOLDER", "help": "of any images"}
    run(__file__, __doc__, "Images without loss, and PNG", _METHOD, parts, more={"images": images})
