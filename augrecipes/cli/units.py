"""Numbers as people read them."""

from __future__ import annotations

_STEP = 1000


def in_bytes(count: int) -> str:
    """A number of bytes, in decimal units.

    >>> in_bytes(512), in_bytes(1_536_000), in_bytes(12_300_000_000)
    ('512 B', '1.5 MB', '12 GB')
    """
    size, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if size < _STEP:
            break
        size, unit = size / _STEP, larger
    return f"{size:.0f} {unit}" if size >= 10 or unit == "B" else f"{size:.1f} {unit}"
