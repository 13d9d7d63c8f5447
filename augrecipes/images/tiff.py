"""Directories of TIFFs; and TIFFs of more bands than Pillow has modes for, whose rows it reads as rows of grey."""

from __future__ import annotations

import io
import struct
from contextlib import suppress
from typing import Any

import numpy as np

from augrecipes.images.format import UnreadableError

WIDTH, HEIGHT, BITS, ORIENTATION, SAMPLES, TILE_WIDTH = 256, 257, 258, 274, 277, 322  # tags
_PHOTOMETRIC, _PLANAR, _PREDICTOR, _EXTRA, _FORMAT, _KIND, _OLD_KIND = 262, 284, 317, 338, 339, 254, 255
_STRIPS, _STRIP_BYTES, _TILES, _TILE_BYTES = _PLACES = 273, 279, 324, 325
_KEPT = (HEIGHT, 259, 266, 278, 323)  # besides compression, order of bits, rows of a strip, height of a tile
_REDUCED_OR_MASK, _OLD_REDUCED = 5, 2
_COLORANTS = {2: 3, 5: 4, 6: 3, 8: 3}  # samples of a colour, by the photometric interpretation; else 1
_ALPHA = (1, 2)  # extra samples that are alpha: associated and not
_MOST_PAGES = 100


def directory(data: bytes, at: int | None = None) -> Any:
    """The tags of the first image of a TIFF, or of the one that is described at byte `at`."""
    from PIL.TiffImagePlugin import ImageFileDirectory_v2

    tags, file = ImageFileDirectory_v2(data[: 16 if data[2:3] == b"+" else 8]), io.BytesIO(data)
    file.seek(tags.next if at is None else at)
    tags.load(file)
    return tags


def pages(data: bytes, tags: Any) -> int:
    """Images in a TIFF, counted up to two: previews and masks of another one are none of their own."""
    seen = {0, tags.offset}
    with suppress(Exception):  # damage behind the first image is not ours to tell
        while len(seen) < _MOST_PAGES and tags.next not in seen:
            seen.add(tags.next)
            tags = directory(data, tags.next)
            if not tags.get(_KIND, 0) & _REDUCED_OR_MASK and tags.get(_OLD_KIND, 0) != _OLD_REDUCED:
                return 2
    return 1


def bands(tags: Any) -> int:
    """The samples of a pixel, where they are more than grey or colours and what the file says is alpha; else 0."""
    count, colorants = tags.get(SAMPLES, 1), _COLORANTS.get(tags.get(_PHOTOMETRIC, 1), 1)
    extra = tags.get(_EXTRA, (2,))  # four without a word are RGBA, as in other readers
    return count if count > colorants + (extra[0] in _ALPHA) else 0


def sample_form(tags: Any, mode: str) -> dict[str, Any]:
    """The fields of Pillow's `SampleForm`, of an image that Pillow opens in a mode. Raises UnreadableError."""
    starts, sizes = (tags.get(one, tags.get(other, ())) for one, other in zip(_PLACES[:2], _PLACES[2:], strict=True))
    if not starts or len(starts) != len(sizes):
        raise UnreadableError("truncated or damaged: a TIFF without a whole table of its strips or tiles")
    form = {"least": max(map(sum, zip(starts, sizes, strict=True))), "form": tags.get(_FORMAT, (1,))[0]}
    if not (count := bands(tags)):
        return form | {"white": tags.get(_PHOTOMETRIC, 1) == 0 and mode != "P"}
    differences = tags.get(TILE_WIDTH, tags[WIDTH]) if tags.get(_PREDICTOR, 1) == 2 else 0
    return form | {"planes": count if tags.get(_PLANAR, 1) == 2 else 1, "differences": differences}


def as_grey(data: bytes, tags: Any, plane: int) -> bytes:
    """A TIFF of bands as one of grey, of one plane, whose rows have all samples of a pixel side by side.

    What packs bytes, all but JPEG and WebP, sees no difference. The directory that says so is put behind the data.
    """
    planes = tags[SAMPLES] if tags.get(_PLANAR, 1) == 2 else 1
    entries = {tag: tags[tag] for tag in _KEPT if tag in tags} | {BITS: tags[BITS][0], _PHOTOMETRIC: 1, SAMPLES: 1}
    entries |= {tag: tags[tag] * tags[SAMPLES] // planes for tag in (WIDTH, TILE_WIDTH) if tag in tags}
    # Places of the parts of a plane follow those of another.
    entries |= {tag: np.reshape(tags[tag], (planes, -1))[plane] for tag in _PLACES if tag in tags}
    order, table, values, end = "<" if data[:1] == b"I" else ">", b"", b"", len(data)
    for tag, value in sorted(entries.items()):
        raw, at = np.array(value, order + "u4").tobytes(), end + 6 + 12 * len(entries) + len(values)
        table += struct.pack(order + "HHL", tag, 4, len(raw) // 4)
        table, values = table + (raw if len(raw) == 4 else struct.pack(order + "L", at)), values + raw
    head, count = struct.pack(order + "HL", 42, end), struct.pack(order + "H", len(entries))
    return data[:2] + head + data[8:] + count + table + bytes(4) + values
