"""Whether OpenSlide can be given a slide: of some that are damaged it ends the process, without an error to be caught.

It takes the sizes that a TIFF names on trust: memory for a tile of gigapixels that cannot be had, and a level that is
larger than the one before it, end a program. Of MIRAX it trusts the numbers of images, and makes places in memory by
them. So the few numbers that it counts by are looked at beforehand.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from augrecipes.errors import DataError

LONGEST = 1 << 21
"""px of a side: several times what scanners make, and what can still be listed."""
_MOST_OF_TILE = 1 << 26  # px: OpenSlide takes four bytes for each
_WIDTH, _HEIGHT, _TILE_WIDTH, _TILE_HEIGHT, _OFFSETS, _COUNTS = 256, 257, 322, 323, 324, 325
_SIZES = (_WIDTH, _HEIGHT, _TILE_WIDTH, _TILE_HEIGHT)
_WHOLE = {1: "B", 3: "H", 4: "I", 6: "b", 8: "h", 9: "i", 16: "Q", 17: "q"}  # types of whole numbers
_MOST_DIRECTORIES = 4096
Entries = dict[int, list[tuple[int, int]]]


def check_tiff(path: str, *, falling: bool) -> None:
    """Look at the images of a TIFF that are made of tiles; of another file nothing.

    Args:
        path: of the file.
        falling: whether each has to be no larger than the one before it.

    Raises:
        DataError: they cannot be what the file says.
    """
    with Path(path).open("rb") as file:
        before = (LONGEST, LONGEST)
        for number, entries in enumerate(_directories(file)):
            if _TILE_WIDTH not in entries and _TILE_HEIGHT not in entries:
                continue
            size = _sound(entries)
            if size is None or (falling and (size[0] > before[0] or size[1] > before[1])):
                said = " · ".join("×".join(str(value) for _, value in entries.get(tag, ())) or "?" for tag in _SIZES)
                raise DataError(
                    f"is damaged: image {number} cannot have the width, height, and sides of tiles {said}", path
                )
            before = size


def _sound(entries: Entries) -> tuple[int, int] | None:
    """The size of an image of tiles, where all that is said of it can be."""
    if any(len(entries.get(tag, ())) != 1 for tag in (*_SIZES, _OFFSETS, _COUNTS)):
        return None
    sizes = [entries[tag][0] for tag in _SIZES]
    width, height, across, down = (value for _, value in sizes)
    if any(count != 1 for count, _ in sizes) or min(width, height, across, down) < 1 or max(width, height) > LONGEST:
        return None
    tiles = -(-width // across) * -(-height // down)
    if across * down > _MOST_OF_TILE or min(entries[tag][0][0] for tag in (_OFFSETS, _COUNTS)) < tiles:
        return None
    return width, height


def _directories(file: BinaryIO) -> Iterator[Entries]:
    """What the directories of a TIFF say that is looked at here: by tag (count, value), -1 where that is no number."""
    begin = file.read(16)
    order = {b"II": "<", b"MM": ">"}.get(begin[:2])
    if order is None or begin[2:4] not in (struct.pack(order + "H", 42), struct.pack(order + "H", 43)):
        return
    big = begin[2:4] == struct.pack(order + "H", 43)
    many, entry, place = (order + "Q", order + "HHQ", "Q") if big else (order + "H", order + "HHI", "I")
    room = struct.calcsize(place)
    seen: set[int] = set()
    try:
        (at,) = struct.unpack_from(order + place, begin, 8 if big else 4)
        while at and at not in seen and len(seen) < _MOST_DIRECTORIES:
            seen.add(at)
            file.seek(at)
            (count,) = struct.unpack(many, file.read(struct.calcsize(many)))
            size = struct.calcsize(entry) + room
            data = file.read(min(count, 0xFFFF) * size)
            found: Entries = {}
            for k in range(len(data) // size):
                tag, kind, values = struct.unpack_from(entry, data, k * size)
                value = data[(k + 1) * size - room : (k + 1) * size]
                if tag in _SIZES or tag in (_OFFSETS, _COUNTS):
                    found.setdefault(tag, []).append((values, _number(order, kind, value)))
            yield found
            (at,) = struct.unpack(order + place, file.read(room))
    except (struct.error, OSError, OverflowError):
        return  # the file ends here


def _number(order: str, kind: int, value: bytes) -> int:
    letter = _WHOLE.get(kind)
    if letter is None or struct.calcsize(order + letter) > len(value):
        return -1
    return int(struct.unpack_from(order + letter, value)[0])


_MOST = 1 << 24  # bytes of the text of a MIRAX slide, which has a few thousand; and images in it
_SIDE = 1 << 14  # px of an image


def check_mirax(path: str) -> None:
    """Look at the text that describes a MIRAX slide.

    Args:
        path: of the file that stands for the slide.

    Raises:
        DataError: it says what OpenSlide ends the process at; or cannot be read.
    """
    ini = str(Path(path).with_suffix("") / "Slidedat.ini")
    try:
        with Path(ini).open("rb") as file:
            text = file.read(_MOST).decode("utf-8", "replace")
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", ini) from None
    across, down = (_within(ini, text, f"IMAGENUMBER_{axis}", _MOST) for axis in "XY")
    if across * down > _MOST:
        raise DataError(f"{across}×{down} images are more than a slide can have: {_MOST:,}", ini)
    _within(ini, text, "CameraImageDivisionsPerSide", min(across, down))
    for side in ("WIDTH", "HEIGHT"):
        _within(ini, text, f"DIGITIZER_{side}", _SIDE)


def _within(path: str, text: str, name: str, most: int) -> int:
    """The largest of the numbers that are said of a name, 1 where there are none; all have to be from 1 to `most`."""
    said = [value.strip() for value in re.findall(rf"^[ \t]*{name}[ \t]*=(.*)$", text, re.MULTILINE)]
    for value in said:
        if re.fullmatch("[0-9]{1,9}", value) is None or not 1 <= int(value) <= most:
            raise DataError(f"{name} has to be a whole number from 1 to {most:,}, and is {value or 'empty'}", path)
    return max(map(int, said), default=1)
