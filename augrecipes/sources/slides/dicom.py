"""Which series a DICOM file belongs to: the files of one series are one slide, its levels and its label."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_HEADS = 1 << 15, 1 << 20  # bytes that the number of the series lies within: of nearly all files, and at most
_PREAMBLE, _MAGIC = 128, b"DICM"
_SYNTAX, _SERIES = (0x0002, 0x0010), (0x0020, 0x000E)
_ITEM, _ITEM_ENDS, _SEQUENCE_ENDS = 0xE000, 0xE00D, 0xE0DD
_IMPLICIT, _NOT_READ = b"1.2.840.10008.1.2", (b"1.2.840.10008.1.2.2", b"1.2.840.10008.1.2.1.99")
_LONG = (b"OB", b"OD", b"OF", b"OL", b"OV", b"OW", b"SQ", b"SV", b"UC", b"UN", b"UR", b"UT", b"UV")
_OPEN = 0xFFFFFFFF  # in the place of a length: until the mark of the end


def one_of_each_series(paths: Iterable[str]) -> list[str]:
    """Paths, and of DICOM files the first of each series alone: OpenSlide finds the others beside it."""
    seen: set[tuple[Path, str]] = set()
    kept = []
    for path in paths:
        series = series_of(path) if Path(path).suffix.lower() == ".dcm" else None
        if series is not None:
            if (key := (Path(path).parent, series)) in seen:
                continue
            seen.add(key)
        kept.append(path)
    return kept


def series_of(path: str) -> str | None:
    """The number of a DICOM file's series; None where it is no such file, or one that cannot be read."""
    try:
        with Path(path).open("rb") as file:
            data = b""
            for many in _HEADS:
                data += file.read(many - len(data))
                with suppress(struct.error):  # it ends before
                    return _series_in(data)
    except OSError:
        pass
    return None


def _series_in(data: bytes) -> str | None:
    if data[_PREAMBLE : _PREAMBLE + len(_MAGIC)] != _MAGIC:
        return None
    at, depth, implicit = _PREAMBLE + len(_MAGIC), 0, False
    while True:
        group, element = struct.unpack_from("<HH", data, at)
        if group == 0xFFFE or (implicit and group > 2):
            (length,), at = struct.unpack_from("<I", data, at + 4), at + 8
        elif data[at + 4 : at + 6] in _LONG:
            (length,), at = struct.unpack_from("<I", data, at + 8), at + 12
        else:
            (length,), at = struct.unpack_from("<H", data, at + 6), at + 8
        value = data[at : at + length].rstrip(b"\0 ")
        if (group, element) == _SERIES and length > len(data) - at:
            raise struct.error("a part of the value")
        if group == 0xFFFE:
            depth += {_ITEM: int(length == _OPEN), _ITEM_ENDS: -1, _SEQUENCE_ENDS: -1}.get(element, 0)
        elif length == _OPEN:
            depth += 1  # its items are gone through
        elif depth == 0 and (group, element) == _SYNTAX:
            implicit = value == _IMPLICIT
            if value in _NOT_READ:
                return None
        elif depth == 0 and (group, element) == _SERIES:
            return value.decode("ascii", "replace") or None
        elif depth == 0 and (group, element) > _SERIES:
            return None
        at += 0 if length == _OPEN else length
