"""Tables and bars of text."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from augrecipes.cli.terminal import paint

_BAR = 32  # the longest, in characters
_EIGHTHS = " ▏▎▍▌▋▊▉"


def table(
    title: str, heads: list[str] | None, rows: Sequence[list[str]], left: Sequence[int] = (0,)
) -> Iterator[str]:  # fmt: skip
    """Aligned columns: those in `left` to the left, the others to the right."""
    yield paint(title, "strong", sys.stdout)
    every = [heads, *rows] if heads else list(rows)
    widths = [max(len(row[k]) for row in every) for k in range(len(every[0]))] if every else []
    for number, row in enumerate(every):
        cells = (
            f"{cell:<{width}}" if k in left else f"{cell:>{width}}"
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        line = ("  " + "  ".join(cells)).rstrip()
        yield paint(line, "faint", sys.stdout) if heads and not number else line


def bar(share: float) -> str:
    """A bar of a share, 0..1.

    >>> bar(0.5), bar(0.05)
    ('████████████████', '█▋')
    """
    eighths = round(share * _BAR * 8)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()
