"""What is wrong with the files of some data: a record of each defect, and all of them as one text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from augrecipes.errors import Lines, counted, harmless

_MOST_LINES = 300
_LOOKS = re.compile(r"looks like ×(\d+)$")

# Kinds, in the order in which a report tells them.
KINDS = {
    "row": "rows and labels that cannot be used",
    "record": "annotations that cannot be used",
    "absent": "targets that the recipe requires",
    "bag": "bags that cannot be used",
    "ambiguous": "ambiguous names",
    "missing": "no partner",
    "unreadable": "files that cannot be read",
    "size": "sizes that do not fit the scales",
    "resized": "images of another size than their annotations are for",
    "mask": "masks that do not fit their images",
    "box": "boxes that do not fit their images",
    "keypoint": "keypoints that do not fit their images",
    "channels": "channels that differ within a pair",
    "small": "images smaller than the crop",
    "content": "images that do not show the same",
}


@dataclass(frozen=True, slots=True)
class Defect:
    """One thing that is wrong, and the files that it is about.

    Attributes:
        kind: a key of `KINDS`.
        files: paths of all the files concerned; none of their samples can be used.
        message: what is wrong, naming the files.
    """

    kind: str
    files: tuple[str, ...]
    message: str


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
