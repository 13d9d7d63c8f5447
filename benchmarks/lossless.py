"""Pictures without loss: bytes, and time to read whole and in windows, beside PNG and WebP.

python benchmarks/lossless.py                       prints
python benchmarks/lossless.py --write               prints, and writes the section `lossless` of benchmarks/RESULTS.md
python benchmarks/lossless.py --pictures FOLDER     measures those pictures too, as they are
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from measure import Pair, in_turns
from options import Part, parser, run
from PIL import Image
from results import Row, met, times
from workloads import photos, tissue

from augrecipes.demo.tissue import CLASSES, LABORATORIES, render_tile
from augrecipes.errors import DataError
from augrecipes.images.lossless import LosslessPicture, encode
from augrecipes.sources.files import read_image

_WINDOW = 128  # px a side
_LARGE = (1024, 1536)
_MOST = 32  # pictures of a folder
_METHOD = f"""\
uint8 RGB in memory, one thread, both sides in one process, in turns A B A B: all pictures of a set are read, each to
an array of its own. Medians; a ratio is the median over the turns, and above 1 augrecipes is the quicker. Ours compares
its checksums while it reads. Sizes are of all pictures together, for each pixel; the goal is to be no larger than the
peer, within a twentieth. A window is {_WINDOW} × {_WINDOW} px at random; PNG and WebP read all of the picture for it.
Drawn sets are those of the demo; nuclei are label maps, a number for each."""


@dataclass(frozen=True)
class Peer:
    """Another lossless format: its name, both ways, and how much quicker than it reading shall be."""

    name: str
    write: Callable[[np.ndarray], bytes]
    read: Callable[[bytes], np.ndarray]
    goal: float | None = None


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--pictures", type=Path, metavar="FOLDER", help="of any pictures")
    options = options.parse_args()
    turns = 3 if options.quick else 60
    parts: dict[str, Part] = {
        "photographs": lambda: _read("photographs, 375×500", photos(375, 500)[:8], turns),
        "tissue": lambda: _read("tissue, 512×512", tissue(512)[:8], turns),
        "labels": lambda: _read("nuclei, uint16, 512×512", _nuclei(), turns, _OF_LABELS),
        "windows": lambda: _windows(turns),
    }
    if options.pictures:
        parts["pictures"] = lambda: _read("pictures of the folder", _pictures(options.pictures), turns)
    run(__file__, "Pictures without loss", _METHOD, parts, options)


def _by_opencv(image: np.ndarray) -> bytes:
    return cv2.imencode(".png", image[:, :, ::-1] if image.ndim == 3 else image)[1].tobytes()


def _read_by_opencv(data: bytes) -> np.ndarray:
    return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB)


def _read_labels(data: bytes) -> np.ndarray:
    return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)


def _by_pillow(image: np.ndarray, **options: object) -> bytes:
    file = io.BytesIO()
    Image.fromarray(image).save(file, **options)
    return file.getvalue()


def _read_by_pillow(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)))


_OF_LABELS = [Peer("PNG by OpenCV", _by_opencv, _read_labels, 5.0)]
_PEERS = [
    Peer("PNG by OpenCV", _by_opencv, _read_by_opencv, 5.0),
    Peer("PNG by Pillow", lambda image: _by_pillow(image, format="png"), _read_by_pillow, 5.0),
    Peer("WebP by Pillow", lambda image: _by_pillow(image, format="webp", lossless=True, method=2), _read_by_pillow),
]


def _read(what: str, pictures: Sequence[np.ndarray], turns: int, peers: Sequence[Peer] = _PEERS) -> Iterator[Row]:
    """Sizes, and reading all of each."""
    ours, pixels = [encode(picture) for picture in pictures], sum(math.prod(one.shape[:2]) for one in pictures)
    raw, mine = (sum(map(len, kept)) / pixels for kept in ([one.data.tobytes() for one in pictures], ours))
    for peer in peers:
        theirs = [peer.write(picture) for picture in pictures]
        for picture, own, other in zip(pictures, ours, theirs, strict=True):
            if not all(np.array_equal(found, picture) for found in (LosslessPicture(own).array(), peer.read(other))):
                raise SystemExit(f"{what}: {peer.name} or ours gives other pixels")
        size = sum(map(len, theirs)) / pixels
        verdict = f"{mine / size:.2f} of it"
        verdict += f", goal ≤ 1.05: {met(mine <= 1.05 * size)}" if peer.goal else ""
        yield Row(f"{what}: bytes a pixel of {raw:.0f}", f"{mine:.2f}", f"{peer.name} {size:.2f}", verdict)
        pair = in_turns(lambda: [LosslessPicture(data).array() for data in ours], _all(peer, theirs), turns)
        yield _row(f"{what}: read", pair, len(pictures), peer)


def _all(peer: Peer, kept: list[bytes]) -> Callable[[], object]:
    return lambda: [peer.read(data) for data in kept]


def _windows(turns: int) -> Iterator[Row]:
    height, width = _LARGE
    pictures, rng = photos(height, width)[:2], np.random.default_rng(0)
    corners = [(int(rng.integers(height - _WINDOW)), int(rng.integers(width - _WINDOW))) for _ in range(8)]
    pairs = [(picture, y, x) for picture in range(len(pictures)) for y, x in corners]
    ours = [encode(picture) for picture in pictures]

    def mine() -> None:
        for picture, y, x in pairs:
            LosslessPicture(ours[picture]).view(y, x, y + _WINDOW, x + _WINDOW)

    for peer in _PEERS:
        theirs = [peer.write(picture) for picture in pictures]

        def other(peer: Peer = peer, theirs: list[bytes] = theirs) -> None:
            for picture, y, x in pairs:
                peer.read(theirs[picture])[y : y + _WINDOW, x : x + _WINDOW]

        yield _row(f"a window of {_WINDOW} px of {height}×{width}", in_turns(mine, other, turns // 3), len(pairs), peer)


def _row(what: str, pair: Pair, count: int, peer: Peer) -> Row:
    ours, theirs = (f"{timing.median / count * 1e3:.2f} ms" for timing in (pair.ours, pair.peer))
    return Row(what, ours, f"{peer.name} {theirs}", times(pair.ratio, peer.goal))


def _nuclei() -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [render_tile(kind, (512, 512), LABORATORIES[0], rng).ids for kind in CLASSES]


def _pictures(folder: Path) -> list[np.ndarray]:
    """Pictures of a folder that can be read, in RGB."""
    found: list[np.ndarray] = []
    for path in sorted(folder.rglob("*")):
        if len(found) < _MOST and path.is_file():
            try:
                image = read_image(path)
            except DataError:
                continue
            if image.dtype == np.uint8 and image.shape[2] == 3:
                found.append(image)
    if not found:
        raise SystemExit(f"{folder}: no picture that can be read")
    return found


if __name__ == "__main__":
    main()
