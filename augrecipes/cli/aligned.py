"""Tables and bars of text."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Sequence

from augrecipes.cli.terminal import paint, width
from augrecipes.errors import harmless

_LEAST = 20  # characters of a first column whose names are broken
_BAR = 32  # the longest, in characters
_EIGHTHS = " ▏▎▍▌▋▊▉"


def table(
    title: str, headings: list[str] | None, rows: Sequence[list[str]], left: Sequence[int] = (0,), keys: int = 1
) -> Iterator[str]:
    """Aligned columns: those in `left` to the left, the others to the right.

    Columns for which the lines have no room stand in a further table below, behind the first `keys` columns again.
    """
    if title:
        yield paint(title, "strong", sys.stdout)
    every = [[harmless(cell) for cell in row] for row in ([headings, *rows] if headings else rows)]
    widths = [max(len(row[k]) for row in every) for k in range(len(every[0]))] if every else []
    rest = sum(size + 2 for size in widths[1:]) + 2
    if widths and rest + _LEAST <= width() < widths[0] + rest:
        widths[0] = width() - rest  # long names run over more lines
    for place, block in enumerate(_blocks(widths, keys)):
        if place:
            yield ""
        for number, row in enumerate(every):
            if place and not any(row[k] for k in block[keys:]):
                continue
            name, *more = textwrap.wrap(row[0], widths[0], break_long_words=False, subsequent_indent="  ") or [""]
            shown = [name if k == 0 else row[k] for k in block]
            cells = (
                f"{cell:<{widths[k]}}" if k in left else f"{cell:>{widths[k]}}"
                for k, cell in zip(block, shown, strict=True)
            )
            line = ("  " + "  ".join(cells)).rstrip()
            yield paint(line, "faint", sys.stdout) if headings and not number else line
            yield from (f"  {line}" for line in more)


def _blocks(widths: Sequence[int], keys: int) -> list[list[int]]:
    """The columns of each table: as many as there is room for; at least one beside the keys."""
    blocks: list[list[int]] = [[]]
    room = width() - 2
    for k, size in enumerate(widths):
        block = blocks[-1]
        if len(block) > keys and sum(widths[j] + 2 for j in block) + size > room:
            blocks.append([*range(keys)])
        blocks[-1].append(k)
    return [block for block in blocks if block]


def bar(share: float) -> str:
    """A bar of a share, 0..1.

    >>> bar(0.5), bar(0.05)
    ('████████████████', '█▋')
    """
    eighths = round(share * _BAR * 8)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()
