"""All that is wrong with a set of files, as one text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from augrecipes.errors import Lines, counted, harmless
from augrecipes.sources.pair_defects import KINDS, Defect

_MOST_LINES = 300
_LOOKS = re.compile(r"looks like ×(\d+)$")


def report(defects: Sequence[Defect], *, fine: int, targets: Sequence[str], unit: str = "scene") -> Lines:
    """Counts, then a line for each defect, sorted by kind and file.

    Args:
        defects: what was found.
        fine: samples with which nothing is wrong.
        targets: names of what a sample has files of.
        unit: what a sample is.

    >>> print(report([Defect("missing", ("a.png",), "a.png: no lr")], fine=2, targets=("hr", "lr")))
    1 defect in the files of hr and lr; 2 scenes are fine
    no partner: 1
      a.png: no lr
    """
    left = f"{counted(fine, unit)} {'is' if fine == 1 else 'are'} fine"
    lines = [f"{counted(len(defects), 'defect')} in the files of {' and '.join(targets)}; {left}"]
    lines += [f"{hint}" for hint in _hints(defects, fine)]
    room = _MOST_LINES
    for kind, title in KINDS.items():
        these = sorted((harmless(defect.message) for defect in defects if defect.kind == kind), key=_order)
        if not these:
            continue
        lines.append(f"{title}{' (width×height)' if kind in ('size', 'small', 'mask') else ''}: {len(these)}")
        shown = these[: max(room, 3)]  # a few of every kind, however many there are of the others
        room -= len(shown)
        lines += [f"  {message}" for message in shown]
        if len(these) > len(shown):
            lines.append(f"  and {len(these) - len(shown):,} more")
    return Lines("\n".join(lines))


def _hints(defects: Sequence[Defect], fine: int) -> list[str]:
    """What most of the sizes that do not fit have in common."""
    sizes = [defect.message for defect in defects if defect.kind == "size"]
    if len(sizes) <= fine:
        return []
    scales = Counter(match[1] for message in sizes if (match := _LOOKS.search(message)))
    hints = [
        f"these look like ×{scale} ({count:,} pairs): is this the folder of another scale?"
        for scale, count in scales.most_common(1)
        if count > len(sizes) // 2
    ]
    swapped = sum("swapped" in message for message in sizes)
    if swapped > len(sizes) // 2:
        hints.append(f"the targets look swapped ({swapped:,} pairs): is the folder of one given for another?")
    return hints


def _order(message: str) -> list[str | int]:
    """Numbers in names as numbers, so that 2 comes before 10."""
    parts = re.split(r"(\d+)", message)
    return [int(part) if i % 2 else part for i, part in enumerate(parts)]
